"""Wave's compiler core; importing it loads neither torch, sympy nor numpy."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
