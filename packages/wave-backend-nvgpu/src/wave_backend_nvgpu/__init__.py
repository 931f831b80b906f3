"""NVIDIA GPUs: targets, lowering to LLVM IR, PTX and machine code."""

from __future__ import annotations
