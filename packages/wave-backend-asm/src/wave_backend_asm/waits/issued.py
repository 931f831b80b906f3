"""What the placing of waits asks of an instruction whose registers are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from wave_isa_amdgcn.step import Step

MOST = {"vm": 63, "lgkm": 15}
"""What the fields of S_WAITCNT can say. Source: CDNA3 ISA, S_WAITCNT."""


GROUP = 4096
"""The row of the open group of copies; those that were closed before stand behind."""

GROUPS = 8
"""Groups that are told apart; the last row is all older ones."""


@dataclass(frozen=True, slots=True)
class Groups:
    """What an instruction has to do with groups of copies to LDS.

    Attributes:
        joins: it belongs to the open group.
        left: in front of it all groups but so many have landed; ``None`` says nothing.
        closes: it ends the open group.
    """

    joins: bool = False
    left: int | None = None
    closes: bool = False


NO_GROUPS = Groups()


class Issued(NamedTuple):
    """One instruction, and what of it is not done when the next one begins.

    Attributes:
        step: its registers, and what the tables of wait states ask.
        counter: the counter that it raises, ``vm`` or ``lgkm``; empty for most.
        pending: registers that are filled when the counter says so.
        scalar: it completes in any order, as loads to scalar registers do.
        demands: operations that each counter may still have in flight before it, where
            something other than a register asks for it: a barrier, a copy to LDS.
        groups: what it has to do with groups of copies to LDS.
    """

    step: Step
    counter: str = ""
    pending: int = 0
    scalar: bool = False
    demands: Mapping[str, int] = MappingProxyType({})
    groups: Groups = NO_GROUPS


@dataclass(frozen=True)
class Run:
    """Instructions that run one after the other, and the runs that may come next."""

    code: tuple[Issued, ...]
    following: tuple[int, ...] = ()


def preceding(runs: Sequence[Run]) -> list[list[int]]:
    """Numbers of the runs that may come before each."""
    found: list[list[int]] = [[] for _ in runs]
    for number, run in enumerate(runs):
        for following in run.following:
            found[following].append(number)
    return found
