"""From LLVM IR to PTX in a worker, and from PTX to machine code by NVIDIA's tools."""

from __future__ import annotations
