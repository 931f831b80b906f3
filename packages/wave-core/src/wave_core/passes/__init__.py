"""Passes: how they are declared, ordered, configured, written as text and run."""

from __future__ import annotations

from wave_core.passes.base import Pass as Pass
from wave_core.passes.context import PassContext as PassContext
from wave_core.passes.fact import Analysis as Analysis, Fact as Fact
from wave_core.passes.load import load_pass as load_pass
from wave_core.passes.observe import PassObserver as PassObserver, Verify as Verify
from wave_core.passes.options import option as option
from wave_core.passes.phase import Phase as Phase
from wave_core.passes.selection import Amendment as Amendment, Preset as Preset
from wave_core.passes.spec import InstalledPass as InstalledPass, PassSpec as PassSpec
from wave_core.passes.text import PassText as PassText, Pipeline as Pipeline
