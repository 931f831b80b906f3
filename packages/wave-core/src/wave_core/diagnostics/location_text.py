"""The one-line text form of locations, for printed IR.

Grammar (a column or a function that is unknown is left out)::

    location := stack | "fused[" stack ("; " stack)+ "]" | "unknown"
    stack    := span (" from " span)*
    span     := STRING ":" line [":" column "-" [end_line ":"] end_column] [" in " NAME]
"""

from __future__ import annotations

import json
import re

from wave_core.diagnostics.source import UNKNOWN_SPAN, Span

_STRING = r'"(?:[^"\\]|\\.)*"'
_NAME = r"[\w.<>]+"
_SPAN = re.compile(
    rf"(?P<file>{_STRING}):(?P<line>\d+)"
    r"(?::(?P<column>\d+)-(?:(?P<end_line>\d+):)?(?P<end_column>\d+))?"
    rf"(?: in (?P<function>{_STRING}|{_NAME}))?"
)


def format_spans(stacks: tuple[tuple[Span, ...], ...]) -> str:
    """Text of a location given as parts, each a span followed by its callers."""
    texts = [" from ".join(_format_span(span) for span in stack) for stack in stacks]
    return texts[0] if len(texts) == 1 else f"fused[{'; '.join(texts)}]"


def parse_spans(text: str) -> tuple[tuple[Span, ...], ...]:
    """The inverse of `format_spans`.

    Raises:
        ValueError: the text is not a location.
    """
    text = text.strip()
    if text == "unknown":
        return ((UNKNOWN_SPAN,),)
    fused = text.startswith("fused[") and text.endswith("]")
    at, end = (len("fused["), len(text) - 1) if fused else (0, len(text))
    stack, at = _read_stack(text, at)
    parts = [stack]
    while fused and text.startswith("; ", at):
        stack, at = _read_stack(text, at + len("; "))
        parts.append(stack)
    if at != end:
        raise _malformed(text)
    return tuple(parts)


def _read_stack(text: str, at: int) -> tuple[tuple[Span, ...], int]:
    spans: list[Span] = []
    while True:
        match = _SPAN.match(text, at)
        if match is None:
            raise _malformed(text)
        spans.append(_span_of(match))
        at = match.end()
        if not text.startswith(" from ", at):
            return tuple(spans), at
        at += len(" from ")


def _span_of(match: re.Match[str]) -> Span:
    line = int(match["line"])
    function = match["function"] or ""
    if function.startswith('"'):
        function = json.loads(function)
    return Span(
        file=json.loads(match["file"]),
        line=line,
        column=int(match["column"] or 0),
        end_line=int(match["end_line"] or line),
        end_column=int(match["end_column"] or 0),
        function=function,
    )


def _format_span(span: Span) -> str:
    if span == UNKNOWN_SPAN:
        return "unknown"
    end = f"{span.end_line}:" if span.end_line != span.line else ""
    # A multi-line span without columns keeps its last line as `:0-last:0`.
    columns = span.column or span.end_column or end
    where = f":{span.column}-{end}{span.end_column}" if columns else ""
    return f"{json.dumps(span.file)}:{span.line}{where}{_format_function(span)}"


def _format_function(span: Span) -> str:
    if not span.function:
        return ""
    plain = re.fullmatch(_NAME, span.function)
    return f" in {span.function if plain else json.dumps(span.function)}"


def _malformed(text: str) -> ValueError:
    return ValueError(f"not a location: {text!r}")
