"""Whole tiles: products, reductions, masks, mappings, loops."""

from __future__ import annotations

import numpy as np
import pytest
from tiles import F16, F32, K, M, N, Tiles, gemm, spread

from wave_core.ops.arithmetic import Add
from wave_core.ops.compare import Gt
from wave_core.ops.constant import SelfIndex, Splat
from wave_core.ops.control import Conditional
from wave_core.ops.memory import Read, Write
from wave_core.ops.reduce import Reduce, identity_value
from wave_core.ops.shape import Broadcast, Permute
from wave_core.ops.structure import GetResult, Yield
from wave_core.targets import generic_target
from wave_core.types import DTYPES, AccessMapping, dynamic_symbol, iterator_symbol
from wave_sim_cpu import SimulationResult, logical

I32 = DTYPES["i32"]


def simulate(graph: object, **arguments: np.ndarray) -> SimulationResult:
    graph = graph.finish() if isinstance(graph, Tiles) else graph
    return logical.run(graph, arguments, {}, generic_target())


@pytest.mark.parametrize("shape", [(1, 7, 0), (64, 64, 64), (129, 65, 100)])
def test_gemm(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((n, k)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    assert simulate(gemm(*shape, tile=64), a=a, b=b, c=c).reports == ()
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float).T, atol=1e-3)


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("size", [1, 65, 128])
def test_reduction_across_waves(kind: str, size: int) -> None:
    t = Tiles(*spread(M, 4, 0), *spread(N, 128, 1, 32), M=10, N=size)
    a = t.parameter("a", (M, N), F32)
    c = t.parameter("c", (M,), F32)
    found = t.add(Reduce((t.add(Read(a)),), None, kind=kind, dim=N, block=True))
    t.add(Write(found, c))
    x = np.random.default_rng(0).standard_normal((10, size)).astype(np.float32) - 5
    y = np.full(10, np.nan, np.float32)
    assert simulate(t, a=x, c=y).reports == ()
    np.testing.assert_allclose(y, getattr(x, kind)(axis=1), rtol=1e-5)


def test_permute_broadcast_and_self_index() -> None:
    t = Tiles(*spread(M, 16, 0), *spread(N, 16, 1), M=20, N=33)
    a = t.parameter("a", (M, N), I32)
    c = t.parameter("c", (N, M), I32)
    rows = t.add(Broadcast(t.add(SelfIndex(M, I32)), (M, N)))
    total = t.add(Add(t.add(Read(a)), rows))
    t.add(Write(t.add(Permute(total, (N, M))), c))
    x = np.arange(660, dtype=np.int32).reshape(20, 33)
    y = np.full((33, 20), -1, np.int32)
    assert simulate(t, a=x, c=y).reports == ()
    np.testing.assert_array_equal(y, (x + np.arange(20)[:, None]).T)


def test_gather_through_a_mapping() -> None:
    t = Tiles(*spread(M, 16, 0), M=40, K=100)
    a = t.parameter("a", (K,), F32)
    where = t.parameter("where", (M,), I32)
    c = t.parameter("c", (M,), F32)
    at = dynamic_symbol(0) + iterator_symbol(0) * 0
    mapping = AccessMapping(("M",), (at,), (("M",),))
    index = t.add(Read(where))
    t.add(Write(t.add(Read(a, (index,), mapping=mapping, shape=(M,))), c))
    x = np.random.default_rng(0).standard_normal(100).astype(np.float32)
    places = np.random.default_rng(1).integers(0, 100, 40).astype(np.int32)
    y = np.full(40, np.nan, np.float32)
    assert simulate(t, a=x, where=places, c=y).reports == ()
    np.testing.assert_array_equal(y, x[places])
    places[3] = 100
    result = simulate(t.graph, a=x, where=places, c=y)
    assert [r.code for r in result.reports] == ["WV0903"]
    assert "`bounds=`" in result.reports[0].help[0]


def test_condition_on_elements() -> None:
    t = Tiles(*spread(M, 16, 0), M=40)
    a = t.parameter("a", (M,), F32)
    c = t.parameter("c", (M,), F32)
    value = t.add(Read(a))
    zero = t.add(Splat((M,), F32, 0.0))
    positive = t.add(Gt(value, zero))
    body = t.graph.region()
    seen = body.add_argument("capture", "v", value.type, None)
    t.region = body
    body.append(Yield((t.add(Add(seen, seen)),)))
    t.region = t.graph.body
    op = t.add(Conditional(positive, (value,), (zero,), body=body))
    t.add(Write(t.add(GetResult(op, 0)), c))
    x = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    y = np.full(40, np.nan, np.float32)
    assert simulate(t, a=x, c=y).reports == ()
    np.testing.assert_array_equal(y, np.where(x > 0, 2 * x, 0))


@pytest.mark.parametrize("name", ["f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3fn"])
def test_the_greatest_of_nothing_is_no_nan(name: str) -> None:
    """Types without infinities have their least number instead."""
    dtype = DTYPES[name]
    t = Tiles(*spread(M, 4, 0), M=4, K=0)
    a = t.parameter("a", (M, K), dtype)
    c = t.parameter("c", (M,), dtype)
    greatest = t.add(Reduce((t.add(Read(a)),), None, kind="max", dim=K))
    t.add(Write(greatest, c))
    x, y = (np.zeros(extents, dtype.numpy()) for extents in ((4, 0), 4))
    simulate(t, a=x, c=y)
    for found in (y, greatest.evaluate(x)):
        assert (found.astype(np.float32) == identity_value("max", dtype)).all()


def test_f16_sum_rounds_once() -> None:
    t = Tiles(*spread(M, 4, 0), M=4, K=512)
    a = t.parameter("a", (M, K), F16)
    c = t.parameter("c", (M,), F16)
    t.add(Write(t.add(Reduce((t.add(Read(a)),), None, kind="sum", dim=K)), c))
    x = np.full((4, 512), 0.1, np.float16)
    y = np.zeros(4, np.float16)
    simulate(t, a=x, c=y)
    np.testing.assert_array_equal(y, x.astype(np.float32).sum(1).astype(np.float16))
