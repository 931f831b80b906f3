"""How many lanes a wave has is the kernel's to say: nobody asks the target for it."""

from __future__ import annotations

import re

import workspace

ASKS = re.compile(r"\b(target|chip|machine)\.wave_size\b")
ALLOWED = ("wave_core/constraints/", "wave_core/targets/")


def test_only_the_geometry_asks_the_target_for_its_wave_size() -> None:
    found = [
        f"{path}:{number}"
        for package in workspace.packages()
        for path in package.python_files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if ASKS.search(line) and not any(part in str(path) for part in ALLOWED)
    ]
    assert not found, "read `geometry.lanes`: a target may have waves of several sizes"
