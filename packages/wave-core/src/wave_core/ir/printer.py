"""The text form of a graph; `parser` reads it back to an equal graph.

Grammar (values and types as of `attributes`, ``VALUE`` is ``%name``)::

    graph    := "kernel" STRING "target" STRING [loc] "{" header* item* "}"
    header   := "bind" EXPR "=" INT | "dynamic" "[" [EXPR ("," EXPR)*] "]"
            | "constraint" "#" RECORD "(" ... ")" [loc] | "facts" "[" STRING* "]"
    item     := argument | op
    argument := VALUE "=" "argument" ROLE STRING [attrs] ":" type tail
    op       := [VALUE "="] NAME [slot ("," slot)*] [attrs] [":" type] tail region*
    slot     := VALUE | "none" | "[" [VALUE ("," VALUE)*] "]"
    attrs    := "{" NAME "=" value ("," NAME "=" value)* "}"
    tail     := ["tags" "[" STRING ("," STRING)* "]"] ("@" FACT "(" fields ")")* [loc]
    region   := NAME "{" item* "}"
    loc      := "loc(" LOCATION ")"

Attributes and fields that have their default values are left out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wave_core.diagnostics import InternalError, internal_error
from wave_core.ir.attributes import ValueFormatter
from wave_core.ir.values import same_value
from wave_core.ops.base import REQUIRED, FieldKind

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op, Slot
    from wave_core.ops.structure import Argument

_INDENT = "  "
ARGUMENT_FIELDS = frozenset({"role", "label", "declared"})
"""Roles of arguments, as the first part of an argument's line."""


def print_graph(graph: Graph, *, locations: bool = False) -> str:
    """The text of ``graph``: the same in every process.

    Args:
        graph: A graph; it need not be valid.
        locations: Whether to say where each op comes from.

    Raises:
        InternalError: WV9905 for an attribute that has no text form.
    """
    return "".join(f"{text}\n" for text, _ in graph_lines(graph, locations=locations))


def graph_lines(
    graph: Graph, *, locations: bool = False
) -> tuple[tuple[str, Op | None], ...]:
    """The lines of the text of ``graph``, each with the op that it begins.

    Raises:
        InternalError: WV9905 for an attribute that has no text form.
    """
    return _Printer(graph, locations=locations).graph_lines()


def value_names(graph: Graph) -> dict[Op, str]:
    """The names of all values, numbered in program order."""
    names: dict[Op, str] = {}
    _number(graph.body, names)
    return names


def _number(region: Region, names: dict[Op, str]) -> None:
    for argument in region.arguments:
        names[argument] = f"%{len(names)}"
    for op in region.ops:
        if is_named(op):
            names[op] = f"%{len(names)}"
        for nested in op.regions:
            _number(nested, names)


def is_named(op: Op) -> bool:
    """Whether something may refer to ``op``."""
    return op.type is not None or bool(op.regions) or bool(op.users)


class _Printer:
    def __init__(self, graph: Graph, *, locations: bool) -> None:
        self._graph = graph
        self._locations = locations
        self._values = ValueFormatter()
        self._names = value_names(graph)
        self._lines: list[tuple[str, Op | None]] = []
        self._kinds = [
            (kind.name, graph.facts.table(kind)) for kind in graph.facts.kinds
        ]

    def graph_lines(self) -> tuple[tuple[str, Op | None], ...]:
        graph = self._graph
        head = f"kernel {json.dumps(graph.name)} target {json.dumps(graph.target)}"
        self._lines.append((f"{head}{self._location(graph.location)} {{", None))
        self._header()
        self._region(graph.body, _INDENT)
        self._lines.append(("}", None))
        return tuple(self._lines)

    def _header(self) -> None:
        graph, expr = self._graph, self._values.expr
        for symbol in sorted(graph.bindings, key=str):
            self._line(f"bind {expr(symbol)} = {graph.bindings[symbol]}")
        if graph.dynamic_symbols:
            names = ", ".join([expr(symbol) for symbol in graph.dynamic_symbols])
            self._line(f"dynamic [{names}]")
        for row in graph.constraints:
            where = self._location(row.location)
            self._line(f"constraint {self._values.record(row)}{where}")
        if graph.facts_present:
            self._line(f"facts [{_strings(graph.facts_present)}]")

    def _line(self, text: str) -> None:
        self._lines.append((_INDENT + text, None))

    def _region(self, region: Region, indent: str) -> None:
        for argument in region.arguments:
            self._lines.append((indent + self._argument(argument), argument))
        for op in region.ops:
            self._op(op, indent)

    def _argument(self, argument: Argument) -> str:
        named = self._names[argument]
        others = self._attributes(argument, without=ARGUMENT_FIELDS)
        if argument.declared is not argument.type:
            declared = self._values.value(argument.declared)
            others = f" {{declared = {declared}}}"
        head = f"argument {argument.role} {json.dumps(argument.label)}{others}"
        return f"{named} = {head}{self._type(argument)}{self._tail(argument)}"

    def _op(self, op: Op, indent: str) -> None:
        name = self._names.get(op)
        pieces = [indent, f"{name} = " if name else "", op.op_name]
        slots = ", ".join([self._slot(value) for value in op.slots])
        if slots:
            pieces.append(f" {slots}")
        pieces.append(self._attributes(op))
        pieces.append(self._type(op))
        pieces.append(self._tail(op))
        if op.regions:
            self._nested(op, "".join(pieces), indent)
        else:
            self._lines.append(("".join(pieces), op))

    def _nested(self, op: Op, head: str, indent: str) -> None:
        names = [f.name for f in op.fields if f.kind is FieldKind.REGION]
        begun: Op | None = op
        for name, region in zip(names, op.regions, strict=True):
            self._lines.append((f"{head} {name} {{", begun))
            self._region(region, indent + _INDENT)
            head, begun = f"{indent}}}", None
        self._lines.append((head, None))

    def _slot(self, value: Slot) -> str:
        if value is None:
            return "none"
        if isinstance(value, tuple):
            return f"[{', '.join([self._name(item) for item in value])}]"
        return self._name(value)

    def _name(self, value: Op) -> str:
        # A value that is in no region of the graph: the verifier says so.
        return self._names.get(value, "%missing")

    def _attributes(self, op: Op, without: frozenset[str] = frozenset()) -> str:
        defaults = type(op).field_defaults
        rows = [
            (name, value)
            for name, value in op.attributes.items()
            if name not in without
            and not same_value(value, defaults.get(name, REQUIRED))
        ]
        if not rows:
            return ""
        try:
            return f" {{{self._values.assignments(rows)}}}"
        except InternalError as error:
            message = f"`{op.op_name}`: {error.diagnostics[0].message}"
            raise internal_error(error.code, message, at=op.location) from error

    def _type(self, op: Op) -> str:
        return "" if op.type is None else f" : {self._values.type(op.type)}"

    def _tail(self, op: Op) -> str:
        text = f" tags [{_strings(op.tags)}]" if op.tags else ""
        for name, table in self._kinds:
            row = table.get(op.ident)
            if row is not None:
                text += f" @{name}({self._values.fields(row)})"
        return text + self._location(op.location)

    def _location(self, location: Location | None) -> str:
        if location is None or not self._locations:
            return ""
        return f" loc({location.to_text()})"


def _strings(texts: set[str] | frozenset[str]) -> str:
    return ", ".join([json.dumps(str(text)) for text in sorted(texts)])
