"""The AMD targets; `chips` has one function for each."""

from __future__ import annotations
