"""Which rule lowers an op."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from wave_core.backends import LoweringTable, lowers
from wave_core.diagnostics import PluginError, UserError


class Base:
    op_name = ""
    location = None

    def __init__(self, size=1):
        self.size = size


class Mma(Base):
    op_name = "mma"


class BigMma(Mma):
    op_name = "big_mma"


class TopK(Base):
    op_name = "topk"


class Scan(Base):
    op_name = "scan"


@lowers(Base, when=lambda op: op.op_name != "topk", benefit=9)
def generic(op):
    return "generic"


@lowers(Mma)
def plain(op):
    return "plain"


@lowers(Mma, when=lambda op: op.size > 4, benefit=2)
def large(op):
    return "large"


@lowers(Mma, when=lambda op: op.size > 8, benefit=2)
def larger(op):
    return "larger"


def chosen(op, *rules):
    return LoweringTable.of("sim", rules, {"topk": "no sorting yet"}).select(op)(op)


@given(st.permutations([generic, plain, large]))
def test_the_best_rule_that_fits_wins(rules):
    assert chosen(Mma(1), *rules) == "plain"
    assert chosen(Mma(5), *rules) == "large"


def test_rules_of_the_nearest_class_come_first():
    assert chosen(BigMma(5), generic, large) == "large"
    assert chosen(BigMma(1), generic, large) == "generic"
    assert chosen(Scan(), generic, large) == "generic"


def test_a_tie_names_both_rules():
    assert chosen(Mma(5), large, larger) == "large"
    with pytest.raises(PluginError) as caught:
        chosen(Mma(9), larger, large)
    assert caught.value.code == "WV0815"
    names = [note.rpartition(".")[2] for note in caught.value.diagnostics[0].notes[:2]]
    assert names == ["large", "larger"]


@pytest.mark.parametrize(("op", "notes"), [(TopK(), ("no sorting yet",)), (Scan(), ())])
def test_no_rule_gives_the_reason(op, notes):
    with pytest.raises(UserError) as caught:
        chosen(op, plain)
    assert caught.value.code == "WV0601"
    assert f"sim cannot lower `{op.op_name}`" in str(caught.value)
    assert caught.value.diagnostics[0].notes == notes
