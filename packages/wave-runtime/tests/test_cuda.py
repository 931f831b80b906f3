"""The CUDA launcher against a driver that records its calls."""

from __future__ import annotations

import ctypes
import struct
import threading
from itertools import product

import msgspec
import numpy as np
import pytest
from fake_libcuda import CONTEXT, FUNCTION, HOPPER, MODULE, Library

from wave_runtime import (
    Artifact,
    DeviceError,
    LaunchRefused,
    LoadedKernel,
    cuda,
    cuda_driver,
    open_device,
)
from wave_runtime.arrays import ArrayView, view
from wave_runtime.cuda_targets import code_names, text_names
from wave_runtime.gpu_array import GpuArray
from wave_runtime.manifest import TensorMapInfo, digest

PTX = b".version 8.3\n.target sm_90a\n"
U64, U32 = ctypes.c_uint64, ctypes.c_uint32


@pytest.fixture
def made(manifest):
    def make(code=PTX, **changes):
        changes = {"target": "sm_90a", **changes}
        size = {"code_bytes": len(code), "code_digest": digest(code)}
        return Artifact(msgspec.structs.replace(manifest, **changes, **size), code)

    return make


@pytest.fixture
def library():
    return Library()


@pytest.fixture
def code(library, made):
    library.parameters = (U64, U64, U32, U32, U32)
    return cuda.CudaDevice(library).load(made())


WORDS = struct.pack("<2if", 100, 70, 1.5)
BUFFERS = ((0x7F00_1234_5670, 64), (0x7F00_2345_6780, 64))


def test_a_kernel_sees_pointers_then_words(code, library):
    code.launch((4, 2, 1), BUFFERS, WORDS, 0x7AAA_0000_0010)
    ((context, shape, values),) = library.launched
    assert context == CONTEXT
    assert shape == (4, 2, 1, 256, 1, 1, 0, 0x7AAA_0000_0010)
    assert values == [BUFFERS[0][0], BUFFERS[1][0], *struct.unpack("<3I", WORDS)]


def test_each_launch_has_its_own_values(code, library):
    for place in (0x1000, 0x2000):
        code.launch((1, 1, 1), ((place, 1), (0x9000, 1)), WORDS, 0)
    assert [values[0] for _, _, values in library.launched] == [0x1000, 0x2000]


class Map(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_ubyte * 128),)

    @property
    def value(self):
        return bytes(self.bytes)


@pytest.fixture
def boxed(library, made):
    library.parameters = (U64, U64, U32, U32, U32, Map)
    maps = (TensorMapInfo("a", (64, 32), 64),)
    return cuda.CudaDevice(library).load(made(tensor_maps=maps))


EVEN = struct.pack("<2if", 100, 72, 1.5)


def test_tensor_maps_are_encoded_once_for_an_address_and_a_shape(boxed, library):
    """Rows of 72 elements of 16 bits; in the driver's words the innermost comes first.

    16 bits are type 1, a swizzle of 64 bytes is 2, and L2 fetches 128 bytes (2).
    """
    other = struct.pack("<2if", 90, 72, 1.5)
    places = [(BUFFERS, EVEN), (((0x3000, 64), BUFFERS[1]), EVEN), (BUFFERS, other)]
    for buffers, words in places * 2:
        boxed.launch((1, 1, 1), buffers, words, 0)
    first = (1, BUFFERS[0][0], (72, 100), (144,), (32, 64), (1, 1), 0, 2, 2, 0)
    assert library.encoded == [
        first,
        (1, 0x3000, *first[2:]),
        (*first[:2], (72, 90), *first[3:]),
    ]
    passed = [values[-1] for _, _, values in library.launched]
    assert passed == [bytes([number]) * 128 for number in (1, 2, 3)] * 2


@pytest.mark.parametrize(
    ("address", "words"), [(0x3008, EVEN), (0x3000, WORDS)], ids=["start", "rows"]
)
def test_memories_that_have_no_tensor_map_are_refused(boxed, library, address, words):
    with pytest.raises(LaunchRefused, match="multiples of 16 bytes"):
        boxed.launch((1, 1, 1), ((address, 64), BUFFERS[1]), words, 0)
    assert not library.launched


def test_maps_are_encoded_where_the_thread_has_no_context(boxed, library):
    """As in a process without torch; some drivers refuse then, others do not."""
    stack, library.stack = library.stack, []
    boxed.launch((1, 1, 1), BUFFERS, EVEN, 0)
    assert library.encoders == [stack[-1]]
    assert library.stack == []


def test_what_the_driver_says_of_a_tensor_map(boxed, library):
    library.status["cuTensorMapEncodeTiled"] = 1
    with pytest.raises(DeviceError, match=r"cuTensorMapEncodeTiled.*extents"):
        boxed.launch((1, 1, 1), BUFFERS, EVEN, 0)


def test_what_changes_between_launches_reaches_the_driver(code, library):
    """What stays is not written down again; each part of a launch may change alone."""
    grids, streams = ((4, 2, 1), (4, 3, 1)), (0, 0x7AAA_0000_0010)
    buffers = [BUFFERS, [*BUFFERS], [(0x3000, 64), BUFFERS[1]]]
    words = (WORDS, struct.pack("<2if", 101, 70, 1.5))
    wanted = []
    for launch in [*product(grids, buffers, words, streams)] * 2:
        code.launch(*launch)
        grid, given, packed, stream = launch
        values = [address for address, _ in given]
        values += struct.unpack("<3I", packed)
        wanted.append((CONTEXT, (*grid, 256, 1, 1, 0, stream), values))
    assert [(c, (*s[:6], 0, s[7] or 0), v) for c, s, v in library.launched] == wanted
    buffers[1][0] = (0x4000, 64)
    code.launch((1, 1, 1), buffers[1], WORDS, 0)
    assert library.launched[-1][2][0] == 0x4000


def test_threads_that_launch_at_once_do_not_share_arguments(code, library):
    """The driver reads the arguments while another thread packs its own."""
    inner, entered = library._cuLaunchKernel, threading.Event()

    def slow(*arguments):
        if not entered.is_set():
            entered.set()
            other = threading.Thread(
                target=code.launch, args=((1, 1, 1), ((0x2000, 1),) * 2, WORDS, 0)
            )
            other.start()
            other.join()
        inner(*arguments)

    form = ctypes.CFUNCTYPE(ctypes.c_int, *cuda_driver.PROTOTYPES["cuLaunchKernel"])
    held = form(lambda *arguments: slow(*arguments) or 0)
    code._start = held
    code.launch((1, 1, 1), ((0x1000, 1),) * 2, WORDS, 0)
    assert [values[0] for _, _, values in library.launched] == [0x2000, 0x1000]


def test_another_context_of_the_thread_comes_back(code, library):
    library.stack = [0x99]
    code.launch((1, 1, 1), BUFFERS, WORDS, 0)
    assert library.launched[0][0] == CONTEXT
    assert library.stack == [0x99]


def test_the_context_that_is_there_already_is_not_pushed(code, library):
    before = len(library.called("cuCtxPushCurrent_v2"))
    code.launch((1, 1, 1), BUFFERS, WORDS, 0)
    assert len(library.called("cuCtxPushCurrent_v2")) == before


def test_text_ends_with_a_nul_and_machine_code_is_taken_as_it_is(library, made):
    device = cuda.CudaDevice(library)
    handed = []
    keep = library.cuModuleLoadDataEx

    def load(place, image, *rest):
        handed.append(image)
        return keep(place, image, *rest)

    library.cuModuleLoadDataEx = load
    device.load(made())
    device.load(made(b"\x7fELF\0cubin"))
    assert handed == [PTX + b"\0", b"\x7fELF\0cubin"]


@pytest.mark.parametrize(("size", "asked"), [(48 << 10, []), (200_000, [200_000])])
def test_large_shared_memory_is_asked_for(library, made, size, asked):
    code = cuda.CudaDevice(library).load(made(lds_bytes=size))
    assert library.called("cuFuncSetAttribute") == [(FUNCTION, 8, n) for n in asked]
    code.launch((1, 1, 1), BUFFERS, WORDS, 0)
    assert library.called("cuLaunchKernel")[0][7] == size


REFUSED = {
    "`add` takes 240000 bytes of shared memory; .* has 232448 at most": {
        "lds_bytes": 240_000
    },
    "`add` has 2048 threads a workgroup; .* has 1024 at most": {"threads": 2048},
    "`add` is machine code for sm_80; .* runs that of sm_90a, sm_90: compile": {
        "target": "sm_80",
        "code": b"\x7fELF",
    },
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_the_gpu_lacks_is_said_before_the_driver_is_asked(library, made, says):
    with pytest.raises(DeviceError, match=says):
        cuda.CudaDevice(library).load(made(**REFUSED[says]))
    assert library.called("cuModuleLoadDataEx") == []


def test_a_kernel_of_another_gpu_is_refused(library, made):
    with pytest.raises(
        DeviceError, match=r"for sm_100a; device cuda is sm_90a: compile it for sm_90a,"
    ):
        LoadedKernel(made(target="sm_100a"), cuda.CudaDevice(library))


@pytest.mark.parametrize("target", ["sm_90a", "sm_90", "sm_80"])
def test_text_for_an_older_gpu_is_taken(library, made, target):
    LoadedKernel(made(target=target), cuda.CudaDevice(library))


@pytest.mark.parametrize(
    ("capability", "machine", "text"),
    [
        ((8, 0), "sm_80", "sm_80 sm_75"),
        ((8, 6), "sm_86 sm_80", "sm_86 sm_80 sm_75"),
        ((9, 0), "sm_90a sm_90", "sm_90a sm_90 sm_89 sm_88 sm_87 sm_86 sm_80 sm_75"),
        ((13, 4), "sm_134a sm_134", "sm_134a sm_134 sm_121 sm_120"),
    ],
)
def test_which_code_a_gpu_runs(capability, machine, text):
    assert " ".join(code_names(capability)) == machine
    assert " ".join(text_names(capability)).startswith(text)


def test_the_assembler_of_the_driver_is_quoted(made):
    library = Library(
        log=b"ptxas application ptx input, line 3; fatal: Parsing error",
        cuModuleLoadDataEx=218,
    )
    with pytest.raises(
        DeviceError,
        match=r"(?s)CUDA_ERROR_INVALID_PTX.*`add`, by the driver of CUDA 13\.2:.* 3;",
    ):
        cuda.CudaDevice(library).load(made())
    assert library.stack == [CONTEXT]


def test_a_module_without_the_kernel_is_unloaded(made):
    library = Library(cuModuleGetFunction=500)
    with pytest.raises(DeviceError, match="`add`; the module has no kernel of that"):
        cuda.CudaDevice(library).load(made())
    assert library.called("cuModuleUnload") == [(MODULE,)]


def test_closing_unloads_once(code, library):
    code.close()
    code.close()
    assert library.called("cuModuleUnload") == [(MODULE,)]


FAILING = {
    "cuInit": lambda device, made: device(),
    "cuDevicePrimaryCtxRetain": lambda device, made: device(),
    "cuModuleLoadDataEx": lambda device, made: device().load(made()),
    "cuFuncSetAttribute": lambda device, made: device().load(made(lds_bytes=99_999)),
    "cuLaunchKernel": lambda device, made: (
        device().load(made()).launch((4, 2, 1), BUFFERS, WORDS, 0)
    ),
    "cuMemAlloc_v2": lambda device, made: device().allocate(64),
    "cuMemcpy": lambda device, made: device().copy(1, 2, 3),
    "cuMemFree_v2": lambda device, made: device().free(1),
    "cuCtxSynchronize": lambda device, made: device().synchronize(),
}


@pytest.mark.parametrize("name", FAILING)
def test_errors_of_the_driver_are_raised_by_name(name, made):
    library = Library(**{name: 2})
    with pytest.raises(
        DeviceError, match=rf"(?s){name}: CUDA_ERROR_OUT_OF_MEMORY: in words \(2\);"
    ):
        FAILING[name](lambda: cuda.CudaDevice(library), made)
    assert library.stack == [CONTEXT]


def test_a_failed_launch_says_how_large_it_was(made):
    library = Library(cuLaunchKernel=701)
    with pytest.raises(
        DeviceError, match=r"4 x 2 x 1 workgroups of 256 threads with 0 bytes.*fewer"
    ):
        cuda.CudaDevice(library).load(made()).launch((4, 2, 1), BUFFERS, WORDS, 0)


def test_a_lost_gpu_is_said():
    library = Library(cuCtxSynchronize=700)
    with pytest.raises(DeviceError, match="cannot use the GPU any more: start it anew"):
        cuda.CudaDevice(library).synchronize()


def test_missing_driver_is_said(monkeypatch):
    monkeypatch.setattr(cuda_driver, "_NAMES", ("no-such-library.so",))
    with pytest.raises(DeviceError, match=r"libcuda\.so\.1"):
        cuda_driver.find_library()


def test_devices_are_opened_by_number(monkeypatch, library):
    monkeypatch.setattr(cuda, "find_library", lambda: library)
    assert open_device("cuda:1").ordinal == 1
    assert open_device("cuda").context == CONTEXT
    assert [row[0] for row in cuda.architectures()] == ["sm_90a", "sm_90a"]
    with pytest.raises(DeviceError, match="no GPU cuda:7: the driver has 2"):
        open_device("cuda:7")
    with pytest.raises(DeviceError, match="no device 'cuda:one'"):
        open_device("cuda:one")


def test_gpus_are_described(library):
    (first, _) = cuda.CudaDevice(library).cards()
    assert first.endswith("(sm_90a, 132 SMs, 141 GiB)")


def gpu_view(place, ordinal=0, shape=(8, 8)):
    return ArrayView(place, shape, "f16", (2 * shape[1], 2), 2, "cuda", ordinal)


def test_memory_elsewhere_is_refused(library, made):
    kernel = LoadedKernel(made(), cuda.CudaDevice(library))
    host = np.zeros((8, 8), "f2")
    with pytest.raises(LaunchRefused, match="`a` is in memory of cpu"):
        kernel(host, 1.0, host)
    with pytest.raises(LaunchRefused, match="`b` is on device 1, the kernel on 0"):
        kernel(gpu_view(0x1000), 1.0, gpu_view(0x2000, 1))
    assert library.launched == []


def test_memory_of_the_gpu_is_passed_uncopied(library, made):
    library.parameters = (U64, U64, U32, U32, ctypes.c_float)
    kernel = LoadedKernel(made(), cuda.CudaDevice(library))
    kernel(gpu_view(0x1000), 1.5, gpu_view(0x2000), stream=0x77)
    ((_, shape, values),) = library.launched
    assert values == [0x1000, 0x2000, 8, 8, 1.5]
    assert shape[-1] == 0x77


@pytest.mark.parametrize(("extent", "fits"), [(65535 * 64, True), (65536 * 64, False)])
def test_the_second_axis_of_a_grid_is_short(library, made, extent, fits):
    """And the first may be longer than that of an AMD GPU."""
    kernel = LoadedKernel(made(grid=("M", "ceildiv(N, 64)")), cuda.CudaDevice(library))
    shape = (17_000_000, extent)
    arguments = gpu_view(0x1000, shape=shape), 1.0, gpu_view(1 << 60, shape=shape)
    kernel = LoadedKernel(
        made(
            grid=("M", "ceildiv(N, 64)"),
            bindings=tuple(
                msgspec.structs.replace(row, limit=None)
                for row in kernel.manifest.bindings
            ),
        ),
        kernel.device,
    )
    if fits:
        kernel(*arguments)
        assert library.launched[0][1][:2] == (17_000_000, 65535)
    else:
        with pytest.raises(LaunchRefused, match=r"axis 1.* device cuda takes 65535"):
            kernel(*arguments)


def test_an_array_is_copied_to_the_gpu_and_back_and_its_memory_given_back(library):
    device = cuda.CudaDevice(library)
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    placed = GpuArray(device, array)
    seen = view(placed)
    assert (seen.shape, seen.dtype, seen.contiguous) == ((2, 3), "f16", True)
    assert not seen.is_in(("cpu",))
    placed.fetch(array)
    assert library.called("cuMemcpy") == [
        (seen.pointer, array.ctypes.data, 12),
        (array.ctypes.data, seen.pointer, 12),
    ]
    del placed, seen
    assert len(library.called("cuMemFree_v2")) == 1


def test_a_gpu_that_is_full_keeps_nothing():
    library = Library(cuMemAlloc_v2=2)
    with pytest.raises(DeviceError, match="pass smaller arrays"):
        GpuArray(cuda.CudaDevice(library), np.zeros(4))
    assert library.called("cuMemFree_v2") == []


def test_an_older_gpu_has_less():
    library = Library({**HOPPER, 75: 8, 76: 6, 97: 101_376})
    device = cuda.CudaDevice(library)
    assert device.architecture == "sm_86"
    assert device.machine_code == ("sm_86", "sm_80")
    assert device.runs == ("sm_86", "sm_80", "sm_75")
    assert device.card.shared_bytes == 101_376
