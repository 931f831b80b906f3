"""Triton's kernels for sm_90a are right and raise no alarm; with faults they do."""

from __future__ import annotations

import re

import pytest
from triton_texts import attention, attention_roles, gemm, gemm_tma, text_of

from wave_emulator_ptx import EmulatorError

ORDERS = [None, 1, 2, 3]
SEEDS = [None, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in (1, 2))]
"""Of faults; other seeds find the same."""
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


@pytest.mark.parametrize("order", SEEDS)
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


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", [(64, 64, 64), (128, 64, 320), (72, 56, 200)])
def test_gemm_of_tensor_maps(sizes, order):
    error, result = gemm_tma(text_of("gemm_tma"), sizes, order)
    assert result.reports == []
    assert error < 0.05


NEEDED = re.compile(
    r"(@%p\d+ )?(?:mbarrier\.(?:init|arrive)|cp\.async|fence)"
    r"|wgmma\.(?:fence|commit|wait)"
)


def needed_lines():
    """Lines of the kernel, each of which it needs; of its barriers many are twins."""
    text = text_of("gemm_tma").splitlines()
    return [at for at, line in enumerate(text) if NEEDED.match(line.strip())]


@pytest.mark.parametrize("order", SEEDS)
@pytest.mark.parametrize("at", needed_lines())
def test_each_line_of_the_tensor_kernel_is_missed(at, order):
    lines = text_of("gemm_tma").splitlines()
    lines[at] = ""
    assert fails("\n".join(lines), order)


def test_barriers_between_products_and_copies_are_missed():
    """Those of one place, since each is as good as the others."""
    lines = text_of("gemm_tma").splitlines()
    products = max(at for at, line in enumerate(lines) if "aligned 1;" in line)
    copies = max(at for at, line in enumerate(lines) if "[%r33]" in line)
    for at in range(products, copies):
        if lines[at].strip().startswith("bar.sync"):
            lines[at] = ""
    assert fails("\n".join(lines), None)


def fails(text, order):
    """Whether anything is wrong."""
    return is_wrong(gemm_tma, text, (64, 64, 320), order)


def is_wrong(kernel, text, sizes, order):
    """Likewise of any kernel."""
    try:
        error, result = kernel(text, sizes, order)
    except EmulatorError:
        return True
    return bool(result.reports) or error > 0.05


@pytest.mark.parametrize("order", [None, 1])
@pytest.mark.parametrize(
    "sizes", [(1, 192), pytest.param((2, 384), marks=pytest.mark.fuzz)]
)
def test_attention_in_roles(sizes, order):
    error, result = attention_roles(text_of("attention_roles"), sizes, order)
    assert result.reports == []
    assert error < 5e-3


ROLES = re.compile(
    r"setmaxnreg\.dec\S*\s*40|fence\.proxy|wgmma\.(?:fence|commit|wait)"
    r"|@%p\d+ mbarrier\.arrive\.expect_tx|cp\.async\.bulk\.(?:commit|wait)"
)


def role_lines():
    text = text_of("attention_roles").splitlines()
    found = [at for at, line in enumerate(text) if ROLES.match(line.strip())]
    return [found[0], *(pytest.param(at, marks=pytest.mark.fuzz) for at in found[1:])]


@pytest.mark.parametrize("at", role_lines())
def test_each_line_of_the_roles_is_missed(at):
    lines = text_of("attention_roles").splitlines()
    lines[at] = ""
    assert is_wrong(attention_roles, "\n".join(lines), (1, 192), None)
