"""The declaration of a backend, and what a backend does."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.backends.lowering import LoweringTable
    from wave_core.targets import Target


@dataclass(frozen=True)
class BackendSpec:
    """Something that makes machine code of lowered kernels.

    Attributes:
        name: Its name, which its lowering rules carry.
        target: ``"module:Class"``; imported when it is first used. The class is
            called without arguments and the result is a `Backend`.
        targets: The names of the targets that it compiles for.
        forms: What it can emit: ``mlir``, ``asm``, ``hsaco``.
        artifact: The form that is launched, which ``wave compile`` makes unless
            another is asked for; the first of ``forms`` by default.
        assembly: The form that ``kernel.asm`` shows.
        requires: Facts that have to hold at the end of the pipeline.
        overrides: Options with text of the user's in place of what it generates.
        summary: One line for ``wave plugins``.
    """

    name: str
    target: str
    targets: AbstractSet[str]
    forms: tuple[str, ...]
    requires: AbstractSet[str] = frozenset()
    summary: str = ""
    artifact: str = ""
    assembly: str = "asm"
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        first = self.forms[0] if self.forms else ""
        object.__setattr__(self, "artifact", self.artifact or first)
        object.__setattr__(self, "targets", frozenset(self.targets))
        object.__setattr__(self, "requires", frozenset(self.requires))


@runtime_checkable
class Backend(Protocol):
    """Makes machine code."""

    def versions(self) -> Mapping[str, str]:
        """The tools that decide the result, with their versions; part of every key."""
        ...

    def prepare(self) -> None:
        """Start what compiling will need, and do not wait for it."""
        ...

    def check(self, lowered: Any, target: Target) -> None:
        """Refuse what needs more than the machine has, without making code.

        Raises:
            UserError: WV06xx, as `emit` would.
        """
        ...

    def emit(
        self,
        lowered: Any,
        target: Target,
        options: Any,
        table: LoweringTable,
        form: str,
    ) -> Mapping[str, bytes]:
        """The files of one form, by name.

        Args:
            lowered: The graph that the pipeline leaves.
            target: The machine.
            options: The compile options.
            table: The lowering rules of all plugins for this backend.
            form: One of the forms of its declaration.

        Raises:
            UserError: WV06xx where the kernel cannot be compiled.
        """
        ...
