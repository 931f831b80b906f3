"""Assembly metrics of a kernel, for ``wave inspect --what asm``."""

from __future__ import annotations

import json as json_text
from typing import TYPE_CHECKING, Any

from wave_core.cli.output import print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.session import Session

Row = tuple[str, str]


def show_assembly(session: Session, case: KernelCase, *, as_json: bool) -> None:
    """Compile a kernel and show what its machine code is like."""
    # Compiling loads torch and the backend.
    from wave_core.compile.emission import emit  # noqa: PLC0415

    found = emit(case.options, case.kernel, "metrics", session)
    (data,) = found.files.values()
    metrics: dict[str, Any] = json_text.loads(data)
    if as_json:
        print_json(metrics)
        return
    print_table(("what", "found"), list(metric_rows(metrics)))


def metric_rows(metrics: Mapping[str, Any]) -> Iterator[Row]:
    """Names and values of what a backend's ``metrics`` say, for people."""
    yield from _resources(metrics["resources"])
    yield from _loop(metrics)


_RESOURCES = (
    ("vector registers", "{vgprs} a lane, {agprs} accumulation"),
    ("scalar registers", "{sgprs}"),
    ("registers", "{registers} a thread"),
    ("spills", "{vgpr_spills} vector, {sgpr_spills} scalar"),
    ("spills", "{spill_store_bytes} bytes stored, {spill_load_bytes} loaded"),
    ("scratch", "{scratch_bytes} bytes a lane"),
    ("local memory", "{stack_bytes} bytes a thread"),
    ("LDS", "{lds_bytes} bytes a workgroup of {threads} threads"),
    ("barriers", "{barriers}"),
)
"""Rows of the table; those of which the backend says nothing are left out."""


def _resources(found: Mapping[str, Any]) -> Iterator[Row]:
    for what, text in _RESOURCES:
        try:
            yield what, text.format_map(found)
        except KeyError:
            continue
    waves = found["waves_per_simd"]
    if waves is not None:
        limit = found["limited_by"]
        yield "occupancy", f"{waves} waves of a SIMD, limited by {limit}"


def _loop(metrics: Mapping[str, Any]) -> Iterator[Row]:
    if "counts" not in metrics:
        return
    hot = metrics["hot"]
    if hot is None:
        yield "hot loop", "none: the code has no loop"
        yield "instructions", _counts(metrics["counts"])
        return
    total = hot["counts"]["total"]
    depth, loops = hot["depth"], metrics["loops"]
    yield "hot loop", f"{hot['label']} at depth {depth}, one of {loops}"
    if hot["density"] is not None:
        matrix = hot["counts"]["matrix"]
        share = f"{hot['density']:.1%}"
        yield "MFMA density", f"{share}: {matrix} of {total} instructions"
        yield "matrix work", f"{hot['flops']} FLOP a wave and iteration"
    yield "instructions", _counts(hot["counts"])


def _counts(found: Mapping[str, int]) -> str:
    """All kinds, the most frequent first."""
    rows = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in rows)
