"""Kernels compiled for a chip, as PTX, and executed on the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod

from wave_backend_nvgpu.bindings import Compiler
from wave_backend_nvgpu.codegen.module import generate
from wave_backend_nvgpu.codegen.options import CodeOptions
from wave_backend_nvgpu.codegen.table import own_table
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_emulator_ptx import LaunchOptions, TensorMap, emulate, load


@cache
def session():
    """A session without a cache."""
    return Session(config=Config(cache=False), announce=lambda _: None)


@dataclass(frozen=True)
class Compiled:
    """A kernel and its PTX.

    Attributes:
        kernel: What the simulator runs.
        generated: Its LLVM IR, and what a launch needs.
        ptx: The text.
    """

    kernel: object
    generated: object
    ptx: str

    def maps(self, arrays):
        """Tensor maps of the arrays of which boxes are copied."""
        names = [row.name for row in self.generated.bindings]
        rows = [(arrays[names.index(r.name)], r) for r in self.generated.boxed]
        return [
            TensorMap(
                f"u{8 * array.itemsize}",
                array,
                array.shape[::-1],
                array.strides[-2::-1],
                row.box[::-1],
                row.swizzle,
            )
            for array, row in rows
        ]

    def run(self, *arrays, order=None, text=None):
        """Execute on arrays; gives the reports."""
        code = self.generated
        x, y, *rest = [*(expr.constant_value for expr in code.grid), 1, 1]
        found = emulate(
            load(text or self.ptx),
            [*arrays, *self.maps(arrays)],
            grid=(x, y, prod(rest)),  # as a manifest has it
            block=(code.threads, 1, 1),
            shared=code.lds_bytes,
            options=LaunchOptions(order=order),
        )
        return found.reports

    def count(self, words):
        """How many instructions begin so."""
        lines = (line.strip() for line in self.ptx.splitlines())
        return sum(line.startswith(words) for line in lines)


def compiled(kernel, subs, target="sm_90", **options):
    """The kernel for a chip and sizes."""
    asked = WaveCompileOptions(subs=subs, target=target, device="sim", **options)
    made = wave_compile(asked, kernel, session=session())
    chip = session().target(target)
    code = generate(made.graph, chip, CodeOptions(), own_table())
    ptx = Compiler().ptx(code.text, target, "+ptx84", verified=True)
    return Compiled(made, code, ptx)
