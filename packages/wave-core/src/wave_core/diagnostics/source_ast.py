"""Source ranges of a function's `def` and of its parameters."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from wave_core.diagnostics.source import Span, character_column, source_lines

if TYPE_CHECKING:
    from types import CodeType

#: Lines searched below the first decorator for the `def`.
_MAX_DECORATOR_LINES = 200


def function_span(code: CodeType) -> Span:
    """The range `def name` or `lambda`; the first line alone without source."""
    lines = source_lines(code.co_filename, code)
    name = code.co_name
    head = r"\blambda\b" if name == "<lambda>" else rf"(async\s+)?def\s+{name}\b"
    first = code.co_firstlineno
    for number in range(first, min(len(lines), first + _MAX_DECORATOR_LINES) + 1):
        match = re.search(head, lines[number - 1])
        if match is not None:
            columns = (match.start() + 1, match.end() + 1)
            return Span(code.co_filename, number, columns[0], number, columns[1], name)
    return Span(code.co_filename, first, 0, first, 0, name)


def parameter_span(code: CodeType, name: str) -> Span | None:
    """The range `name: annotation` in a function's signature, if it has source."""
    lines = source_lines(code.co_filename, code)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_def_of(node, code):
            return _argument_span(node, name, code, lines)
    return None


def _is_def_of(node: ast.FunctionDef, code: CodeType) -> bool:
    lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
    return node.name == code.co_name and code.co_firstlineno == min(lines)


def _argument_span(
    node: ast.FunctionDef, name: str, code: CodeType, lines: list[str]
) -> Span | None:
    signature = node.args
    for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs):
        if argument.arg == name:
            last = argument.end_lineno or argument.lineno
            return Span(
                code.co_filename,
                argument.lineno,
                character_column(lines, argument.lineno, argument.col_offset),
                last,
                character_column(lines, last, argument.end_col_offset or 0),
                code.co_name,
            )
    return None
