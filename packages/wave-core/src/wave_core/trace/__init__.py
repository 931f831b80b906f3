"""Tracing: running a kernel's Python function once to get its graph.

Importing this package loads no graph storage; `kernel`, which traces, does.
"""

from __future__ import annotations

from wave_core.trace.control import conditional as conditional, iterate as iterate
from wave_core.trace.usage import parameter_usage as parameter_usage
from wave_core.trace.value import Value as Value
