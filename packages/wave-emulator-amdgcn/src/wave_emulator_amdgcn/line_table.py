"""The document of ``wave inspect --what lines``, and its tables."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from wave_emulator_amdgcn.costs.unit import resident_groups
from wave_isa_amdgcn.costs import COSTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_emulator_amdgcn.codeobject import CodeObject, Kernel
    from wave_emulator_amdgcn.costs.estimate import Estimate
    from wave_emulator_amdgcn.costs.listing import Listing

    Table = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]


_RESOURCES = (
    ("vector registers", "{vgprs}, {agprs} of them AGPRs"),
    ("scalar registers", "{sgprs}"),
    ("spills", "{vgpr_spills} vector, {sgpr_spills} scalar"),
    ("LDS", "{lds_bytes:,} bytes"),
    ("waves on a SIMD", "{waves_per_simd:g}"),
)


def document(
    code: CodeObject, kernel: Kernel, listing: Listing, found: Estimate, why: str
) -> dict[str, Any]:
    """All that is known of a kernel's code, as JSON values.

    ``cycles`` of a line are those of the mean wave; ``why`` says why there are none.
    """
    spent = {row["source"]: row["cycles"] for row in found.spent}
    hot = listing.hot
    return {
        "kernel": kernel.name,
        "target": code.architecture.name,
        "resources": _resources(code, kernel),
        "whole": listing.whole.to_json(),
        "hot": None if hot is None else hot.to_json(),
        "loops": [loop.to_json() for loop in listing.loops],
        "blocks": [block.to_json() for block in listing.blocks],
        "lines": [
            {**line.to_json(), "cycles": spent.get(line.source or "?")}
            for line in listing.lines
        ],
        "cycles": found.cycles,
        "basis": found.basis,
        "why": why,
    }


def _resources(code: CodeObject, kernel: Kernel) -> dict[str, float]:
    cost = COSTS[code.architecture.name]
    waves = -(-kernel.block_limit // code.architecture.lanes)
    resident = resident_groups(code, kernel, cost, waves)
    vectors, scalars = kernel.spilled
    return {
        "vgprs": kernel.vgprs,
        "agprs": kernel.agprs,
        "sgprs": kernel.sgprs,
        "vgpr_spills": vectors,
        "sgpr_spills": scalars,
        "scratch_bytes": kernel.descriptor.private_bytes,
        "lds_bytes": kernel.lds_bytes,
        "threads": kernel.block_limit,
        "waves_per_simd": resident * waves / cost.simds,
    }


def tables(found: Mapping[str, Any]) -> Sequence[Table]:
    """The document for a terminal."""
    resources, whole, hot = found["resources"], found["whole"], found["hot"]
    rows = [
        ("instructions", f"{whole['instructions']:,}"),
        *((title, text.format_map(resources)) for title, text in _RESOURCES),
    ]
    if hot is not None:
        rows += [
            ("hot loop", f"{hot['source'] or '?'}, at {hot['pc']:#x}"),
            ("its instructions", f"{hot['instructions']:,}: {_counts(hot['units'])}"),
            ("its least cycles", f"{hot['least_cycles']:,} of a wave and turn"),
        ]
    if found["cycles"]:
        steady = found["cycles"]["per_workgroup"]
        rows.append(("cycles of a workgroup, in steady state", f"{steady:,.0f}"))
    else:
        rows.append(("cycles", f"not modelled: {found['why']}"))
    lines = [
        (_short(line["source"]), f"{line['instructions']:,}", _cycles(line["cycles"]),
         _counts(line["units"]))
        for line in found["lines"]
    ]  # fmt: skip
    titles = ("line", "instructions", "cycles of a wave", "by unit")
    return ((("what", "found"), rows), (titles, lines))


def _short(source: str) -> str:
    name, _, line = source.rpartition(":")
    return f"{PurePath(name).name}:{line}" if line else "?"


def _cycles(cycles: float | None) -> str:
    return "" if cycles is None else f"{cycles:,.0f}"


def _counts(units: Mapping[str, int]) -> str:
    """All units, the busiest first."""
    rows = sorted(units.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count} {unit}" for unit, count in rows)
