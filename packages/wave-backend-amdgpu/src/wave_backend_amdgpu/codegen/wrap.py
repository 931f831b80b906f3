"""Puts a generated function where the compiler wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.builder import Builder
from wave_backend_amdgpu.codegen.index import index_of
from wave_backend_amdgpu.codegen.instructions import MlirInstructions
from wave_backend_amdgpu.codegen.interface import constant_argument
from wave_core.backends.emission import stored
from wave_core.backends.emission.expressions import Expressions
from wave_core.backends.emission.symbols import EXTENT_LIMIT
from wave_core.symbols import Facts, constant, symbol
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.module import Generated
    from wave_core.backends.emission import Binding


def executable(code: Generated) -> str:
    """A module that compiles to one code object."""
    return "\n".join(
        [
            *code.aliases,
            f"#layout = {_layout(code)}",
            f"hal.executable.source public {code.symbol} {{",
            (
                f"hal.executable.export public {code.symbol} ordinal(0) "
                "layout(#layout) count(%device: !hal.device) -> (index, index, index) {"
            ),
            "%one = arith.constant 1 : index",
            "hal.return %one, %one, %one : index, index, index",
            "}",
            "builtin.module {",
            *_function(code, ""),
            "}",
            "}",
            "",
        ]
    )


def _layout(code: Generated) -> str:
    words = sum(row.words for row in code.constants)
    kinds = ", ".join(
        f"#hal.pipeline.binding<storage_buffer{'' if row.written else ', ReadOnly'}>"
        for row in code.bindings
    )
    return f"#hal.pipeline.layout<constants = {words}, bindings = [{kinds}]>"


def _function(code: Generated, arguments: str) -> list[str]:
    size = f"[{code.threads}, 1, 1] subgroup_size = {code.wave_size}"
    order = f'passthrough = [["amdgpu-sched-strategy", "{code.order}"]], '
    head = (
        f"func.func {code.symbol}({arguments}) attributes {{"
        f"{order if code.order else ''}translation_info = "
        "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline "
        f"workgroup_size = {size}>}} {{"
    )
    return [head, *code.body, f"}}{code.where}"]


def program(code: Generated) -> str:
    """A module with a host function, for IREE's runtime.

    The function has the name of the kernel and takes its tensors in order, then its
    sizes and numbers; it returns the tensors that the kernel writes.
    """
    words = sum(row.words for row in code.constants)
    device = [
        *(f"%b{i}: !stream.binding" for i in range(len(code.bindings))),
        *(f"{constant_argument(i)}: i32" for i in range(words)),
    ]
    return "\n".join(
        [
            *code.aliases,
            f"module {code.symbol} {{",
            f"stream.executable private {code.executable} {{",
            *_count(code),
            "builtin.module {",
            *_function(code, ", ".join(device)),
            "}",
            "}",
            *_host(code, words),
            "}",
            "",
        ]
    )


def _count(code: Generated) -> list[str]:
    """The workgroups, from the words of the launch."""
    builder = Builder()
    facts = Facts()
    for row in code.constants:
        facts = facts.with_range(symbol(row.name), 0, EXTENT_LIMIT - 1)
    indices = Expressions(MlirInstructions(builder), facts)
    words = [f"%w{i}" for i in range(sum(row.words for row in code.constants))]
    position = 0
    for row in code.constants:
        name = builder.op(f"arith.index_cast {words[position]} : index to i32")
        indices.bind(symbol(row.name), name, 32, 0)
        position += row.words
    grid = [*code.grid, *[constant(1)] * (3 - len(code.grid))]
    names = [index_of(builder, indices, facts, count) for count in grid]
    given = ", ".join(f"{word}: index" for word in words)
    return [
        (
            f"stream.executable.export public {code.symbol} workgroups({given}) -> "
            "(index, index, index) {"
        ),
        *builder.body_lines(),
        f"stream.return {', '.join(names)} : index, index, index",
        "}",
    ]


def _tensor(row: Binding) -> str:
    extents = [str(e) if e.is_constant else "?" for e in row.shape]
    return f"tensor<{'x'.join([*extents, stored(DTYPES[row.dtype])])}>"


def _host(code: Generated, words: int) -> list[str]:
    kinds = [_tensor(row) for row in code.bindings]
    tensors = [f"%t{i}: {kind}" for i, kind in enumerate(kinds)]
    numbers = [f"{constant_argument(i)}: i32" for i in range(words)]
    outputs = [i for i, row in enumerate(code.bindings) if row.written]
    results = ", ".join(kinds[i] for i in outputs)
    lines = [
        f"func.func {code.symbol}({', '.join([*tensors, *numbers])}) -> ({results}) {{"
    ]
    lines += [
        f"%x{i} = arith.index_cast {constant_argument(i)} : i32 to index"
        for i in range(words)
    ]
    by_word = [row.name for row in code.constants for _ in range(row.words)]
    sizes = {name: f"%x{i}" for i, name in enumerate(by_word)}
    dims = [_dims(row, sizes) for row in code.bindings]
    workload = ", ".join(f"%x{i}" for i in range(words))
    operands = ", ".join(
        [
            *(f"%t{i}" for i in range(len(kinds))),
            *(constant_argument(i) for i in range(words)),
        ]
    )
    takes = [f"{kind}{dims[i]}" for i, kind in enumerate(kinds)] + ["i32"] * words
    gives = ", ".join(f"%t{i}{dims[i]}" for i in outputs)
    names = ", ".join(f"%r{i}" for i in outputs)
    lines += [
        (
            f"{names} = flow.dispatch {code.executable}::{code.symbol}[{workload}]"
            f"({operands}) : ({', '.join(takes)}) -> ({gives})"
        ),
        f"return {names} : {results}",
        "}",
    ]
    return lines


def _dims(row: Binding, sizes: dict[str, str]) -> str:
    names = [sizes[str(e)] for e in row.shape if not e.is_constant]
    return f"{{{', '.join(names)}}}" if names else ""
