"""Does a card compute what the emulator of PTX does?

    python benchmarks/ptx_on_card.py record FOLDER [PYTEST'S ARGUMENTS]
        runs the emulator's tests, or those that are named, and keeps every launch
        without a report, once
    python benchmarks/ptx_on_card.py replay FOLDER
        launches them on a card, and counts those whose bytes are the same, and those
        that differ by no more than rounding

Recording needs no card; replaying needs numpy and the driver, and nothing of Wave.
Functions called `.approx` may differ on a card, and so may sums of matrix products:
what differs is listed with the largest difference, as a share of the largest number.

Random programs are recorded likewise, and so are the kernels of the library:

    record FOLDER tests/fuzz/test_scheduled_programs.py -m fuzz -k nvidia --programs 400
    record FOLDER packages/wave-backend-nvgpu/tests tests/integration
"""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 20
"""That one launch may take, its assembly included."""

TESTS = Path(__file__).parents[1] / "packages" / "wave-emulator-ptx" / "tests"


class Recorder:
    """A pytest plugin that keeps launches, by number."""

    def __init__(self, folder: Path, emulate: Callable[..., Any]) -> None:
        self.folder, self.emulate, self.count = folder, emulate, 0
        self.texts: dict[int, str] = {}
        self.dtypes: dict[int, list[str]] = {}
        self.modules: list[Any] = []
        self.seen: set[int] = set()

    def load(self, read: Callable[[str], Any]) -> Callable[[str], Any]:
        """`load`, remembering the text of each module."""

        def load(text: str) -> Any:
            module = read(text)
            self.texts[id(module)] = text
            self.modules.append(module)  # no other has its number
            return module

        return load

    def open(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """A device's `load`, remembering what a kernel's buffers hold."""

        def load(device: Any, artifact: Any) -> Any:
            code = read(device, artifact)
            rows = artifact.manifest.bindings
            self.dtypes[id(code.module)] = [str(row.dtype) for row in rows]
            return code

        return load

    def __call__(self, module: Any, arguments: Any, **asked: Any) -> Any:
        """`emulate`, keeping the launch."""
        before = [copied(a) for a in arguments]
        result = self.emulate(module, arguments, **asked)
        plain = all(min(asked[name]) > 0 for name in ("grid", "block"))
        if not result.reports and plain:
            self.keep(self.texts[id(module)], module, before, arguments, asked)
        return result

    def keep(self, text: str, module: Any, before: Any, after: Any, asked: Any) -> None:
        """Write a launch as a table of facts and its arrays."""
        arrays = {
            f"{name}{i}": np.ascontiguousarray(data).reshape(-1).view(np.uint8)
            for name, given in (("before", before), ("after", after))
            for i, data in enumerate(map(array_of, given))
            if data is not None
        }
        dtypes = ["" if a is None else a.dtype.name for a in map(array_of, after)]
        known = self.dtypes.get(id(module), [])
        facts = {
            "text": text,
            "kernel": asked.get("kernel") or next(iter(module.kernels)),
            "arguments": [row_of(a) for a in before],
            "dtypes": [*known, *dtypes[len(known) :]],
            "grid": asked["grid"],
            "block": asked["block"],
            "shared": asked.get("shared", 0),
        }
        inputs = (data for name, data in arrays.items() if name.startswith("before"))
        seen = hash((json.dumps(facts), *(each.tobytes() for each in inputs)))
        if seen in self.seen:
            return
        self.seen.add(seen)
        (self.folder / f"{self.count}.json").write_text(json.dumps(facts))
        np.savez(self.folder / f"{self.count}.npz", **arrays)
        self.count += 1


MAP_FIELDS = ("dtype", "extents", "strides", "box", "swizzle", "offset")


def array_of(argument: Any) -> Any:
    """The array that an argument has: itself, or that of a tensor map."""
    if isinstance(argument, np.ndarray):
        return argument
    return getattr(argument, "base", None)


def copied(argument: Any) -> Any:
    """An argument with an array of its own."""
    if isinstance(argument, np.ndarray):
        return argument.copy()
    has_array = array_of(argument) is not None
    return replace(argument, base=argument.base.copy()) if has_array else argument


def row_of(argument: Any) -> Any:
    """An argument as JSON, without its array."""
    if isinstance(argument, np.ndarray):
        return None
    if array_of(argument) is not None:
        return ["map", {name: getattr(argument, name) for name in MAP_FIELDS}]
    return ["f" if isinstance(argument, float) else "i", argument]


def record(folder: Path, *tests: str) -> int:
    """Run the tests with a recorder in the place of the emulator."""
    import pytest  # noqa: PLC0415 - the machine of the card has no tests

    import wave_emulator_ptx  # noqa: PLC0415 - nor the emulator
    from wave_emulator_ptx import device  # noqa: PLC0415 - nor its device

    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder, wave_emulator_ptx.emulate)
    load = recorder.load(wave_emulator_ptx.load)
    for place in (wave_emulator_ptx, device):
        place.load, place.emulate = load, recorder
    kind = device.EmulatorDevice
    kind.load = recorder.open(kind.load)
    status = pytest.main(["-q", "-p", "no:cacheprovider", *(tests or (str(TESTS),))])
    print(f"{recorder.count} launches in {folder}")
    return int(status)


# --------------------------------------------------------------------------- the card


MAP_BYTES, MAP_ALIGNMENT = 128, 64
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
DTYPES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5,
          "f16": 6, "f32": 7, "f64": 8, "bf16": 9}  # fmt: skip
"""Numbers of the driver's encoder of tensor maps."""
SHARED_ATTRIBUTE, SHARED_AT_ONCE = 8, 49_152
"""Which attribute raises the limit of dynamic shared memory, in bytes."""
ROUNDING = {"f16": 2**-9, "float16": 2**-9, "bf16": 2**-6, "bfloat16": 2**-6,
            "f32": 2**-17, "float32": 2**-17}  # fmt: skip
"""By which share of the largest number sums may differ that are rounded otherwise: two
units of the last place; for f32 64, since matrix units keep fewer bits of addends."""


class Card:
    """The driver, by ctypes; every call is checked."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call the driver."""
        code = getattr(self.cuda, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: {code}")

    def launch(self, facts: dict[str, Any], arrays: list[Any]) -> list[Any]:
        """The arrays after a launch."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), facts["text"].encode())
        name = facts["kernel"].encode()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name)
        if facts["shared"] > SHARED_AT_ONCE:
            self.call("cuFuncSetAttribute", function, SHARED_ATTRIBUTE, facts["shared"])
        pointers = [self.upload(each) for each in arrays]
        values = [
            self.value(*row) for row in zip(pointers, facts["arguments"], strict=True)
        ]
        places = [ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in values]
        table = (ctypes.c_void_p * len(values))(*places)
        self.call(
            "cuLaunchKernel", function, *facts["grid"], *facts["block"],
            facts["shared"], None, table, None,
        )  # fmt: skip
        self.call("cuCtxSynchronize")
        found = [self.download(*each) for each in zip(pointers, arrays, strict=True)]
        for pointer in pointers:
            if pointer is not None:
                self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return found

    def value(self, pointer: Any, row: Any) -> Any:
        """An argument as the driver wants it."""
        if row is None:
            return pointer
        if row[0] == "map":
            return self.tensor_map(pointer, row[1])
        return ctypes.c_float(row[1]) if row[0] == "f" else ctypes.c_longlong(row[1])

    def tensor_map(self, pointer: Any, fields: dict[str, Any]) -> Any:
        """128 bytes, aligned to 64, that the driver encodes."""
        rank = len(fields["extents"])
        room = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
        start = -ctypes.addressof(room) % MAP_ALIGNMENT
        found = (ctypes.c_char * MAP_BYTES).from_buffer(room, start)
        words, halves = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        self.call(
            "cuTensorMapEncodeTiled", ctypes.byref(found), DTYPES[fields["dtype"]],
            rank, ctypes.c_void_p(pointer.value + fields["offset"]),
            words(*fields["extents"]), words(*fields["strides"]),
            halves(*fields["box"]), halves(*[1] * rank),
            0, SWIZZLES[fields["swizzle"]], 2, 0,
        )  # fmt: skip
        return found

    def upload(self, array: Any) -> Any:
        """Memory of the card with an array's bytes; None stays None."""
        if array is None:
            return None
        pointer = ctypes.c_void_p()
        size = ctypes.c_size_t(max(array.nbytes, 16))
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), size)
        data = array.ctypes.data_as(ctypes.c_void_p)
        self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(array.nbytes))
        return pointer

    def download(self, pointer: Any, array: Any) -> Any:
        """The bytes of the card's memory."""
        if array is None:
            return None
        found = np.empty_like(array)
        data = found.ctypes.data_as(ctypes.c_void_p)
        self.call("cuMemcpyDtoH_v2", data, pointer, ctypes.c_size_t(found.nbytes))
        return found


def replay(folder: Path) -> int:
    """Launch what was recorded, and print what differs."""
    left = sorted(int(path.stem) for path in folder.glob("*.json"))
    if not left:
        print(f"{folder} has no recorded launches")
        return 1
    rows: list[dict[str, Any]] = []
    name = ""
    while left:
        name, told = answers(folder, left[0])
        if len(told) < len(left) and (not told or told[-1]["outcome"] != "stopped"):
            number = left[len(told)]
            facts = json.loads((folder / f"{number}.json").read_text())
            why = f"the process died, or took {SECONDS} s: {essence(facts)}"
            told.append(told_of(number, "stopped", why))
        for row in told:
            if row["outcome"] != "same":
                print("{number}: {outcome}: {what}".format(**row), flush=True)
        rows += told
        left = left[len(told) :]
    tally = Counter(row["outcome"] for row in rows)
    print(f"{name}: {len(rows)} launches: {dict(tally)}")
    return not tally.keys() <= {"same", "rounded"}


def answers(folder: Path, first: int) -> tuple[str, list[dict[str, Any]]]:
    """The card, and what a process says that launches from number ``first`` on.

    What stops the card loses the context of its process: the next one goes on.
    """
    command = [sys.executable, __file__, "part", str(folder), str(first)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    name, *rows = done.stdout.splitlines() or [""]
    return name, [json.loads(row) for row in rows]


def replay_part(folder: Path, first: str) -> int:
    """Launch from number ``first`` on, a line of JSON each, until the card stops."""
    card = Card()
    print(card.name, flush=True)
    numbers = sorted(int(path.stem) for path in folder.glob("*.json"))
    for number in numbers[numbers.index(int(first)) :]:
        signal.alarm(SECONDS)  # ends the process where the card does not come back
        row = replay_one(card, folder / f"{number}.json")
        print(json.dumps(row), flush=True)
        if row["outcome"] == "stopped":
            return 1
    return 0


def told_of(number: int, outcome: str, what: str) -> dict[str, Any]:
    """A launch: it is the same, rounded, differs, is refused or stopped the card."""
    return {"number": number, "outcome": outcome, "what": what}


def replay_one(card: Card, path: Path) -> dict[str, Any]:
    """What becomes of one launch."""
    number, facts = int(path.stem), json.loads(path.read_text())
    with np.load(path.with_suffix(".npz")) as kept:
        count = len(facts["arguments"])
        before = [kept.get(f"before{i}") for i in range(count)]
        after = [kept.get(f"after{i}") for i in range(count)]
    try:
        found = card.launch(facts, before)
    except RuntimeError as error:
        outcome = "stopped" if "cuCtxSynchronize" in str(error) else "refused"
        return told_of(number, outcome, f"{error}: {essence(facts)}")
    bad = [
        (a, b, dtype)
        for a, b, dtype in zip(after, found, facts["dtypes"], strict=True)
        if a is not None and not np.array_equal(a, b)
    ]
    if not bad:
        return told_of(number, "same", "")
    rounded = all(distance(*each) <= ROUNDING.get(each[2], 0) for each in bad)
    said = "; ".join(difference(*each) for each in bad)
    outcome = "rounded" if rounded else "differs"
    return told_of(number, outcome, f"{said}: {essence(facts)}")


def essence(facts: dict[str, Any]) -> str:
    """The instructions that make a kernel what it is: the longest line of its body."""
    lines = [line.strip() for line in facts["text"].splitlines()]
    body = [
        line for line in lines if "%r" in line and not line.startswith((".reg", "st."))
    ]
    return max(body, key=len, default="")[:100]


def floats(data: Any, dtype: str) -> Any:
    """Bytes as numbers in f64; None for a type that is not known."""
    if dtype in ("bf16", "bfloat16"):
        return (data.view("u2").astype("u4") << 16).view("f4").astype("f8")
    names = {"f16": "f2", "f32": "f4", "f64": "f8"}
    names |= {"float16": "f2", "float32": "f4", "float64": "f8"}
    return data.view(names[dtype]).astype("f8") if dtype in names else None


def distance(wanted: Any, found: Any, dtype: str) -> float:
    """The largest difference of two arrays of bytes, as a share of the largest number.

    Infinite where one alone is no number or infinite, or where the type is not known.
    """
    a, b = floats(wanted, dtype), floats(found, dtype)
    if a is None:
        return np.inf
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gaps = np.where(same, 0.0, np.abs(a - b))
    largest = np.abs(a[np.isfinite(a)]).max(initial=0) or 1.0
    return float(np.nan_to_num(gaps, nan=np.inf).max(initial=0) / largest)


def difference(wanted: Any, found: Any, dtype: str) -> str:
    """How many bytes differ, and by how much those that are floats."""
    other = np.flatnonzero(wanted != found)
    sample = (
        f"byte {other[0]} is {wanted[other[0]]:#x} here, {found[other[0]]:#x} there"
    )
    far = distance(wanted, found, dtype)
    return f"{len(other)} of {len(wanted)} bytes of {dtype}, {far:.1e} apart, {sample}"


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    actions = {"record": record, "replay": replay, "part": replay_part}
    sys.exit(actions[action](Path(place), *rest))
