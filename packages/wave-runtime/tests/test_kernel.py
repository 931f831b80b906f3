"""Launches on the null device: what reaches it, and what is refused."""

from __future__ import annotations

import re
import struct
import sys
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import torch

from wave_runtime import (
    Artifact,
    DeviceError,
    LaunchRefused,
    LoadedKernel,
    device_names,
    open_device,
)
from wave_runtime.kernel import stream_of


@pytest.fixture
def kernel(artifact):
    return LoadedKernel(artifact, open_device("null"))


def matrix(m=100, n=70, dtype=np.float16):
    return np.zeros((m, n), dtype)


def test_grid_pointers_and_words(kernel):
    a, b = matrix(), matrix()
    kernel(a, 1.5, b)
    grid, buffers, words = kernel.code.last
    assert grid == (2, 2, 1)
    assert buffers == ((a.ctypes.data, 14_000), (b.ctypes.data, 14_000))
    assert struct.unpack("<iif", words) == (100, 70, 1.5)


def test_torch_tensors(kernel):
    a, b = torch.zeros(100, 70, dtype=torch.float16), torch.zeros(100, 70).half()
    kernel(a, 2, b)
    assert kernel.code.last[1] == ((a.data_ptr(), 14_000), (b.data_ptr(), 14_000))


def test_another_shape_is_planned_anew(kernel):
    kernel(matrix(), 1.0, matrix())
    kernel(matrix(300, 65), 1.0, matrix(300, 65))
    assert kernel.code.last[0] == (5, 2, 1)


def test_a_repeat_differs_in_addresses_and_stream(kernel):
    again = kernel.repeat((matrix(), 1.5, matrix()))
    assert kernel.code.launches == 0
    a, b = matrix(), matrix()
    checked = again.check([a.ctypes.data, b.ctypes.data])
    assert kernel.code.launches == 0
    again(checked, 7)
    grid, buffers, words = kernel.code.last
    assert grid == (2, 2, 1)
    assert buffers == ((a.ctypes.data, 14_000), (b.ctypes.data, 14_000))
    assert struct.unpack("<iif", words) == (100, 70, 1.5)
    assert kernel.code.stream == 7


def test_a_repeat_looks_at_addresses(kernel):
    a, b = matrix(), matrix()
    again = kernel.repeat((a, 1.0, b))
    first, second = a.ctypes.data, b.ctypes.data
    with pytest.raises(LaunchRefused, match="`b` is written and overlaps `a`"):
        again.check([first, first + 16])
    with pytest.raises(LaunchRefused, match="no multiple of 16"):
        again.check([first, second + 2])
    assert kernel.code.launches == 0
    with pytest.raises(LaunchRefused):
        kernel.repeat((a, "one", b))


def test_a_repeat_of_an_empty_grid_launches_nothing(kernel):
    again = kernel.repeat((matrix(0, 70), 1.0, matrix(0, 70)))
    again(again.check([0, 0]), 0)
    assert kernel.code.launches == 0


def test_empty_grid_launches_nothing(kernel):
    kernel(matrix(0, 70), 1.0, matrix(0, 70))
    assert kernel.code.launches == 0


def outcome(kernel, arguments):
    kernel.code.last = None
    try:
        kernel(*arguments)
    except LaunchRefused as refusal:
        return str(refusal)
    return kernel.code.last


def test_what_was_launched_before_changes_nothing(artifact):
    """A launch like the one before it is not checked again: no other may be."""
    whole = np.zeros(4 * 7000, np.float16)
    a, b = whole[:7000].reshape(100, 70), whole[7000:14_000].reshape(100, 70)
    given = [
        (a, 1.5, b),
        (b, 1.5, a),
        (a, 2.5, b),
        (a, 1.5, a),
        (a, 1.5, whole[3500:10_500].reshape(100, 70)),
        (a, 1.5, whole[7001:14_001].reshape(100, 70)),
        (a.reshape(70, 100), 1.5, b.reshape(70, 100)),
        (a[:50], 1.5, b[:50]),
        (a[:, ::2], 1.5, b[:, ::2]),
        (a[:0], 1.5, b[:0]),
        (a.view(np.int16), 1.5, b),
        (a, None, b),
        (torch.from_numpy(a), 1.5, torch.from_numpy(b)),
        (torch.from_numpy(a), 1.5, torch.from_numpy(b).requires_grad_()),
    ]
    fresh = [
        outcome(LoadedKernel(artifact, open_device("null")), each) for each in given
    ]
    kernel = LoadedKernel(artifact, open_device("null"))
    for place in np.random.default_rng(1).integers(0, len(given), 400):
        assert outcome(kernel, given[place]) == fresh[place]


class Producer:
    """An array that can do nothing but DLPack."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__()


def test_dlpack_alone_is_enough(kernel):
    a, b = matrix(), matrix()
    kernel(Producer(a), 1.5, Producer(b))
    assert [address for address, _ in kernel.code.last[1]] == [
        a.ctypes.data,
        b.ctypes.data,
    ]
    kernel(Producer(matrix(1, 1)[:0]), 1.5, Producer(matrix(1, 1)[:0]))
    assert kernel.code.launches == 1


def test_producers_on_a_gpu_wait_for_the_stream(kernel):
    a, b = Producer(matrix(), (10, 0)), Producer(matrix(), (10, 0))
    kernel(a, 1.5, b, stream=5)
    assert (a.streams[0], b.streams[0], kernel.code.stream) == (5, 5, 5)


def test_dlpack_with_gaps_is_refused(kernel):
    with pytest.raises(LaunchRefused, match="row-major"):
        kernel(Producer(matrix(70, 100).T), 1.0, matrix())


def test_dlpack_of_torch(kernel):
    a, b = torch.zeros(100, 70, dtype=torch.bfloat16), matrix()
    with pytest.raises(LaunchRefused, match="f16, bf16 was given"):
        kernel(Producer(a), 1.0, b)


class FakeTensor:
    """A tensor on a GPU, as far as a launch looks at it."""

    dtype, layout, is_nested, requires_grad = torch.float16, torch.strided, False, False

    def __init__(self, array):
        self.shape = torch.Size(array.shape)
        self.device = torch.device("cuda", 0)
        self.data_ptr = lambda: array.ctypes.data
        self.stride = lambda: (array.shape[1], 1)

    is_contiguous = data_ptr = lambda self: True
    is_neg = is_conj = lambda self: False
    element_size = lambda self: 2  # noqa: E731
    __torch_dispatch__ = torch.Tensor.__torch_dispatch__


class Interface:
    """An array with the interface of CUDA arrays."""

    def __init__(self, array, **more):
        table = dict(array.__array_interface__)
        self.__cuda_array_interface__ = table | more


def test_cuda_array_interface(kernel):
    a, b = matrix(), matrix()
    kernel(Interface(a), 1.0, Interface(b, stream=3), stream=3)
    assert kernel.code.last[1][0] == (a.ctypes.data, 14_000)
    with pytest.raises(LaunchRefused, match="in use by stream 4"):
        kernel(Interface(a, stream=4), 1.0, b)


class TorchStream:
    cuda_stream = 12


@pytest.mark.parametrize(("stream", "handle"), [(None, 0), (9, 9), (TorchStream, 12)])
def test_streams(kernel, stream, handle):
    kernel(matrix(), 1.0, matrix(), stream=stream)
    assert kernel.code.stream == handle


class GpuTensor:
    """What `stream_of` asks of a tensor."""

    is_cuda = True
    device = "cuda:3"

    def get_device(self):
        return 3


@pytest.mark.parametrize("quick", [True, False])
def test_the_current_stream_of_torch(monkeypatch, quick):
    slow, fast = SimpleNamespace(), SimpleNamespace()
    if quick:
        fast._cuda_getCurrentRawStream = {3: 21}.get
    else:
        slow.current_stream = {"cuda:3": SimpleNamespace(cuda_stream=21)}.get
    torch = SimpleNamespace(Tensor=GpuTensor, cuda=slow, _C=fast)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert stream_of([1.5, GpuTensor()]) == 21


def test_no_stream(kernel):
    with pytest.raises(LaunchRefused, match="no stream"):
        kernel(matrix(), 1.0, matrix(), stream="main")


def read_only():
    array = matrix()
    array.flags.writeable = False
    return array


def crooked():
    return np.zeros(7001, np.float16)[1:].reshape(100, 70)


SAME = matrix()

REFUSED = {
    "takes 3 arguments": (matrix(), 1.0),
    "`b` is f16, f32 was given": (matrix(), 1.0, matrix(dtype=np.float32)),
    "`b`: M is 100, 101 was given": (matrix(), 1.0, matrix(101)),
    "`s` is 'one', which is no f32": (matrix(), "one", matrix()),
    "`s` is 1e+300": (matrix(), 1e300, matrix()),
    "`b` is not row-major": (matrix(), 1.0, matrix(70, 100).T),
    "`b` has 2 dimensions, 1 were given": (matrix(), 1.0, np.zeros(100, np.float16)),
    "of type `str`": (matrix(), 1.0, "b"),
    "`b` is written, and is read-only": (matrix(), 1.0, read_only()),
    "`a` is at 0x": (crooked(), 1.0, matrix()),
    "`b` is written and overlaps `a`": (SAME, 1.0, SAME),
    "an array of float16 in foreign byte order": (matrix(dtype=">f2"), 1.0, matrix()),
    "complex64 was given": (torch.zeros(100, 70).cfloat(), 1.0, matrix()),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_does_not_fit_is_refused(kernel, says):
    with pytest.raises(LaunchRefused, match=re.escape(says)):
        kernel(*REFUSED[says])
    assert kernel.code.launches == 0


def test_inputs_may_be_read_only(kernel):
    kernel(read_only(), 1.0, matrix())
    assert kernel.code.launches == 1


def test_another_kind_of_argument_is_looked_at_anew(kernel):
    kernel(matrix(), 1.0, matrix())
    with pytest.raises(LaunchRefused):
        kernel(matrix(), 1.0, read_only())


@pytest.mark.parametrize(
    ("memory", "ordinal", "says"),
    [("rocm", None, "`a` is in memory of cpu"), (None, 1, "`a` is on device 0")],
)
def test_another_place_is_refused(artifact, memory, ordinal, says):
    device = open_device("null")
    device.memory, device.ordinal = memory, ordinal
    kernel = LoadedKernel(artifact, device)
    a = matrix() if ordinal is None else FakeTensor(matrix())
    with pytest.raises(LaunchRefused, match=says):
        kernel(a, 1.0, matrix())


@pytest.mark.parametrize(
    ("grid", "fits"),
    [
        ("16777215", True),
        ("16777216", False),
        ("M * 1000000000", False),
        ("-M", True),
    ],
)
def test_a_grid_that_no_launch_can_have_is_refused(changed, artifact, grid, fits):
    made = Artifact(changed(grid=(grid, "1")), artifact.code)
    kernel = LoadedKernel(made, open_device("null"))
    if fits:
        kernel(matrix(), 1.0, matrix())
    else:
        with pytest.raises(LaunchRefused, match="workgroups"):
            kernel(matrix(), 1.0, matrix())


SCALED = [
    # Bytes of packed elements: K is twice the bytes of a row.
    ((("M", "K // 2"), ("M", "3*K // 4")), (3, 32), (3, 48)),
    # Where parts start, and an end.
    ((("M + 1", "K // 2 - 3"), ("2*M - 1", "K")), (4, 29), (5, 64)),
]


@pytest.mark.parametrize(("dims", "first", "second"), SCALED)
def test_extents_that_follow_from_a_symbol_give_its_value(
    changed, manifest, artifact, dims, first, second
):
    bindings = [
        msgspec.structs.replace(row, shape=shape)
        for row, shape in zip(manifest.bindings, dims, strict=True)
    ]
    sizes = (
        msgspec.structs.replace(c, name=n)
        for c, n in zip(manifest.constants[:2], "MK", strict=True)
    )
    made = changed(
        bindings=tuple(bindings),
        constants=(*sizes, manifest.constants[2]),
        grid=("M", "K"),
    )
    kernel = LoadedKernel(Artifact(made, artifact.code), open_device("null"))
    kernel(matrix(*first), 1.0, matrix(*second))
    grid, _, words = kernel.code.last
    assert grid == (3, 64, 1)
    assert struct.unpack("<iif", words) == (3, 64, 1.0)


def test_sizes_beyond_32_bits_are_refused(changed, manifest, artifact):
    shapes = ("M // 1000000000", "N"), ("N", "N")
    rows = zip(manifest.bindings, shapes, strict=True)
    bindings = [msgspec.structs.replace(row, shape=shape) for row, shape in rows]
    made = changed(bindings=tuple(bindings), grid=("1",))
    kernel = LoadedKernel(Artifact(made, artifact.code), open_device("null"))
    with pytest.raises(LaunchRefused, match="M is 3000000000"):
        kernel(matrix(3, 5), 1.0, matrix(5, 5))


def test_second_axis_may_be_longer(changed, artifact):
    made = Artifact(changed(grid=("1", "M * 20000000")), artifact.code)
    kernel = LoadedKernel(made, open_device("null"))
    kernel(matrix(), 1.0, matrix())
    assert kernel.code.last[0] == (1, 2_000_000_000, 1)


def test_extents_beyond_the_limit_are_refused(changed, artifact):
    kernel = LoadedKernel(
        Artifact(changed(max_extent=64), artifact.code), open_device("null")
    )
    with pytest.raises(LaunchRefused, match="beyond"):
        kernel(matrix(), 1.0, matrix())


def test_another_architecture_is_refused(artifact):
    device = open_device("null")
    device.architecture = "gfx90a"
    with pytest.raises(DeviceError, match="gfx90a"):
        LoadedKernel(artifact, device)


def test_device_names():
    assert {"hip", "null"} <= set(device_names())
    with pytest.raises(DeviceError, match="no device"):
        open_device("abacus")
