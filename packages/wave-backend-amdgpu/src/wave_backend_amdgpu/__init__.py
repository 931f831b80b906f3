"""AMD GPUs: targets as data, lowering to MLIR, code objects."""

from __future__ import annotations
