"""NVIDIA chips as rows: sizes, memories, matrix instructions."""

from __future__ import annotations
