"""Which names a function's code reads, and whether they are all that it reads.

Code reaches values by a few instructions: a global, a variable of an enclosing
function, an attribute of what it has. Names are therefore found without running the
code, and a module counts with the attributes that are taken from it. Code that can
reach values in another way is refused.
"""

from __future__ import annotations

import ast
import dis
import re
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: A name, and the attributes that are taken one after the other.
Path = tuple[str, ...]

#: Instructions that begin a path with a global.
_GLOBALS = frozenset({"LOAD_FROM_DICT_OR_GLOBALS", "LOAD_GLOBAL", "LOAD_NAME"})

#: Instructions that begin one with a variable of this or of an enclosing function.
_VARIABLES = frozenset({"LOAD_CLASSDEREF", "LOAD_DEREF", "LOAD_FROM_DICT_OR_DEREF"})

#: Instructions that go on with a path.
_STEPS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})

#: Instructions that load what the function made itself, or what never changes.
_LOCAL = frozenset(
    {
        "LOAD_ASSERTION_ERROR",
        "LOAD_CLOSURE",
        "LOAD_COMMON_CONSTANT",
        "LOAD_CONST",
        "LOAD_CONST_IMMORTAL",
        "LOAD_FAST",
        "LOAD_FAST_AND_CLEAR",
        "LOAD_FAST_BORROW",
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
        "LOAD_FAST_CHECK",
        "LOAD_FAST_LOAD_FAST",
        "LOAD_SMALL_INT",
        "LOAD_SPECIAL",
    }
)

#: Attributes through which everything can be reached.
_DOORS = frozenset(
    {"ag_frame", "cr_frame", "format", "format_map", "gi_frame", "tb_frame"}
)

_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")

#: Codes whose names are remembered.
_KEPT = 1024


class UnknowableError(Exception):
    """A function depends on something whose changes cannot be seen."""


@dataclass(frozen=True)
class Reads:
    """Names and values that code reads.

    Attributes:
        paths: Of its globals, and of the variables of enclosing functions.
        quoted: Paths in strings that may be annotations of inner functions.
    """

    paths: tuple[Path, ...]
    quoted: tuple[Path, ...]


@lru_cache(_KEPT)
def reads_of(code: CodeType) -> Reads:
    """Reads of a function's code and of the functions inside it.

    Raises:
        UnknowableError: it can reach values in ways that are not followed.
    """
    paths: set[Path] = set()
    quoted: set[Path] = set()
    for part in _codes(code):
        paths.update(_paths(part, frozenset(code.co_freevars)))
        # Comprehensions are inner functions too: there are more strings than needed.
        if any(isinstance(each, CodeType) for each in part.co_consts):
            for text in _strings(part.co_consts):
                quoted.update(paths_in(text))
    return Reads(tuple(sorted(paths)), tuple(sorted(quoted)))


@lru_cache(_KEPT)
def paths_in(text: str) -> tuple[Path, ...]:
    """Paths in a string, if that is an expression as annotations are.

    Raises:
        UnknowableError: as of `reads_of`.
    """
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = [tuple(path.split(".")) for path in _PATH.findall(text)]
    for path in found:
        _check(path)
    return tuple(found)


def _paths(code: CodeType, free: frozenset[str]) -> Iterator[Path]:
    """Paths of one code; ``free`` are the variables from around the whole function."""
    path: Path = ()
    for row in dis.get_instructions(code):
        name = str(row.argval)
        if row.opname in _STEPS:
            _check((name,))
            if path:
                path += (name,)
        elif row.opname != "EXTENDED_ARG":
            if path:
                yield path
            path = (name,) if _begins(row.opname, name in free) else ()


def _begins(opname: str, from_outside: bool) -> bool:  # noqa: FBT001 - of a name
    """Whether an instruction loads something that the function did not make.

    Raises:
        UnknowableError: it may read what no path says.
    """
    if opname in _VARIABLES:
        return from_outside
    if opname in _GLOBALS:
        return True
    loads = opname.startswith("LOAD_") and opname not in _LOCAL
    if loads or opname.startswith(("IMPORT_", "MATCH_CLASS")):
        raise UnknowableError
    return False


def _check(path: Path) -> None:
    if any(name.startswith("__") or name in _DOORS for name in path):
        raise UnknowableError


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside."""
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


def _strings(constants: Iterable[object]) -> Iterator[str]:
    for item in constants:
        if isinstance(item, str):
            yield item
        elif isinstance(item, tuple):
            yield from _strings(cast("tuple[object, ...]", item))
