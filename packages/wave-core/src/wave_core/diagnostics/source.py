"""Source text of the user: lines by file name, spans of byte code and of functions."""

from __future__ import annotations

import ast
import linecache
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType


class Span(NamedTuple):
    """A decoded source range.

    Lines and columns count from 1, columns in characters; the end column is
    exclusive. Zero means unknown. An empty function name means unknown.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


_KEPT = 4096
"""Places in byte code whose span is remembered: a kernel is traced more than once."""

_KEPT_CODES = 64
"""Functions whose places are all remembered: a kernel has many lines."""

_Position: TypeAlias = "tuple[int | None, int | None, int | None, int | None]"
"""First and last line, first and last column, as Python tells them."""

_NOWHERE: _Position = (None, None, None, None)

UNKNOWN_SPAN = Span("<unknown>", 0, 0, 0, 0, "")


def source_lines(file: str, code: CodeType | None = None) -> list[str]:
    """Lines of a file, notebook cell, doctest or interactive input.

    Args:
        file: name as the code object spells it.
        code: the code object; Python 3.13 files interactive input under it.

    Returns:
        The lines with their line ends, or an empty list when there is no source.
    """
    linecache.checkcache(file)
    try:
        lines = linecache.getlines(file)
    except (OSError, SyntaxError, UnicodeError):
        # linecache lets a few decoding failures through; no excerpt then.
        return []
    return lines or _interactive_lines(code)


def _interactive_lines(code: CodeType | None) -> list[str]:
    """Lines typed into the interactive prompt of Python 3.13 and later."""
    lookup = getattr(linecache, "_getlines_from_code", None)
    if lookup is None or code is None:
        return []
    return list(lookup(code))


def source_line(file: str, line: int, code: CodeType | None = None) -> str | None:
    """One line of source without its line end, or None when it is not available."""
    lines = source_lines(file, code)
    if not 1 <= line <= len(lines):
        return None
    return lines[line - 1].rstrip("\r\n")


def decode(code: CodeType, lasti: int) -> Span:
    """The source range of one byte code instruction.

    Args:
        code: the code object.
        lasti: offset of the instruction, in bytes (`frame.f_lasti`).
    """
    # Codes of two files may be equal.
    return _decoded(code, code.co_filename, lasti)


@lru_cache(_KEPT_CODES)
def _positions(code: CodeType, file: str) -> tuple[_Position, ...]:
    """Where each unit of byte code comes from: to find one, all in front are read."""
    del file
    return tuple(code.co_positions())


@lru_cache(_KEPT)
def _decoded(code: CodeType, file: str, lasti: int) -> Span:
    positions, at = _positions(code, file), max(lasti, 0) // 2
    line, end_line, start, end = positions[at] if at < len(positions) else _NOWHERE
    if line is None:
        line, end_line, start, end = code.co_firstlineno, None, None, None
    last = line if end_line is None else end_line
    lines = source_lines(file, code)
    column = character_column(lines, line, start)
    end_column = character_column(lines, last, end)
    return Span(file, line, column, last, end_column, code.co_name)


def character_column(lines: list[str], line: int, offset: int | None) -> int:
    """Column of a UTF-8 byte offset, from 1, in characters; 0 when unknown."""
    if offset is None:
        return 0
    if not 1 <= line <= len(lines):
        return offset + 1
    text = lines[line - 1].encode("utf-8", errors="surrogatepass")
    return len(text[:offset].decode("utf-8", errors="replace")) + 1


#: Lines searched below the first decorator for the `def`.
_MAX_DECORATOR_LINES = 200


def function_span(code: CodeType) -> Span:
    """The range `def name` or `lambda`; the first line alone without source."""
    return _head(code, code.co_filename)


@lru_cache(_KEPT)
def _head(code: CodeType, file: str) -> Span:
    lines = source_lines(file, code)
    name = code.co_name
    head = r"\blambda\b" if name == "<lambda>" else rf"(async\s+)?def\s+{name}\b"
    first = code.co_firstlineno
    for number in range(first, min(len(lines), first + _MAX_DECORATOR_LINES) + 1):
        match = re.search(head, lines[number - 1])
        if match is not None:
            columns = (match.start() + 1, match.end() + 1)
            return Span(file, number, columns[0], number, columns[1], name)
    return Span(file, first, 0, first, 0, name)


def parameter_span(code: CodeType, name: str) -> Span | None:
    """The range `name: annotation` in a function's signature, if it has source."""
    return _parameters(code, code.co_filename).get(name)


@lru_cache(_KEPT)
def _parameters(code: CodeType, file: str) -> Mapping[str, Span]:
    """The ranges of all parameters, by name: each kernel asks for several."""
    lines = source_lines(file, code)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_def_of(node, code):
            return dict(_argument_spans(node, code, lines))
    return {}


def _is_def_of(node: ast.FunctionDef, code: CodeType) -> bool:
    lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
    return node.name == code.co_name and code.co_firstlineno == min(lines)


def _argument_spans(
    node: ast.FunctionDef, code: CodeType, lines: list[str]
) -> Iterator[tuple[str, Span]]:
    signature = node.args
    for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs):
        last = argument.end_lineno or argument.lineno
        yield (
            argument.arg,
            Span(
                code.co_filename,
                argument.lineno,
                character_column(lines, argument.lineno, argument.col_offset),
                last,
                character_column(lines, last, argument.end_col_offset or 0),
                code.co_name,
            ),
        )
