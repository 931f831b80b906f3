"""Settings that the tests of all packages share; every test group has hypothesis."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Generator

import pytest
from hypothesis import settings

from covering import leave_to_fuzz, that_show_needs

# Compiling and simulating takes as long as the machine needs, so hypothesis sets no
# deadline per example. CI repeats the same examples; elsewhere each run draws new ones.
settings.register_profile("wave", deadline=None, print_blob=True)
settings.register_profile("wave-ci", settings.get_profile("wave"), derandomize=True)
settings.load_profile("wave-ci" if os.environ.get("CI") else "wave")

ADDRESS = re.compile(" at 0x[0-9a-f]")

# What a developer has tuned decides no test.
os.environ["WAVE_TUNE_STORE"] = "off"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--needs",
        action="store_true",
        help="only cases that show what the tests import: see tools/covering.py",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    _refuse_addresses(items)
    # Before pytest selects by marks, and what is left after it has.
    leave_to_fuzz(items)
    yield
    if config.getoption("--needs"):
        _keep_what_shows_needs(config, items)


def pytest_collection_finish() -> None:
    """Search the modules and tests that stay until the end for no garbage.

    Kernels are made of many small objects, so collections are frequent, and each of the
    full ones went through everything that was imported: a seventh of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _refuse_addresses(items: list[pytest.Item]) -> None:
    """Names with addresses differ between processes, which then share no tests."""
    wrong = [item.nodeid for item in items if ADDRESS.search(item.nodeid)]
    if wrong:
        raise pytest.UsageError(f"name the parameters of {wrong[0]}: it has an address")


def _keep_what_shows_needs(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = that_show_needs(items)
    chosen = set(kept)
    config.hook.pytest_deselected(items=[each for each in items if each not in chosen])
    items[:] = kept
