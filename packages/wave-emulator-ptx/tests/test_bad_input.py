"""What cannot be read or launched says why, and writes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import elementwise, text_of

from wave_emulator_ptx import (
    EmulatorError,
    LaunchError,
    PtxSyntaxError,
    UnknownInstructionError,
    emulate,
    load,
)

GOOD = text_of("add.u32 %r, %x, %y;", [32] * 4)


def launch(text=GOOD, arguments=None, grid=(1, 1, 1), block=(32, 1, 1), **asked):
    given = [np.ones(32, np.uint32) for _ in range(4)] + [32]
    given = given if arguments is None else arguments
    emulate(load(text), given, grid=grid, block=block, **asked)
    return given


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, r"`\.version` is missing"),
        (GOOD.replace("add.s64 %a", "add.s64 ?a"), 29, "nothing begins with"),
        (GOOD[: GOOD.rindex("}")], 41, "is missing"),
        (GOOD.replace("ret;", "ret"), 42, "before `}`"),
        (GOOD.replace(".address_size 64", ".address_size 32"), 5, "64 bits"),
        (GOOD.replace(".visible .entry", ".visible .func"), 6, "not supported"),
        (GOOD.replace("END:", "END:\nEND:"), 41, "is a label already"),
        (GOOD.replace("4;", "1.5;"), 27, "decimal fraction"),
    ],
)
def test_texts_that_are_no_ptx(text, line, words):
    with pytest.raises(PtxSyntaxError, match=words) as found:
        load(text)
    assert abs(found.value.line - line) <= 1


def product(words, sums="%r, %r, %r, %r", options="1, 1, 1, 0, 0"):
    """A product of a warpgroup."""
    name = f"wgmma.mma_async.sync.aligned.{words}"
    return f"{name} {{{sums}}}, %d, %d, {options};"


@pytest.mark.parametrize(
    "body",
    [
        "frob.u32 %r, %x;",
        "add.u32 %r, %x;",
        "add.u32 %r, %x, %missing;",
        "add.u32 5, %x, %y;",
        "add.q32 %r, %x, %y;",
        "cvt.rn.f32 %r, %x;",
        "bra NOWHERE;",
        "ld.global.b32 %r, %x;",
        "mov.b64 %r, %o;",
        "setp.zz.u32 %p, %x, %y;",
        "wgmma.frob.sync.aligned;",
        "wgmma.wait_group.sync.aligned %r;",
        product("m64n8k16.f32.f16.bf16"),
        product("m64n8k8.f32.f16.f16"),
        product("m64n12k16.f32.f16.f16"),
        product("m64n8k16.f32.f16.f16", sums="%r, %r"),
        product("m64n8k16.f32.f16.f16", options="1, 2, 1, 0, 0"),
        product("m64n8k16.f32.f16.f16", options="9, 1, 1, 0, 0"),
        product("m64n8k32.f32.e4m3.e4m3"),
        "cp.async.bulk.frob_group;",
        "cp.async.bulk.wait_group %r;",
        "mbarrier.frob.b64 [%d];",
        "mbarrier.init.shared.b64 %r, 1;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16 {%r}, {%x}, {%x}, {%r};",
    ],
)
def test_instructions_that_it_lacks_are_named_before_anything_runs(body):
    out = np.full(32, 7, np.uint32)
    given = [np.ones(32, np.uint32) for _ in range(3)]
    text = text_of("st.global.u32 [%d], %x;\n" + body, [32] * 4)
    with pytest.raises(UnknownInstructionError) as found:
        launch(text, [*given, out, 32])
    assert found.value.code == "EP0301"
    assert body.split()[0].rstrip(";") in str(found.value)
    assert (out == 7).all()


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"arguments": [1]}, "EP0201"),
        ({"arguments": [1.5, 0, 0, 0, 32.5, 1]}, "EP0201"),
        ({"arguments": [0, 0, 0, 0, 1 << 40]}, "EP0201"),
        ({"arguments": [np.ones((4, 4), np.uint32).T, 0, 0, 0, 1]}, "EP0202"),
        ({"block": (1025, 1, 1)}, "EP0203"),
        ({"block": (0, 1, 1)}, "EP0203"),
        ({"grid": (-1, 1, 1)}, "EP0203"),
        ({"shared": 1 << 20}, "EP0203"),
        ({"kernel": "other"}, "EP0102"),
    ],
)
def test_launches_that_do_not_fit(asked, code):
    with pytest.raises(LaunchError) as found:
        launch(**asked)
    assert found.value.code == code


def test_an_empty_grid_does_nothing():
    given = launch(grid=(0, 1, 1))
    assert (given[3] == 1).all()


def test_no_text_crashes_it():
    """Texts with a part taken out, doubled or moved are read or refused."""
    source = np.random.default_rng(11)
    for _ in range(300):
        a, b = sorted(source.integers(0, len(GOOD), 2))
        text = (GOOD[:a] + GOOD[b:], GOOD[:b] + GOOD[a:])[int(source.integers(2))]
        try:
            launch(text)
        except EmulatorError:
            continue


def test_addresses_from_nowhere_are_reported():
    with pytest.raises(AssertionError):  # the helper asserts that there is no report
        elementwise("ld.global.u32 %r, [%o+8];", [np.ones(4, np.uint32)], np.uint32)
