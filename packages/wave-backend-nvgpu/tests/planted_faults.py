"""Kernels as PTX, in which one thing that keeps order is left out, or changed.

These are waits, barriers, fences and ends of groups, and of descriptors the swizzle and
the distances.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from emulated_kernels import compiled, session

from wave_core.compile.kernels import make_case
from wave_emulator_ptx import EmulatorError

ORDERING = re.compile(
    r"\s+(bar\.|barrier\.|membar\.|fence\.|cp\.async\.(wait|commit|bulk\.wait|bulk\.c)"
    r"|wgmma\.(fence|commit|wait)|mbarrier\.(init|arrive|expect)"
    r"|\{ \.reg \.pred p; WAIT_)"
)
"""Instructions that make others wait for each other, or tell what to wait for."""

HIGH = re.compile(r"(\s+or\.b64 .*, )(\d{19});")
"""The high word of a descriptor joins the low one."""

LOW = re.compile(r"(\s+or\.b32 .*, )(\d{5,});")
"""The distance of panels joins the start of shared memory."""

MODE, DISTANCE, FIRST = 1 << 62, 1 << 37, 1 << 16
"""Bits of a descriptor: of its swizzle, of the distance between groups of eight rows
(in units of 16 bytes, from bit 32), and of that between panels."""

DIRECT = {"passes": ("copy-direct-to-lds{demanded=true}",)}
BOXES = {"passes": ("copy-direct-to-lds{demanded=true, boxes=true}",)}
FOUR_WARPS = {"MMA_ROWS": 64, "WAVES_M": 2, "STAGED": 1}
GEMM = {**FOUR_WARPS, "WAVES_N": 1, "BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}
ATTENTION = {**FOUR_WARPS, "BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K2": 64}
STAGES = {"M": 128, "N": 64, "K": 320}


@dataclass(frozen=True)
class Row:
    """What is made of a kernel of the library."""

    kernel: str
    shape: dict[str, int]
    options: dict[str, object]
    settings: dict[str, int | str]
    target: str


def warps(kernel, shape, preset, **options):
    """Products of one warp."""
    return Row(kernel, shape, {"preset": preset, **options}, {}, "sm_90")


def four(kernel, shape, preset, settings, **options):
    """Products of four warps."""
    return Row(kernel, shape, {"preset": preset, **options}, settings, "sm_90a")


HEADS = {"B": 1, "H": 1, "M": 64, "K2": 136}
KERNELS = {
    "staged": warps("gemm-staged", {"M": 96, "N": 70, "K": 104}, "default"),
    "modulo": warps("gemm-staged", {"M": 96, "N": 72, "K": 256}, "modulo", **DIRECT),
    "ahead": warps(
        "gemm-staged", {"M": 96, "N": 72, "K": 256}, "fetch-ahead", **DIRECT
    ),
    "attention": warps("attention-heads", HEADS, "default"),
    "attention-ahead": warps("attention-heads", HEADS, "prefetch", **DIRECT),
    "four-stage": four("gemm", STAGES, "four-stage", GEMM, **DIRECT),
    "panels": four(
        "gemm-nn",
        {**STAGES, "N": 128},
        "four-stage",
        {**GEMM, "BLOCK_N": 128},
        **DIRECT,
    ),
    "boxes": four("gemm", STAGES, "four-stage", GEMM, **BOXES),
    "attention-four": four(
        "attention",
        {"B": 1, "M": 128, "N": 64, "K1": 64, "K2": 193},
        "default",
        ATTENTION,
        **DIRECT,
    ),
}
"""By name."""


@dataclass(frozen=True)
class Fault:
    """A line that is left out, or another in its place."""

    place: int
    instead: str | None = None


class Trial:
    """A kernel with what it should give, in which faults are planted."""

    def __init__(self, name):
        row = KERNELS[name]
        factory = session().plugins.load_kernel(row.kernel)
        self.case = make_case(factory, row.kernel, row.shape, row.settings, row.target)
        subs = dict(self.case.options.subs)
        self.made = compiled(self.case.kernel, subs, row.target, **row.options)
        self.lines = self.made.ptx.splitlines()

    def planted(self):
        """Each line that orders something left out, and descriptors changed."""
        return [
            fault
            for at, row in enumerate(self.lines)
            for fault in self._faults(at, row)
        ]

    def _faults(self, place, row):
        if ORDERING.match(row):
            yield Fault(place)
        if not self.made.count("wgmma"):
            return
        if (found := HIGH.match(row)) and int(found[2]) > MODE:
            for bit in (MODE, DISTANCE):
                yield Fault(place, f"{found[1]}{int(found[2]) ^ bit};")
        if (found := LOW.match(row)) and int(found[2]) % FIRST == 0:
            yield Fault(place, f"{found[1]}{int(found[2]) * 2};")

    def wrong(self, fault=None, order=None):
        """Whether a report or a result says that something is wrong."""
        arguments = list(self.case.make_arguments(np.random.default_rng(1)))
        wanted = self.case.reference([np.copy(each) for each in arguments])
        rows = list(self.lines)
        if fault is not None:
            rows[fault.place] = fault.instead or ""
        try:
            if self.made.run(*arguments, order=order, text="\n".join(rows) + "\n"):
                return True
        except EmulatorError:
            return True
        bound = self.case.tolerance
        bound *= self.case.scale(arguments) if self.case.scale else 1.0
        return any(
            not np.abs(np.asarray(arguments[place], np.float64) - right).max() <= bound
            for place, right in zip(self.case.outputs, wanted, strict=True)
        )

    def survivors(self, orders, numbers=None):
        """Which of `planted` have nothing to see in any order."""
        faults = self.planted()
        return [
            number
            for number in (range(len(faults)) if numbers is None else numbers)
            if not any(self.wrong(faults[number], order) for order in orders)
        ]

    def text(self, number):
        """One of `planted`."""
        fault = self.planted()[number]
        return (fault.instead or self.lines[fault.place]).split()[0]
