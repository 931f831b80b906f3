"""Formulas of elements as text, and the programs that they are."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

from wave_core.diagnostics import capture_location, user_error
from wave_kernels.definitions.elementwise import FOLDS, FUNCTIONS, Number, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    Value = int | Number

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

ARROW = "->"

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Div: "div",
    ast.Mult: "mul",
    ast.Pow: "pow",
    ast.Sub: "sub",
}
JOINED: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or"}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.NotEq: "ne",
}

CHOICE = "where"
WRITTEN = {*OPERATORS.values(), *JOINED.values(), *COMPARED.values(), "neg", "not"}
CALLED = sorted({*FUNCTIONS, *FOLDS} - WRITTEN)
"""What has no sign, and is called by its name."""

OPERANDS = {"maximum": 2, "minimum": 2, CHOICE: 3}
"""Of those that have not one."""


@dataclass(frozen=True)
class Formula:
    """What a text says.

    Attributes:
        steps: Of a program, as many operands before them as there are names.
        value: The place of the result.
        truth: Whether that is true or false.
    """

    steps: tuple[Step, ...]
    value: int
    truth: bool


@lru_cache(maxsize=4096)
def formula_of(text: str, truths: tuple[bool, ...]) -> Formula:
    """The formula of a text ``x, y -> x * y``, of so many operands.

    Args:
        text: Names, an arrow, and what is computed, as Python writes it.
        truths: Which of the operands are true or false.

    Raises:
        UserError: WV0823 for what is no formula of these.
    """
    names, arrow, body = text.partition(ARROW)
    if not arrow:
        refuse(text, "it has no arrow", "write `x, y -> x * y`")
    operands = [name.strip() for name in names.split(",")]
    if not all(map(str.isidentifier, operands)) or len({*operands}) < len(operands):
        refuse(text, f"it is of {names.strip()}", "write names, each of its own")
    if len(operands) != len(truths):
        refuse(text, f"it is of {len(operands)} tensors", f"{len(truths)} are given")
    writer = _Writer(text, operands, [*truths])
    found = _written(writer, body)
    if isinstance(found, Number):
        refuse(text, "it is one number", "compute something of the tensors")
    return Formula(tuple(writer.steps), found, writer.truths[found])


def refuse(text: str, what: str, advice: str) -> NoReturn:
    """End the call for what is no formula.

    Raises:
        UserError: WV0823, always.
    """
    raise user_error(
        "WV0823",
        f"`elementwise` has no formula `{text}`: {what}",
        at=capture_location(),
        label="called here",
        help=advice,
    )


def _written(writer: _Writer, body: str) -> Value:
    """The value of an expression, which is read and written as far as it is deep."""
    try:
        return writer.value(ast.parse(body.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        advice = "write it as an expression of Python"
        refuse(writer.text, "it cannot be read", advice)
    except (RecursionError, MemoryError):
        advice = "give what is inside as a tensor"
        refuse(f"{writer.text[:60]}...", "it is too deep", advice)


@dataclass
class _Writer:
    """Steps of a formula, so far.

    Attributes:
        text: All of it, for messages.
        names: Of the operands.
        truths: Which values are true or false.
        steps: In order.
    """

    text: str
    names: Sequence[str]
    truths: list[bool]
    steps: list[Step] = field(default_factory=list[Step])

    def value(self, node: ast.expr) -> Value:
        """The value of an expression, after the steps that it takes."""
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.names.index(name)
            case ast.Constant(value=bool() | str() | bytes() | complex()):
                pass
            case ast.Constant(value=int() | float() as number):
                return self._number(number)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self._negative(inner)
            case ast.UnaryOp(op=ast.Invert(), operand=inner):
                return self._step("not", [inner], truth=True, of_truths=True)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in JOINED:
                both = [left, right]
                return self._step(JOINED[type(sign)], both, truth=True, of_truths=True)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return self._step(OPERATORS[type(sign)], [left, right])
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if (
                type(sign) in COMPARED
            ):
                return self._step(COMPARED[type(sign)], [left, right], truth=True)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments)
            case _:
                pass
        words = ast.unparse(node)
        names = f"names are {', '.join(self.names)}"
        refuse(self.text, f"`{words}` is nothing that it has", names)

    def _number(self, number: float) -> Number:
        try:
            return Number(repr(float(number)))
        except OverflowError:
            refuse(self.text, "a number is beyond all floats", "write a smaller one")

    def _negative(self, inner: ast.expr) -> Value:
        if isinstance(inner, ast.Constant):
            found = self.value(inner)
            assert isinstance(found, Number), "a constant is a number, or refused"
            return Number(repr(-float(found.text)))
        return self._step("neg", [inner])

    def _call(self, name: str, arguments: list[ast.expr]) -> int:
        if name not in CALLED:
            refuse(self.text, f"there is no function `{name}`", ", ".join(CALLED))
        count = OPERANDS.get(name, 1)
        if len(arguments) != count:
            what = f"`{name}` has {len(arguments)} arguments"
            refuse(self.text, what, f"it takes {count}")
        if name != CHOICE:
            return self._step(name, arguments)
        chosen = self._operand(arguments[0], truth=True)
        rest = [self._operand(each, truth=False) for each in arguments[1:]]
        return self._append(name, [chosen, *rest], truth=False)

    def _step(
        self,
        name: str,
        nodes: Sequence[ast.expr],
        *,
        truth: bool = False,
        of_truths: bool = False,
    ) -> int:
        values = [self._operand(each, truth=of_truths) for each in nodes]
        return self._append(name, values, truth=truth)

    def _append(self, name: str, values: Sequence[Value], *, truth: bool) -> int:
        self.steps.append(Step(name, tuple(values)))
        self.truths.append(truth)
        return len(self.truths) - 1

    def _operand(self, node: ast.expr, *, truth: bool) -> Value:
        """A value, seen to be a number, or to be true or false."""
        found = self.value(node)
        is_truth = not isinstance(found, Number) and self.truths[found]
        if is_truth != truth:
            kinds = ("a number", "true or false")
            what = f"`{ast.unparse(node)}` is {kinds[is_truth]}"
            refuse(self.text, what, f"it has to be {kinds[truth]} there")
        return found
