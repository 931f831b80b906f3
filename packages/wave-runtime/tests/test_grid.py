"""Expressions in text: values, and what is no expression."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from wave_runtime import ArtifactError, GridExpression

VALUES = {"M": 100, "N": 7, "odd name": 3, "$WG0": 5, "x": -9}

CASES = [
    ("12", 12),
    ("M // 7 + N", 21),
    ("M - N - 1", 92),
    ("2*M % 9", 200 % 9),
    ("ceildiv(M, 64)", 2),
    ("-(M + 1)", -101),
    ("-M // 64", -2),
    ("max(M, N, 3) - min(M, N)", 93),
    ("select(M < 50, 1, 2)", 2),
    ("M >= 100", 1),
    ("and(M == 100, N != 7)", 0),
    ("or(M == 100, N != 7)", 1),
    ("xor(M, N)", 100 ^ 7),
    ('sym"odd name" * 2', 6),
    ("x? % 4", -9 % 4),
    ("$WG0 * 2", 10),
]


@pytest.mark.parametrize(("text", "value"), CASES)
def test_value(text, value):
    assert GridExpression(text)(VALUES) == value


@pytest.mark.parametrize(
    "text", ["", "M +", "(M", "M)", "open(M)", "M ** 2", "M.N()", '__import__("os")']
)
def test_refused(text):
    with pytest.raises(ArtifactError):
        GridExpression(text)


@pytest.mark.parametrize("text", ["K", "M // 0", "M % (N - 7)"])
def test_cannot_be_evaluated(text):
    with pytest.raises(ArtifactError):
        GridExpression(text)(VALUES)


def test_deep_nesting_is_refused():
    with pytest.raises(ArtifactError):
        GridExpression("(" * 5000 + "1" + ")" * 5000)


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_refused(text):
    try:
        GridExpression(text)(VALUES)
    except ArtifactError:
        return


def test_names_its_symbols():
    assert GridExpression("ceildiv(M, 64) + N").symbols == {"M", "N"}


DEEP = {
    "signs": "-" * 9_998 + "1",
    "brackets": "(" * 4_900 + "1" + ")" * 4_900,
    "sums": "1" + "+1" * 4_990,
    "calls": "min(" * 1_900 + "1" + ")" * 1_900,
    "comparisons": "1" + "<1" * 4_990,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_text_on_a_small_stack_is_refused_or_read(text):
    """A thread's stack may be small; a parser that recurses in C ends the process."""
    code = """
import sys, threading
from wave_runtime.errors import ArtifactError
from wave_runtime.grid import GridExpression

def read():
    try:
        GridExpression(sys.argv[1])({})
    except ArtifactError:
        pass
    print("alive")

threading.stack_size(256 * 1024)
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, text], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
