"""One instruction as a kernel of its own, compiled to PTX and executed on arrays."""

from __future__ import annotations

import numpy as np

from wave_backend_nvgpu.bindings import Compiler
from wave_backend_nvgpu.codegen.debug import Lines
from wave_backend_nvgpu.codegen.instructions import LlvmInstructions
from wave_backend_nvgpu.codegen.module import LAYOUT, TRIPLE
from wave_backend_nvgpu.codegen.types import typed
from wave_core.backends.emission import Kind
from wave_emulator_ptx import emulate, load

THREADS = 64
NUMPY = {"double": "f8", "float": "f4", "half": "f2", "i8": "i1", "i32": "i4"}


def execute(make, kinds, result, *arrays):
    """Apply ``make(instructions, *names)`` to each row of arrays.

    Args:
        make: Gives the name of a value of the kind ``result``.
        kinds: Those of the operands; an array has as many columns as its kind.
        result: That of the result.
        arrays: Of any number of rows.
    """
    rows = len(arrays[0])
    padded = [
        np.concatenate([array, np.repeat(array[-1:], -rows % THREADS, axis=0)])
        for array in arrays
    ]
    ptx = Compiler().ptx(text_of(make, kinds, result), "sm_80", "+ptx83", verified=True)
    type_ = typed(Kind(result.item))
    out = np.zeros((len(padded[0]), result.registers), NUMPY[type_])
    blocks = len(padded[0]) // THREADS
    found = emulate(
        load(ptx), [*padded, out], grid=(blocks, 1, 1), block=(THREADS, 1, 1)
    )
    assert found.reports == []
    return out[:rows].squeeze(axis=1) if result.registers == 1 else out[:rows]


def text_of(make, kinds, result):
    """The module: each thread has a row."""
    builder = LlvmInstructions(Lines(None, "kernel"))
    thread = builder.call("llvm.nvvm.read.ptx.sreg.tid.x", "i32", ())
    group = builder.call("llvm.nvvm.read.ptx.sreg.ctaid.x", "i32", ())
    before = builder.op(f"mul i32 {group}, {THREADS}")
    row = builder.op(f"add i32 {before}, {thread}")
    names = []
    for at, kind in enumerate(kinds):
        place = place_of(builder, kind, f"%b{at}", row)
        text = f"load {typed(kind)}, ptr addrspace(1) {place}, align 1"
        names.append(builder.op(text))
    made = make(builder, *names)
    place = place_of(builder, result, f"%b{len(kinds)}", row)
    builder.line(f"store {typed(result)} {made}, ptr addrspace(1) {place}, align 1")
    builder.line("ret void")
    pointers = ", ".join(f"ptr addrspace(1) %b{at}" for at in range(len(kinds) + 1))
    return "\n".join(
        [
            f'target datalayout = "{LAYOUT}"',
            f'target triple = "{TRIPLE}"',
            *builder.declared.values(),
            f"define ptx_kernel void @kernel({pointers}) {{",
            *[line.partition(", !dbg")[0] for line in builder.body_lines()],
            "}",
        ]
    )


def place_of(builder, kind, base, row):
    """The address of a row."""
    one = typed(Kind(kind.item))
    first = builder.op(f"mul i32 {row}, {kind.registers}")
    return builder.op(f"getelementptr {one}, ptr addrspace(1) {base}, i32 {first}")
