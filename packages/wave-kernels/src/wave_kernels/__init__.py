"""Kernels ready to use; importing this package loads no compiler."""

from __future__ import annotations

__version__ = "0.1.0"
