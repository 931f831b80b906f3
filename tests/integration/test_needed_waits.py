"""Every wait and every `s_nop` of kernels by the assembly path is needed.

Each counter of a wait is deleted alone, and each `s_nop` is one state shorter. The
emulator reports what that breaks, in a launch whose outputs count as unwritten.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import pytest
from test_emulator import SMALL

import workspace
from wave_backend_asm.bindings import assemble
from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_emulator_amdgcn import EmulatorDevice
from wave_runtime import Artifact, LoadedKernel
from wave_runtime.manifest import Manifest, digest

COUNTER = re.compile(r"(vmcnt|lgkmcnt|expcnt)\((\d+)\)")
STATES = re.compile(r"s_nop (\d+)")


@dataclass(frozen=True)
class Change:
    """A line of assembly that does less.

    Attributes:
        line: its number, from 0.
        was: what stood there.
        now: what does instead; empty where nothing is left.
    """

    line: int
    was: str
    now: str


def changes(lines):
    """Each counter of each wait deleted, each wait state taken away, one at a time."""
    for number, line in enumerate(lines):
        for found in COUNTER.finditer(line) if line.startswith("s_waitcnt ") else ():
            rest = COUNTER.findall(line.replace(found[0], ""))
            left = " ".join(f"{name}({count})" for name, count in rest)
            yield Change(number, line, f"s_waitcnt {left}" if left else "")
        if states := STATES.fullmatch(line):
            left = int(states[1]) - 1
            yield Change(number, line, f"s_nop {left}" if left >= 0 else "")


@pytest.fixture(scope="module")
def session():
    config, points = Config(cache=False), workspace.plugins()
    return Session(config=config, entry_points=points, announce=lambda _: None)


class Launches:
    """A kernel by the assembly path, and launches of it with changed lines."""

    def __init__(self, session, name, chip, **options):
        factory = session.plugins.load_kernel(name)
        case = make_case(factory, name, SMALL[name], {}, chip)
        self.options = replace(case.options, backend="asm", **options)
        self.chip, self.case = chip, case
        made = {
            form: emit(self.options, case.kernel, form, session).files
            for form in ("asm", "hsaco")
        }
        self.lines = next(iter(made["asm"].values())).decode().split("\n")
        self.manifest = Manifest.from_json(made["hsaco"]["manifest.json"])

    def launch(self, change=None, instead=None):
        """Codes of the reports, and how many instructions were executed."""
        lines = list(self.lines)
        if change is not None:
            lines[change.line] = change.now if instead is None else instead
        code = assemble("\n".join(lines), self.chip)
        fields = {"code_bytes": len(code), "code_digest": digest(code)}
        manifest = msgspec.structs.replace(self.manifest, **fields)
        device = EmulatorDevice()
        written = [n for n, row in enumerate(manifest.bindings) if row.written]
        device.configure(hazards=True, poison=frozenset(written))
        arguments = self.case.make_arguments(np.random.default_rng(0))
        LoadedKernel(Artifact(manifest, code), device)(*arguments)
        codes = Counter(row["code"] for row in device.reports())
        return codes, device.results[-1].instructions

    def idle(self):
        """Changes of lines that are executed, and that nothing reports."""
        codes, executed = self.launch()
        assert not codes
        return [
            change
            for change in changes(self.lines)
            if not self.launch(change)[0]
            and self.launch(change, instead="s_endpgm")[1] != executed
        ]


QUICK = ("copy", "rotary", "attention-merge")
SLOW = (
    *("cumsum", "gemm", "gemm-staged", "layer-norm", "moe-combine", "scatter-add"),
    *("softmax", "topk", "transpose"),
)


@pytest.mark.parametrize("name", QUICK)
def test_every_wait_is_needed(session, name):
    launches = Launches(session, name, "gfx942")
    assert len([*changes(launches.lines)]) >= 4
    assert launches.idle() == []


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SLOW)
def test_every_wait_of_larger_kernels_is_needed(session, name):
    assert Launches(session, name, "gfx942").idle() == []


def test_a_wait_that_is_not_needed_is_found(session):
    launches = Launches(session, "copy", "gfx942")
    end = launches.lines.index("s_endpgm")
    launches.lines[end:end] = ["s_waitcnt lgkmcnt(0)", "s_nop 1"]
    assert launches.idle() == [
        Change(end, "s_waitcnt lgkmcnt(0)", ""),
        Change(end + 1, "s_nop 1", "s_nop 0"),
    ]
