"""The scope that lines need to become DWARF: a compile unit and a subprogram."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.builder import quoted

if TYPE_CHECKING:
    from wave_core.diagnostics import Location


def scope_lines(name: str, location: Location | None) -> list[str]:
    """The definitions; the kernel counts as C, which every debugger knows."""
    known = location is not None and location.is_known
    path = PurePath(location.file if location is not None and known else "kernel")
    line = location.line if location is not None and known else 1
    file = f"{quoted(path.name)} in {quoted(str(path.parent))}"
    return [
        f"#di_file = #llvm.di_file<{file}>",
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


def scoped(where: str) -> str:
    """The location of the function within its scope."""
    inner = where.removeprefix(" loc(").removesuffix(")") or "unknown"
    return f" loc(fused<#di_scope>[{inner}])"
