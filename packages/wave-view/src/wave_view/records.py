"""What the page shows, as records that JSON holds.

A *place* is a line of the author's, ``[file, line]``, the file as an index into
`View.sources`. Texts and lists of places come often, so stages refer to tables of
them by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Place = tuple[int, int]
"""A source's index and a line, from 1."""

Json = Mapping[str, Any]
"""The document of a view: JSON values."""

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Titles and rows."""


@dataclass(frozen=True)
class Source:
    """A file of the author's.

    Attributes:
        file: Its name as Python knows it.
        lines: Its text, without line ends.
    """

    file: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """The kernel after a pass that changed it.

    Attributes:
        name: The pass; ``trace`` for what the author's function gave.
        phase: Its phase.
        provider: The plugin that brought it.
        summary: What it does.
        milliseconds: How long it took.
        lines: For each line of the IR its text, the key of the op that it begins
            (-1 for none) and its places, the first and the last as numbers of rows
            of `View.texts` and `View.place_lists`.
    """

    name: str
    phase: str
    provider: str
    summary: str
    milliseconds: float
    lines: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class ValueLayout:
    """Which lane and register of a wave holds which element of a value.

    The index along a dimension is the sum of its digits
    ``coeff * ((source // div) % mod)``, and of ``extent`` for each step along it.

    Attributes:
        key: The op's key in its graph.
        title: The op and its type.
        places: A number of a row of `View.place_lists`.
        lanes: Lanes of the wave.
        registers: Elements that a lane holds in one step.
        dims: Each dimension of the value with its digits ``(coeff, source, div, mod)``,
            the source being ``lane`` or ``reg``.
        steps: How often the layout repeats along dimensions: name, count, extent.
    """

    key: int
    title: str
    places: int
    lanes: int
    registers: int
    dims: tuple[tuple[str, tuple[tuple[int, str, int, int], ...]], ...]
    steps: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class CodeLine:
    """A line of machine code.

    Attributes:
        text: The line.
        place: The line of the author's that it comes from.
        instruction: Whether it is an instruction, and neither label nor directive.
    """

    text: str
    place: Place | None
    instruction: bool


@dataclass(frozen=True)
class Code:
    """The machine code of a kernel.

    Attributes:
        form: What it is: ``asm`` or ``ptx``.
        lines: From its first line on, without what only debuggers read.
    """

    form: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True)
class Missing:
    """Why a view has nothing to show, or not all.

    Attributes:
        view: The view: ``code``, ``cycles``, ``roofline``, and so on.
        why: The message.
        help: What to do about it.
    """

    view: str
    why: str
    help: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A diagnostic: an error that stopped the compiler, or a warning.

    Attributes:
        severity: ``error`` or ``warning``.
        text: All of it, as a terminal shows it.
        place: The author's line.
    """

    severity: str
    text: str
    place: Place | None


@dataclass(frozen=True, kw_only=True)
class View:
    """A kernel and all that is known about it; parts that are not known are empty.

    Attributes:
        kernel: Its name.
        target: The machine.
        shape: Sizes by name.
        facts: Names and values for the summary.
        problems: Diagnostics.
        missing: Why a view is not there.
        sources: The author's files, that of the kernel first.
        above: For lines of functions that were called while tracing the lines that
            called them.
        texts, place_lists: What `Stage` refers to.
        stages: The IR after each pass that changed it.
        layouts: Of the values, once they are distributed.
        code: The machine code.
        executed: For each line of the code the number of the instruction in the
            timeline of ``cycles``; -1 for what did not run, and empty where the two
            do not fit together.
        documents: Views of plugins, by name: ``memory``, ``schedule``, ``cycles``.
        tables: Views of plugins that the page has no drawing for.
        roofline: The kernel under the roofs of the machine.
    """

    kernel: str
    target: str
    shape: Mapping[str, int] = field(default_factory=dict[str, int])
    facts: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    missing: tuple[Missing, ...] = ()
    sources: tuple[Source, ...] = ()
    above: tuple[tuple[Place, tuple[Place, ...]], ...] = ()
    texts: tuple[str, ...] = ()
    place_lists: tuple[tuple[Place, ...], ...] = ()
    stages: tuple[Stage, ...] = ()
    layouts: tuple[ValueLayout, ...] = ()
    code: Code | None = None
    executed: tuple[int, ...] = ()
    documents: Mapping[str, Json] = field(default_factory=dict[str, Json])
    tables: Mapping[str, Sequence[Table]] = field(
        default_factory=dict[str, Sequence[Table]]
    )
    roofline: Json | None = None

    @property
    def failed(self) -> bool:
        """Whether the kernel does not compile."""
        return any(problem.severity == "error" for problem in self.problems)

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        return asdict(self)
