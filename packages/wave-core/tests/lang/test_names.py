"""What the language module offers, what it promises, and what it costs to import."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import wave_core.lang as tkl
from wave_core.diagnostics import UserError
from wave_core.lang.absent import INSTEAD
from wave_core.ops.builtin import builtin_ops

REFERENCE = Path(__file__).with_name("reference_names.txt").read_text("utf-8").split()
"""Names that kernels of the reference language, iree-org/wave, import."""

LOWERED_ONLY = {
    *("argument", "yield", "lane_expr", "assemble", "relayout", "transposed_read"),
    "shared_tile",
    "squeeze",
}
OTHER_NAMES = {
    "reduce": "sum",
    "breakpoint": "breakpoint_here",
    "while": "iterate",
    **dict.fromkeys(("add", "sub", "mul", "div", "floordiv", "neg"), "Value"),
    **dict.fromkeys(("and", "or", "xor", "not", "shl", "shr"), "Value"),
}


def imported(module: str) -> set[str]:
    code = f"import sys; import {module}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


@pytest.mark.parametrize("module", ["wave_core.lang", "wave_core.trace"])
def test_the_language_loads_no_graph(module):
    loaded = imported(module)
    assert module in loaded
    assert not loaded & {"torch", "numpy", "networkx"}


def test_ops_load_neither_sympy_nor_numpy():
    assert not imported("wave_core.ops") & {"torch", "sympy", "numpy", "networkx"}


@pytest.mark.parametrize("cls", builtin_ops(), ids=lambda cls: cls.op_name)
def test_every_op_of_the_language_has_a_surface(cls):
    name = cls.op_name
    if name not in LOWERED_ONLY:
        assert hasattr(tkl, OTHER_NAMES.get(name, name))


@pytest.mark.parametrize("name", REFERENCE)
def test_names_of_the_reference_are_there_or_accounted_for(name):
    """Each is there, or listed with what to write and so why it is not."""
    assert hasattr(tkl, name) != (name in INSTEAD)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean `broadcast`") as caught:
        tkl.brodcast  # noqa: B018
    assert isinstance(caught.value, UserError)
    assert caught.value.code == "WV0119"
    assert not hasattr(tkl, "__wrapped__")


@pytest.mark.parametrize("name", INSTEAD)
def test_names_of_other_languages_say_what_to_write(name):
    assert not hasattr(tkl, name)
    with pytest.raises(UserError, match="in this language: ") as caught:
        getattr(tkl, name)
    assert caught.value.code == "WV0119"
    proposed = [text.split("(")[0] for text in str(caught.value).split("`")[3::2]]
    assert any(hasattr(tkl, text.split("[")[0].lstrip("@")) for text in proposed)


def test_all_names_are_there():
    compiled_on_demand = {"SchedulingType", "WaveCompileOptions", "wave_compile"}
    for name in set(dir(tkl)) - compiled_on_demand:
        assert getattr(tkl, name) is not None


def test_derived_functions_have_signatures_and_documentation():
    assert str(inspect.signature(tkl.select)) == (
        "(condition, on_true, on_false, *, tag=None)"
    )
    assert "logit_cap=30.0" in str(inspect.signature(tkl.softsign))
    assert tkl.exp2.__name__ == "exp2"
    assert "2 to the power" in tkl.exp2.__doc__


def test_symbols_are_the_same_everywhere():
    assert tkl.index_symbol("M") == tkl.sym.M
    assert tkl.sym.M.is_nonnegative
    assert tkl.sym.M.is_integer


def test_address_spaces_are_members_of_one_enum():
    assert tkl.GLOBAL_MEMORY is tkl.GLOBAL_ADDRESS_SPACE is tkl.AddressSpace.GLOBAL
    assert tkl.SHARED_MEMORY is tkl.SHARED_ADDRESS_SPACE is tkl.AddressSpace.SHARED
