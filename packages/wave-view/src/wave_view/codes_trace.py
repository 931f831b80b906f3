"""The codes of recorded traces: WV0850 to WV0852, and WV0855."""

from __future__ import annotations

from wave_core.diagnostics import read_codes

TRACE_CODES = read_codes("""
WV0850: a recorded thread trace cannot be read
Cause: the folder is not what rocprofv3 writes for one dispatch, a file of it is
cut off or too large, or values are not those of the documented form.
Bad:
    wave trace gemm --target gfx942 --read traces
Good:
    wave trace gemm --target gfx942 --read traces/ui_output_agent_1_dispatch_2
Fix: name the folder of one dispatch, which holds `code.json` and a file for
each wave. Where no wave was recorded, trace another compute unit with `--cu`.

WV0851: a recorded thread trace is of another kernel
Cause: the instructions that were recorded are neither those that the kernel
compiles to here, nor do they name lines of its source.
Bad:
    wave trace gemm --shape M=256 --read a-trace-of-softmax
Good:
    wave trace softmax --read a-trace-of-softmax
Fix: give the kernel, sizes, settings and versions that were traced, and run it
with `--option debug_lines=true`.

WV0852: a recorded thread trace has no such wave
Cause: `--waves` names waves by number, from 0 on, in the order of engines,
SIMDs and slots, and fewer were recorded.
Bad:
    wave trace gemm --read traces --waves 256-511
Good:
    wave trace gemm --read traces --waves 0-99
Fix: name numbers that there are, or `all`.

WV0855: no tool is known that records code of a target
Cause: rocprofv3 records code objects of AMD GPUs, ncu records cubins of NVIDIA
GPUs, and the backend of the target makes neither.
Bad:
    wave trace gemm --target my-chip
Good:
    wave trace gemm --target gfx942
Fix: name the target of an AMD or NVIDIA GPU; `wave view` shows the kernel.
""")
