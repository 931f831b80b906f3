"""Launches like an earlier one need a glance; others are checked as the first."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import WaveCompileOptions, wave_compile
from wave_core.compile.launch import run
from wave_core.compile.launch.accepted import KEPT
from wave_core.diagnostics import LaunchError

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 8, 0),
    tkw.WorkgroupConstraint(N, 64, 1),
    tkw.HardwareConstraint(threads_per_wave=64),
    tkw.Assumption(M < 100),
]


@tkw.wave(CONSTRAINTS)
def scaled(
    a: tkl.Memory[M, N, GLOBAL, tkl.f32],
    by: tkl.f32,
    rows: tkl.i32,
    b: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    tkw.set_symbol(tkl.sym.ROWS, rows)
    tkw.write(tkw.read(a) * tkw.broadcast(by, target_shape=[M, N]), b)


@pytest.fixture
def checked(monkeypatch):
    """How many launches were checked in full."""
    count = []
    prepare = run.prepare
    monkeypatch.setattr(run, "prepare", lambda *a: count.append(1) or prepare(*a))
    return count


@pytest.fixture
def kernel(make_session):
    options = WaveCompileOptions(dynamic_symbols=[M, N], device="sim")
    session = make_session(sim={"requires": {"expanded"}})
    return wave_compile(options, scaled, session=session)


def tensors(m=16, n=64):
    return torch.rand(m, n), torch.empty(m, n)


def test_alike_launches_are_checked_once(kernel, checked, make_session):
    for by in (2.0, 3.0, 4):
        a, b = tensors()
        kernel(a, by, 7, b)
        assert torch.equal(a, b)
    kernel(a, rows=7, by=1.0, b=b)
    assert len(checked) == 1
    assert [call.arguments[1] for call in make_session.calls()] == [2.0, 3.0, 4, 1.0]
    assert {call.sizes["M"] for call in make_session.calls()} == {16}


def test_what_checks_look_at_is_looked_at_again(kernel, checked):
    a, b = tensors()
    kernel(a, 1.0, 7, b)
    kernel(*tensors(8)[:1], 1.0, 7, tensors(8)[1])
    kernel(a.numpy(), 1.0, 7, b.numpy())
    kernel(a, 1.0, 8, b)
    kernel(a, np.float32(1), 8, b)
    assert len(checked) == 5
    kernel(a.numpy(), 2.0, 7, b.numpy())
    kernel(a, 2.0, 8, b)
    assert len(checked) == 5


def read_only(array):
    array = array.numpy()
    array.flags.writeable = False
    return array


def odd(array):
    raw = torch.zeros(array.numel() * 4 + 1, dtype=torch.uint8)[1:].numpy()
    return raw.view(np.float32).reshape(array.shape)


A, B = tensors()
WHOLE = torch.zeros(17, 64)
LARGE = torch.zeros(104, 64)
WRONG = {
    "sizes that disagree": (A[:8], 1.0, 7, B),
    "an assumption": (LARGE, 1.0, 7, LARGE.clone()),
    "type": (A.double(), 1.0, 7, B),
    "rank": (A[None], 1.0, 7, B),
    "the same memory": (A, 1.0, 7, A),
    "memory in part": (WHOLE[:-1], 1.0, 7, WHOLE[1:]),
    "an output on itself": (A, 1.0, 7, B[:1].expand(16, 64)),
    "read-only": (A, 1.0, 7, read_only(B.clone())),
    "gradients": (A.clone().requires_grad_(), 1.0, 7, B),
    "a large number": (A, 1e39, 7, B),
    "an integer out of range": (A, 1.0, 2**40, B),
    "truth for an integer": (A, 1.0, True, B),
    "a number for a tensor": (A, 1.0, 7, 1.0),
    "a tensor for a number": (A, A, 7, B),
    "an address": (odd(A), 1.0, 7, B.numpy()),
    "too few": (A, 1.0, 7),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_after_right_launches(kernel, case, make_session):
    given = WRONG[case]
    with pytest.raises(LaunchError) as first:
        kernel(*given)
    kernel(A, 1.0, 7, B)
    kernel(A.numpy(), 1.0, 7, B.numpy())
    before = len(make_session.calls())
    with pytest.raises(LaunchError) as again:
        kernel(*given)
    assert again.value.code == first.value.code
    assert len(make_session.calls()) == before


def test_gradients_are_asked_for_at_each_launch(kernel, checked):
    tracked = A.clone().requires_grad_()
    with torch.no_grad():
        for _ in range(3):
            kernel(tracked, 1.0, 7, B)
    assert len(checked) == 1
    with pytest.raises(LaunchError):
        kernel(tracked, 1.0, 7, B)


def test_few_kinds_of_launches_are_remembered(kernel, checked):
    for rows in [*range(100), *range(100)]:
        kernel(A, 1.0, rows, B)
    assert len(checked) == 200
    assert len(kernel.compiled.accepted._known) <= KEPT
