"""The user's lines as debug information of LLVM IR: lines alone, no variables."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.diagnostics import Location

UNIT, FILE, TYPE, KERNEL, DWARF, VERSION = range(6)
"""The numbers of the nodes that every kernel has."""


class Lines:
    """Numbers the places that instructions come from, file by file."""

    def __init__(self, location: Location | None, kernel: str) -> None:
        self._kernel = kernel
        known = location is not None and location.is_known
        self._path = location.file if location is not None and known else "kernel"
        self._line = location.line if location is not None and known else 1
        self._nodes: dict[str, int] = {}

    def suffix(self, location: Location | None) -> str:
        """What names ``location`` behind an instruction."""
        if location is None or not location.is_known:
            return self._placed(self._line, 1, KERNEL)
        scope = KERNEL
        if location.file != self._path:
            file = self._node(_file(location.file))
            scope = self._node(
                f"!DILexicalBlockFile(scope: !{KERNEL}, file: !{file}, "
                "discriminator: 0)"
            )
        return self._placed(location.line, max(location.column, 1), scope)

    def _placed(self, line: int, column: int, scope: int) -> str:
        text = f"!DILocation(line: {line}, column: {column}, scope: !{scope})"
        return f", !dbg !{self._node(text)}"

    def _node(self, text: str) -> int:
        return self._nodes.setdefault(text, len(self._nodes) + VERSION + 1)

    @property
    def scope(self) -> str:
        """What names the kernel's own scope, behind its head."""
        return f"!dbg !{KERNEL}"

    def nodes(self) -> list[str]:
        """The definitions; the kernel counts as C, which every debugger knows."""
        fixed = [
            f"!llvm.dbg.cu = !{{!{UNIT}}}",
            f"!llvm.module.flags = !{{!{DWARF}, !{VERSION}}}",
            (
                f"!{UNIT} = distinct !DICompileUnit(language: DW_LANG_C, "
                f"file: !{FILE}, isOptimized: true, runtimeVersion: 0, "
                "emissionKind: DebugDirectivesOnly)"
            ),
            f"!{FILE} = {_file(self._path)}",
            f"!{TYPE} = !DISubroutineType(types: !{{}})",
            (
                f"!{KERNEL} = distinct !DISubprogram(name: {quoted(self._kernel)}, "
                f"scope: !{FILE}, file: !{FILE}, line: {self._line}, type: !{TYPE}, "
                f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{UNIT})"
            ),
            f'!{DWARF} = !{{i32 2, !"Dwarf Version", i32 4}}',
            f'!{VERSION} = !{{i32 2, !"Debug Info Version", i32 3}}',
        ]
        return [*fixed, *[f"!{at} = {text}" for text, at in self._nodes.items()]]


def _file(path: str) -> str:
    parts = PurePath(path)
    name, folder = quoted(parts.name), quoted(str(parts.parent))
    return f"!DIFile(filename: {name}, directory: {folder})"


def quoted(text: str) -> str:
    """``text`` as a string of LLVM IR, in which bytes are escaped."""
    return '"' + "".join(map(_escaped, text.encode())) + '"'


def _escaped(byte: int) -> str:
    printable = 0x20 <= byte < 0x7F and byte not in b'"\\'
    return chr(byte) if printable else f"\\{byte:02X}"
