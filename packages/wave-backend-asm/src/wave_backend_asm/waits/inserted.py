"""The instructions that have to stand in front of others: waits, then wait states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wave_backend_asm.waits.counters import waits
from wave_backend_asm.waits.issued import Issued, Run
from wave_backend_asm.waits.states import missing_states
from wave_isa_amdgcn.step import Step


def inserted(runs: Sequence[Run], architecture: str) -> list[list[list[str]]]:
    """By run and instruction: lines of assembly that go in front of it.

    Args:
        runs: a program whose order is final.
        architecture: ``gfx90a``, ``gfx942`` or ``gfx950``.
    """
    waited = waits(runs)
    states = missing_states([*map(_with_waits, runs, waited)], architecture)
    return [
        _lines(allowed, iter(numbers))
        for allowed, numbers in zip(waited, states, strict=True)
    ]


def _with_waits(run: Run, waited: Sequence[Mapping[str, int]]) -> Run:
    code: list[Issued] = []
    for issued, allowed in zip(run.code, waited, strict=True):
        code += [_wait(), issued] if allowed else [issued]
    return Run(tuple(code), run.following)


def _wait() -> Issued:
    return Issued(Step("S_WAITCNT", "sync", 0, 0))


def _lines(
    waited: Sequence[Mapping[str, int]], states: Iterator[int]
) -> list[list[str]]:
    found: list[list[str]] = []
    for allowed in waited:
        lines = [*nops(next(states)), wait_text(allowed)] if allowed else []
        found.append(lines + nops(next(states)))
    return found


def wait_text(allowed: Mapping[str, int]) -> str:
    """The instruction that waits for some counters."""
    parts = " ".join(f"{counter}cnt({allowed[counter]})" for counter in sorted(allowed))
    return f"s_waitcnt {parts}"


def nops(states: int) -> list[str]:
    """The instructions that take so many states."""
    full, rest = divmod(states, 16)
    return ["s_nop 15"] * full + ([f"s_nop {rest - 1}"] if rest else [])
