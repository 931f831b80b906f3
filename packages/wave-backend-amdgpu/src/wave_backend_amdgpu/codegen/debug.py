"""The scope that lines need to become DWARF: a compile unit and a subprogram."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.builder import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Location


def scope_lines(name: str, location: Location | None) -> list[str]:
    """The definitions; the kernel counts as C, which every debugger knows."""
    known = location is not None and location.is_known
    path = location.file if location is not None and known else "kernel"
    line = location.line if location is not None and known else 1
    return [
        f"#di_file = {_file(path)}",
        (
            "#di_unit = #llvm.di_compile_unit<id = distinct[0]<>, "
            "sourceLanguage = DW_LANG_C, file = #di_file, isOptimized = true, "
            "emissionKind = LineTablesOnly>"
        ),
        "#di_type = #llvm.di_subroutine_type<>",
        (
            "#di_scope = #llvm.di_subprogram<id = distinct[1]<>, "
            "compileUnit = #di_unit, "
            f"scope = #di_file, name = {quoted(name)}, file = #di_file, "
            f'line = {line}, subprogramFlags = "Definition|Optimized", type = #di_type>'
        ),
    ]


def file_scopes(
    files: Iterable[str], location: Location | None
) -> tuple[dict[str, str], list[str]]:
    """Scopes for the files that are not the kernel's own: names by file, definitions.

    LLVM looks for a line in the file of its scope, so lines of functions that the
    kernel calls while it is traced would be taken for lines of the kernel's file.
    """
    own = None if location is None else location.file
    others = [file for file in files if file != own]
    names = {file: f"#di_scope_{at}" for at, file in enumerate(others)}
    return names, [
        f"{name} = #llvm.di_lexical_block_file<scope = #di_scope, "
        f"file = {_file(file)}, discriminator = 0>"
        for file, name in names.items()
    ]


def _file(path: str) -> str:
    parts = PurePath(path)
    return f"#llvm.di_file<{quoted(parts.name)} in {quoted(str(parts.parent))}>"


def scoped(where: str) -> str:
    """The location of the function within its scope."""
    inner = where.removeprefix(" loc(").removesuffix(")") or "unknown"
    return f" loc(fused<#di_scope>[{inner}])"
