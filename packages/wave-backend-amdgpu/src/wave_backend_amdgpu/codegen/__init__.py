"""From a lowered graph to MLIR text; imports no compiler."""

from __future__ import annotations
