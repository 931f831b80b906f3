from __future__ import annotations

import linecache
from textwrap import dedent

import pytest

from wave_core.diagnostics import Location

KERNEL = """\
@wave(constraints)
def gemm(a: A, b: B, c: C):
    a_reg = read(a)
    b_reg = read(b)
    acc = mma(a_reg, b_reg, c)

    scale = 2
    bias = 3

    total = add(
        acc,
        bias,
    )
\tx = "é日本" + y
    write(total, c)
"""


class Source:
    """A file of user code that exists in memory only."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = text.splitlines(keepends=True)
        linecache.cache[file] = (len(text), None, self.lines, file)

    def find(self, text: str, function: str = "gemm") -> Location:
        """The first place where one-line text stands."""
        for number, line in enumerate(self.lines, 1):
            start = line.find(text)
            if start >= 0:
                end = start + len(text)
                return Location.of_span(
                    self.file, number, start + 1, number, end + 1, function
                )
        raise LookupError(text)


@pytest.fixture
def source():
    """Make a file of user code: `source(name, text)`."""
    made = []

    def make(file="user_kernel.py", text=KERNEL):
        made.append(file)
        return Source(file, text)

    yield make
    for file in made:
        linecache.cache.pop(file, None)


@pytest.fixture
def kernel(source):
    """The kernel `KERNEL` as `user_kernel.py`."""
    return source()


@pytest.fixture
def shows():
    """Compare a rendering with an indented literal."""

    def check(error, expected):
        assert str(error) == dedent(expected).strip("\n")

    return check
