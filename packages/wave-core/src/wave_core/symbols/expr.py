"""Hash-consed integer expressions: nodes, sums and products.

Every expression is canonical when it is built, so structural equality is identity:
compare with `is`, use as dictionary keys freely. All rewrites hold for every integer
value of the symbols (given the `nonnegative` flag), except that a division whose
divisor could be zero may be cancelled: dividing by zero has no value to preserve.
"""

from __future__ import annotations

import operator
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, NoReturn

from wave_core.symbols.error import SymbolError
from wave_core.symbols.node import EXPANSION_LIMIT, MAX_DEPTH, InternTable, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    _Binary = Callable[["Expr | int", "Expr | int"], "Expr"]

_CONST = Kind.CONST
_SYMBOL = Kind.SYMBOL
_PRODUCT = Kind.PRODUCT
_SUM = Kind.SUM
_BOOLEANS = frozenset({Kind.GE, Kind.EQ, Kind.NE, Kind.AND, Kind.OR})
_SYMBOLS = frozenset({_SYMBOL})
_KEY, _KIND_OF = operator.attrgetter("key"), operator.attrgetter("kind")
_TERM_KEY = operator.attrgetter("_key")
"""The same of what is no sum, without a call."""
_UNIT = (1,)
_NOTHING: frozenset[Expr] = frozenset()


class _Fields:
    """What an expression has, while it is made: then it becomes an `Expr`."""

    __slots__ = (
        "__weakref__",
        "_free",
        "_key",
        "_text",
        "args",
        "coeffs",
        "const",
        "depth",
        "kind",
        "name",
        "nonnegative",
    )

    kind: Kind
    args: tuple[Expr, ...]
    coeffs: tuple[int, ...]
    const: int
    name: str
    nonnegative: bool
    depth: int
    _free: frozenset[Expr] | None
    _key: tuple[object, ...] | None
    _text: str | None

    def __init__(
        self,
        kind: Kind,
        args: tuple[Expr, ...],
        coeffs: tuple[int, ...],
        const: int,
        key: tuple[object, ...] | None,
        name: str,
        nonnegative: bool,  # noqa: FBT001 - as above
        depth: int,
    ) -> None:
        self.kind, self.args, self.coeffs, self.const = kind, args, coeffs, const
        self.name, self.nonnegative, self.depth = name, nonnegative, depth
        self._key, self._text = key, None
        self._free = _NOTHING if kind is _CONST else None


class Expr(_Fields):
    """An immutable integer expression; equal expressions are the same object.

    Attributes:
        kind: What the node is.
        args: Child nodes; for a sum its terms, without their coefficients.
        coeffs: For a sum the non-zero coefficient of each term.
        const: For a constant its value, for a sum its constant term.
        name: For a symbol its name.
        nonnegative: True when the value is known to be >= 0 from the structure alone.
        depth: Levels of nodes below this one.
    """

    __slots__ = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Ordering key, the same in every process."""
        if self._key is None:  # of a sum: few are ordered among others
            rows = zip(self.args, self.coeffs, strict=True)
            keys = tuple([(term.key, coeff) for term, coeff in rows])
            found = (int(_SUM), keys, self.const)
            _write(self, "_key", found)
            return found
        return self._key

    @property
    def free_symbols(self) -> frozenset[Expr]:
        """The symbols that occur in the expression."""
        if self._free is None:
            sets = [arg.free_symbols for arg in self.args]
            free = sets[0].union(*sets[1:]) if sets else _NOTHING
            _write(self, "_free", free)
            return free
        return self._free

    @property
    def is_constant(self) -> bool:
        """True when the expression is one known integer."""
        return self.kind is _CONST

    @property
    def constant_value(self) -> int:
        """The integer that this constant is.

        Raises:
            SymbolError: The expression is not a constant.
        """
        if self.kind is not _CONST:
            msg = f"{self} is not a constant"
            raise SymbolError(msg)
        return self.const

    @property
    def is_boolean(self) -> bool:
        """True when only 0 and 1 are possible by construction."""
        if self.kind is _CONST:
            return self.const in (0, 1)
        if self.kind is Kind.SELECT:
            return self.args[1].is_boolean and self.args[2].is_boolean
        return self.kind in _BOOLEANS

    def linear(self) -> tuple[int, tuple[tuple[Expr, int], ...]]:
        """The constant term, and each other term with its coefficient."""
        terms, coeffs, const = linear_parts(self)
        return const, tuple(zip(terms, coeffs, strict=True))

    def subs(self, mapping: Mapping[Expr, Expr | int]) -> Expr:
        """Replaces all keys of `mapping` at once; see `substitute_all`."""
        if self.kind is _CONST:
            return self
        if not _SYMBOLS.issuperset(map(_KIND_OF, mapping)):
            return _substitution()[1]((self,), mapping)[0]
        own = {key: mapping[key] for key in self.free_symbols if key in mapping}
        if not own:
            return self
        if self.kind is _SYMBOL:
            return as_expr(own[self])
        return _substitution()[0](self, own)

    def __add__(self, other: Expr | int) -> Expr:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Expr | int) -> Expr:
        return subtract(self, other)

    def __rsub__(self, other: Expr | int) -> Expr:
        return subtract(as_expr(other), self)

    def __mul__(self, other: Expr | int) -> Expr:
        return multiply(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Expr | int) -> Expr:
        return _division()[0](self, other)

    def __rfloordiv__(self, other: Expr | int) -> Expr:
        return _division()[0](other, self)

    def __mod__(self, other: Expr | int) -> Expr:
        return _division()[1](self, other)

    def __rmod__(self, other: Expr | int) -> Expr:
        return _division()[1](other, self)

    def __neg__(self) -> Expr:
        return scale(self, -1)

    def __pos__(self) -> Expr:
        return self

    def __bool__(self) -> NoReturn:
        msg = f"the truth of {self} is not known; compare with `is` or use prove()"
        raise SymbolError(msg)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = f"expressions are immutable: cannot set {name}"
        raise SymbolError(msg)

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Expr:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """The call that makes the one node of the process that reads it."""
        if self.kind is _CONST:
            return constant, (self.const,)
        if self.kind is _SYMBOL:
            return symbol, (self.name, self.nonnegative)
        if self.kind is _SUM:
            return _intern_sum, (self.args, self.coeffs, self.const)
        return partial(intern_node, nonnegative=self.nonnegative), (
            self.kind,
            self.args,
        )

    def __str__(self) -> str:
        if self._text is None:
            # A lazy seam: printing looks for remainders, which needs the builders.
            from wave_core.symbols.text import format_expr  # noqa: PLC0415

            text = format_expr(self)
            # Names of dimensions are asked for all the time, long texts once.
            if self.kind is _SYMBOL:
                _write(self, "_text", text)
            return text
        return self._text

    __repr__ = __str__


# Lazy seams, kept: what divides and substitutes builds on this module, and an import
# within a function takes as long as the smallest of these do.


@cache
def _division() -> tuple[_Binary, _Binary]:
    from wave_core.symbols.division import floordiv, mod  # noqa: PLC0415

    return floordiv, mod


@cache
def _substitution() -> tuple[Callable[..., Expr], Callable[..., tuple[Expr, ...]]]:
    """Of symbols, and of any nodes in several expressions."""
    from wave_core.symbols.substitute import (  # noqa: PLC0415
        substitute_all,
        substitute_symbols,
    )

    return substitute_symbols, substitute_all


_write = object.__setattr__
TABLE: InternTable[Expr] = InternTable()
_reference_of = TABLE.references.get


def _make(
    kind: Kind,
    args: tuple[Expr, ...],
    coeffs: tuple[int, ...],
    const: int,
    key: tuple[object, ...] | None,
    *,
    name: str = "",
    nonnegative: bool,
) -> Expr:
    depth = 1 + max([arg.depth for arg in args]) if args else 1
    if depth > MAX_DEPTH:
        msg = f"expression is nested more than {MAX_DEPTH} levels deep"
        raise SymbolError(msg)
    node = _Fields(kind, args, coeffs, const, key, name, nonnegative, depth)
    node.__class__ = Expr
    assert isinstance(node, Expr), "made so"
    if kind is _SYMBOL:
        _write(node, "_free", frozenset((node,)))
    return node


def intern_node(kind: Kind, args: tuple[Expr, ...], *, nonnegative: bool) -> Expr:
    """The node of an operation whose arguments are already canonical."""
    structure = (kind, args)
    found = TABLE.find(structure)
    if found is not None:
        return found
    key = (int(kind), *[arg.key for arg in args])
    return TABLE.add(
        structure, lambda: _make(kind, args, (), 0, key, nonnegative=nonnegative)
    )


@lru_cache(maxsize=4096, typed=True)  # held: between two uses they would be made anew
def constant(value: int) -> Expr:
    """The integer `value` as an expression."""
    value = operator.index(value)
    found = TABLE.find(value)
    if found is not None:
        return found
    key = (int(_CONST), value)
    return TABLE.add(
        value, lambda: _make(_CONST, (), (), value, key, nonnegative=value >= 0)
    )


def symbol(name: str, nonnegative: bool = True) -> Expr:  # noqa: FBT001, FBT002
    """An unknown integer called `name`, by default one that is never negative."""
    if not name or not name.isprintable():
        msg = f"a symbol needs a non-empty printable name, not {name!r}"
        raise SymbolError(msg)
    structure = (name, nonnegative)
    key = (int(_SYMBOL), name, nonnegative)
    found = TABLE.find(structure)
    if found is not None:
        return found
    return TABLE.add(
        structure,
        lambda: _make(_SYMBOL, (), (), 0, key, name=name, nonnegative=nonnegative),
    )


def as_expr(value: Expr | int) -> Expr:
    """`value` itself, or the constant it stands for.

    Raises:
        SymbolError: `value` is neither an expression nor an integer.
    """
    if type(value) is Expr:
        return value
    try:
        return constant(value)  # no integer: an error
    except TypeError:
        msg = f"expected an expression or an integer, got {value!r}"
        raise SymbolError(msg) from None


# ---- sums


def linear_parts(node: Expr) -> tuple[tuple[Expr, ...], tuple[int, ...], int]:
    """Terms, coefficients and constant term of any node."""
    kind = node.kind
    if kind is _SUM:
        return node.args, node.coeffs, node.const
    if kind is _CONST:
        return (), (), node.const
    return (node,), _UNIT, 0


def _intern_sum(terms: tuple[Expr, ...], coeffs: tuple[int, ...], const: int) -> Expr:
    if not terms:
        return constant(const)
    if const == 0 and coeffs == _UNIT:
        return terms[0]
    structure = (terms, coeffs, const)
    # As `TABLE.find` does: here, calls count.
    reference = _reference_of(structure)
    found = None if reference is None else reference()
    return _new_sum(*structure) if found is None else found


def _new_sum(terms: tuple[Expr, ...], coeffs: tuple[int, ...], const: int) -> Expr:
    nonnegative = const >= 0 and min(coeffs) >= 0 and all(t.nonnegative for t in terms)
    return TABLE.add(
        (terms, coeffs, const),
        lambda: _make(
            _SUM,
            terms,
            coeffs,
            const,
            None,
            nonnegative=nonnegative,
        ),
    )


def from_linear(terms: Mapping[Expr, int], const: int) -> Expr:
    """The sum of `const` and every term times its coefficient.

    The terms must be neither sums nor constants.
    """
    kept = [term for term, coeff in terms.items() if coeff]
    if len(kept) > 1:
        kept.sort(key=_TERM_KEY)
    return _intern_sum(tuple(kept), tuple([terms[term] for term in kept]), const)


def _from_ordered(terms: Mapping[Expr, int], const: int) -> Expr:
    """The same of terms that are in their order, as those of one sum are."""
    kept = [term for term, coeff in terms.items() if coeff]
    return _intern_sum(tuple(kept), tuple([terms[term] for term in kept]), const)


def add(a: Expr | int, b: Expr | int) -> Expr:
    """The sum of two values."""
    a = a if type(a) is Expr else as_expr(a)
    b = b if type(b) is Expr else as_expr(b)
    if a.kind is _CONST:
        a, b = b, a
    terms, coeffs, const = linear_parts(a)
    if b.kind is _CONST:
        return _intern_sum(terms, coeffs, const + b.const) if b.const else a
    merged = dict(zip(terms, coeffs, strict=True))
    own = len(merged)
    terms, coeffs, other = linear_parts(b)
    for term, coeff in zip(terms, coeffs, strict=True):
        merged[term] = merged.get(term, 0) + coeff
    made = _from_ordered if len(merged) == own else from_linear
    return made(merged, const + other)


def total(items: Iterable[Expr | int]) -> Expr:
    """The sum of all items, collected once."""
    return combine([(item, 1) for item in items])


def combine(items: Iterable[tuple[Expr | int, int]], const: int = 0) -> Expr:
    """The sum of `const` and every expression times its factor."""
    merged: dict[Expr, int] = {}
    known = merged.get
    for given, factor in items:
        item = given if type(given) is Expr else as_expr(given)
        kind = item.kind
        if kind is _SUM:
            const += item.const * factor
            for term, coeff in zip(item.args, item.coeffs, strict=True):
                merged[term] = known(term, 0) + coeff * factor
        elif kind is _CONST:
            const += item.const * factor
        else:
            merged[item] = known(item, 0) + factor
    return from_linear(merged, const)


def scale(a: Expr, factor: int) -> Expr:
    """A times an integer."""
    if factor == 1:
        return a
    if factor == 0:
        return constant(0)
    terms, coeffs, const = linear_parts(a)
    return _intern_sum(terms, tuple([c * factor for c in coeffs]), const * factor)


def subtract(a: Expr | int, b: Expr | int) -> Expr:
    """The difference of two values."""
    a = a if type(a) is Expr else as_expr(a)
    b = b if type(b) is Expr else as_expr(b)
    terms, coeffs, const = linear_parts(a)
    if b.kind is _CONST:
        return _intern_sum(terms, coeffs, const - b.const) if b.const else a
    if a is b:
        return constant(0)
    if not terms:
        terms, coeffs, other = linear_parts(b)
        return _intern_sum(terms, tuple([-c for c in coeffs]), const - other)
    merged = dict(zip(terms, coeffs, strict=True))
    own = len(merged)
    terms, coeffs, other = linear_parts(b)
    for term, coeff in zip(terms, coeffs, strict=True):
        merged[term] = merged.get(term, 0) - coeff
    made = _from_ordered if len(merged) == own else from_linear
    return made(merged, const - other)


# ---- products


def multiply(a: Expr | int, b: Expr | int) -> Expr:
    """The product of two values."""
    a = as_expr(a)
    b = as_expr(b)
    if a.kind is _CONST:
        return scale(b, a.const)
    if b.kind is _CONST:
        return scale(a, b.const)
    return product((a, b))


def dot(pairs: Iterable[tuple[Expr | int, Expr | int]]) -> Expr:
    """The sum of products of two, collected once."""
    rows: list[tuple[Expr | int, int]] = []
    for one, other in pairs:
        factor = as_expr(other)
        plain = factor.kind is _CONST
        rows.append((one, factor.const) if plain else (multiply(one, factor), 1))
    return combine(rows)


def monomial_factors(term: Expr) -> tuple[Expr, ...]:
    """The factors of a term of a sum, itself when it is no product."""
    return term.args if term.kind is _PRODUCT else (term,)


def monomial(factors: Sequence[Expr]) -> Expr:
    """The product of factors that are neither constants nor multiplied out."""
    if not factors:
        return constant(1)
    if len(factors) == 1:
        return factors[0]
    ordered = tuple(sorted(factors, key=_KEY))
    return intern_node(
        _PRODUCT, ordered, nonnegative=all(f.nonnegative for f in ordered)
    )


def product(factors: Iterable[Expr | int]) -> Expr:
    """The product of all factors, multiplied out unless that makes it huge."""
    coeff = 1
    atoms: list[Expr] = []
    sums: list[Expr] = []
    for given in factors:
        factor = as_expr(given)
        if factor.kind is _CONST:
            coeff *= factor.const
            continue
        if factor.kind is _SUM and len(factor.args) == 1 and factor.const == 0:
            coeff *= factor.coeffs[0]
            factor = factor.args[0]
        for part in monomial_factors(factor):
            (sums if part.kind is _SUM else atoms).append(part)
    if coeff == 0:
        return constant(0)
    size = 1
    for part in sums:
        size *= len(part.args) + (part.const != 0)
    if size > EXPANSION_LIMIT:
        return scale(monomial(atoms + sums), coeff)
    return _expand(atoms, sums, coeff) if sums else scale(monomial(atoms), coeff)


def _expand(atoms: list[Expr], sums: list[Expr], coeff: int) -> Expr:
    rows: list[tuple[list[Expr], int]] = [(atoms, coeff)]
    for part in sums:
        terms = [
            (list(monomial_factors(t)), c)
            for t, c in zip(part.args, part.coeffs, strict=True)
        ]
        if part.const:
            terms.append(([], part.const))
        rows = [(left + right, a * b) for left, a in rows for right, b in terms]
    return combine([(monomial(factors), value) for factors, value in rows])
