"""Loops rebuilt from schedules: prologue, kernel, epilogue."""

from __future__ import annotations

from wave_passes_scheduling.rebuild.ahead import Beyond, unsafe_ahead
from wave_passes_scheduling.rebuild.buffers import MultipliedBuffer, multiply_buffer
from wave_passes_scheduling.rebuild.guard import replace_loop
from wave_passes_scheduling.rebuild.hints import keep_order
from wave_passes_scheduling.rebuild.pipeline import PipelinedLoop, pipeline_loop
from wave_passes_scheduling.rebuild.unroll import UnrolledLoop, unroll_loop

__all__ = [
    "Beyond",
    "MultipliedBuffer",
    "PipelinedLoop",
    "UnrolledLoop",
    "keep_order",
    "multiply_buffer",
    "pipeline_loop",
    "replace_loop",
    "unroll_loop",
    "unsafe_ahead",
]
