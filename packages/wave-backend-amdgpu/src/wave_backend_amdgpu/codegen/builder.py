"""Builds MLIR text, region by region.

Text is built rather than operations: it needs no bindings, goes to a worker process as
it is, is what users edit by hand, and the compiler parses it in a few milliseconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wave_core.backends.emission import Regions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.backends.emission import Block
    from wave_core.diagnostics import Location

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
"""Names of symbols that MLIR reads without quotes."""


class Builder(Regions[str]):
    """Appends operations to the innermost open region, or to one further out."""

    def __init__(self) -> None:
        super().__init__()
        self._last = 0
        self._constants: dict[str, str] = {}
        self._locations: dict[tuple[str, int, int], str] = {}
        self._home = ""
        self.where = ""

    def fresh(self) -> str:
        """A name that no value has."""
        self._last += 1
        return f"%{self._last}"

    def line(self, text: str, level: int | None = None) -> None:
        """Append an operation without results."""
        self.append(text + self.where, level)

    def op(self, text: str, level: int | None = None) -> str:
        """Append an operation with one result; gives its name."""
        name = self.fresh()
        self.line(f"{name} = {text}", level)
        return name

    def constant(self, value: str, type_: str) -> str:
        """The name of a constant; equal ones share it."""
        text = f"arith.constant {value}"
        if value not in ("true", "false"):  # a literal without a type
            text += f" : {type_}"
        if text not in self._constants:
            self._constants[text] = f"%c{len(self._constants)}"
        return self._constants[text]

    def splice(self, head: str, block: Block[str], tail: str) -> None:
        """Append an operation with a closed region as its body."""
        self.blocks[-1].lines += [head, *block.lines, tail + self.where]

    def locate(self, location: Location | None) -> None:
        """Take ``location`` for what follows."""
        self.where = self._suffix(location) or self._home

    def come_home(self, location: Location | None) -> None:
        """Take ``location`` for constants, and for all that has none of its own.

        Without it, what has none is where the parser finds it in the text of MLIR,
        which debug information takes for a line of the author's file.
        """
        self._home = self.where = self._suffix(location)

    def _suffix(self, location: Location | None) -> str:
        if location is None or not location.is_known:
            return ""
        key = (location.file, location.line, location.column)
        if key not in self._locations:
            self._locations[key] = f"#l{len(self._locations)}"
        return f" loc({self._locations[key]})"

    @property
    def files(self) -> list[str]:
        """The files that locations name, each once."""
        return list(dict.fromkeys(file for file, _, _ in self._locations))

    def location_lines(self, scopes: Mapping[str, str]) -> list[str]:
        """The definitions of the locations, each in the scope of its file, if any."""
        lines: list[str] = []
        for (file, line, column), name in self._locations.items():
            place = f"{quoted(file)}:{line}:{max(column, 1)}"
            if file in scopes:
                place = f"fused<{scopes[file]}>[{place}]"
            lines.append(f"{name} = loc({place})")
        return lines

    def body_lines(self) -> list[str]:
        """The constants, then everything at the outermost level."""
        home = self._home
        named = [f"{name} = {text}{home}" for text, name in self._constants.items()]
        return [*named, *self.blocks[0].lines]


def quoted(text: str) -> str:
    """``text`` as a string of MLIR, in which bytes are escaped, and no code points."""
    return '"' + "".join(map(_escaped, text.encode())) + '"'


def _escaped(byte: int) -> str:
    printable = 0x20 <= byte < 0x7F and byte not in b'"\\'
    return chr(byte) if printable else f"\\{byte:02X}"


def reference(name: str) -> str:
    """The reference to a symbol of any name."""
    return f"@{name}" if _BARE.fullmatch(name) else f"@{quoted(name)}"
