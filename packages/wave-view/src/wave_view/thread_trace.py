"""The input of AMD's rocprofv3 that records a thread trace of one kernel.

Source of names and ranges: ROCprofiler-SDK documentation, "Using thread trace".
"""

from __future__ import annotations

import re

BUFFER_BYTES = 96 << 20
"""For each shader engine; what the documentation calls typical."""


def trace_input(kernel: str, folder: str, unit: int, launch: int) -> dict[str, object]:
    """The document for ``rocprofv3 -i``.

    Args:
        kernel: The symbol of the kernel, which is taken literally.
        folder: Where the trace is to be written.
        unit: The compute unit whose waves are recorded, 0 to 15.
        launch: Which launch of the kernel, from 1.
    """
    job = {
        "kernel_include_regex": f"^{re.escape(kernel)}$",
        "kernel_iteration_range": f"[{launch}]",
        "output_directory": folder,
        "advanced_thread_trace": True,
        "att_target_cu": unit,
        "att_shader_engine_mask": "0x1",
        "att_simd_select": "0xF",
        "att_buffer_size": hex(BUFFER_BYTES),
    }
    return {"jobs": [job]}
