"""Kernels of one instruction: a result for each element of up to three inputs."""

from __future__ import annotations

import numpy as np

from wave_emulator_ptx import LaunchOptions, emulate, load

WIDTHS = {8: "b16", 16: "b16", 32: "b32", 64: "b64"}

HEAD = """
.version 8.4
.target sm_90
.address_size 64
"""

TEXT = (
    HEAD
    + """
.visible .entry kernel(.param .u64 p0, .param .u64 p1, .param .u64 p2,
    .param .u64 p3, .param .u32 n)
{{
    .reg .pred %p, %q;
    .reg .b32 %i, %n, %t;
    .reg .b64 %a, %b, %c, %d, %o;
    .reg .{ra} %x;
    .reg .{rb} %y;
    .reg .{rc} %z;
    .reg .{rd} %r;
    mov.u32 %i, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %t, %tid.x;
    mad.lo.s32 %i, %i, %n, %t;
    ld.param.u32 %n, [n];
    setp.ge.u32 %p, %i, %n;
    @%p bra END;
    ld.param.u64 %a, [p0];
    ld.param.u64 %b, [p1];
    ld.param.u64 %c, [p2];
    ld.param.u64 %d, [p3];
    mul.wide.u32 %o, %i, {sa};
    add.s64 %a, %a, %o;
    ld.global.b{wa} %x, [%a];
    mul.wide.u32 %o, %i, {sb};
    add.s64 %b, %b, %o;
    ld.global.b{wb} %y, [%b];
    mul.wide.u32 %o, %i, {sc};
    add.s64 %c, %c, %o;
    ld.global.b{wc} %z, [%c];
    {body}
    mul.wide.u32 %o, %i, {sd};
    add.s64 %d, %d, %o;
    st.global.b{wd} [%d], %r;
END:
    ret;
}}
"""
)


def text_of(body: str, widths: list[int]) -> str:
    """A kernel that computes ``%r`` from ``%x``, ``%y``, ``%z`` of these widths."""
    names = {}
    for letter, width in zip("abcd", widths, strict=True):
        names |= {f"w{letter}": width, f"s{letter}": width // 8}
        names[f"r{letter}"] = WIDTHS[width]
    return TEXT.format(body=body, **names)


def elementwise(body: str, inputs: list[np.ndarray], result: type) -> np.ndarray:
    """What the emulator computes."""
    given = [*inputs, *[np.zeros(1, np.uint8)] * (3 - len(inputs))]
    given = [np.resize(each, len(inputs[0])) for each in given]
    out = np.zeros(len(inputs[0]), result)
    widths = [each.dtype.itemsize * 8 for each in (*given, out)]
    module = load(text_of(body, widths))
    done = emulate(
        module,
        [*(each.copy() for each in given), out, len(out)],
        grid=(-(-len(out) // 64), 1, 1),
        block=(64, 1, 1),
        options=LaunchOptions(poison=frozenset({3})),
    )
    assert done.reports == []
    return out
