"""Searches for garbage wait for compilations, and for nothing else."""

from __future__ import annotations

import gc

import pytest

import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.compile.garbage import garbage_waits

M = tkw.sym.M
OPTIONS = tkw.WaveCompileOptions(subs={M: 64}, device="sim")


@pytest.fixture
def searching():
    """Whether garbage was searched for, each time that a kernel was traced."""
    return []


def kernel(found):
    @tkw.wave([tkw.HardwareConstraint(), tkw.WorkgroupConstraint(M, 64, 0)])
    def copy(
        a: tkw.Memory[M, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
        b: tkw.Memory[M, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
    ):
        found.append(gc.isenabled())
        tkw.write(tkw.read(a), b)

    return copy


def test_none_is_searched_for_while_a_kernel_is_compiled(searching, make_session):
    wave_compile(OPTIONS, kernel(searching), session=make_session())
    assert searching
    assert not any(searching)
    assert gc.isenabled()


def failing():
    raise ValueError


def test_it_is_searched_for_after_a_failure():
    with pytest.raises(ValueError), garbage_waits():
        failing()
    assert gc.isenabled()


def test_what_the_author_has_turned_off_stays_off():
    gc.disable()
    try:
        with garbage_waits():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_compilations_that_overlap_leave_it_on():
    first, second = garbage_waits(), garbage_waits()
    with first:
        second.__enter__()
    second.__exit__(None, None, None)
    assert gc.isenabled()
