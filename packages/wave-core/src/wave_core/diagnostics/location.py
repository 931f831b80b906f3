"""Where in the user's source something came from.

A location is captured in well under a microsecond: it stores code objects and
instruction offsets, and is decoded to file, line and column on demand.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, cast

from wave_core.diagnostics.location_text import format_spans, parse_spans
from wave_core.diagnostics.own_frames import (
    FRAMES_KEY,
    IS_INTERNAL,
    PackageTest,
    doctest_frame,
)
from wave_core.diagnostics.source import (
    UNKNOWN_SPAN,
    Span,
    decode,
    function_span,
    parameter_span,
    source_line,
)

if TYPE_CHECKING:
    from types import CodeType, FrameType

#: Callers kept of an inlined call stack.
MAX_CALLERS = 4

#: Frames looked at to find where Wave called the user's function.
_CALLERS_SEARCHED = range(8)

#: Parts kept when locations are fused.
MAX_PARTS = 16


def capture_location(skip_modules: tuple[str, ...] | None = None) -> Location:
    """The innermost user line of the running call.

    Walks from the caller to the first frame outside Wave's own packages and keeps
    the user frames between it and the next Wave frame as its inlined call stack.
    A module counts as the user's or as Wave's own by its name, unless its global
    `__wave_frames__` is "user" or "internal". With no user frame at all, the
    caller itself.

    Args:
        skip_modules: packages whose frames to skip, instead of `INTERNAL_PACKAGES`.
    """
    # Written out for speed: this runs once for every op of a kernel.
    inside = IS_INTERNAL if skip_modules is None else PackageTest(skip_modules)
    caller = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # documented
    frame: FrameType | None = caller
    module = ""
    while frame is not None:
        names = frame.f_globals
        module = names.get("__name__", "")
        if inside[module] if FRAMES_KEY not in names else names[FRAMES_KEY] != "user":
            frame = frame.f_back
        else:
            break
    if frame is None or module == "doctest":
        frame = doctest_frame(caller) or caller
        return Location(frame.f_code, frame.f_lasti)
    calls: tuple[tuple[CodeType, int], ...] = ()
    outer = frame.f_back
    for _ in _CALLERS_SEARCHED:
        if outer is None:
            break
        names = outer.f_globals
        module = names.get("__name__", "")
        if inside[module] if FRAMES_KEY not in names else names[FRAMES_KEY] != "user":
            return Location(frame.f_code, frame.f_lasti, calls[:MAX_CALLERS])
        calls += ((outer.f_code, outer.f_lasti),)
        outer = outer.f_back
    # Nothing of Wave's below: plain user code, its callers explain nothing.
    return Location(frame.f_code, frame.f_lasti)


class Location:
    """A range of user source, with the calls that led to it. Immutable.

    Lines and columns count from 1, columns in characters; the end column is
    exclusive; zero means unknown. Locations are equal when what they decode to is.
    """

    __slots__ = ("_callers", "_code", "_lasti", "_span")

    _code: CodeType | None
    _lasti: int
    _callers: tuple[Location, ...] | tuple[tuple[CodeType, int], ...]
    _span: Span | None

    def __init__(
        self,
        code: CodeType | None = None,
        lasti: int = -1,
        callers: tuple[Location, ...] | tuple[tuple[CodeType, int], ...] = (),
        span: Span | None = None,
    ) -> None:
        """Use the constructors `here`, `of_function`, `of_span`, `from_text`."""
        self._code = code
        self._lasti = lasti
        self._callers = callers
        self._span = span

    here = staticmethod(capture_location)

    @classmethod
    def unknown(cls) -> Location:
        """The location of something that no user line asked for."""
        return cls(span=UNKNOWN_SPAN)

    @classmethod
    def of_function(cls, function: object) -> Location:
        """The `def` of a Python function; decorators are looked through."""
        code = _code_of(function)
        return cls.unknown() if code is None else cls(code, span=function_span(code))

    @classmethod
    def of_error(cls, error: BaseException) -> Location:
        """The innermost user line on the way of an exception."""
        found, step = cls.unknown(), error.__traceback__
        while step is not None:
            module = str(step.tb_frame.f_globals.get("__name__", ""))
            of_python = module.partition(".")[0] in sys.stdlib_module_names
            if not (of_python or IS_INTERNAL[module]):
                found = cls(step.tb_frame.f_code, step.tb_lasti)
            step = step.tb_next
        return found

    @classmethod
    def of_parameter(cls, function: object, name: str) -> Location:
        """A parameter of a function with its annotation, else the `def`."""
        code = _code_of(function)
        span = None if code is None else parameter_span(code, name)
        return cls.of_function(function) if span is None else cls(code, span=span)

    @classmethod
    def of_span(
        cls,
        file: str,
        line: int,
        column: int = 0,
        end_line: int = 0,
        end_column: int = 0,
        function: str = "",
    ) -> Location:
        """A location from plain numbers, for parsed IR and foreign sources."""
        return cls(
            span=Span(file, line, column, end_line or line, end_column, function)
        )

    @classmethod
    def from_text(cls, text: str) -> Location:
        """Parse what `to_text` prints.

        Raises:
            ValueError: the text is not a location.
        """
        return fuse(*(_of_spans(stack) for stack in parse_spans(text)))

    def to_text(self) -> str:
        """One line that `from_text` reads back to an equal location."""
        return format_spans(tuple(part.spans for part in self.parts))

    @property
    def span(self) -> Span:
        """The decoded range."""
        span = self._span
        if span is None:
            code = cast("CodeType", self._code)
            span = self._span = decode(code, self._lasti)
        return span

    @property
    def spans(self) -> tuple[Span, ...]:
        """The decoded range, then those of its callers, innermost first."""
        return (self.span, *(caller.span for caller in self.callers))

    @property
    def file(self) -> str:
        """File name as Python knows it; `<unknown>` when there is none."""
        return self.span.file

    @property
    def line(self) -> int:
        """First line, from 1."""
        return self.span.line

    @property
    def column(self) -> int:
        """First column, from 1, in characters."""
        return self.span.column

    @property
    def end_line(self) -> int:
        """Last line, from 1."""
        return self.span.end_line

    @property
    def end_column(self) -> int:
        """Column after the last character of the last line, from 1."""
        return self.span.end_column

    @property
    def function(self) -> str:
        """Name of the enclosing Python function, or an empty string."""
        code = self._code
        return self.span.function if code is None else code.co_name

    @property
    def callers(self) -> tuple[Location, ...]:
        """User lines that called this one while tracing, innermost first."""
        self._callers = tuple(
            caller if isinstance(caller, Location) else Location(*caller)
            for caller in self._callers
        )
        return self._callers

    @property
    def parts(self) -> tuple[Location, ...]:
        """The locations this one was fused from; itself when it was not."""
        return (self,)

    @property
    def is_known(self) -> bool:
        """Whether this points at a line."""
        return self._code is not None or self.span.line > 0

    def source_line(self, line: int) -> str | None:
        """A line of this location's file, or None when there is no source."""
        return source_line(self.file, line, self._code)

    def source_key(self) -> tuple[object, ...]:
        """Cheap identity: equal keys mean equal locations, not the reverse."""
        if self._code is None:
            return (None, self.spans)
        span = self._span if self._lasti < 0 else None
        stack = ((id(c.key_code), c.key_lasti) for c in self.callers)
        return (id(self._code), self._lasti, span, *stack)

    @property
    def key_code(self) -> CodeType | None:
        """The code object, when captured from running code."""
        return self._code

    @property
    def key_lasti(self) -> int:
        """Instruction offset in bytes, when captured from running code."""
        return self._lasti

    def __str__(self) -> str:
        """`file:line:column in function`, without what is unknown."""
        span = self.span
        if not span.line:
            return span.file
        column = f":{span.column}" if span.column else ""
        function = f" in {span.function}" if span.function else ""
        return f"{span.file}:{span.line}{column}{function}"

    def __repr__(self) -> str:
        return f"Location({self.to_text()})"

    def __eq__(self, other: object) -> bool:
        """Whether both decode to the same ranges and callers."""
        if not isinstance(other, Location):
            return NotImplemented
        if self is other:
            return True
        mine, others = self.parts, other.parts
        return tuple(p.spans for p in mine) == tuple(p.spans for p in others)

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash(tuple(part.spans for part in self.parts))

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Copies and crosses processes as text; code objects cannot."""
        return (Location.from_text, (self.to_text(),))


class FusedLocation(Location):
    """Several locations of one thing, the most telling first."""

    __slots__ = ("_parts",)

    def __init__(self, parts: tuple[Location, ...]) -> None:
        """Use `fuse`."""
        first = parts[0]
        super().__init__(first.key_code, first.key_lasti, first.callers)
        self._parts = parts

    @property
    def span(self) -> Span:
        """The decoded range of the first part."""
        return self._parts[0].span

    @property
    def parts(self) -> tuple[Location, ...]:
        """The locations this one was fused from."""
        return self._parts


def fuse(*locations: Location | None) -> Location:
    """One location for a thing made from several; the first one leads.

    Unknown ones and repetitions are dropped, `MAX_PARTS` are kept. The fusion of
    nothing is unknown.
    """
    found: dict[tuple[object, ...], Location] = {}
    known = (location for location in locations if location is not None)
    for part in chain.from_iterable(location.parts for location in known):
        if part.is_known:
            found.setdefault(part.source_key(), part)
    parts = tuple(found.values())[:MAX_PARTS]
    if len(parts) > 1:
        return FusedLocation(parts)
    return parts[0] if parts else Location.unknown()


def _of_spans(stack: tuple[Span, ...]) -> Location:
    return Location(
        span=stack[0], callers=tuple(Location(span=span) for span in stack[1:])
    )


def _code_of(function: object) -> CodeType | None:
    """The code object under decorators, partials and bound methods."""
    for _ in range(16):
        inner = getattr(function, "__wrapped__", None) or getattr(
            function, "func", None
        )
        if inner is None:
            break
        function = inner
    return getattr(function, "__code__", None)
