"""Wave beside Triton on chips that are not there: one table.

``python compare.py --triton PYTHON [--target gfx942] [--only gemm] [--repeats 5]``;
``nox -s peers`` runs it. PYTHON is that of an environment with Triton. Each compilation
and each launch is a process of its own with a time limit; what compiling costs is asked
of all sides by turns, in this one run. ``--via asm`` has ours by that backend, too.
"""

from __future__ import annotations

import argparse
import json
import math
import select
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rows import JOBS

HERE = Path(__file__).parent
SECONDS = 240
"""That one process may take for one answer."""

TARGETS = ("gfx942", "gfx950", "sm_90a")


@dataclass(frozen=True)
class Side:
    """One of those compared, compiled.

    Attributes:
        title: Whose, and how it was compiled.
        command: The process that compiles it again.
        found: What the model says of it.
    """

    title: str
    command: list[str]
    found: dict


class Failed(Exception):
    """A process said no, or nothing in time."""


def run_program(command, stdin=""):
    """The output of a process, or a reason."""
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Failed(f"more than {SECONDS} s") from None
    if done.returncode:
        raise Failed(next(reversed(done.stderr.strip().splitlines()), "no reason"))
    return done.stdout


def modelled(target):
    """Whether there is a model of a chip's cycles: none of NVIDIA's."""
    return not target.startswith("sm_")


def side_of(title, python, program, row, folder):
    """Compile a row and ask the model, each in a process."""
    folder.mkdir()
    described = folder / "row.json"
    described.write_text(json.dumps(row))
    command = [python, str(HERE / program), str(described), str(folder / "code")]
    run_program(command)
    if not modelled(row["target"]):
        return Side(title, command, {})
    model = [sys.executable, str(HERE / "emulated.py"), *command[2:]]
    return Side(title, command, json.loads(run_program(model)))


def triton_side(job, target, python, folder):
    """The configuration that takes the fewest cycles; the first without a model.

    Raises:
        Failed: none could be compiled and executed.
    """
    sides = []
    for number, peer in enumerate(job.peers):
        row = asdict(peer) | {
            "target": target, "types": job.types, "buffers": job.buffers,
            "grid": job.grid_of(peer), "numbers": job.numbers,
        }  # fmt: skip
        place = folder / str(number)
        title = f"Triton {peer.title}"
        try:
            found = side_of(title, python, "triton_code.py", row, place)
        except Failed as reason:
            print(f"{job.title}, {target}, {title}: {reason}", file=sys.stderr)
            continue
        sides.append(found)
        if not modelled(target):
            return found
    if not sides:
        raise Failed("no configuration of Triton's")
    return min(sides, key=lambda side: side.found["cycles"]["total"])


def wave_side(job, target, options, folder):
    """Ours, with nothing set but the preset and the backend that are asked for."""
    row = {
        "kernel": job.kernel, "shape": job.shape, "target": target, "options": options,
    }  # fmt: skip
    title = ", ".join(["Wave", *(f"{name} {word}" for name, word in options.items())])
    place = folder / "-".join(["wave", *options.values()])
    return side_of(title, sys.executable, "wave_code.py", row, place)


@contextmanager
def compiling(side):
    """A process that has compiled once and does so again when asked."""
    process = subprocess.Popen(
        side.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def seconds_of(process):
    """CPU seconds of one compilation more."""
    process.stdin.write("again\n")
    process.stdin.flush()
    ready, _, _ = select.select([process.stdout], [], [], SECONDS)
    line = process.stdout.readline() if ready else ""
    if not line:
        raise Failed("no answer of a compiler")
    return json.loads(line)["cpu_seconds"]


def alternated(sides, repeats):
    """The median CPU seconds of each side, asked by turns; the first do not count."""
    with ExitStack() as stack:
        processes = [stack.enter_context(compiling(side)) for side in sides]
        times = [[seconds_of(each) for each in processes] for _ in range(repeats + 1)]
    return [statistics.median(column) for column in zip(*times[1:], strict=True)]


def ways(target, chosen):
    """The options of each of our sides."""
    preset = {"preset": chosen.preset} if chosen.preset else {}
    yield preset
    if chosen.via and modelled(target):
        yield preset | {"backend": chosen.via}


def rows_of(name, target, chosen):
    """The rows of the table for one kernel on one chip."""
    job, repeats = JOBS[name], chosen.repeats
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sides = [wave_side(job, target, way, folder) for way in ways(target, chosen)]
        sides.append(triton_side(job, target, chosen.triton, folder))
        seconds = alternated(sides, repeats)
    for side, spent in zip(sides, seconds, strict=True):
        if not side.found:
            yield job.title, target, side.title, *["-"] * 5, milliseconds(spent)
            continue
        cycles, loop = side.found["cycles"], side.found["loop"]
        yield (
            job.title, target, side.title,
            f"{cycles['mfma_utilisation']:.1%}",
            "-" if loop is None else f"{loop:.3f}",
            f"{cycles['total']:,.0f}",
            f"{cycles['microseconds']:,.0f}",
            f"{cycles['matrix_tflops']:,.0f}",
            milliseconds(spent),
        )  # fmt: skip


def milliseconds(seconds):
    """Of a compilation, with three digits that count: ``53.4``, ``287``, ``1270``."""
    digits = max(0, 2 - math.floor(math.log10(seconds * 1e3)))
    return f"{seconds * 1e3:.{digits}f}"


TITLES = (
    "kernel", "chip", "whose", "matrix units", "others/kFLOP", "cycles", "us",
    "TFLOP/s", "compile CPU ms",
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--triton", required=True, metavar="PYTHON")
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--only", action="append", choices=tuple(JOBS))
    parser.add_argument("--preset", help="for ours; none by default")
    parser.add_argument("--via", help="a backend for AMD that has a row of its own")
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    table = Table(*TITLES, title="by the emulator's model; no GPU", box=None)
    failed = False
    for name in chosen.only or JOBS:
        for target in chosen.target or TARGETS:
            try:
                for row in rows_of(name, target, chosen):
                    table.add_row(*row)
            except Failed as reason:
                failed = True
                table.add_row(name, target, f"failed: {reason}")
    Console(width=150, highlight=False).print(table)
    sys.exit(failed)


if __name__ == "__main__":
    main()
