"""Compilers of backends in processes of their own: requests, answers, limits."""

from __future__ import annotations

from wave_core.backends.process.serve import serve as serve
from wave_core.backends.process.worker import CompilerProcess as CompilerProcess
