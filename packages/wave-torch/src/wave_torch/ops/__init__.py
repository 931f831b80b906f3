"""The operators of the namespace ``wave``: a table of rows, registered once.

``torch.ops.wave.softmax(x)`` is `wave_kernels.functions.softmax` as torch knows its
own: with gradients, with shapes that are known before anything runs, as one node of
a graph that `torch.compile` takes.
"""

from __future__ import annotations

from wave_torch.ops.registration import register
from wave_torch.ops.table import TABLE

__all__ = ["LIBRARY", "TABLE"]

LIBRARY = register(TABLE)
"""What torch holds of the operators; they are gone when it is."""
