"""The declaration of an executor, and what an executor does."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class ExecutorSpec:
    """Something that runs a lowered kernel: a simulator, an emulator, a GPU.

    Attributes:
        name: The name that ``device=`` takes.
        target: ``"module:Class"``; imported when it is first used. The class is
            called without arguments and the result is an `Executor`.
        requires: Facts that have to hold where the executor takes over.
        summary: One line for ``wave plugins``.
        stop_after: The last phase or pass that the executor wants; all by default.
        backend: Whose machine code the executor runs. It is given the lowering rules
            of that backend, and under ``compile_options`` the compile options.
    """

    name: str
    target: str
    requires: AbstractSet[str] = frozenset()
    summary: str = ""
    stop_after: str | None = None
    backend: str | None = None

    def __post_init__(self) -> None:
        """Keep the facts as a frozen set."""
        object.__setattr__(self, "requires", frozenset(self.requires))


class Executor(Protocol):
    """Runs a lowered kernel.

    ``lowered`` is what the pipeline leaves, a graph. The kernel writes its outputs
    in place: into the arguments, never into copies of them.
    """

    def run(
        self,
        lowered: object,
        arguments: Sequence[object],
        bindings: Mapping[str, int] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> object:
        """Run ``lowered`` once on ``arguments``.

        Args:
            lowered: The graph.
            arguments: One for each parameter, in order.
            bindings: Values of the symbols that were left open at compile time.
            options: The ``target``; ``checks`` and ``poison_outputs`` as in
                ``WaveCompileOptions``; under ``lowerings`` the `LoweringTable` with
                the rules that plugins register for the executor's name, or for its
                backend. Further ones
                are between the executor and who calls it directly.

        Returns:
            A report of the executor's own kind: counters, findings.
        """
        ...
