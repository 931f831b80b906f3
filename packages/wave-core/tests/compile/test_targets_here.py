"""What `auto` means for the target, and a device name that two backends share."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from wave_core.compile import Session, WaveCompileOptions, wave_compile
from wave_core.compile.devices import find_device, pick_target
from wave_core.diagnostics import PluginError, UserError
from wave_core.plugin import BackendSpec, ExecutorSpec, TargetSpec, hookimpl
from wave_runtime import DeviceError

GENERIC = "wave_core.targets:generic_target"


def plugin(executors, backends=(), targets=()):
    """A plugin of these rows; backends by name, with the targets that they know."""

    @hookimpl
    def wave_register_executors():
        yield from executors

    @hookimpl
    def wave_register_backends():
        for name, known in backends:
            yield BackendSpec(name, "no:Backend", known, ("asm",))

    @hookimpl
    def wave_register_targets():
        for name in targets:
            yield TargetSpec(name, GENERIC, "")

    made = types.ModuleType("vendor")
    made.REQUIRES_API = (1, 0)
    for each in (
        wave_register_executors,
        wave_register_backends,
        wave_register_targets,
    ):
        setattr(made, each.__name__, each)
    return made


def vendor(name, *targets):
    """A GPU device, and an emulator by the name that all vendors give theirs."""
    gpus = f"vendor_gpus:{name}"
    return plugin(
        [
            ExecutorSpec(f"gpu-{name}", "no:Gpu", backend=name, architectures=gpus),
            ExecutorSpec("emulator", f"no:{name}", backend=name),
        ],
        [(name, targets)],
        targets,
    )


@pytest.fixture
def session(monkeypatch):
    """A session of vendors and of the GPUs that each finds."""
    module = types.ModuleType("vendor_gpus")
    monkeypatch.setitem(sys.modules, "vendor_gpus", module)

    def make(plugins, **gpus):
        for name in plugins:
            found = gpus.get(name, ())

            def look(found=found):
                if not found:
                    raise DeviceError("no driver")
                return found

            setattr(module, name, look)
        simulator = plugin([ExecutorSpec("sim", "toy_device:Toy")])
        said = []
        made = Session(
            {**plugins, "sim": simulator}, entry_points=(), announce=said.append
        )
        made.said = said
        return made

    return make


ONE = {"one": vendor("one", "r1", "r2")}
TWO = {**ONE, "two": vendor("two", "g1", "g2")}


@pytest.mark.parametrize(("target", "plugin"), [("r2", "one"), ("g1", "two")])
def test_a_shared_device_is_that_of_the_backend_that_knows_the_target(
    session, target, plugin
):
    found = find_device(session(TWO), "emulator", target)
    assert (found.name, found.provider) == ("emulator", plugin)
    assert found.key == f"emulator ({plugin})"


def test_a_device_that_is_not_shared_keeps_its_name(session):
    found = find_device(session(ONE), "emulator", "generic")
    assert (found.key, found.provider) == ("emulator", "one")


def test_a_shared_device_of_which_none_knows_the_target(session):
    with pytest.raises(UserError) as caught:
        find_device(session(TWO), "emulator", "generic")
    assert caught.value.diagnostics[0].render() == (
        "error[WV0719]: no device `emulator` runs code of target `generic`\n"
        "  = note: asks for device `emulator`\n"
        "  = note: that of `one` runs r1, r2\n"
        "  = note: that of `two` runs g1, g2\n"
        "  = help: choose one of these targets: `target=`, or `--target`\n"
        "  = help: or a simulator, which runs every target: device='sim'"
    )


def test_a_device_that_is_not_here_names_the_packages_that_bring_it(session):
    with pytest.raises(UserError) as caught:
        find_device(session({}), "emulator", "generic")
    assert caught.value.diagnostics[0].help[:2] == (
        "pip install wave-backend-amdgpu",
        "pip install wave-backend-nvgpu",
    )


SHARED = {
    "of one backend": (ExecutorSpec("x", "a:A", backend="b"),) * 2,
    "of no backend": (ExecutorSpec("x", "a:A"), ExecutorSpec("x", "a:B", backend="b")),
}


@pytest.mark.parametrize("rows", SHARED)
def test_two_devices_of_one_name_that_no_target_tells_apart(session, rows):
    one, two = SHARED[rows]
    made = session({"one": plugin([one]), "two": plugin([two])})
    with pytest.raises(PluginError, match="executor `x` is registered") as caught:
        _ = made.plugins.executors
    assert caught.value.code == "WV0812"


HERE = {
    "nothing": ({}, "auto", "generic"),
    "the best that is installed": ({"two": (("new", "g2", "g1"),)}, "auto", "g2"),
    "the first of several": ({"two": (("g1",), ("g2",))}, "auto", "g1"),
    "vendors by name": ({"one": (("r1",),), "two": (("g1",),)}, "auto", "r1"),
    "the vendor of the device": (
        {"one": (("r1",),), "two": (("g1",),)},
        "gpu-two",
        "g1",
    ),
    "simulators run all": ({"two": (("g1",),)}, "sim", "g1"),
    "a shared device": ({"two": (("g1",),)}, "emulator", "g1"),
    "the GPU of another vendor": ({"two": (("g1",),)}, "gpu-one", "generic"),
    "a GPU without a target": ({"two": (("new",),)}, "auto", "generic"),
}


@pytest.mark.parametrize("case", HERE)
def test_auto_is_the_best_target_of_a_gpu_that_is_here(session, case):
    gpus, device, expected = HERE[case]
    assert pick_target(session(TWO, **gpus), device).name == expected


WITHOUT = {
    "no driver": ({}, "gpu-one", "no GPU was found: no driver"),
    "the GPU of another vendor": (
        {"two": (("g1",),)},
        "gpu-one",
        "no GPU was found: no driver",
    ),
    "a GPU without a target": (
        {"two": (("new",),)},
        "gpu-two",
        "no installed target for device `gpu-two` fits the GPU here: new",
    ),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_a_kind_of_gpu_that_is_not_here(session, copy_kernel, tiles, case):
    gpus, device, why = WITHOUT[case]
    options = WaveCompileOptions(
        subs={"M": 20, "N": 70, **tiles}, target="auto", device=device
    )
    with pytest.raises(UserError) as caught:
        wave_compile(options, copy_kernel, session=session(TWO, **gpus))
    (found,) = caught.value.diagnostics
    assert found.code == "WV0719"
    assert (
        found.message == f"device `{device}` has no GPU here that a kernel can run on"
    )
    assert found.notes == (why,)
    assert found.primary.location == options.location


def test_a_gpu_that_no_target_fits_is_told(session):
    made = session(TWO, two=(("new", "newer"),))
    assert made.target("auto").name == "generic"
    (said,) = made.said
    assert said == (
        "no installed target for device `auto` fits the GPU here: new; kernels are"
        " compiled for target `generic` (say target='generic' to choose it)"
    )


def test_a_kernel_is_compiled_for_the_gpu_that_is_here(
    make_session, copy_kernel, tiles, monkeypatch
):
    gpus = types.ModuleType("vendor_gpus")
    gpus.found = lambda: (("best", "generic"),)
    monkeypatch.setitem(sys.modules, "vendor_gpus", gpus)
    session = make_session(
        gpu={"architectures": "vendor_gpus:found", "requires": {"expanded"}}
    )
    options = WaveCompileOptions(subs={"M": 20, "N": 70, **tiles}, target="auto")
    kernel = wave_compile(options, copy_kernel, session=session)
    a, b = np.ones((20, 70), np.float16), np.zeros((20, 70), np.float16)
    kernel(a, b)
    assert (a == b).all()
    assert kernel.compiled.target.name == kernel.options.target == "generic"
    of_target, of_device = session.said
    assert of_target == (
        "a GPU of target `generic` is here; kernels are compiled for target `generic`"
        " (say target='generic' to choose it)"
    )
    assert "kernels run on the device `gpu`" in of_device


def test_without_a_gpu_nothing_is_said_of_the_target(make_session, copy_kernel, tiles):
    session = make_session()
    options = WaveCompileOptions(
        subs={"M": 20, "N": 70, **tiles}, target="auto", device="sim"
    )
    assert wave_compile(options, copy_kernel, session=session).options.target == (
        "generic"
    )
    assert session.said == []
