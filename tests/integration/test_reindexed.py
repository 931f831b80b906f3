"""Index registers that a mapping takes at other places: ``{N1: j // 2}``."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError

sym = tkl.sym
M, N, N1, K, S = (getattr(sym, x) for x in ("M", "N", "N1", "K", "S"))
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = [
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
]
i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
dynamic = tkw.IndexMapping.dynamic_val
ROWS = [
    tkw.WorkgroupConstraint(M, 16, 1),
    tkw.WorkgroupConstraint(N, 32, 0),
    tkw.HardwareConstraint(vector_shapes={M: 16, N: 16, N1: 1}),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def taken(places):
    """Row ``k`` of ``a`` where ``k`` is an index that neighbours share."""
    return tkw.IndexMapping(
        2,
        inputs={M: dynamic(0), N: j},
        outputs={M: i, N: j},
        dynamic_val_mappings=places,
    )


def gather(ratio, compute=lambda index: index):
    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        at: tkl.Memory[M, N1, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        index = compute(tkw.read(at))
        rows = taken({M: i, N1: j // ratio})
        tkw.write(tkw.read(a, mapping=rows, mapping_dynamic_vals=(index,)), b)

    return kernel


def shifted(index):
    """Arithmetic, constants, indices and a second look-up on the way."""
    own = tkw.self_index(M, tkl.i32)
    last = tkw.scalar(M - 1, tkl.i32)
    moved = tkw.apply_expr([index, own], lambda x, y: x + y % 3)
    return tkw.minimum(moved, tkw.broadcast(last, target_shape=[M, N1]))


@pytest.mark.covering(2)
@pytest.mark.parametrize(("device", "target"), DEVICES)
@pytest.mark.parametrize("sizes", [(33, 70, 7), (16, 32, 16), (1, 1, 2)])
@pytest.mark.parametrize("compute", [None, shifted])
def test_neighbours_share_an_index(session, compute, sizes, device, target):
    m, n, ratio = sizes
    n1 = -(-n // ratio)
    rng = np.random.default_rng(m)
    a = rng.standard_normal((m, n)).astype(np.float32)
    at = rng.integers(0, m, (m, n1)).astype(np.int32)
    b = np.full((m, n), np.nan, np.float32)
    kernel = gather(ratio, compute) if compute else gather(ratio)
    options = tkl.WaveCompileOptions(
        subs={M: m, N: n, N1: n1}, device=device, target=target
    )
    wave_compile(options, kernel, session=session)(a, at, b)
    if compute:
        at = np.minimum(at + np.arange(m)[:, None] % 3, m - 1)
    index = at[:, np.arange(n) // ratio]
    np.testing.assert_array_equal(b, np.take_along_axis(a, index, 0))


def refused(kernel):
    with pytest.raises(UserError) as caught:
        kernel.trace()
    (found,) = caught.value.diagnostics
    assert found.code == "WV0417"
    return found


def line(location):
    with open(location.file, encoding="utf-8") as file:  # noqa: PTH123
        return file.read().splitlines()[location.line - 1].strip()


def test_an_index_that_lanes_exchange_is_refused():
    def largest(index):
        return tkw.broadcast(tkw.max(index, dim=N1), target_shape=[M, N1])

    found = refused(gather(2, largest))
    assert line(found.primary.location).startswith("tkw.write(tkw.read(a, mapping")
    assert "tkw.max(index" in line(found.secondary[0].location)


def test_an_index_in_memory_that_is_written_is_refused():
    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        at: tkl.Memory[M, N1, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        index = tkw.read(at)
        tkw.write(index + 1, at)
        rows = taken({M: i, N1: j // 2})
        tkw.write(tkw.read(a, mapping=rows, mapping_dynamic_vals=(index,)), b)

    found = refused(kernel)
    assert [line(label.location) for label in found.secondary] == [
        "index = tkw.read(at)",
        "tkw.write(index + 1, at)",
    ]
