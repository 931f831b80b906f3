"""Passes: how they are declared, ordered, configured, written as text and run."""

from __future__ import annotations

from wave_core.passes.base import Pass as Pass
from wave_core.passes.context import (
    AnalysisCache as AnalysisCache,
    PassContext as PassContext,
)
from wave_core.passes.fact import Analysis as Analysis, Fact as Fact
from wave_core.passes.load import load_object as load_object, load_pass as load_pass
from wave_core.passes.observe import (
    IrPrinter as IrPrinter,
    PassObserver as PassObserver,
    Verify as Verify,
)
from wave_core.passes.options import option as option
from wave_core.passes.phase import PHASES as PHASES, Phase as Phase
from wave_core.passes.resolve import (
    check_consumer as check_consumer,
    check_essential as check_essential,
    resolve as resolve,
)
from wave_core.passes.resolved import (
    ResolvedPass as ResolvedPass,
    ResolvedPipeline as ResolvedPipeline,
)
from wave_core.passes.run import (
    PassRun as PassRun,
    PipelineRunner as PipelineRunner,
    RunReport as RunReport,
)
from wave_core.passes.selection import (
    Amendment as Amendment,
    Preset as Preset,
    Selection as Selection,
)
from wave_core.passes.spec import InstalledPass as InstalledPass, PassSpec as PassSpec
from wave_core.passes.text import PassText as PassText, Pipeline as Pipeline
