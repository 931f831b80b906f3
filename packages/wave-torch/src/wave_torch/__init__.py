"""Wave's kernels as operators of PyTorch: importing this registers `torch.ops.wave`."""

from __future__ import annotations

from wave_torch import ops

__version__ = "0.1.0"

__all__ = ["ops"]
