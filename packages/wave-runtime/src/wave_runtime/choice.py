"""Which kernel of a library a call gets, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

from wave_runtime.devices import targets_of
from wave_runtime.errors import RuntimeFailure

if TYPE_CHECKING:
    from wave_runtime.devices import Device
    from wave_runtime.library import Entry

MACHINE_CODE = "cubin"
"""The form that fewer GPUs run than the text that it is made from."""


class NoVariant(RuntimeFailure):
    """No kernel of the libraries that are here does what was asked.

    Attributes:
        choice: What was looked at.
    """

    def __init__(self, message: str, choice: Choice) -> None:
        super().__init__(message)
        self.choice = choice


@dataclass(frozen=True)
class Choice:
    """The kernel for a call.

    Attributes:
        entry: The one to run; ``None`` where none does what was asked.
        reason: Why this one, or why none, in words.
        passed_over: Why each of the others is not taken, by its place.
    """

    entry: Entry | None
    reason: str
    passed_over: Mapping[str, str]


@dataclass(frozen=True)
class Runs:
    """The targets whose code a device runs, best first.

    Attributes:
        machine_code: As machine code.
        text: As anything.
    """

    machine_code: tuple[str, ...]
    text: tuple[str, ...]

    @classmethod
    def of(cls, device: Device) -> Runs:
        """Of a device; one that runs everything has none."""
        everything = targets_of(device)
        return cls(getattr(device, "machine_code", everything), everything)

    def place(self, entry: Entry) -> int | None:
        """How far from the best a target is; ``None`` where it does not run."""
        known = self.machine_code if entry.form == MACHINE_CODE else self.text
        if not self.text:
            return 0
        return known.index(entry.target) if entry.target in known else None


def choose(
    entries: Iterable[Entry],
    fit: Callable[[Entry], Mapping[str, int] | str],
    runs: Runs,
    what: str,
) -> Choice:
    """The entry for a call: right first, then made for its sizes, then near them.

    Of entries that run here and fit, the one for the best target is taken; of these
    that with most sizes fixed, and last that whose tiles were chosen for the nearest
    sizes.

    Args:
        entries: Kernels that compute what is asked.
        fit: The sizes of the call for an entry, or why it is not for them:
            `of_sizes`, `of_tensors`.
        runs: What the device runs.
        what: Is asked, for messages.
    """
    refused: dict[str, str] = {}
    fitting: list[tuple[tuple[int, int, float, str], Entry]] = []
    for entry in entries:
        place, sizes = runs.place(entry), fit(entry)
        if place is None:
            refused[entry.place] = f"one is {entry.form} for {entry.target}"
        elif isinstance(sizes, str):
            refused[entry.place] = sizes
        else:
            rank = place, -len(entry.fixed), _distance(entry, sizes), entry.place
            fitting.append((rank, entry))
    if not fitting:
        return Choice(None, _why_none(what, refused), refused)
    (_, best), *others = sorted(fitting, key=lambda row: row[0])
    farther = {each.place: "another is nearer" for _, each in others}
    return Choice(best, _why(best, len(fitting)), {**refused, **farther})


def of_sizes(sizes: Mapping[str, int]) -> Callable[[Entry], Mapping[str, int] | str]:
    """Whether the sizes that an entry fixes are these."""

    def fit(entry: Entry) -> Mapping[str, int] | str:
        wrong = {n: v for n, v in entry.fixed.items() if sizes.get(n) != v}
        return f"one is for {_listed(wrong)}" if wrong else sizes

    return fit


def of_tensors(
    given: Sequence[tuple[str, Sequence[int]]],
) -> Callable[[Entry], Mapping[str, int] | str]:
    """Whether an entry takes tensors of these element types and shapes, in order."""

    def fit(entry: Entry) -> Mapping[str, int] | str:
        sizes: dict[str, int] = {}
        agree = len(given) == len(entry.tensors) and all(
            dtype == row.dtype and _agrees(row.shape, shape, sizes)
            for (dtype, shape), row in zip(given, entry.tensors, strict=True)
        )
        shapes = (f"{r.dtype} [{', '.join(r.shape)}]" for r in entry.tensors)
        return sizes if agree else f"one takes {', '.join(shapes)}"

    return fit


def _agrees(wanted: Sequence[str], shape: Sequence[int], sizes: dict[str, int]) -> bool:
    """Whether a shape is as wanted; binds symbols of ``sizes`` that are not bound.

    What is neither number nor symbol is compared by the launch.
    """
    if len(wanted) != len(shape):
        return False
    for extent, value in zip(wanted, shape, strict=True):
        if extent.isdecimal() and extent != str(value):
            return False
        if extent.isidentifier() and sizes.setdefault(extent, value) != value:
            return False
    return True


def _distance(entry: Entry, sizes: Mapping[str, int]) -> float:
    """How many doublings the sizes are from those that tiles were chosen for."""
    pairs = ((sizes[n], value) for n, value in entry.tuned.items() if n in sizes)
    return sum(abs(log2(max(1, have)) - log2(max(1, want))) for have, want in pairs)


def _why(entry: Entry, count: int) -> str:
    words = [f"{entry.place}: {entry.form} for {entry.target}"]
    if entry.fixed:
        words.append(f"compiled for {_listed(entry.fixed)}")
    if entry.tuned:
        words.append(f"with tiles for sizes near {_listed(entry.tuned)}")
    if count > 1:
        words.append(f"the nearest of {count} that fit")
    return ", ".join(words)


def _why_none(what: str, refused: Mapping[str, str]) -> str:
    if not refused:
        return f"there is no prebuilt kernel for {what}"
    reasons = sorted(set(refused.values()))
    shown: Sequence[str] = reasons[:4]
    more = f", and {len(reasons) - 4} more" if len(reasons) > 4 else ""
    return f"no prebuilt kernel fits {what}: {'; '.join(shown)}{more}"


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sizes.items())
