"""Does a card compute what the emulator of PTX does?

    python benchmarks/ptx_on_card.py record FOLDER
        runs the emulator's tests, and keeps every launch without a report, once
    python benchmarks/ptx_on_card.py replay FOLDER
        launches them on a card, and counts those whose bytes are the same

Recording needs no card; replaying needs numpy and the driver, and nothing of Wave.
Functions called `.approx` may differ on a card, and so may sums of matrix products:
what differs is listed with the largest relative difference.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 120
"""That one process may take, which launches until the card stops."""

TESTS = Path(__file__).parents[1] / "packages" / "wave-emulator-ptx" / "tests"


class Recorder:
    """A pytest plugin that keeps launches, by number."""

    def __init__(self, folder: Path, emulate: Callable[..., Any]) -> None:
        self.folder, self.emulate, self.count = folder, emulate, 0
        self.texts: dict[int, str] = {}
        self.seen: set[int] = set()

    def load(self, read: Callable[[str], Any]) -> Callable[[str], Any]:
        """`load`, remembering the text of each module."""

        def load(text: str) -> Any:
            module = read(text)
            self.texts[id(module)] = text
            return module

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
        facts = {
            "text": text,
            "kernel": asked.get("kernel") or next(iter(module.kernels)),
            "arguments": [row_of(a) for a in before],
            "dtypes": ["" if a is None else a.dtype.str for a in map(array_of, after)],
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


def record(folder: Path) -> int:
    """Run the tests with a recorder in the place of the emulator."""
    import pytest  # noqa: PLC0415 - the machine of the card has no tests

    import wave_emulator_ptx  # noqa: PLC0415 - nor the emulator

    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder, wave_emulator_ptx.emulate)
    wave_emulator_ptx.load = recorder.load(wave_emulator_ptx.load)
    wave_emulator_ptx.emulate = recorder
    status = pytest.main(["-q", "-p", "no:cacheprovider", str(TESTS)])
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
    """Launch what was recorded, and print what differs.

    What stops the card loses the context of its process: the next one goes on.
    """
    numbers = sorted(int(path.stem) for path in folder.glob("*.json"))
    rows: list[str] = []
    left, name = numbers, ""
    while left:
        command = [sys.executable, __file__, "part", str(folder), str(left[0])]
        output = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        ).stdout
        found = [json.loads(line) for line in output.splitlines()]
        name = found[0]["card"] if found else name
        told = {row["number"] for row in found if "number" in row}
        rows += [line for row in found for line in row.get("rows", ())]
        left = [number for number in left if number not in told]
        if not told:
            rows.append(f"{left[0]}: the process died")
            left = left[1:]
    same = len(numbers) - len({row.partition(":")[0] for row in rows})
    print(f"{name}: {same} of {len(numbers)} launches gave the same bytes")
    print("\n".join(rows))
    return len(rows) > 0


def replay_part(folder: Path, first: int) -> int:
    """Launch from number ``first`` on, a line of JSON each, until the card stops."""
    card = Card()
    print(json.dumps({"card": card.name}), flush=True)
    numbers = sorted(int(path.stem) for path in folder.glob("*.json"))
    for number in numbers[numbers.index(first) :]:
        rows, stopped = replay_one(card, folder / f"{number}.json")
        print(json.dumps({"number": number, "rows": rows}), flush=True)
        if stopped:
            return 1
    return 0


def replay_one(card: Card, path: Path) -> tuple[list[str], bool]:
    """What differs in one launch, and whether the card can go on no more."""
    facts = json.loads(path.read_text())
    with np.load(path.with_suffix(".npz")) as kept:
        count = len(facts["arguments"])
        before = [kept.get(f"before{i}") for i in range(count)]
        after = [kept.get(f"after{i}") for i in range(count)]
    try:
        found = card.launch(facts, before)
    except RuntimeError as error:
        row = f"{path.stem}: {error}: {essence(facts)}"
        return [row], "cuCtxSynchronize" in str(error)
    bad = [
        difference(a, b, dtype)
        for a, b, dtype in zip(after, found, facts["dtypes"], strict=True)
        if a is not None and not np.array_equal(a, b)
    ]
    return [f"{path.stem}: {each}: {essence(facts)}" for each in bad], False


def essence(facts: dict[str, Any]) -> str:
    """The instructions that make a kernel what it is: the longest line of its body."""
    lines = [line.strip() for line in facts["text"].splitlines()]
    body = [
        line for line in lines if "%r" in line and not line.startswith((".reg", "st."))
    ]
    return max(body, key=len, default="")[:100]


def difference(wanted: Any, found: Any, dtype: str) -> str:
    """How many elements differ, and by how much those that are numbers."""
    size = max(int(dtype[2:] or 1), 1)
    kind = {"2": "f2", "4": "f4", "8": "f8"}.get(str(size), f"u{size}")
    a, b = wanted.view(f"u{size}"), found.view(f"u{size}")
    other = a != b
    with np.errstate(all="ignore"):
        x, y = wanted.view(kind)[other], found.view(kind)[other]
        x, y = x.astype(np.float64), y.astype(np.float64)
        real = np.isfinite(x) & np.isfinite(y) & (x != 0)
        worst = np.max(np.abs(y - x)[real] / np.abs(x)[real], initial=0)
    sample = f"{int(a[other][0]):#x} here, {int(b[other][0]):#x} on the card"
    return f"{other.sum()} of {len(a)} elements, {worst:.1e} apart as floats, {sample}"


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    actions = {"record": record, "replay": replay, "part": replay_part}
    sys.exit(actions[action](Path(place), *map(int, rest)))
