"""Reports of the emulator of machine code, in the words of Wave.

The emulator is a device of the runtime: nothing of its package is imported, and what
it hands back is plain data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Diagnostic, launch_error, make_diagnostic
from wave_core.executors import advice
from wave_core.executors.emulation import Emulator, Places, name_of_file
from wave_runtime import open_device

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.targets import Target

HAZARDS: Mapping[str, str] = {
    "EM0501": "WV0901",
    "EM0502": "WV0902",
    "EM0503": "WV0903",
    "EM0504": "WV0914",
    "EM0505": "WV0905",
    "EM0506": "WV0914",
    "EM0507": "WV0914",
    "EM0508": "WV0910",
    "EM0509": "WV0904",
    "EM0510": "WV0903",
    "EM0511": "WV0917",
}
"""The code of Wave for each hazard of the emulator. Source: its ``errors.CODES``."""

STRAY = "EM0503"
"""An access at an address that no memory has."""

OTHER_HAZARD = "WV0914"
"""For hazards that a later emulator may find."""

ERRORS: Mapping[str, str] = {
    "EM0301": "WV0912",
    "EM0302": "WV0912",
    "EM0303": "WV0908",
    "EM0304": "WV0902",
    "EM0305": "WV0916",
}
"""The code of Wave for what ends an emulation; WV0708 for all others."""

PACKAGE = "wave-emulator-amdgcn"

EMULATOR = "emulator"
"""The name of the emulator among the devices of the runtime."""

BOUNDS = "bounds"
"""The check that probes make, among those that a launch may ask for."""

SHOWN_STALLS = 3


@dataclass(frozen=True)
class EmulationResult:
    """Reports of a launch on the emulator; its costs once they are asked for.

    Attributes:
        device: What ran it, and nothing since.
        graph: The kernel.
        reports: Hazards, as errors at the user's lines.
        hazards: How many there are, or that nobody looked.
    """

    device: Emulator
    graph: Graph
    reports: tuple[Diagnostic, ...]
    hazards: str

    @cached_property
    def counters(self) -> Mapping[str, Any]:
        """Instructions by unit, bytes, cycles, the longest stalls, hazards.

        The estimate of cycles replays the launch, which takes as long as it did.
        """
        counted = _counters(self.device.summary(), Places(self.graph))
        return {**counted, "hazards": self.hazards}


def result_of(
    device: Emulator, graph: Graph, strays: tuple[Diagnostic, ...], *, hazards: bool
) -> EmulationResult:
    """Findings of the emulator in the words of Wave, after those of probes."""
    places = Places(graph)
    found = (_diagnostic(row, graph, places) for row in device.reports())
    reports = (*strays, *found)
    looked = str(len(reports)) if hazards else "not looked for"
    return EmulationResult(device, graph, reports, looked)


def strays_of(
    found: Sequence[Mapping[str, Any]], graph: Graph, probes: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """Stray accesses that probes found: the address of each is its number."""
    places = Places(graph)
    looked = dict(enumerate(probes))
    return tuple(
        _stray(row, graph, places, looked[row["address"]])
        for row in found
        if row["code"] == STRAY and row["address"] in looked
    )


def _stray(
    row: Mapping[str, Any], graph: Graph, places: Places, access: str
) -> Diagnostic:
    at = places.find(row["source"])
    return make_diagnostic(
        HAZARDS[STRAY],
        f"the machine code of `{graph.name}`: {access} touches an element outside "
        "its dimensions",
        at or graph.location,
        "out of bounds here" if at is not None else "this kernel",
        notes=f"lane {row['lane']} of wave {row['wave']}, {row['count']} times",
        help=advice.OUT_OF_BOUNDS,
        emulator=STRAY,
        lane=row["lane"],
        wave=row["wave"],
    )


def _counters(summary: Mapping[str, Any], places: Places) -> dict[str, Any]:
    units: dict[str, int] = {}
    others: dict[str, int] = {}
    for name, value in summary["counters"].items():
        unit = name.removesuffix("_instructions")
        (others if unit == name else units)[unit] = value
    # Whole cycles; shares with three digits.
    rows = summary["cycles"].items()
    cycles = {name: round(n) if n >= 100 else round(n, 3) for name, n in rows}
    return {
        "waves": summary["waves"],
        "instructions": units,
        **others,
        "cycles": cycles,
        "stalls": _stalls(summary["stalls"], places),
    }


def _stalls(rows: list[Mapping[str, Any]], places: Places) -> dict[str, str]:
    """The longest ones, by reason and line."""
    shares: Counter[str] = Counter()
    for row in rows:
        place = places.find(row["source"])
        where = row["text"] if place is None else f"line {place.line}"
        shares[f"{row['reason']} at {where}"] += row["share"]
    return {name: f"{share:.0%}" for name, share in shares.most_common(SHOWN_STALLS)}


def _diagnostic(row: Mapping[str, Any], graph: Graph, places: Places) -> Diagnostic:
    at = places.find(row["source"])
    notes = [
        f"instruction: {row['text']} (at {row['pc']:#x}), {row['count']} times",
        f"the emulator's code is {row['code']}",
    ]
    where = {key: row[key] for key in ("wave", "lane", "address")}
    known = {key: value for key, value in where.items() if value is not None}
    if known:
        notes.insert(1, ", ".join(f"{key} {value}" for key, value in known.items()))
    notes += _other(row, places)
    return make_diagnostic(
        HAZARDS.get(row["code"], OTHER_HAZARD),
        f"the machine code of `{graph.name}`: {row['message']}",
        at or graph.location,
        "the instruction comes from here" if at is not None else "this kernel",
        notes=notes,
        help="`wave compile --emit asm` shows the code",
        emulator=row["code"],
        **known,
    )


def _other(row: Mapping[str, Any], places: Places) -> list[str]:
    """The other instruction, of a hazard between two, with its line."""
    if row["other_pc"] is None:
        return []
    at = places.find(row["other_source"])
    line = "" if at is None else f", from {name_of_file(at.file)}:{at.line}"
    return [
        f"the other instruction: {row['other_text']} (at {row['other_pc']:#x}){line}"
    ]


def open_emulator() -> Emulator:
    """A fresh emulator.

    Raises:
        DeviceError: where it is not installed.
    """
    device: Any = open_device(EMULATOR)
    return device


def check_chip(target: Target, known: Sequence[str]) -> None:
    """Machine code is that of a chip.

    Raises:
        LaunchError: WV0708 for a target that is none.
    """
    if target.name not in known:
        raise launch_error(
            "WV0708",
            f"device `emulator` executes machine code of AMD chips, and target "
            f"`{target.name}` is none",
            help=f"choose a chip as the target: {', '.join(known)}",
        )


def not_installed() -> Exception:
    """There is no emulator."""
    return launch_error(
        "WV0708",
        "device `emulator` executes machine code on the CPU, and is not installed",
        help=(f"pip install {PACKAGE}", "device='sim' runs the kernel lane by lane"),
    )
