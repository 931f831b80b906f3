"""Triton's kernels for sm_90a are right and raise no alarm; with faults they do."""

from __future__ import annotations

import re

import pytest
from triton_texts import attention, gemm, text_of

ORDERS = [None, 1, 2]
SYNCHRONIZES = re.compile(
    r"wgmma\.(?:fence|commit|wait)|\s*(?:bar\.sync|fence|cp\.async\.(?:wait|commit))"
)
HARMLESS = {"gemm": {0}, "attention": {0, 8, 12}}
"""Commits of copies that the next group's wait covers, and a fence that the one before
makes superfluous: by their number in the text."""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", [(64, 64, 64), (128, 64, 320)])
def test_gemm(sizes, order):
    error, result = gemm(text_of("gemm"), sizes, order)
    assert result.reports == []
    assert error < 1e-4


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", [(2, 64), (1, 192)])
def test_attention(sizes, order):
    error, result = attention(text_of("attention"), sizes, order)
    assert result.reports == []
    assert error < 2e-3


def lines_of(name):
    """The number of each line that orders something, and that of the line."""
    text = text_of(name).splitlines()
    found = [at for at, line in enumerate(text) if SYNCHRONIZES.match(line.strip())]
    return [
        (name, number, at)
        for number, at in enumerate(found)
        if number not in HARMLESS[name]
    ]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("name", "number", "at"), lines_of("gemm") + lines_of("attention")
)
def test_each_line_that_orders_something_is_missed(name, number, at, order):
    lines = text_of(name).splitlines()
    lines[at] = ""
    text = "\n".join(lines)
    if name == "gemm":
        _, result = gemm(text, (64, 64, 320), order)
    else:
        _, result = attention(text, (1, 128), order)
    assert result.reports
