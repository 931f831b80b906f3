"""A wheel of prebuilt kernels, used where no compiler is installed.

    python benchmarks/bench_prebuilt.py
        builds a few kernels, and says how long importing and listing them takes
    python benchmarks/bench_prebuilt.py build FOLDER [--targets sm_90a] [--only NAMES]
        builds a wheel into FOLDER, with `wave-runtime` and `wave-kernels` beside it as
        folders of sources: all that a machine with a card needs besides torch and
        msgspec; `--python 3.12` puts the msgspec of that Python beside them
    python benchmarks/bench_prebuilt.py run FOLDER [--device cuda] [--most 133]
                                                   [--json FILE]
        on a card, or in an emulator: imports nothing but these and torch, calls every
        kernel of the wheel that the device runs, at sizes that they were not made for,
        and compares with `prebuilt_references`; outputs are poisoned before

Exits with 1 where a result is wrong, importing and listing takes more than 0.3 s of
the CPU, or a compiler was imported.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from prebuilt_references import REFERENCES, Draw, called

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("wave-runtime", "wave-kernels")
MOST_IMPORT_S = 0.3
MAIN = "from wave_core.cli import main; main()"
FEW = ("softmax-f16-1024", "matmul-bf16-nt-4096x4096-m16")

LIST = """
import time
started = time.process_time()
from wave_kernels import prebuilt
count = len(prebuilt.kernels())
print(time.process_time() - started, count)
"""


def build(folder: Path, targets: str, only: list[str]) -> dict[str, Any]:
    """Build a wheel, unpacked into ``folder/site`` as an installer would."""
    wanted = [part for each in only for part in ("--only", each)]
    command = [sys.executable, "-c", MAIN, "build-kernels", "--targets", targets]
    command += ["-o", str(folder), "--json", *wanted]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    report = json.loads(done.stdout.decode().splitlines()[-1])
    site = folder / "site"
    shutil.rmtree(site, ignore_errors=True)
    with zipfile.ZipFile(report["wheel"]) as wheel:
        wheel.extractall(site)
    for name in NEEDED:
        source = ROOT / "packages" / name / "src"
        shutil.copytree(
            source,
            site,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    return report


def fetch(folder: Path, python: str) -> None:
    """Put what `wave-runtime` needs beside it, for another version of Python."""
    project = ROOT / "packages" / "wave-runtime" / "pyproject.toml"
    needed = tomllib.loads(project.read_text("utf-8"))["project"]["dependencies"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade"]
    command += ["--target", str(folder / "site"), "--python-version", python]
    versions = ROOT / "deps" / "tested.txt"
    command += ["--only-binary", ":all:", "-c", str(versions), *needed]
    subprocess.run(command, check=True)


def time_to_list(folder: Path) -> tuple[float, int]:
    """Seconds of the CPU to import and list, the best of five; how many are listed."""
    times: list[float] = []
    count = 0
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", LIST],
            env={"PYTHONPATH": str(folder / "site")},
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, listed = done.stdout.split()
        times.append(float(seconds))
        count = int(listed)
    return min(times), count


# ------------------------------------------------------------------------ on a card


def run(folder: Path, device: str, most: int) -> Iterator[dict[str, Any]]:
    """Call every kernel of a wheel that is for a device; a row for each."""
    sys.path.insert(0, str(folder / "site"))
    prebuilt: Any = import_module("wave_kernels.prebuilt")
    runtime: Any = import_module("wave_runtime")
    installed, where = prebuilt.installed(), runtime.open_device(device)
    runs = runtime.Runs.of(where)
    torch.manual_seed(1)
    for library in installed.libraries:
        for entry in library.index.entries:
            what = {"function": entry.function, "place": entry.place}
            if runs.place(entry) is None:
                continue
            try:
                kernel = library.kernel(entry, where)
                row = prebuilt.row_of(entry)
                draw = Draw(row, "cuda" if device == "cuda" else "cpu", most)
                yield {**what, **call(installed, kernel, draw, where)}
            except Exception as error:  # noqa: BLE001 - the next kernel may do better
                yield {**what, "right": False, "problem": str(error)}


def call(installed: Any, kernel: Any, draw: Draw, device: Any) -> dict[str, Any]:
    """Call one kernel, and the one chosen for its arguments, if that is another."""
    given, wanted = REFERENCES[draw.row["function"]](draw)
    what = [*given, *draw.outputs(wanted)]
    chosen = installed.for_call(draw.row["function"], what, draw.options, device)
    kernels = dict.fromkeys((kernel, chosen.loaded))
    rows = [row for each in kernels for row in called(each, draw, given, wanted)]
    error, limit = max(rows, key=lambda row: row[0] / row[1] if row[1] else row[0])
    right = all(error <= limit for error, limit in rows)
    why = chosen.choice.reason
    return {"error": error, "limit": limit, "right": right, "chosen": why}


def on_a_device(folder: Path, given: argparse.Namespace) -> bool:
    """Run, print what is wrong and a summary; whether all is right."""
    seconds, count = time_to_list(folder)
    rows = [*run(folder, given.device, given.most)]
    wrong = [row for row in rows if not row["right"]]
    for row in wrong:
        print("WRONG", json.dumps(row))
    compilers = {"wave_core", "sympy"} & {*sys.modules}
    print(f"import and list {count} kernels: {seconds * 1e3:.0f} ms")
    print(f"{len(rows) - len(wrong)} of {len(rows)} right; compilers: {compilers or 0}")
    if count > len(rows):
        print(f"{count - len(rows)} not called: they are for other devices")
    if given.json is not None:
        facts = {"seconds": seconds, "rows": rows}
        given.json.write_text(json.dumps(facts, indent=1))
    return not wrong and bool(rows) and not compilers and seconds < MOST_IMPORT_S


def here() -> bool:
    """Without a card: a few kernels, and the time to list them."""
    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        report = build(Path(place), "sm_90a", list(FEW))
        took = time.perf_counter() - started
        seconds, count = time_to_list(Path(place))
    print(f"{report['built']} kernels built in {took:.1f} s")
    print(f"import and list {count} kernels: {seconds * 1e3:.0f} ms (0.3 s at most)")
    return count == len(FEW) and seconds < MOST_IMPORT_S


def main() -> bool:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=("build", "run"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--targets", default="sm_90a")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--python", default="")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--most", type=int, default=133)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.what is None or given.folder is None:
        return here()
    if given.what == "build":
        report = build(given.folder, given.targets, given.only)
        if given.python:
            fetch(given.folder, given.python)
        print(json.dumps(report))
        return not report["failed"]
    return on_a_device(given.folder, given)


if __name__ == "__main__":
    sys.exit(not main())
