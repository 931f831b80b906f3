"""Makes the modules beside this file importable; how many programs to launch."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

CHUNK = 20
"""Programs of one test: processes share the work by tests."""


def pytest_addoption(parser):
    """Which random programs `test_any_number_of_programs` launches."""
    group = parser.getgroup("wave", "Wave")
    group.addoption("--programs", type=int, default=1000, help="how many to launch")
    group.addoption("--first-seed", type=int, default=1000, help="of the programs")


def pytest_generate_tests(metafunc):
    """Seeds, cut into tests."""
    if "seeds" in metafunc.fixturenames:
        # Unknown where pytest was started without this folder.
        first = metafunc.config.getoption("first_seed", 1000)
        end = first + metafunc.config.getoption("programs", 1000)
        starts = range(first, end, CHUNK)
        parts = [range(start, min(start + CHUNK, end)) for start in starts]
        metafunc.parametrize("seeds", parts, ids=map(str, starts))


def pytest_terminal_summary(terminalreporter):
    """What became of the programs of all tests."""
    tally = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                tally.update(dict(report.user_properties).get("programs", {}))
    if tally:
        rows = ", ".join(f"{count} {name}" for name, count in tally.most_common())
        terminalreporter.write_line(f"{tally.total()} programs: {rows}")
