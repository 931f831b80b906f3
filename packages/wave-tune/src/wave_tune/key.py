"""What a measurement holds for: kernel, target, class of shapes, versions."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from wave_core.compile.option_rows import Role
from wave_core.compile.options import option_table
from wave_core.diagnostics.diagnostic import json_value
from wave_core.types import MemoryType
from wave_tune.points import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.ir import Graph
    from wave_core.plugin import ChoiceRequest
    from wave_core.symbols import Expr

SMALL = 16
"""Sizes up to here are classes of their own."""

DIGITS = 24
"""Hexadecimal digits of a digest that names something."""

DYNAMIC = "launch"
"""The class of sizes that a launch brings."""


@dataclass(frozen=True)
class Key:
    """What decides whether a measurement holds for a compilation.

    Attributes:
        name: Of the kernel.
        kernel: Digest of its trace and constraints, values of symbols left out.
        target: Name of the machine, and digest of its rows.
        shape: For each symbol that is settled, its value; of a size, its class.
        options: Digest of the compile options that are given.
        versions: Of the packages that make code.
    """

    name: str
    kernel: str
    target: str
    shape: str
    options: str
    versions: str

    def text(self) -> str:
        """A name of all that: equal for equal keys."""
        digest = hashlib.sha256(canonical(asdict(self)).encode()).hexdigest()
        return f"{self.name}-{digest[:DIGITS]}"


def key_of(request: ChoiceRequest) -> Key:
    """The key of a kernel that is about to be compiled.

    Raises:
        UserError: for mistakes in the kernel.
    """
    graph = request.graph(request.values[0])
    rows = str(graph).splitlines()
    text = "\n".join(row for row in rows if not row.startswith("  bind "))
    decisive = {row.name for row in option_table() if row.role is Role.RESULT}
    decisive -= {"subs", "dynamic_symbols", "target"}
    options = {k: json_value(v) for k, v in request.options.items() if k in decisive}
    target = request.target
    return Key(
        graph.name,
        _digest(text),
        f"{target.name} {_digest(repr(target))}",
        canonical(dict(_shape(request, graph))),
        _digest(canonical(options)),
        canonical(dict(request.versions)),
    )


def _shape(request: ChoiceRequest, graph: Graph) -> Iterator[tuple[str, str]]:
    """Symbols with their values, or classes of them."""
    dims = set(_dims(graph))
    bound: Any = request.options.get("subs", {})
    for symbol, value in bound.items():
        is_size = symbol in dims and isinstance(value, int)
        yield str(symbol), size_class(value) if is_size else str(value)
    dynamic: Any = request.options.get("dynamic_symbols", ())
    for symbol in dynamic:
        yield str(symbol), DYNAMIC


def size_class(size: int) -> str:
    """Sizes that are tuned together: those up to the same power of two.

    A size is apart from others where it is small, and where 16 does not divide it:
    accesses are narrower then.
    """
    if size <= SMALL:
        return str(size)
    ragged = "" if size % SMALL == 0 else " ragged"
    return f"to {1 << (size - 1).bit_length()}{ragged}"


def _dims(graph: Graph) -> Iterator[Expr]:
    """The symbols that are dimensions of tensors."""
    for row in graph.parameters:
        if isinstance(row.type, MemoryType):
            for extent in row.type.storage_shape:
                yield from extent.free_symbols


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
