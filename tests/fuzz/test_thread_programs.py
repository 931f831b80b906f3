"""Random kernels of single threads agree with numpy, whatever executes them.

A program has three values in each thread. It computes, branches, loops as often as
a value of the thread says, and exchanges values through LDS or between lanes.
"""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw

N = tkl.sym.N
Numbers = tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32]
THREADS, VALUES = 128, 3
SYMBOLS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "xor": lambda a, b: a ^ b,
}
WHERE = (
    ("sim-logical", "gfx942", "default"),
    ("sim", "gfx942", "default"),
    ("emulator", "gfx942", "default"),
    ("emulator", "gfx950", "modulo"),
)


def program(rng, depth=0, length=5):
    """Statements; those that all threads have to reach stand at the top only."""
    kinds = ["compute", "compute", "branch", "loop"]
    kinds = kinds if depth < 2 else kinds[:2]
    kinds += [] if depth else ["lds", "shuffle"]
    found = []
    for kind in rng.choice(kinds, rng.integers(1, length + 1)).tolist():
        names = rng.integers(VALUES, size=3).tolist()
        if kind == "compute":
            found.append((kind, rng.choice(sorted(SYMBOLS)).item(), *names))
        elif kind in ("branch", "loop"):
            found.append((kind, names[0], program(rng, depth + 1, 3)))
        else:
            found.append((kind, names[0], names[1], int(rng.integers(1, 32))))
    return found


def expected(statements, values):
    """What the statements make of arrays with one element for each thread."""
    values = list(values)
    for kind, *parts in statements:
        if kind == "compute":
            name, target, a, b = parts
            values[target] = SYMBOLS[name](values[a], values[b])
        elif kind == "branch":
            new = expected(parts[1], values)
            values = pick(values[parts[0]] % 3 == 1, new, values)
        elif kind == "loop":
            count = values[parts[0]] & 7
            for iteration in range(7):
                new = expected(parts[1], values)
                values = pick(count > iteration, new, values)
        else:
            target, source, distance = parts
            thread = np.arange(THREADS)
            other = (
                (thread + distance) % THREADS if kind == "lds" else thread ^ distance
            )
            values[target] = values[source][other]
    return values


def pick(condition, new, old):
    return [np.where(condition, n, o) for n, o in zip(new, old, strict=True)]


def emit(statements, values, shared):
    """The same as a kernel."""
    values = list(values)
    for kind, *parts in statements:
        if kind == "compute":
            name, target, a, b = parts
            values[target] = SYMBOLS[name](values[a], values[b])
        elif kind == "branch":
            values = branch(parts[1], values, values[parts[0]] % 3 == 1)
        elif kind == "loop":
            values = loop(parts[1], values, values[parts[0]] & 7)
        elif kind == "shuffle":
            target, source, distance = parts
            values[target] = tkw.shuffle(values[source], distance, 64)
        else:
            target, source, distance = parts
            thread = tkw.thread_id()
            tkw.store(values[source], shared, thread)
            tkw.shared_memory_barrier()
            values[target] = tkw.load(shared, (thread + distance) % THREADS)
            tkw.shared_memory_barrier()
    return values


def branch(statements, values, condition):
    @tkw.conditional(condition, else_return=values)
    def body():
        return emit(statements, values, None)

    return list(body)


def loop(statements, values, count):
    @tkw.iterate(init_args=[count, *values], condition=lambda left, *_: left > 0)
    def body(left, x, y, z):
        return (left - 1, *emit(statements, (x, y, z), None))

    return list(body)[1:]


def check(seed):
    rng = np.random.default_rng(seed)
    statements = program(rng)

    @tkw.thread([tkw.HardwareConstraint(waves_per_block=(2,))])
    def kernel(x: Numbers, y: Numbers, z: Numbers):
        memories, thread = (x, y, z), tkw.thread_id()
        shared = tkw.allocate(THREADS, dtype=tkl.i32)
        values = [tkw.load(memory, thread) for memory in memories]
        results = emit(statements, values, shared)
        for value, memory in zip(results, memories, strict=True):
            tkw.store(value, memory, thread)

    given = rng.integers(-50, 50, (VALUES, THREADS), np.int32)
    with np.errstate(over="ignore"):
        wanted = np.array(expected(statements, given))
    device, target, preset = WHERE[seed % len(WHERE)]
    options = tkw.WaveCompileOptions(
        subs={N: THREADS}, device=device, target=target, preset=preset
    )
    found = given.copy()
    tkw.wave_compile(options, kernel)(*found)
    assert np.array_equal(found, wanted), statements


@pytest.mark.parametrize("seed", range(12))
def test_a_few_programs(seed):
    check(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_programs(seed):
    check(seed)
