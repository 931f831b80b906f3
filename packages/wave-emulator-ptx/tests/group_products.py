"""A kernel of one warpgroup that multiplies tiles which it puts into shared memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from operand_tiles import Tile, left_place, sums_place

from wave_emulator_ptx import LaunchOptions, LaunchResult, emulate, load

HEAD = """
.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
"""

TEXT = (
    HEAD
    + """
.visible .entry kernel(.param .u64 image, .param .u64 left, .param .u64 out,
    .param .u64 a, .param .u64 b, .param .u32 chunks, .param .u32 keep)
.maxntid 128
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>, %a<{inputs}>, %s<{sums}>, %v<4>;
    .reg .b64 %d<16>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, memory;
    ld.param.u64 %d0, [image];
    ld.param.u64 %d1, [left];
    ld.param.u64 %d2, [out];
    ld.param.u64 %d3, [a];
    ld.param.u64 %d4, [b];
    ld.param.u32 %r2, [chunks];
    ld.param.u32 %r5, [keep];
    setp.ne.u32 %p2, %r5, 0;
    mov.u32 %r3, %r0;
FILL:
    setp.ge.u32 %p0, %r3, %r2;
    @%p0 bra FULL;
    mul.wide.u32 %d5, %r3, 16;
    add.s64 %d5, %d0, %d5;
    mad.lo.u32 %r4, %r3, 16, %r1;
    ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%d5];
    st.shared.v4.b32 [%r4], {{%v0, %v1, %v2, %v3}};
    add.u32 %r3, %r3, 128;
    bra FILL;
FULL:
    fence.proxy.async.shared::cta;
    mul.wide.u32 %d6, %r0, {input_bytes};
    add.s64 %d6, %d1, %d6;
{loads}
    mul.wide.u32 %d7, %r0, {sum_bytes};
    add.s64 %d7, %d2, %d7;
{begin}
    bar.sync 0;
    wgmma.fence.sync.aligned;
{products}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    bar.sync 0;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.b32 [%r1], %r0;
{stores}
    ret;
}}
"""
)


WIDE = Tile()


@dataclass(frozen=True)
class Product:
    """A product of warpgroups over some steps of K.

    Attributes:
        columns: N.
        types: of the result, A and B, as PTX has them.
        dtypes: likewise, as numpy has them.
        left: how A lies; None: in registers.
        right: how B lies.
        steps: along K.
        signs: factors of A and B.
        limited: whether integers stop at their ends.
    """

    columns: int
    types: tuple[str, str, str]
    dtypes: tuple[type, type, type]
    left: Tile | None = WIDE
    right: Tile = WIDE
    steps: int = 1
    signs: tuple[int, int] = (1, 1)
    limited: bool = False

    @property
    def size(self) -> int:
        """Bytes of an element of A and B."""
        return np.dtype(self.dtypes[1]).itemsize

    @property
    def depth(self) -> int:
        """K."""
        return self.steps * 32 // self.size

    @property
    def sums(self) -> int:
        """Registers of the result of a thread."""
        return self.columns // (4 if self.dtypes[0] is np.float16 else 2)

    def text(self) -> str:
        """The kernel."""
        inputs = 4 * self.steps
        return TEXT.format(
            inputs=inputs,
            sums=self.sums,
            input_bytes=4 * inputs,
            sum_bytes=4 * self.sums,
            loads=self._moves("ld.global.b32 %a{0}, [%d6+{1}];", inputs, self.left),
            begin=self._moves("ld.global.b32 %s{0}, [%d7+{1}];", self.sums, None),
            stores=self._moves("st.global.b32 [%d7+{1}], %s{0};", self.sums, None),
            products="\n".join(self._product(step) for step in range(self.steps)),
        )

    @staticmethod
    def _moves(text: str, count: int, unless: Tile | None) -> str:
        rows = [] if unless else [text.format(i, 4 * i) for i in range(count)]
        return "\n".join(rows)

    def _product(self, step: int) -> str:
        shape = f"m64n{self.columns}k{32 // self.size}"
        sums = ", ".join(f"%s{i}" for i in range(self.sums))
        lines, a = [], "{" + ", ".join(f"%a{4 * step + i}" for i in range(4)) + "}"
        if self.left:
            by = self.left.step(step, 64, self.depth, self.size) >> 4
            lines, a = [f"add.s64 %d8, %d3, {by};"], "%d8"
        by = self.right.step(step, self.columns, self.depth, self.size) >> 4
        lines.append(f"add.s64 %d9, %d4, {by};")
        kept = "%p2" if step == 0 else "1"
        last = [kept] if self.dtypes[0] is np.int32 else [kept, *map(str, self.signs)]
        if self.size == 2:
            tiles = [each for each in (self.left, self.right) if each]
            last += [str(int(each.across)) for each in tiles]
        if kept == "1":
            lines.append("setp.eq.u32 %p3, %r1, %r1;")
            last[0] = "%p3"
        words = ".".join([shape, *self.types] + ["satfinite"] * self.limited)
        lines.append(
            f"wgmma.mma_async.sync.aligned.{words} {{{sums}}}, {a}, %d9,"
            f" {', '.join(last)};"
        )
        return "\n".join(lines)

    # -------------------------------------------------------------- running

    def run(
        self,
        a: np.ndarray,
        b: np.ndarray,
        before: np.ndarray,
        text: str | None = None,
        *,
        keep: bool = True,
        order: int | None = None,
    ) -> tuple[np.ndarray, LaunchResult]:
        """The result as a matrix [64, N], and what was reported."""
        start = 1024  # where shared memory begins
        left = self.left.image(a, start) if self.left else np.zeros(0, np.uint8)
        right = -(-len(left) // 1024) * 1024
        tile = self.right.image(b, start + right)
        image = np.zeros(right + len(tile), np.uint8)
        image[: len(left)], image[right:] = left, tile
        out = self._by_thread(before)
        descriptors = (
            self.left.descriptor(start, 64, self.depth, self.size) if self.left else 0,
            self.right.descriptor(start + right, self.columns, self.depth, self.size),
        )
        given = [image, self._in_registers(a), out, *descriptors]
        result = emulate(
            load(text or self.text()),
            [*given, len(image) // 16, int(keep)],
            grid=(1, 1, 1),
            block=(128, 1, 1),
            shared=len(image),
            options=LaunchOptions(order=order),
        )
        return self._as_matrix(out), result

    def _in_registers(self, a: np.ndarray) -> np.ndarray:
        """Bytes of A by thread."""
        per = 16 // self.size
        found = np.zeros((128, self.steps * per), self.dtypes[1])
        for thread in range(128):
            for element in range(self.steps * per):
                row, k = left_place(thread, element % per, self.size)
                found[thread, element] = a[row, k + element // per * 32 // self.size]
        return found.view(np.uint8)

    def _by_thread(self, matrix: np.ndarray) -> np.ndarray:
        found = np.zeros((128, self.columns // 2), self.dtypes[0])
        for thread in range(128):
            for element in range(self.columns // 2):
                found[thread, element] = matrix[sums_place(thread, element)]
        return found

    def _as_matrix(self, out: np.ndarray) -> np.ndarray:
        found = np.zeros((64, self.columns), self.dtypes[0])
        for thread in range(128):
            for element in range(self.columns // 2):
                found[sums_place(thread, element)] = out[thread, element]
        return found
