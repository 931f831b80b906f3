"""Options: immutable, comparable, and every mistake coded."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
import sympy

from wave_core.compile import (
    SchedulingType,
    WaveCompileOptions,
    WaveKernel,
    option_table,
    set_default_run_config,
)
from wave_core.compile.bindings import resolve_bindings
from wave_core.compile.option_rows import CORE, Role, given
from wave_core.compile.other_options import OTHER_NAMES
from wave_core.diagnostics import UserError
from wave_core.symbols import symbol
from wave_core.types import AddressSpace

M, N = (sympy.Symbol(n, integer=True, nonnegative=True) for n in "MN")


def bound(**subs):
    options = WaveCompileOptions(subs=subs)
    return {str(k): v for k, v in resolve_bindings(options.bindings).items()}


def test_keys_may_be_symbols_expressions_or_names():
    options = WaveCompileOptions(subs={M: 1, symbol("N"): 2, "K": 3})
    assert options.bindings == {
        symbol(name): v for name, v in zip("MNK", (1, 2, 3), strict=True)
    }


def test_values_are_found_by_what_they_were_given_for():
    """Where the compiler settles what was open, users ask by symbols of theirs."""
    options = WaveCompileOptions(subs={M: 1, "K": 3})
    assert [options.subs[key] for key in (M, symbol("M"), "M", "K")] == [1, 1, 1, 3]
    assert (M in options.subs, N in options.subs) == (True, False)
    assert options.subs.get(N, 7) == 7


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (AddressSpace.SHARED, AddressSpace.SHARED),
        ("shared", AddressSpace.SHARED),
        ("GLOBAL_MEMORY", AddressSpace.GLOBAL),
        (sympy.Symbol("$GLOBAL_ADDRESS_SPACE"), AddressSpace.GLOBAL),
        ("0x40", 64),
        (sympy.Integer(7), 7),
    ],
)
def test_values(value, wanted):
    assert bound(X=value) == {"X": wanted}


def test_chains_of_bindings():
    assert bound(M=N * 2, N=symbol("K") + 1, K=3) == {
        "K": 3,
        "M": 8,
        "N": 4,
    }


@pytest.mark.parametrize(
    "subs",
    [
        {"M": sympy.Symbol("N"), "N": sympy.Symbol("M")},
        {"M": sympy.Symbol("N") + 1},
        {"M": 1.5},
        {"M": True},
        {"M": None},
        {"M": "many"},
        {"M": -1},
        {"M": AddressSpace.REGISTER},
        {M + N: 3},
        {"": 3},
    ],
    ids=str,
)
def test_unfit_bindings(subs):
    with pytest.raises(UserError) as caught:
        resolve_bindings(WaveCompileOptions(subs=subs).bindings)
    assert caught.value.code == "WV0822"
    assert caught.value.diagnostics[0].help


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tarGet", "target"),
        ("shedule", "schedule"),
        ("x", "subs"),
    ],
)
def test_unknown_option(name, hint):
    with pytest.raises(UserError) as caught:
        WaveCompileOptions(**{name: 1})
    assert caught.value.code == "WV0821"
    assert any(
        f"`{hint}" in text or hint in text for text in caught.value.diagnostics[0].help
    )
    assert caught.value.diagnostics[0].location.file == __file__


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("verify_each", 1),
        ("target", None),
        ("schedule", 5),
        ("multi_buffer_count", True),
        ("checks", ("races", "luck")),
        ("print_ir_after", 3),
        ("passes", 3),
        ("cost_limit", "much"),
        ("cost_limit", -1),
        ("location", 5),
    ],
)
def test_unfit_value(name, value):
    with pytest.raises(UserError) as caught:
        WaveCompileOptions(**{name: value})
    assert caught.value.code == "WV0823"


@pytest.mark.parametrize(
    "name",
    [
        "dump_binaries",
        "dump_intermediates",
        "dump_schedule",
        "override_mlir",
        "override_schedule",
        "denorm_fp_math_f32",
    ],
)
def test_an_empty_text_is_no_value(name):
    with pytest.raises(UserError) as caught:
        WaveCompileOptions(**{name: ""})
    shown = str(caught.value)
    assert shown.startswith(f"error[WV0823]: option `{name}` is '', of type str\n")
    assert shown.endswith("= help: it takes str | None, and no empty text")


@pytest.mark.parametrize("given", ["prefetch", "PREFETCH", SchedulingType.PREFETCH])
def test_a_strategy_goes_by_its_name_or_word(given):
    assert WaveCompileOptions(schedule=given).schedule is SchedulingType.PREFETCH
    assert WaveCompileOptions(schedule="mine").schedule == "mine"


def test_options_are_immutable_and_comparable():
    one = WaveCompileOptions(subs={"M": 1, "N": 2}, checks=("races",))
    other = WaveCompileOptions(subs={"N": 2, "M": 1}, checks=["races"])
    assert one == other
    assert hash(one) == hash(other)
    assert one != replace(one, subs={"M": 1})
    with pytest.raises(FrozenInstanceError):
        one.target = "other"


def test_every_field_counts_for_equality():
    base = WaveCompileOptions()
    for row in option_table():
        value = getattr(base, row.name)
        if isinstance(value, bool):
            assert replace(base, **{row.name: not value}) != base, row.name
        elif value is None:
            other = 3 if row.name in {"multi_buffer_count", "waves_per_eu"} else "text"
            other = True if "bool" in row.type else other
            assert replace(base, **{row.name: other}) != base, row.name


def test_pass_options_in_any_form():
    forms = [
        "minimize-loads{max-bits=64}, hoist",
        ("hoist", "minimize-loads{max-bits=64}"),
        {"minimize-loads": "max-bits=64", "hoist": ""},
        {"hoist": {}, "minimize-loads": {"max-bits": 64}},
    ]
    found = {WaveCompileOptions(passes=form) for form in forms}
    assert len(found) == 1


def test_options_of_one_pass_are_put_together():
    options = WaveCompileOptions(passes=("hoist{a=1, b=1}", "hoist{b=2}", "hoist"))
    assert [str(each) for each in options.passes] == ["hoist{a=1, b=2}"]


def test_table_names_owner_and_meaning():
    rows = {row.name: row for row in option_table()}
    assert rows["subs"].owner == CORE
    assert rows["schedule"].owner == "wave-passes-scheduling"
    assert all(row.type for row in rows.values())
    assert [
        row.name for row in rows.values() if bool(row.summary) != (row.owner == CORE)
    ] == []
    assert {row.name for row in rows.values() if row.role is Role.REPORT} == {
        "dump_binaries",
        "dump_intermediates",
        "print_ir_after",
        "print_ir_before",
        "timing",
    }


def test_given_options_name_their_package():
    options = WaveCompileOptions(schedule="MODULO", waves_per_eu=2)
    owners = {row.name: row.owner for row, _ in given(options)}
    assert owners == {
        "schedule": "wave-passes-scheduling",
        "waves_per_eu": "wave-backend-amdgpu",
    }


def test_positional_arguments_are_refused():
    with pytest.raises(UserError) as caught:
        WaveCompileOptions({"M": 3})
    assert caught.value.code == "WV0821"


REFERENCE = """
    postprocess canonicalize func_name subs dynamic_symbols schedule
    use_scheduling_barriers multi_buffer_count override_schedule dump_schedule
    eliminate_epilogue kernel_launch_info kernel_usages backend device target codeobj
    iree_preprocessing_pass_pipeline num_devices use_water_backend linearize_reads
    run_bench benchmark_batch_size benchmark_repetitions benchmark_results_file
    capture_trace bench_with_constant_weights profile_python_wrapper
    profile_python_cprofile profile_python_warmup profile_python_repetitions kernel_hash
    create_vmfb_file override_mlir dump_binaries dump_intermediates compile_to_mlir
    compile_to_asm location_capture_config use_local_scope drop_debug_info_before_mlir
    enforce_locations verify_region_captures use_water_leak_check check_water_analysis
    optimization_level denorm_fp_math_f32 waves_per_eu wave_runtime iree_launch_async
    use_buffer_ops use_fast_math scalarize_packed_math use_global_to_shared
    linearize_shared_access coalescing_strategy_hint enable_swizzle
    enable_mark_hardware_transpose_candidates minimize_shared_allocs reorder_allocs
    use_bound_check specialize cluster_barrier_delay allow_noncontiguous_runtime_buffers
    edit_ir_before edit_ir_after edit_ir_before_all edit_ir_after_all
    mlir_print_ir_after_all print_ir_after print_ir_before profile_pass
    print_trace_begin print_grid print_signature print_mlir print_mlir_file
    print_mlir_before_water print_mlir_after_water print_pass_times
"""
"""All compile options of the reference."""

NAMES = {row.name for row in option_table()}


def test_every_option_of_the_reference_is_there_or_says_what_replaces_it():
    wanted = set(REFERENCE.split())
    assert wanted == (wanted & NAMES) | (set(OTHER_NAMES) - {"hyperparams"})
    assert not NAMES & set(OTHER_NAMES)


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_advice_names_options_that_are_there(name):
    with pytest.raises(UserError) as caught:
        WaveCompileOptions(**{name: 1})
    assert caught.value.code == "WV0821"
    advice = caught.value.diagnostics[0].help[0]
    assert advice == OTHER_NAMES[name]
    assert set(re.findall(r"`(\w+)=", advice)) <= NAMES
    attributes = re.findall(r"`kernel\.(\w+)", advice)
    assert all(hasattr(WaveKernel, each) for each in attributes)
    for path in re.findall(r"docs/[\w/-]+\.md", advice):
        assert (Path(__file__).parents[4] / path).is_file()


def test_files_may_be_paths(tmp_path):
    options = WaveCompileOptions(dump_schedule=tmp_path / "a.txt")
    assert options.dump_schedule == str(tmp_path / "a.txt")
    assert options == WaveCompileOptions(dump_schedule=str(tmp_path / "a.txt"))
    with pytest.raises(UserError) as caught:
        WaveCompileOptions(target=tmp_path, verify_each=tmp_path)
    assert caught.value.code == "WV0823"


def test_the_default_run_is_on_what_is_there():
    options = WaveCompileOptions(subs={M: 3}, device="sim", target="gfx942")
    found = set_default_run_config(options)
    assert (found.device, found.target) == ("auto", "gfx942")
    assert found.subs == options.subs
