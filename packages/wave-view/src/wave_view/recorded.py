"""Reads what rocprofv3 writes of a thread trace, as data that nobody vouches for.

A folder holds ``code.json``, whose rows are an instruction each, and a file for each
wave, whose rows are ``[time, category, stall, duration, line]``: a stall begins at
``time``, the instruction is done ``duration`` later, and ``line`` names its row of the
code. Source: ROCprofiler-SDK, the files of its decoder for ROCprof Compute Viewer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FILE_BYTES = 32 << 20
WAVES, EVENTS, ROWS = 256, 100_000, 200_000
"""Limits: of a file; of waves unless some are named, of their instructions, of rows."""

_HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
_WAVE = re.compile(r"se(\d{1,4})_sm(\d{1,4})_sl(\d{1,4})_wv(\d{1,6})\.json")
_FOLDER = "ui_output_agent_*_dispatch_*"

_Form = TypeVar("_Form")
_Text = Annotated[str, msgspec.Meta(max_length=4096)]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
_CodeRow = tuple[
    _Text, object, _Count, _Text, int, _Count, _Count, _Count, _Count, _Count
]


class _Code(msgspec.Struct):
    code: list[_CodeRow]
    header: str = _HEADER


class _Instructions(msgspec.Struct):
    instructions: list[tuple[_Count, _Count, _Count, _Count, _Count]]


class _WaveFile(msgspec.Struct):
    wave: _Instructions


@dataclass(frozen=True)
class Row:
    """An instruction of the code: its text, its line of the author's, its address."""

    text: str
    source: str
    pc: int


@dataclass(frozen=True)
class Wave:
    """A recorded wave.

    Attributes:
        engine, simd, slot: Where it ran.
        events: For each instruction its row, when its stall and when it itself began,
            and when it was done.
    """

    engine: int
    simd: int
    slot: int
    events: Sequence[tuple[int, int, int, int]]


@dataclass(frozen=True)
class Recording:
    """The trace of one dispatch.

    Attributes:
        name: The folder.
        rows: Instructions by the number that events name.
        waves: Those that were asked for, in the order of engines, SIMDs and slots.
        numbers: Their numbers among all that were recorded, in that order.
        recorded: How many those are.
        left_out: How many instructions of these are beyond the limits.
    """

    name: str
    rows: dict[int, Row]
    waves: Sequence[Wave]
    numbers: range
    recorded: int
    left_out: int


def read_recording(folder: Path, wanted: range = range(WAVES)) -> Recording:
    """The trace in a folder, or in its only folder of a dispatch.

    Args:
        folder: Of the trace.
        wanted: The numbers of the waves to be read; the first `WAVES` if left out.

    Raises:
        UserError: WV0850; WV0852 where none of these waves was recorded.
    """
    folder = _of_dispatch(folder)
    rows = _rows(folder / "code.json")
    places = sorted(_wave_files(folder))
    if not places:
        raise _unreadable(folder, "no wave was recorded")
    numbers = range(len(places))[wanted.start : wanted.stop]
    if not numbers:
        raise _no_such_wave(folder, wanted, len(places))
    waves: list[Wave] = []
    room, left_out = EVENTS, 0
    for (engine, simd, slot, _), path in places[numbers.start : numbers.stop]:
        events = _events(path, rows)
        left_out += max(0, len(events) - room)
        waves.append(Wave(engine, simd, slot, events[:room]))
        room -= len(waves[-1].events)
    return Recording(folder.name, rows, waves, numbers, len(places), left_out)


def _of_dispatch(folder: Path) -> Path:
    if not folder.is_dir():
        raise _unreadable(folder, "there is no such folder")
    if (folder / "code.json").exists():
        return folder
    found = sorted(each for each in folder.rglob(_FOLDER) if each.is_dir())
    if len(found) == 1:
        return found[0]
    several = ", ".join(each.name for each in found[:4])
    why = f"several dispatches: {several}" if found else "no `code.json`"
    raise _unreadable(folder, why)


def _wave_files(folder: Path) -> Iterator[tuple[tuple[int, int, int, int], Path]]:
    for path in folder.iterdir():
        if named := _WAVE.fullmatch(path.name):
            engine, simd, slot, wave = map(int, named.groups())
            yield (engine, simd, slot, wave), path


def _rows(path: Path) -> dict[int, Row]:
    """Instructions by number; rows that only name a function are left out."""
    document = _read(path, _Code)
    if document.header != _HEADER:
        raise _unreadable(path, f"its header is not `{_HEADER}`")
    if len(document.code) > ROWS:
        raise _unreadable(path, f"it has more than {ROWS} rows")
    return {
        number: Row(text, source, address)
        for text, _, number, source, _, address, *_ in document.code
        if not text.startswith(";")
    }


def _events(path: Path, rows: dict[int, Row]) -> list[tuple[int, int, int, int]]:
    found: list[tuple[int, int, int, int]] = []
    before = 0
    table = _read(path, _WaveFile).wave.instructions
    for at, (time, _, stall, duration, line) in enumerate(table):
        if time < before or duration < stall or line not in rows:
            raise _unreadable(path, f"instruction {at} contradicts the code or others")
        before = time
        found.append((line, time, time + stall, time + duration))
    return found


def _read(path: Path, form: type[_Form]) -> _Form:
    """The JSON of a plain file; nothing of it is run, and what is large is not read."""
    if not path.is_file() or path.stat().st_size > FILE_BYTES:
        raise _unreadable(path, f"no plain file of at most {FILE_BYTES >> 20} MiB")
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(FILE_BYTES), type=form)
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, f"{error}"[:200]) from None


def _unreadable(path: Path, why: str) -> Exception:
    return user_error(
        "WV0850",
        f"`{path}` is no recorded thread trace: {why}",
        help="name a folder `ui_output_agent_*_dispatch_*` that rocprofv3 wrote",
    )


def _no_such_wave(folder: Path, wanted: range, recorded: int) -> Exception:
    return user_error(
        "WV0852",
        f"`{folder.name}` has no wave {wanted.start}: {recorded} were recorded",
        help=f"they are numbered from 0 to {recorded - 1}: `--waves 0-{recorded - 1}`",
    )
