"""Every way to call a kernel wrongly: one coded error, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from wave_core.compile.launch.prepare import prepare
from wave_core.compile.launch.signature import LaunchShape, Parameter, Signature
from wave_core.constraints import Assumption
from wave_core.diagnostics import LaunchError, Location
from wave_core.executors import host_array
from wave_core.symbols import ceildiv, eq, symbol
from wave_core.symbols.logic import gt
from wave_core.types import DTYPES, Usage
from wave_runtime.arrays import ArrayView

M, N, K = symbol("M"), symbol("N"), symbol("K")


def tensor(position, name, dims, dtype="f16", *, output=False, extents=None):
    """A tensor parameter."""
    usage = Usage.OUTPUT if output else Usage.INPUT
    at = Location.of_span("kernel.py", 10 + position, 5)
    return Parameter(
        name,
        position,
        DTYPES[dtype],
        dims,
        dims if extents is None else extents,
        usage,
        at,
    )


def number(position, name, dtype):
    """A scalar parameter."""
    return Parameter(name, position, DTYPES[dtype], None)


def launch_shape(*parameters, constraints=(), dynamic=(), bindings=None):
    """What a launch of a kernel with these parameters needs to know."""
    signature = Signature("gemm", parameters, Location.of_span("kernel.py", 9, 1))
    grid = (ceildiv(M, 16), ceildiv(N, 16))
    return LaunchShape(signature, grid, bindings or {}, constraints, dynamic)


@pytest.fixture
def gemm():
    """``gemm(a: f16[M, K], b: f16[N, K], c: f32[M, N])``, all sizes dynamic."""
    return launch_shape(
        tensor(0, "a", (M, K)),
        tensor(1, "b", (N, K)),
        tensor(2, "c", (M, N), "f32", output=True),
        dynamic=(M, N, K),
    )


def arguments(**changes: Any) -> list[Any]:
    """Right arguments for ``gemm``, some of them changed."""
    right = {
        "a": torch.zeros(4, 6, dtype=torch.float16),
        "b": torch.zeros(5, 6, dtype=torch.float16),
        "c": torch.full((4, 5), 7.0),
    }
    return list((right | changes).values())


def read_only() -> np.ndarray:
    array = np.zeros((4, 5), dtype=np.float32)
    array.flags.writeable = False
    return array


def freed():
    found = torch.zeros(4, 6).half()
    found.untyped_storage().resize_(0)
    return found


def shifted() -> np.ndarray:
    """An array whose elements lie at odd addresses."""
    return np.zeros(4 * 6 * 2 + 1, dtype=np.uint8)[1:].view(np.float16).reshape(4, 6)


def in_records() -> np.ndarray:
    """A field of records of 3 bytes: strides are no whole elements."""
    records = np.zeros((4, 6), dtype=np.dtype([("x", "<f2"), ("y", "u1")]))
    return records["x"]


class OnGpu:
    """Speaks DLPack, for memory that is not the CPU's."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (10, 0)

    def __dlpack__(self, **_: Any) -> object:
        return np.zeros((4, 6), np.float16).__dlpack__()


def vmapped() -> Any:
    """A tensor as ``vmap`` shows it to the function."""
    seen: list[Any] = []
    torch.vmap(lambda x: seen.append(x) or x)(torch.zeros(2, 4, 6).half())
    return seen[0]


@dataclass(frozen=True)
class Bad:
    """A wrong argument and what its error says."""

    name: str
    code: str
    make: Callable[[], Any]
    says: str
    hint: str


SHARED = torch.zeros(100, dtype=torch.float32)

TABLE = [
    Bad("a", "WV0704", lambda: None, "is None", "torch tensor"),
    Bad("a", "WV0704", lambda: "text", "`str`", "torch tensor"),
    Bad("a", "WV0704", lambda: [[1.0]], "`list`", "torch tensor"),
    Bad("a", "WV0704", lambda: 3.5, "`float`", "torch tensor"),
    Bad("a", "WV0704", lambda: np.float16(3), "float16", "torch tensor"),
    Bad("a", "WV0704", lambda: np.ma.zeros((4, 6), dtype="f2"), "masked", "filled"),
    Bad("a", "WV0704", vmapped, "wrapper", "inside"),
    Bad("a", "WV0705", lambda: torch.zeros(4, 6), "f32[4, 6]", "to(...)"),
    Bad("a", "WV0705", lambda: np.zeros((4, 6)), "f64[4, 6]", "astype"),
    Bad("a", "WV0705", lambda: torch.zeros(4, 6, dtype=torch.bfloat16), "bf16", "to("),
    Bad(
        "a", "WV0705", lambda: torch.zeros(4, 6, dtype=torch.complex64), "complex64", ""
    ),
    Bad("a", "WV0705", lambda: np.array([[None]]), "object", "numbers"),
    Bad("c", "WV0705", lambda: torch.zeros(4, 5).half(), "f16[4, 5]", "allocate"),
    Bad("a", "WV0709", lambda: np.zeros((4, 6), ">f2"), "byte order", "astype"),
    Bad("a", "WV0704", freed, "freed", "resize_"),
    Bad("a", "WV0706", lambda: torch.zeros(24).half(), "2 dimensions", "reshape"),
    Bad("c", "WV0706", lambda: torch.zeros(4, 5, 1), "2 dimensions", "reshape"),
    Bad("a", "WV0706", lambda: torch.tensor(1.0).half(), "2 dimensions", "reshape"),
    Bad("b", "WV0716", lambda: torch.zeros(5, 7).half(), "7 long", "agree"),
    Bad("c", "WV0716", lambda: torch.zeros(5, 4), "5 long", "agree"),
    Bad("a", "WV0708", lambda: torch.zeros(4, 6, device="meta").half(), "meta", "real"),
    Bad("a", "WV0708", OnGpu, "device `rocm:0`", "cpu()"),
    Bad("a", "WV0709", lambda: torch.zeros(4, 6).half().to_sparse(), "sparse", "dense"),
    Bad("a", "WV0709", in_records, "whole elements", "contiguous"),
    Bad("a", "WV0710", shifted, "multiple of 2", "aligned"),
    Bad("c", "WV0711", read_only, "read-only", "written"),
    Bad("c", "WV0712", lambda: torch.zeros(1, 5).expand(4, 5), "share", "expanded"),
    Bad("c", "WV0712", lambda: SHARED.as_strided((4, 5), (1, 1)), "share", "place"),
    Bad("c", "WV0714", lambda: torch.zeros(4, 5, requires_grad=True), "grad", "detach"),
    Bad(
        "a",
        "WV0714",
        lambda: torch.zeros(4, 6, requires_grad=True, dtype=torch.float16),
        "read by the kernel and requires grad",
        "detach",
    ),
    Bad(
        "a", "WV0713", lambda: torch.zeros(1, 1).half().expand(4, 2**31), "more", "part"
    ),
]


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: f"{bad.name}-{bad.code}")
def test_wrong_argument_is_one_coded_error(gemm, bad):
    given = arguments(**{bad.name: bad.make()})
    with pytest.raises(LaunchError) as caught:
        prepare(gemm, given)
    (found,) = caught.value.diagnostics
    assert found.code == bad.code
    assert f"`{bad.name}`" in found.message
    assert bad.says in found.message
    assert bad.hint in " ".join(found.help)
    assert found.location is not None
    assert found.location.line == 10 + "abc".index(bad.name)


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: f"{bad.name}-{bad.code}")
def test_nothing_is_written(gemm, bad):
    output = torch.full((4, 5), 7.0)
    given = arguments(c=output, **{bad.name: bad.make()} if bad.name != "c" else {})
    if bad.name != "c":
        with pytest.raises(LaunchError):
            prepare(gemm, given)
    assert bool((output == 7.0).all())


def test_right_arguments_share_memory(gemm):
    given = arguments()
    prepared = prepare(gemm, given)
    assert prepared.sizes == {"M": 4, "N": 5, "K": 6}
    assert prepared.grid == (1, 1)
    host_array(prepared.buffers[2], DTYPES["f32"])[1, 2] = 9.0
    assert given[2][1, 2] == 9.0


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_types_that_numpy_lacks_share_memory(dtype):
    wanted = {"bfloat16": "bf16", "float8_e5m2": "f8e5m2", "float8_e4m3fn": "f8e4m3fn"}
    shape = launch_shape(tensor(0, "c", (M, N), wanted[dtype], output=True))
    given = torch.zeros(4, 5, dtype=getattr(torch, dtype))
    prepared = prepare(shape, [given])
    host_array(prepared.buffers[0], DTYPES[wanted[dtype]])[1, 2] = 1.5
    assert float(given[1, 2]) == 1.5


@pytest.mark.parametrize("library", ["torch", "numpy", "dlpack"])
def test_libraries(gemm, library):
    a = np.arange(24, dtype=np.float16).reshape(4, 6)
    given = {"torch": torch.from_numpy(a), "numpy": a, "dlpack": Exporter(a)}[library]
    prepared = prepare(gemm, arguments(a=given))
    assert np.shares_memory(host_array(prepared.buffers[0], DTYPES["f16"]), a)


class Exporter:
    """An array of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)


STRIDED = {
    "transposed": torch.zeros(6, 4).half().T,
    "every second": torch.zeros(8, 12).half()[::2, ::2],
    "expanded": torch.zeros(1, 6).half().expand(4, 6),
    "reversed": np.zeros((4, 6), dtype=np.float16)[::-1, ::-1],
}


@pytest.mark.parametrize("case", STRIDED)
def test_strided_inputs_pass_through(gemm, case):
    prepared = prepare(gemm, arguments(a=STRIDED[case]))
    passed = host_array(prepared.buffers[0], DTYPES["f16"])
    assert np.shares_memory(passed, np.asarray(STRIDED[case]))
    assert passed.shape == (4, 6)


def test_strided_output_passes_through(gemm):
    whole = torch.zeros(8, 10)
    prepared = prepare(gemm, arguments(c=whole[::2, ::2]))
    host_array(prepared.buffers[2], DTYPES["f32"])[...] = 1.0
    assert float(whole.sum()) == 20.0


def test_interleaved_output_is_no_overlap(gemm):
    whole = torch.zeros(4, 10)
    prepare(gemm, arguments(c=whole[:, ::2]))


def test_output_that_overlaps_an_input_is_refused():
    shape = launch_shape(tensor(0, "a", (M, N)), tensor(1, "c", (M, N), output=True))
    whole = torch.zeros(8, 4).half()
    prepare(shape, [whole[:4], whole[4:]])
    for output in (whole[:4], whole[1:5]):
        with pytest.raises(LaunchError) as caught:
            prepare(shape, [whole[:4], output])
        assert caught.value.code == "WV0712"


def test_inputs_may_overlap():
    shape = launch_shape(tensor(0, "a", (M, N)), tensor(1, "b", (M, N)))
    same = torch.zeros(4, 4).half()
    assert prepare(shape, [same, same]).grid == (1, 1)


def test_input_that_requires_grad_is_read_where_nothing_is_tracked(gemm):
    given = torch.zeros(4, 6, requires_grad=True, dtype=torch.float16)
    with torch.no_grad():
        assert prepare(gemm, arguments(a=given)).sizes["K"] == 6


@pytest.mark.parametrize("given", [0, 1, 2, 4])
def test_wrong_count(gemm, given):
    some = (arguments() * 2)[:given]
    with pytest.raises(LaunchError) as caught:
        prepare(gemm, some)
    assert caught.value.code == "WV0703"
    assert f"takes 3 arguments, {given} were given" in str(caught.value)


def test_all_mistakes_at_once(gemm):
    with pytest.raises(LaunchError) as caught:
        prepare(gemm, [None, torch.zeros(5, 6), torch.zeros(1, 5).expand(4, 5)])
    codes = [found.code for found in caught.value.diagnostics]
    assert codes == ["WV0704", "WV0705", "WV0712"]


@pytest.mark.parametrize("sizes", [(0, 5, 6), (4, 0, 6)])
def test_empty_grid(gemm, sizes):
    m, n, k = sizes
    half = torch.float16
    given = [
        torch.zeros(m, k, dtype=half),
        torch.zeros(n, k, dtype=half),
        torch.zeros(m, n),
    ]
    assert prepare(gemm, given).is_empty


def test_an_empty_array_at_address_0_is_an_empty_array():
    seen = ArrayView(0, (16, 0), "f16", (2, 2), 2)
    found = host_array(seen, DTYPES["f16"])
    assert (found.shape, found.dtype) == ((16, 0), np.float16)


def test_empty_contraction_is_no_empty_grid(gemm):
    given = [torch.zeros(4, 0).half(), torch.zeros(5, 0).half(), torch.zeros(4, 5)]
    assert not prepare(gemm, given).is_empty


STATIC = {"bindings": {M: 4, N: 5}}


def test_static_sizes():
    four, five = tensor(0, "a", (M, N)).extents
    extents = (four.subs({M: 4}), five.subs({N: 5}))
    shape = launch_shape(tensor(0, "a", (M, N), extents=extents), **STATIC)
    assert prepare(shape, [torch.zeros(4, 5).half()]).grid == (1, 1)
    with pytest.raises(LaunchError) as caught:
        prepare(shape, [torch.zeros(4, 6).half()])
    assert caught.value.code == "WV0707"


HALF = launch_shape(tensor(0, "a", (M, K // 2)), tensor(1, "b", (N, K // 32)))


def test_quotients_are_inverted():
    prepared = prepare(HALF, [torch.zeros(4, 64).half(), torch.zeros(5, 4).half()])
    assert prepared.sizes["K"] == 128


def test_quotients_must_agree():
    with pytest.raises(LaunchError) as caught:
        prepare(HALF, [torch.zeros(4, 64).half(), torch.zeros(5, 5).half()])
    assert caught.value.code == "WV0716"


def test_exact_extents_win_over_quotients():
    shape = launch_shape(tensor(0, "a", (M, K // 2)), tensor(1, "b", (N, K)))
    prepared = prepare(shape, [torch.zeros(4, 3).half(), torch.zeros(5, 7).half()])
    assert prepared.sizes["K"] == 7


def test_affine_extents_are_inverted():
    shape = launch_shape(tensor(0, "a", (M, 2 * K + 1)), tensor(1, "b", (N, K)))
    prepared = prepare(shape, [torch.zeros(4, 9).half(), torch.zeros(5, 4).half()])
    assert prepared.sizes["K"] == 4
    with pytest.raises(LaunchError) as caught:
        prepare(shape, [torch.zeros(4, 8).half(), torch.zeros(5, 4).half()])
    assert caught.value.code == "WV0716"


def test_false_assumption():
    shape = launch_shape(
        tensor(0, "a", (M, N)), constraints=(Assumption(gt(M, 4)),), dynamic=(M, N)
    )
    assert prepare(shape, [torch.zeros(5, 5).half()]).sizes["M"] == 5
    with pytest.raises(LaunchError) as caught:
        prepare(shape, [torch.zeros(4, 5).half()])
    assert caught.value.code == "WV0718"
    assert "M = 4" in str(caught.value)


def test_broken_obligation():
    row = Assumption(gt(M, 0), obligations=(eq(M % 2, 0),))
    shape = launch_shape(tensor(0, "a", (M, N)), constraints=(row,))
    with pytest.raises(LaunchError) as caught:
        prepare(shape, [torch.zeros(5, 5).half()])
    assert caught.value.code == "WV0718"


def test_symbol_that_nothing_binds():
    shape = launch_shape(tensor(0, "a", (M, N)), dynamic=(K,))
    with pytest.raises(LaunchError) as caught:
        prepare(shape, [torch.zeros(4, 5).half()])
    assert "`K`" in str(caught.value)


SCALARS = launch_shape(
    tensor(0, "a", (M, N)),
    number(1, "K", "i32"),
    number(2, "x", "f32"),
    number(3, "flag", "bool"),
)


@pytest.mark.parametrize(
    ("position", "value", "says"),
    [
        (1, 1.0, "float"),
        (1, True, "bool"),
        (1, None, "None"),
        (1, "3", "str"),
        (1, 2**31, "beyond the range"),
        (1, -(2**31) - 1, "beyond the range"),
        (1, torch.tensor(3), "an array"),
        (1, np.array(3), "an array"),
        (1, np.float32(3), "float"),
        (2, "1", "str"),
        (2, True, "bool"),
        (2, 1e39, "beyond the range"),
        (2, None, "None"),
        (3, 1, "int"),
    ],
)
def test_wrong_scalar(position, value, says):
    given = [torch.zeros(4, 5).half(), 7, 0.5, False]
    given[position] = value
    with pytest.raises(LaunchError) as caught:
        prepare(SCALARS, given)
    assert caught.value.code == "WV0715"
    assert says in str(caught.value)


def test_scalars():
    given = [torch.zeros(4, 5).half(), np.int64(7), 1, True]
    prepared = prepare(SCALARS, given)
    assert prepared.arguments[1:] == (7, 1.0, True)
    assert prepared.sizes["K"] == 7
