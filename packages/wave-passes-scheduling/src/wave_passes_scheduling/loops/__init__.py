"""Loops of the IR as scheduling problems: kinds, costs, dependences."""

from __future__ import annotations
