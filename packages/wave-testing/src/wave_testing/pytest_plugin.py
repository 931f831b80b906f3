"""Fixtures for tests of Wave and of its plugins; pytest loads this by itself.

It is imported at the start of every run of pytest, so it imports nothing of Wave;
each fixture does when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

if TYPE_CHECKING:
    import numpy as np

    from wave_core.compile import Session
    from wave_testing.golden import Golden
    from wave_testing.run_pass import PassRunner

UPDATE = "--update-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden``."""
    group = parser.getgroup("wave", "Wave")
    group.addoption(
        UPDATE, action="store_true", help="write what tests give to their goldens"
    )


@pytest.fixture
def wave_session() -> Session:
    """A session with the installed plugins, of this test alone."""
    from wave_core.compile import Session  # noqa: PLC0415 - light until asked for

    return Session()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that are the same in every run of this test.

    The seed follows from the test's name, so adding a test changes no other one.
    """
    import numpy as np  # noqa: PLC0415 - light until asked for

    return np.random.default_rng(crc32(request.node.nodeid.encode()))


@pytest.fixture
def filecheck() -> Callable[..., None]:
    """``filecheck(text, checks)``: see that ``text`` has what the lines ask for.

    ``checks`` holds ``CHECK:``, ``CHECK-NEXT:``, ``CHECK-NOT:`` and so on, as LLVM's
    FileCheck reads them. Fails with its message.
    """
    from wave_testing.match import check_text  # noqa: PLC0415 - light until asked for

    return check_text


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden(text)``: compare with ``golden/<module>/<test>.txt`` beside the test.

    ``golden(text, "name")`` names one of several texts of a test;
    ``--update-golden`` writes the files.
    """
    from wave_testing.golden import Golden  # noqa: PLC0415 - light until asked for

    update = bool(request.config.getoption(UPDATE))
    return Golden(request.path, request.node.name, update=update)


@pytest.fixture
def run_pass(wave_session: Session) -> PassRunner:
    """``run_pass("name{option=1}", text)``: the IR that one pass makes of another.

    Takes an instance of a pass as well, and ``target=`` by name. The result is
    verified and printed.
    """
    from wave_testing.run_pass import PassRunner  # noqa: PLC0415 - light until asked for

    return PassRunner(wave_session)
