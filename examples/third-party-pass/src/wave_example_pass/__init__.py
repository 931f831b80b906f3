"""An example of a plugin of Wave from outside: one pass and two ops."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
