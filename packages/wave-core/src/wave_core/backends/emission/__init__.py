"""Emission: what the code generators of all vendors share.

Rules say what they compute through `Instructions`, which each backend implements in
its compiler's text, and keep their values in an `Emission`, which its emitter extends.
"""

from __future__ import annotations

from wave_core.backends.emission.emitter import (
    Emission as Emission,
    unsupported as unsupported,
)
from wave_core.backends.emission.instructions import (
    Instructions as Instructions,
    Kind as Kind,
)
from wave_core.backends.emission.interface import (
    Binding as Binding,
    BoxedMemory as BoxedMemory,
    Constant as Constant,
)
from wave_core.backends.emission.regions import Block as Block, Regions as Regions
from wave_core.backends.emission.values import (
    Value as Value,
    element as element,
    gathered as gathered,
    recast as recast,
    sliced as sliced,
    stored as stored,
)
