"""From a lowered graph to LLVM IR text; imports no compiler."""

from __future__ import annotations
