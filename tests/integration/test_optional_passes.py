"""Core's passes: those that may be left out, and those that may not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kernel_shapes import ENOUGH

import wave_kernels.plugin as kernels
import wave_sim_cpu.plugin as simulator
from wave_core.builtin.pipeline import CORE_PASSES
from wave_core.compile import Session, wave_compile
from wave_core.compile.check_case import run_case
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_kernels.plugin import KERNELS

OPTIONAL = [spec.name for spec in CORE_PASSES if not spec.essential]
ESSENTIAL = [spec.name for spec in CORE_PASSES if spec.essential]


@pytest.fixture(scope="module", name="session")
def _session():
    # Without the packages whose passes replace some of core's.
    plugins = {"kernels": kernels, "sim": simulator}
    return Session(plugins, entry_points=(), announce=lambda _: None)


def prepared(session, kernel, disabled):
    """The case of a kernel, and options that disable a pass."""
    factory, shape = session.plugins.load_kernel(kernel), ENOUGH.get(kernel, {})
    case = make_case(factory, kernel, shape, {}, "generic")
    return case, replace(case.options, device="sim", disable_passes=(disabled,))


@pytest.mark.covering(1, "name")
@pytest.mark.parametrize("kernel", [spec.name for spec in KERNELS])
@pytest.mark.parametrize("name", OPTIONAL)
def test_kernels_are_right_without_an_optional_pass(session, kernel, name):
    case, options = prepared(session, kernel, name)
    report = run_case(case, options=options, session=session, seed=7)
    assert report.passed
    ran = {row.name for row in report.kernel.pipeline if row.runs}
    assert ran & set(OPTIONAL) == set(OPTIONAL) - {name}


@pytest.mark.parametrize("name", ESSENTIAL)
def test_essential_passes_cannot_be_disabled(session, name):
    case, options = prepared(session, "gemm", name)
    with pytest.raises(
        UserError, match=f"option disable_passes disables pass `{name}`"
    ) as caught:
        wave_compile(options, case.kernel, session=session)
    assert caught.value.code == "WV0828"
