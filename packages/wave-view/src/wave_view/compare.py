"""Machine code side by side: what several ways to compile a kernel make of its lines.

The numbers are those of the view `lines`, which reads code objects whoever made them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from wave_core.cli.load import settled_case
from wave_core.cli.views import view_of
from wave_core.diagnostics import WaveError, user_error
from wave_core.plugin import ViewError, ViewRequest
from wave_runtime.artifact import code_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.session import Session

VIEW, FORM = "lines", "hsaco"
"""The view that counts, and the form of code that it reads."""

_KERNEL = "EM0102"
"""How the view's error begins where a file has no such kernel, or several."""


@dataclass(frozen=True)
class Side:
    """One of the codes.

    Attributes:
        name: what made it, or the file that it is from.
        found: the document of the view; ``None`` where there is no code.
        error: why there is none.
        author: the file of the kernel that was compiled; empty for code of others.
    """

    name: str
    found: Mapping[str, Any] | None
    error: WaveError | None = None
    author: str = ""


def ways(session: Session, target: str) -> list[str]:
    """The backends that make code objects for a machine, the usual one first."""
    specs = [row.value for row in session.plugins.backends.values()]
    return [
        each.name for each in specs if target in each.targets and FORM in each.forms
    ]


def by_backend(
    session: Session, case: KernelCase, name: str, told: Mapping[str, object]
) -> Side:
    """A kernel as a backend compiles it; the side says why it does not, if so."""
    try:
        settled = settled_case(session, case, {**told, "backend": name})
        found = view_of(session, settled, VIEW).document
    except WaveError as error:
        return Side(name, None, error)
    return Side(name, found, author=_file(settled))


def _file(case: KernelCase) -> str:
    place = case.kernel.location
    return place.span.file if place.is_known else ""


def of_file(session: Session, path: Path, kernel: str) -> Side:
    """A kernel of a code object; without a name, the only one in it.

    Raises:
        UserError: WV0853 where it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unfit(f"`{path}` cannot be read: {error.strerror}") from None
    request = ViewRequest(kernel, "", {code_file(FORM): data}, {}, _no_arguments)
    try:
        found = session.plugins.load_view(VIEW)(request)
    except ViewError as error:
        raise _unfit(f"`{path}`: {error}", *_which(str(error))) from None
    return Side(path.stem, found.document)


def _which(why: str) -> tuple[str, ...]:
    """What to do where the kernel is the question, and not the file."""
    return ("`--kernel NAME` names one of them",) if why.startswith(_KERNEL) else ()


def told_apart(sides: Sequence[Side], places: Sequence[Path | None]) -> list[Side]:
    """The sides; files of one name have their folders before it, or a number."""
    names = [side.name for side in sides]
    shown: list[Side] = []
    for number, (side, path) in enumerate(zip(sides, places, strict=True), 1):
        name = side.name
        if path is not None and names.count(name) > 1:
            name = f"{path.absolute().parent.name}/{name}"
            if any(name == each.name for each in shown):
                name = f"{name} ({number})"
        shown.append(replace(side, name=name))
    return shown


def _no_arguments() -> Sequence[Any]:
    raise ViewError("a file alone does not say how its kernel is launched")


def check_machines(sides: Sequence[Side], asked: str) -> None:
    """Refuse codes of different machines, or of another one than is asked for.

    Raises:
        UserError: WV0853.
    """
    for side in sides:
        if asked and side.found and side.found["target"] != asked:
            told = f"`{side.name}` is of {side.found['target']}"
            raise _unfit(
                f"different machines do not compare: {told}, and {asked} is asked for"
            )
    targets = {side.found["target"]: side.name for side in sides if side.found}
    if len(targets) > 1:
        told = " and ".join(f"`{name}` of {chip}" for chip, name in targets.items())
        raise _unfit(f"different machines do not compare: {told}")


def _unfit(what: str, *instead: str) -> WaveError:
    file = "give a code object of the same machine: an ELF file, often `.hsaco`"
    return user_error("WV0853", what, help=instead or file)


@dataclass(frozen=True)
class Line:
    """A line of the author's in each code.

    Attributes:
        source: ``file:line``; empty for code of no line.
        counts: instructions, by side.
        cycles: of the mean wave, by side; ``None`` where they are not modelled.
    """

    source: str
    counts: tuple[int, ...]
    cycles: tuple[float | None, ...]

    @property
    def short(self) -> str:
        """The line without its folder."""
        name, _, line = self.source.rpartition(":")
        return f"{PurePath(name).name}:{line}" if line else "(no line)"


def lines_of(sides: Sequence[Side]) -> list[Line]:
    """The lines of all codes, in order; none where no line is in two of them."""
    tables: list[dict[str, Any]] = [
        {row["source"]: row for row in side.found["lines"]}
        for side in sides
        if side.found
    ]
    every = {source for table in tables for source in table}
    shared = [s for s in every if s and all(s in table for table in tables)]
    if not shared:
        return []
    return [_line(source, tables) for source in sorted(every, key=_by_line)]


def _line(source: str, tables: Sequence[Mapping[str, Any]]) -> Line:
    rows = [table.get(source) for table in tables]
    return Line(
        source,
        tuple(row["instructions"] if row else 0 for row in rows),
        tuple(row["cycles"] if row else 0.0 for row in rows),
    )


def _by_line(source: str) -> tuple[str, int]:
    name, _, line = source.rpartition(":")
    return name, int(line or 0)
