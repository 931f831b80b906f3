"""A wheel of prebuilt kernels, used where no compiler is installed.

    python benchmarks/bench_prebuilt.py
        builds a few kernels, and says how long importing and listing them takes
    python benchmarks/bench_prebuilt.py build FOLDER [--targets sm_90a] [--only NAMES]
        builds a wheel into FOLDER, with `wave-runtime` and `wave-kernels` beside it as
        folders of sources: all that a machine with a card needs besides torch
    python benchmarks/bench_prebuilt.py run FOLDER [--json FILE]
        on a card: imports nothing but these and torch, calls the kernels of the wheel
        whose functions have a reference here, at sizes that they were not made for, and
        compares with torch in f64; says how many have none; outputs are poisoned before

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
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

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

ULP = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


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


def softmax(_: Any, new: Callable[..., Any], row: Any) -> tuple[Any, ...]:
    x = new(33, row["sizes"]["N"])
    return [x], x.double().softmax(-1), 1e-5


def rms_norm(_: Any, new: Callable[..., Any], row: Any) -> tuple[Any, ...]:
    x, w = new(33, row["sizes"]["N"]), new(row["sizes"]["N"])
    root = (x.double().square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return [x, w, 1e-5], x.double() / root * w.double(), 1e-5


def layer_norm(torch: Any, new: Callable[..., Any], row: Any) -> tuple[Any, ...]:
    n = row["sizes"]["N"]
    x, w, b = new(33, n), new(n), new(n)
    wide = torch.nn.functional.layer_norm(x.double(), (n,), w.double(), b.double())
    return [x, w, b, 1e-5], wide, 1e-5


def matmul(torch: Any, new: Callable[..., Any], row: Any) -> tuple[Any, ...]:
    options, sizes = row["options"], row["sizes"]
    n, k = sizes.get("N", 147), sizes.get("K", 259)
    lead = (3,) if "batched" in options else ()
    # Three rows off those that tiles are for, which are the nearest still.
    m = row["tuned"].get("M", 136) - 3
    a, b = new(*lead, m, k), new(*lead, k, n)
    bias = [new(n)] if options.get("bias") else []
    sums = a.double() @ b.double() + (bias[0].double() if bias else 0.0)
    word = options.get("activation")
    ended = getattr(torch.nn.functional, word)(sums) if word else sums
    scale = float((a.double().abs() @ b.double().abs()).max())
    second = b.mT.contiguous() if options["layout"] == "NT" else b
    return [a, second, *bias], ended, 1e-3 * scale


def attention(torch: Any, new: Callable[..., Any], row: Any) -> tuple[Any, ...]:
    options, group = row["options"], row["options"].get("group", 1)
    d, (b, h, m, s) = row["sizes"]["K1"], (2, 8, 200, 333)
    last = options["layout"] == "bshd"
    q, k, v = (
        new(b, *((n, x) if last else (x, n)), d)
        for x, n in ((h, m), (h // group, s), (h // group, s))
    )
    wide = [x.double().transpose(1, 2) if last else x.double() for x in (q, k, v)]
    wide[1:] = [each.repeat_interleave(group, 1) for each in wide[1:]]
    seen = torch.ones(m, s, dtype=torch.bool, device=q.device)
    seen = seen.tril(s - m) if options.get("causal") else seen
    found = torch.nn.functional.scaled_dot_product_attention(*wide, attn_mask=seen)
    return [q, k, v], found.transpose(1, 2) if last else found, 8e-3


def attention_varlen(torch: Any, new: Callable[..., Any], row: Any) -> tuple[Any, ...]:
    """Decoding: sequences of different lengths, whose rows lie anywhere in a cache."""
    group = row["options"].get("group", 1)
    batch, heads, d = 5, 16, 128
    lengths = [1 + (37 * i) % 200 for i in range(batch)]
    total, slots = sum(lengths), sum(lengths) + 11
    q = new(batch, heads, d)
    k, v = (new(slots, heads // group, d) for _ in range(2))
    table = torch.randperm(slots, device=q.device)[:total].int()
    ends = torch.tensor([0, *lengths], device=q.device).cumsum(0).int()
    starts = torch.arange(batch + 1, device=q.device).int()
    rows: list[Any] = []
    for i in range(batch):
        places = table[ends[i] : ends[i + 1]].long()
        keys, values = (
            x[places].double().repeat_interleave(group, 1).transpose(0, 1)
            for x in (k, v)
        )
        powers = (q[i].double()[:, None] @ keys.mT * d**-0.5).softmax(-1)
        rows.append((powers @ values)[:, 0])
    return [q, k, v, starts, ends, table], torch.stack(rows), 8e-3


MAKERS = {
    each.__name__: each
    for each in (softmax, rms_norm, layer_norm, matmul, attention, attention_varlen)
}


def run(folder: Path) -> Iterator[dict[str, Any]]:
    """Call every kernel of a wheel that has a reference here; a row for each."""
    sys.path.insert(0, str(folder / "site"))
    torch: Any = import_module("torch")
    prebuilt: Any = import_module("wave_kernels.prebuilt")
    torch.manual_seed(1)
    words = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    for row in prebuilt.kernels():
        dtype, *_ = row["tensors"][0].split()

        def new(*shape: int, dtype: str = dtype) -> Any:
            return torch.randn(shape, device="cuda").to(words[dtype])

        what = {"function": row["function"], "options": row["options"]}
        if row["function"] not in MAKERS:
            continue
        given, wanted, accuracy = MAKERS[row["function"]](torch, new, row)
        out = torch.full(wanted.shape, torch.nan, dtype=words[dtype], device="cuda")
        try:
            choice = prebuilt.run(row["function"], *given, out, **row["options"])
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - the next kernel may do better
            yield {**what, "dtype": dtype, "right": False, "problem": str(error)}
            continue
        limit = accuracy + ULP[dtype] * max(1.0, float(wanted.abs().max()))
        error = float((out.double() - wanted).abs().max())
        yield {
            **what,
            "dtype": dtype,
            "error": error,
            "limit": limit,
            "right": error <= limit,
            "why": choice.reason,
        }


def on_a_card(folder: Path, report: Path | None) -> bool:
    """Run, print what is wrong and a summary; whether all is right."""
    seconds, count = time_to_list(folder)
    rows = list(run(folder))
    wrong = [row for row in rows if not row["right"]]
    for row in wrong:
        print("WRONG", json.dumps(row))
    compilers = {"wave_core", "sympy"} & {*sys.modules}
    print(f"import and list {count} kernels: {seconds * 1e3:.0f} ms")
    print(f"{len(rows) - len(wrong)} of {len(rows)} right; compilers: {compilers or 0}")
    if count > len(rows):
        print(f"{count - len(rows)} not called: no reference of their functions here")
    if report is not None:
        facts = {"seconds": seconds, "rows": rows}
        report.write_text(json.dumps(facts, indent=1))
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
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.what is None or given.folder is None:
        return here()
    if given.what == "build":
        report = build(given.folder, given.targets, given.only)
        print(json.dumps(report))
        return not report["failed"]
    return on_a_card(given.folder, given.json)


if __name__ == "__main__":
    sys.exit(not main())
