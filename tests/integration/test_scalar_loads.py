"""Words that all lanes load are loaded once for a wave, by the backend `asm`."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
import workspace
from wave_backend_asm.codegen import module
from wave_core.compile import Config, Session, wave_compile
from wave_kernels.definitions.gather import gather_kernel

CHIPS = ("gfx942", "gfx950")
Flags = tkw.MemoryAccessFlags
M, N, ROWS, P = (getattr(tkl.sym, name) for name in ("M", "N", "ROWS", "P"))
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
LOAD = "s_buffer_load_dword"
WORDS = {"i32": torch.int32, "f32": torch.float32}
ENDS = (-(2**31), 1 - 2**31, -1, 0, 1, 2**31 - 1)


@pytest.fixture(scope="module")
def session():
    config, points = Config(cache=False), workspace.plugins()
    return Session(config=config, entry_points=points, announce=lambda _: None)


def launched(session, kernel, chip, subs, *arrays):
    """The assembly of a kernel, which ran with no report."""
    options = tkl.WaveCompileOptions(
        subs=subs, target=chip, device="emulator", backend="asm"
    )
    compiled = wave_compile(options, kernel, session=session)
    compiled(*arrays)
    assert compiled.last_run.reports == ()
    return compiled.asm


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_rows_are_those_of_their_numbers(session, rows, chip):
    """And 0 where there is none of a number, as far from them as it may be."""
    numbers = [*ENDS, rows - 1, rows, rows + 1]
    table = torch.randn(rows, 65)
    indices = torch.tensor(numbers, dtype=torch.int32)
    y = torch.full((len(numbers), 65), 7.0)
    subs = {M: len(numbers), N: 65, ROWS: rows}
    text = launched(session, gather_kernel(), chip, subs, table, indices, y)
    assert text.count(LOAD) == 1
    wanted = [table[n] if 0 <= n < rows else torch.zeros(65) for n in numbers]
    assert torch.equal(y, torch.stack(wanted))


I, J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
NEXT = tkw.IndexMapping(1, inputs={M: I + 1}, outputs={M: I})
BLOCKS = [
    tkw.WorkgroupConstraint(M, 1, 0),
    tkw.WorkgroupConstraint(N, 64, 1),
    tkw.HardwareConstraint(vector_shapes={M: 1, N: 64}),
]


def summed(dtype=tkl.i32, *, flags=Flags.NONE, after=None):
    """Number and next one, 0 behind the last, of each row beside its elements."""

    @tkw.wave(BLOCKS)
    def summed(
        numbers: tkl.Memory[M, GLOBAL, dtype],
        x: tkl.Memory[M, N, GLOBAL, dtype],
        y: tkl.Memory[M, N, GLOBAL, dtype],
    ):
        own = tkw.read(numbers, flags=flags)
        next_ = tkw.read(numbers, mapping=NEXT, bounds={M: M}, flags=flags)
        tkw.write(tkw.read(x) * (own - next_), y)
        if after is not None:
            after(numbers, own)

    return summed


def sums(session, kernel, dtype, chip="gfx942", rows=5, columns=70):
    """The assembly of `summed`, whose results were right."""
    numbers, x = (
        torch.randint(0, 2**7, shape).to(dtype) for shape in [(rows,), (rows, columns)]
    )
    y = torch.full_like(x, 7)
    given = numbers.clone()
    text = launched(session, kernel, chip, {M: rows, N: columns}, numbers, x, y)
    behind = torch.cat([given[1:], torch.zeros(1, dtype=dtype)])
    assert torch.equal(y, x * (given - behind)[:, None])
    return text


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("dtype", ["i32", "f32"])
def test_what_is_behind_the_end_is_zero(session, dtype, rows, chip):
    kernel, kind = summed(getattr(tkl, dtype)), WORDS[dtype]
    assert sums(session, kernel, kind, chip, rows).count(LOAD) == 2


@pytest.mark.parametrize("dtype", ["i64", "i16", "i8"])
def test_other_elements_are_loaded_by_lanes(session, dtype):
    kinds = {"i64": torch.int64, "i16": torch.int16, "i8": torch.int8}
    assert LOAD not in sums(session, summed(getattr(tkl, dtype)), kinds[dtype])


CHANGES = {
    "written": lambda numbers, own: tkw.write(own, numbers),
    "counted": lambda numbers, own: tkw.atomic_add(own - own, numbers),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_may_change_is_loaded_by_lanes(session, change):
    kernel = summed(after=CHANGES[change])
    assert LOAD not in sums(session, kernel, torch.int32, rows=1, columns=64)


@pytest.mark.parametrize("flags", [Flags.VOLATILE, Flags.NONTEMPORAL])
def test_what_has_flags_is_loaded_by_lanes(session, flags):
    assert LOAD not in sums(session, summed(flags=flags), torch.int32)


def test_registers_of_lanes_take_what_those_of_waves_do_not(session, monkeypatch):
    assembled = module.assembled_program

    def without_room(lines, chip, budget, *rest, **how):
        full = any(getattr(line, "name", "") == LOAD for line in lines)
        given = replace(budget, scalar=8) if full else budget
        return assembled(lines, chip, given, *rest, **how)

    monkeypatch.setattr(module, "assembled_program", without_room)
    assert LOAD not in sums(session, summed(), torch.int32)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("turns", [1, 2, 300])
def test_a_loop_loads_one_for_each_turn(session, turns, chip):
    """And one in a branch that some workgroups take."""

    @tkw.wave([*BLOCKS, tkw.TilingConstraint(P, 1)])
    def chained(
        numbers: tkl.Memory[M, P, GLOBAL, tkl.i32], y: tkl.Memory[M, N, GLOBAL, tkl.i32]
    ):
        zero = tkl.Register[M, N, tkl.i32](0)

        @tkw.iterate(P, init_args=[zero])
        def each(found):
            @tkw.conditional(tkw.WORKGROUP_0 > 0, else_return=found)
            def most(found):
                return found * 3 + tkw.sum(tkw.read(numbers), dim=P)

            return most + tkw.sum(tkw.read(numbers), dim=P)

        tkw.write(each, y)

    numbers = torch.randint(-50, 50, (3, turns), dtype=torch.int32)
    y = torch.full((3, 70), 7, dtype=torch.int32)
    text = launched(session, chained, chip, {M: 3, N: 70, P: turns}, numbers, y)
    assert LOAD in text
    wanted = torch.zeros(3, dtype=torch.int32)
    factors = torch.tensor([[1, 3, 3], [1, 2, 2]], dtype=torch.int32)
    for number in numbers.T:
        wanted = wanted * factors[0] + number * factors[1]
    assert torch.equal(y, wanted[:, None].expand(3, 70))
