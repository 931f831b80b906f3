"""Tensors on GPUs reach the devices of GPUs; `auto` picks what is there."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import torch

from wave_core.compile import KernelCase, WaveCompileOptions, wave_compile
from wave_core.compile.check_case import run_case
from wave_core.diagnostics import LaunchError
from wave_runtime import DeviceError

SIZES = {"M": 20, "N": 70}
CUDA = {"requires": {"expanded"}, "reads": ("cuda",), "strided": False}


class Remote:
    """A tensor of torch on a GPU, as far as a launch looks at it."""

    dtype, layout, is_nested, requires_grad = torch.float16, torch.strided, False, False
    __torch_dispatch__ = torch.Tensor.__torch_dispatch__

    def __init__(self, address, ordinal=0, strides=(70, 1)):
        self.shape, self.device = torch.Size((20, 70)), torch.device("cuda", ordinal)
        self.data_ptr = lambda: address
        self.stride = lambda: strides

    is_contiguous = data_ptr = lambda self: True
    is_neg = is_conj = lambda self: False
    element_size = lambda self: 2  # noqa: E731


class Interface:
    """An array with nothing but the interface of CUDA arrays."""

    def __init__(self, address):
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (20, 70),
            "typestr": "<f2",
            "version": 3,
        }


def compiled(session, tiles, kernel, device="cuda", **more):
    options = WaveCompileOptions(subs={**SIZES, **tiles}, device=device, **more)
    return wave_compile(options, kernel, session=session)


@pytest.fixture
def on_cuda(make_session, copy_kernel, tiles):
    return compiled(
        make_session(cuda=CUDA, sim={"requires": set()}), tiles, copy_kernel
    )


@pytest.mark.parametrize("ordinal", [0, 1])
def test_tensors_reach_the_device_of_their_gpu_uncopied(on_cuda, make_session, ordinal):
    on_cuda(Remote(0x7000, ordinal), Remote(0x9000, ordinal))
    (request,) = make_session.calls()
    assert [each.pointer for each in request.views] == [0x7000, 0x9000]
    assert [each.place for each in request.views] == [f"cuda:{ordinal}"] * 2
    assert request.ordinal == ordinal


def test_cuda_arrays_of_other_libraries_do_too(on_cuda, make_session):
    on_cuda(Interface(0x7000), Remote(0x9000))
    (request,) = make_session.calls()
    assert [each.pointer for each in request.views] == [0x7000, 0x9000]


def wrong(kernel, *arguments):
    with pytest.raises(LaunchError) as caught:
        kernel(*arguments)
    (found,) = caught.value.diagnostics
    return found


def test_tensors_of_the_cpu_are_refused_by_a_gpu(on_cuda, make_session):
    found = wrong(on_cuda, np.zeros((20, 70), np.float16), Remote(0x9000))
    assert found.code == "WV0708"
    assert "on device `cpu`" in found.message
    assert "device `cuda` reads and writes memory of cuda" in found.notes[0]
    assert make_session.calls() == []


def test_tensors_of_a_gpu_are_refused_by_a_simulator(make_session, copy_kernel, tiles):
    session = make_session(sim={"requires": {"expanded"}})
    kernel = compiled(session, tiles, copy_kernel, "sim")
    found = wrong(kernel, Remote(0x7000), np.zeros((20, 70), np.float16))
    assert found.code == "WV0708"
    assert "on device `cuda:0`" in found.message
    assert "argument.cpu()" in found.help[0]


def test_two_gpus_are_refused(on_cuda):
    found = wrong(on_cuda, Remote(0x7000, 0), Remote(0x9000, 1))
    assert found.code == "WV0708"
    assert "on device `cuda:1`, and `a` is on `cuda:0`" in found.message


def test_outputs_on_a_gpu_may_not_overlap(on_cuda):
    assert wrong(on_cuda, Remote(0x7000), Remote(0x7010)).code == "WV0712"


def test_views_are_refused_where_machine_code_runs(on_cuda):
    found = wrong(on_cuda, Remote(0x7000, strides=(1, 20)), Remote(0x9000))
    assert found.code == "WV0709"
    assert "device `cuda` takes row-major arrays only" in found.message


@pytest.fixture
def gpus(monkeypatch):
    """Says which GPUs the machine has; ``None`` stands for no driver."""
    module = types.ModuleType("toy_gpus")
    monkeypatch.setitem(sys.modules, "toy_gpus", module)

    def have(found):
        def architectures():
            if found is None:
                raise DeviceError("no driver")
            return found

        module.architectures = architectures
        return {"cuda": {**CUDA, "architectures": "toy_gpus:architectures"}}

    return have


def test_auto_takes_the_gpu_of_the_target(make_session, copy_kernel, tiles, gpus):
    session = make_session(
        **gpus((("other",), ("best", "generic"))), sim={"requires": {"expanded"}}
    )
    kernel = compiled(session, tiles, copy_kernel, "auto", cost_limit=1)
    kernel(Remote(0x7000), Remote(0x9000))
    assert kernel.last_run.device == "cuda"
    (said,) = session.said
    assert said.startswith(
        "a GPU of target `generic` is here; kernels run on the device"
    )


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (None, "no GPU was found: no driver"),
        ((("other", "older"),), "of target `generic`: other"),
    ],
)
def test_auto_falls_back_to_the_simulator(
    make_session, copy_kernel, tiles, gpus, found, says
):
    session = make_session(**gpus(found), sim={"requires": {"expanded"}})
    kernel = compiled(session, tiles, copy_kernel, "auto")
    a, b = np.ones((20, 70), np.float16), np.zeros((20, 70), np.float16)
    kernel(a, b)
    assert (a == b).all()
    (said,) = session.said
    assert says in said
    assert "kernels run on the simulator `sim`" in said


def test_a_driver_that_fails_is_coded(on_cuda, monkeypatch):
    def fail(self, request):
        raise DeviceError("hipModuleLoadData: out of memory")

    monkeypatch.setattr(sys.modules["toy_device"].Toy, "launch", fail)
    found = wrong(on_cuda, Remote(0x7000), Remote(0x9000))
    assert found.code == "WV0708"
    assert "device `cuda` cannot run `copy`: hipModuleLoadData" in found.message


def test_a_case_is_placed_where_the_device_reads(
    make_session, copy_kernel, tiles, monkeypatch
):
    class Placed(Interface):
        def __init__(self, array):
            self.array = array
            super().__init__(0x1000 * (1 + len(placed)))
            placed.append(self)

        def fetch(self, array):
            np.copyto(array, placed[0].array)

    placed = []
    toy = sys.modules["toy_device"].Toy
    monkeypatch.setattr(toy, "place", lambda self, array: Placed(array), raising=False)
    case = KernelCase(
        kernel=copy_kernel,
        options=WaveCompileOptions(subs={**SIZES, **tiles}, device="cuda"),
        shape=SIZES,
        make_arguments=lambda rng: [
            rng.standard_normal((20, 70)).astype(np.float16),
            np.zeros((20, 70), np.float16),
        ],
        reference=lambda given: [given[0]],
        outputs=(1,),
        tolerance=0.0,
    )
    assert run_case(case, session=make_session(cuda=CUDA), seed=0).passed
    (request,) = make_session.calls()
    assert [each.pointer for each in request.views] == [0x1000, 0x2000]
