"""Reads the text form of a graph; see `printer` for the grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.constraints import Constraint
from wave_core.diagnostics import Location, WaveError
from wave_core.ir.facts import FACT_KINDS
from wave_core.ir.graph import Graph, region_of
from wave_core.ir.lexer import MAX_NESTING, Reader
from wave_core.ir.printer import ARGUMENT_FIELDS
from wave_core.ir.value_parser import UNEXPECTED_OPERANDS, ValueParser, near
from wave_core.ops import builtin_ops
from wave_core.ops.base import Field, FieldKind
from wave_core.ops.structure import Argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from wave_core.ir.facts import FactKind
    from wave_core.ir.graph import Region
    from wave_core.ops.base import Op

ROLES = ("parameter", "carried", "capture")


def parse_graph(
    text: str,
    ops: Iterable[type[Op]] = (),
    *,
    file: str = "<ir>",
) -> Graph:
    """The graph that ``text`` denotes. It is not verified.

    An op that says no location gets its place in the text.

    Args:
        text: What `print_graph` prints.
        ops: Op classes of plugins, beside core's.
        file: What to call the text in messages.

    Raises:
        UserError: WV9904 with line and column where the text does not fit.
    """
    named = {op.op_name: op for op in (*builtin_ops(), *ops)}
    return _Parser(Reader(text, file), named).graph()


class _Parser:
    def __init__(self, reader: Reader, ops: Mapping[str, type[Op]]) -> None:
        self._reader = reader
        self._ops = ops
        self._values = ValueParser(reader)
        self._depth = 0

    def graph(self) -> Graph:
        reader = self._reader
        self._keyword("kernel")
        name = reader.string("the kernel's name")
        self._keyword("target")
        graph = Graph(name, reader.string("the target's name"))
        graph.location = self._location(reader.location())
        reader.expect("{")
        while self._header(graph):
            pass
        self._region(graph.body)
        if not reader.at_end:
            raise reader.error(f"expected the end of the text, found {reader.found()}")
        return graph

    def _keyword(self, word: str) -> None:
        if not self._reader.accept_word(word):
            raise self._reader.error(f"expected `{word}`, found {self._reader.found()}")

    def _header(self, graph: Graph) -> bool:
        read = {
            "bind": self._binding,
            "dynamic": self._dynamic,
            "constraint": self._constraint,
            "facts": self._facts,
        }.get(self._reader.peek_word())
        if read is None or self._reader.peek_word() in self._ops:
            return False
        self._reader.word("a keyword")
        read(graph)
        return True

    def _binding(self, graph: Graph) -> None:
        start = self._reader.at
        symbol = self._values.symbol()
        self._reader.expect("=")
        value = self._values.value()
        if type(value) is not int or symbol in graph.bindings:
            raise self._reader.error(f"`{symbol}` needs one integer", start)
        graph.bindings[symbol] = value

    def _dynamic(self, graph: Graph) -> None:
        self._reader.expect("[")
        graph.dynamic_symbols = tuple(self._values.listed("]", self._values.expr))

    def _constraint(self, graph: Graph) -> None:
        start = self._reader.at
        value = self._values.value()
        if not isinstance(value, Constraint):
            raise self._reader.error("expected a constraint", start)
        location = self._location(self._reader.location(start))
        object.__setattr__(value, "location", location)
        graph.constraints = (*graph.constraints, value)

    def _facts(self, graph: Graph) -> None:
        self._reader.expect("[")
        facts = self._values.listed("]", lambda: self._reader.string("a fact"))
        graph.facts_present = set(facts)

    def _region(self, region: Region) -> None:
        """The items of a region, after ``{`` up to and including ``}``."""
        if self._depth == MAX_NESTING:
            raise self._reader.error(f"regions nested more than {MAX_NESTING} deep")
        self._depth += 1
        scope: dict[str, Op] = {}
        while not self._reader.accept("}"):
            self._item(region, scope)
        self._depth -= 1

    def _item(self, region: Region, scope: dict[str, Op]) -> None:
        reader = self._reader
        start = reader.at
        name = reader.value_name() if reader.sees("%") else None
        if name is not None:
            if name in scope:
                raise reader.error(f"`{name}` is defined twice in this region", start)
            reader.expect("=")
        at = reader.at
        op_name = reader.word("the name of an op")
        if op_name == Argument.op_name:
            op = self._argument(region, start)
        else:
            op = self._op(self._class(op_name, at), region, scope, start)
        if name is not None:
            scope[name] = op

    def _class(self, name: str, at: int) -> type[Op]:
        if name not in self._ops:
            raise self._reader.error(f"unknown op `{name}`", at, near(name, self._ops))
        return self._ops[name]

    def _argument(self, region: Region, start: int) -> Op:
        reader = self._reader
        at = reader.at
        role = reader.word("the role of the argument")
        if role not in ROLES:
            raise reader.error(f"unknown role `{role}`", at, near(role, ROLES))
        label = reader.string("a label")
        attributes = self._attributes(Argument, ARGUMENT_FIELDS - {"declared"})
        reader.expect(":")
        declared = self._values.type()
        attributes |= {"role": role, "label": label}
        attributes.setdefault("declared", declared)
        argument = Argument(**attributes)
        argument.type = declared
        if next(region.ops, None) is not None:
            raise reader.error("arguments come before all ops", start)
        self._tail(argument, start, lambda: region.attach_argument(argument))
        if region.arguments[-1] is not argument:
            raise reader.error("captures come after the other arguments", start)
        return argument

    def _op(
        self, cls: type[Op], region: Region, scope: dict[str, Op], start: int
    ) -> Op:
        slots = self._slots(cls, scope)
        values = self._attributes(cls)
        fields = [f for f in cls.fields if f.kind is FieldKind.ATTRIBUTE]
        attributes: dict[str, Any] = {}
        for field in fields:
            if field.required and field.name not in values:
                message = f"`{cls.op_name}` needs `{field.name}`"
                raise self._reader.error(message, start)
            attributes[field.name] = values.get(field.name, field.default)
        names = [f.name for f in cls.fields if f.kind is FieldKind.REGION]
        nested = tuple(region.graph.region() for _ in names)
        op = cls.build(slots, attributes, nested)
        if self._reader.accept(":"):
            op.type = self._values.type()
        self._tail(op, start, lambda: self._append(op, region, start))
        for name, inner in zip(names, nested, strict=True):
            self._keyword(name)
            self._reader.expect("{")
            self._region(inner)
        return op

    def _append(self, op: Op, region: Region, start: int) -> None:
        # The op is appended before its type is inferred: the text need not be valid,
        # and a type rule may trip over operands that it does not expect.
        try:
            region.append(op)
        except WaveError as error:
            message = f"`{op.op_name}`: {error.diagnostics[0].message}"
            raise self._reader.error(message, start) from error
        except UNEXPECTED_OPERANDS as e:
            message = f"`{op.op_name}`: operands and attributes do not fit"
            raise self._reader.error(message, start) from e

    def _slots(self, cls: type[Op], scope: dict[str, Op]) -> tuple[Any, ...]:
        slots: list[Any] = []
        for field in cls.operand_fields:
            if slots:
                self._reader.expect(",")
            slots.append(self._slot(cls, field, scope))
        if self._reader.sees(","):
            message = f"`{cls.op_name}` takes {len(slots)} operands: {_signature(cls)}"
            raise self._reader.error(message)
        return tuple(slots)

    def _slot(self, cls: type[Op], field: Field, scope: dict[str, Op]) -> Any:
        reader = self._reader
        if field.variadic and reader.accept("["):
            return tuple(self._values.listed("]", lambda: self._use(scope)))
        if field.kind is FieldKind.OPTIONAL and reader.accept_word("none"):
            return None
        if field.variadic or not reader.sees("%"):
            wanted = "values in brackets" if field.variadic else "a value"
            message = f"`{field.name}` of `{cls.op_name}` is {wanted}"
            help_text = f"its operands are {_signature(cls)}"
            raise reader.error(f"{message}, found {reader.found()}", help=help_text)
        return self._use(scope)

    def _use(self, scope: dict[str, Op]) -> Op:
        start = self._reader.at
        name = self._reader.value_name()
        if name not in scope:
            raise self._reader.error(
                f"`{name}` is not defined in this region",
                start,
                help="a value of an enclosing region comes in as a capture",
            )
        return scope[name]

    def _attributes(
        self, cls: type[Op], without: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        if not self._reader.accept("{"):
            return {}
        names = [f.name for f in cls.fields if f.kind is FieldKind.ATTRIBUTE]
        known = [name for name in names if name not in without]
        return self._values.assignments("}", known, f"`{cls.op_name}`")

    def _tail(self, op: Op, start: int, attach: Callable[[], object]) -> None:
        """Tags, facts and location; the op joins its region before the facts."""
        if self._reader.accept_word("tags"):
            self._reader.expect("[")
            tags = self._values.listed("]", lambda: self._reader.string("a tag"))
            op.tags = frozenset(tags)
        rows: list[tuple[FactKind[Any], object]] = []
        while self._reader.accept("@"):
            rows.append(self._fact())
        op.location = self._location(self._reader.location(start))
        attach()
        for kind, row in rows:
            region_of(op).graph.facts.put(kind, op, row)

    def _fact(self) -> tuple[FactKind[Any], object]:
        start = self._reader.at
        name = self._reader.word("the name of a fact")
        kind = FACT_KINDS.get(name)
        if kind is None:
            hint = near(name, FACT_KINDS)
            raise self._reader.error(f"unknown fact `{name}`", start, hint)
        return kind, self._values.record(kind.row, start)

    def _location(self, default: Location) -> Location:
        reader = self._reader
        if not reader.sees("loc("):
            return default
        start = reader.at
        reader.word("loc")
        try:
            return Location.from_text(reader.bracketed())
        except ValueError as error:
            raise reader.error("this is not a location", start) from error


def _signature(cls: type[Op]) -> str:
    names = [f"[{f.name}]" if f.variadic else f.name for f in cls.operand_fields]
    return ", ".join(names) or "none"
