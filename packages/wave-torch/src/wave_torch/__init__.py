"""Wave's kernels in PyTorch: importing this registers `torch.ops.wave`.

`torch.compile` knows the backend ``wave`` when this package is installed, without any
import.
"""

from __future__ import annotations

from wave_torch import ops
from wave_torch.explaining import explain
from wave_torch.report import GraphReport, Placement, Report

__version__ = "0.1.0"

__all__ = ["GraphReport", "Placement", "Report", "explain", "ops"]
