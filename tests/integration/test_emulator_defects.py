"""Defects planted in the machine code of our kernels: found, or harmless.

A defect is reported by the emulator, or leaves the outputs as they were over random
orders of completion. A limit that guards a value and no address cannot be either: it
changes what the program means, and shows against the reference of the kernel.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import wave_backend_amdgpu.plugin as amdgpu
import wave_kernels.plugin as kernels
import wave_sim_cpu.plugin as simulator
from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_emulator_amdgcn import LaunchOptions, emulate, load
from wave_emulator_amdgcn.errors import EmulatorError
from wave_emulator_amdgcn.hazards.planted import planted

LOG = logging.getLogger(__name__)
TARGET = "gfx942"
# Name, sizes, settings; the second of each pair has tiles that stand over the edge.
KERNELS = {
    "gemm": ("gemm", {"M": 64, "N": 64, "K": 64}, {"BLOCK_M": 64, "BLOCK_N": 64}),
    "gemm over the edge": (
        "gemm", {"M": 72, "N": 100, "K": 40}, {"BLOCK_M": 64, "BLOCK_N": 64},
    ),
    "gemm staged": (
        "gemm-staged", {"M": 64, "N": 64, "K": 64}, {"BLOCK_M": 64, "BLOCK_N": 64},
    ),
    "gemm staged over the edge": (
        "gemm-staged", {"M": 50, "N": 60, "K": 40}, {"BLOCK_M": 64, "BLOCK_N": 64},
    ),
    "softmax": ("softmax", {"M": 8, "N": 256}, {}),
    "softmax over the edge": ("softmax", {"M": 8, "N": 100}, {}),
    "attention": (
        "attention", {"B": 1, "M": 64, "N": 32, "K1": 32, "K2": 64},
        {"BLOCK_M": 64, "BLOCK_N": 32},
    ),
    "attention over the edge": (
        "attention", {"B": 1, "M": 50, "N": 32, "K1": 32, "K2": 50},
        {"BLOCK_M": 64, "BLOCK_N": 32},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """A kernel with what it takes to launch it."""

    case: Any
    data: bytes
    manifest: dict[str, Any]

    def launch(self, data, **options):
        """Reports, and the bytes of the outputs."""
        arguments = self.case.make_arguments(np.random.default_rng(1))
        named = dict(zip(self.manifest["parameters"], arguments, strict=True))
        grid = [int(count) for count in self.manifest["grid"]]
        result = emulate(
            load(data),
            [named[row["name"]] for row in self.manifest["bindings"]],
            grid=(*grid, 1, 1)[:3],
            options=LaunchOptions(step_limit=500_000, **options),
        )
        return result.reports, [arguments[k] for k in self.case.outputs]

    def far_from_reference(self, outputs):
        """Whether outputs differ from what the kernel should compute."""
        arguments = self.case.make_arguments(np.random.default_rng(1))
        wanted = self.case.reference(arguments)
        scale = self.case.scale(arguments) if self.case.scale else None
        worst = max(
            float(np.max(np.abs(np.nan_to_num(got.astype("f8"), nan=9e9) - want)))
            for got, want in zip(outputs, wanted, strict=True)
        )
        limit = scale or max(float(np.abs(want).max()) for want in wanted)
        return worst > self.case.tolerance * limit


@pytest.fixture(scope="module")
def compiled():
    """A kernel of `KERNELS`, compiled for gfx942."""
    session = Session(
        {"amdgpu": amdgpu, "kernels": kernels, "sim": simulator},
        Config(cache=False),
        entry_points=(),
        announce=lambda _: None,
    )

    def make(title):
        name, sizes, settings = KERNELS[title]
        factory = session.plugins.load_kernel(name)
        case = make_case(factory, name, sizes, settings, TARGET)
        case = replace(case, options=replace(case.options, target=TARGET))
        files = emit(case.options, case.kernel, "hsaco", session).files
        return Compiled(case, files["code.hsaco"], json.loads(files["manifest.json"]))

    return make


def outcome(kernel, defect, want, orders):
    """reported, identical; reference where only that shows it; else missed."""
    try:
        reports, outputs = kernel.launch(defect.code, strict=True)
        if reports:
            return "reported"
        for order in range(orders + 1):
            if [x.tobytes() for x in outputs] != want:
                wrong = kernel.far_from_reference(outputs)
                return "reference" if wrong else "missed"
            _, outputs = kernel.launch(defect.code, order=order)
    except EmulatorError:
        return "reported"
    return "identical"


def study(kernel, orders, step):
    """Outcomes of defects by kind."""
    reports, outputs = kernel.launch(kernel.data, strict=True)
    assert reports == ()
    assert not kernel.far_from_reference(outputs)
    want = [x.tobytes() for x in outputs]
    for order in range(orders):
        _, outputs = kernel.launch(kernel.data, order=order)
        assert [x.tobytes() for x in outputs] == want
    return Counter(
        (defect.kind, outcome(kernel, defect, want, orders))
        for defect in list(planted(kernel.data))[::step]
    )


def check(found):
    """Waits and barriers are reported or harmless; a limit may change the meaning."""
    kinds = {kind for kind, what in found if what == "missed"}
    assert not kinds, found
    assert {kind for kind, what in found if what == "reference"} <= {"bound"}, found


@pytest.mark.parametrize("title", KERNELS)
def test_some_planted_defects(compiled, title):
    found = study(compiled(title), orders=2, step=5)
    check(found)
    assert any(what == "reported" for _, what in found)


@pytest.mark.fuzz
@pytest.mark.parametrize("title", KERNELS)
def test_every_planted_defect_over_50_orders(compiled, title):
    found = study(compiled(title), orders=50, step=1)
    LOG.info("%s %s", title, dict(found))
    check(found)
