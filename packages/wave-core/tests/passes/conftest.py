"""A graph of nothing, to run passes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import pytest

from wave_core.diagnostics import internal_error
from wave_core.passes import PassContext


@dataclass
class FakeGraph:
    """Remembers what was done to it."""

    log: list[str] = field(default_factory=list)
    facts_present: set[str] = field(default_factory=set)
    broken: bool = False
    verified: int = 0

    def verify(self) -> None:
        self.verified += 1
        if self.broken:
            raise internal_error("WV9902", "the graph is broken")

    def clone(self) -> Self:
        return type(self)(list(self.log), set(self.facts_present))

    def __str__(self) -> str:
        return " ".join(self.log)


@pytest.fixture
def graph() -> FakeGraph:
    return FakeGraph()


@pytest.fixture
def context() -> PassContext:
    return PassContext(target=None)
