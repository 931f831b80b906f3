"""Reports of the emulator of PTX, in the words of Wave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import Diagnostic, launch_error, make_diagnostic
from wave_core.executors import advice
from wave_core.executors.emulation import Emulator, Places

if TYPE_CHECKING:
    from wave_core.ir import Graph

HAZARDS: Mapping[str, str] = {
    "EP0501": "WV0901",
    "EP0503": "WV0903",
    "EP0504": "WV0914",
    "EP0505": "WV0905",
    "EP0506": "WV0914",
    "EP0507": "WV0901",
    "EP0508": "WV0910",
    "EP0509": "WV0904",
    "EP0510": "WV0914",
    "EP0511": "WV0902",
    "EP0512": "WV0902",
    "EP0513": "WV0914",
    "EP0514": "WV0902",
    "EP0515": "WV0914",
}
"""The code of Wave for each hazard of the emulator. Source: its ``errors.CODES``."""

OTHER_HAZARD = "WV0914"
"""For hazards that a later emulator may find."""

ERRORS: Mapping[str, str] = {
    "EP0301": "WV0912",
    "EP0303": "WV0908",
    "EP0304": "WV0902",
    "EP0305": "WV0904",
}
"""The code of Wave for what ends an emulation; WV0708 for all others."""

PACKAGE = "wave-emulator-ptx"

EMULATOR = "emulator-ptx"
"""The name of the emulator among the devices of the runtime."""

_HELP = {"WV0903": (advice.OUT_OF_BOUNDS,)}


@dataclass(frozen=True)
class EmulationResult:
    """Reports of a launch on the emulator.

    Attributes:
        reports: Hazards, as errors at the user's lines.
        counters: Warps, instructions of all of them, hazards.
    """

    reports: tuple[Diagnostic, ...]
    counters: Mapping[str, Any]


def result_of(
    device: Emulator, graph: Graph, text: str, *, hazards: bool
) -> EmulationResult:
    """Findings of the emulator in the words of Wave.

    Args:
        device: What ran the kernel.
        graph: The kernel.
        text: Its PTX.
        hazards: Whether anybody looked for them.
    """
    found = _Findings(graph, text)
    reports = tuple(map(found.diagnostic, device.reports()))
    summary = device.summary()
    looked = str(len(reports)) if hazards else "not looked for"
    counters = {"waves": summary["waves"], **summary["counters"], "hazards": looked}
    return EmulationResult(reports, counters)


class _Findings:
    """Reports of a kernel, with the user's lines and those of the PTX."""

    def __init__(self, graph: Graph, text: str) -> None:
        self._graph = graph
        self._places = Places(graph)
        self._rows = text.splitlines()

    def diagnostic(self, row: Mapping[str, Any]) -> Diagnostic:
        at = self._places.find(row["source"])
        code = HAZARDS.get(row["code"], OTHER_HAZARD)
        where = {key: row[key] for key in ("workgroup", "thread", "address")}
        known = {key: value for key, value in where.items() if value is not None}
        notes = [f"instruction: {row['text']} (line {row['line']} of the PTX)"]
        shown = ", ".join(f"{key} {value}" for key, value in known.items())
        times = f"{row['count']} times"
        notes.append(f"{shown}, {times}" if shown else times)
        notes += self._other(row)
        notes.append(f"the emulator's code is {row['code']}")
        return make_diagnostic(
            code,
            f"the PTX of `{self._graph.name}`: {row['message']}",
            at or self._graph.location,
            "the instruction comes from here" if at is not None else "this kernel",
            notes=notes,
            help=(*_HELP.get(code, ()), "`wave compile --emit ptx` shows the code"),
            emulator=row["code"],
            **known,
        )

    def _other(self, row: Mapping[str, Any]) -> list[str]:
        """The other instruction, of a hazard between two, with its line."""
        line: int | None = row["other_line"]
        if line is None or not 1 <= line <= len(self._rows):
            return []
        text = self._rows[line - 1].strip()
        return [f"the other instruction: {text} (line {line} of the PTX)"]


def not_installed() -> Exception:
    """There is no emulator."""
    return launch_error(
        "WV0708",
        "device `emulator` executes PTX on the CPU, and is not installed",
        help=(f"pip install {PACKAGE}", "device='sim' runs the kernel lane by lane"),
    )
