"""What constraints say once symbols are bound."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.constraints import workgroup_symbol
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import UserError
from wave_core.symbols import le, parse_expr, symbol
from wave_core.targets import generic_target

M, N, K, H, HKV = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.H, tkl.sym.HKV
BLOCK = tkl.sym.BLOCK
HARDWARE = tkw.HardwareConstraint(threads_per_wave=64)


def geometry(*constraints, **bindings):
    values = {symbol(name): value for name, value in bindings.items()}
    return Geometry((*constraints, HARDWARE), values, generic_target())


def loops(*axes):
    return {axis: symbol(f"$IV:{axis}") for axis in axes}


def texts(expressions):
    return [str(expression) for expression in expressions]


@pytest.fixture(name="gemm")
def _gemm():
    return geometry(
        tkw.WorkgroupConstraint(M, BLOCK, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.WaveConstraint(M, BLOCK / 2),
        tkw.TilingConstraint(K, 32),
        BLOCK=128,
        M=500,
    )


def test_the_grid_counts_tiles_the_waves_split_them(gemm):
    assert texts(gemm.grid) == ["4", "(N + 63) // 64"]
    assert gemm.waves == (2, 1)


def test_a_base_adds_up_the_levels(gemm):
    assert gemm.base("M", {}) is parse_expr("128*$WG0 + 64*$WV0")
    assert gemm.base("K", loops("K")) is parse_expr("32*$IV:K")
    assert str(gemm.base("K", {})) == "0"


def test_a_tile_is_that_of_the_innermost_level(gemm):
    tiles = [gemm.tile("M", {}), gemm.tile("K", loops("K")), gemm.tile("K", {})]
    assert texts(tiles) == ["64", "32", "K"]


def test_the_limit_is_the_extent_where_tiles_nest(gemm):
    assert str(gemm.limit("M", {})) == "500"
    assert str(gemm.limit("K", loops("K"))) == "K"


def test_a_loop_tile_that_does_not_nest_ends_with_the_tile_around_it():
    split = geometry(
        tkw.WorkgroupConstraint(K, 100, 0), tkw.TilingConstraint(K, 32), K=1000
    )
    assert split.limit("K", loops("K")) is parse_expr("min(100*$WG0 + 100, 1000)")
    assert str(split.trip_count("K")) == "4"


def test_lds_coordinates_leave_the_workgroup_out(gemm):
    assert gemm.local_base("M", {}, parse_expr("128")) is parse_expr("64*$WV0")
    one, all_of_it = parse_expr("32"), parse_expr("K")
    assert str(gemm.local_base("K", loops("K"), one)) == "0"
    assert str(gemm.local_base("K", loops("K"), all_of_it)) == "32*$IV:K"


def test_tiles_that_divide_are_proved_to_lie_inside():
    aligned = geometry(tkw.WorkgroupConstraint(M, 64, 0), M=512)
    end = aligned.base("M", {}) + 64
    assert aligned.facts.prove(le(end, aligned.limit("M", {})))


def test_an_alias_follows_its_target():
    heads = geometry(
        tkw.WorkgroupConstraint(H, 8, 0),
        tkw.SymbolicAlias(HKV, H, lambda x: x // 4),
        H=32,
        HKV=8,
    )
    assert heads.base("HKV", {}) is parse_expr("2*$WG0")
    assert len(heads.grid) == 1


def test_devices_share_a_dimension():
    shared = geometry(
        tkw.DeviceConstraint(M, 32, 0), tkw.WorkgroupConstraint(M, 16, 0), M=75
    )
    assert texts((*shared.devices, *shared.grid)) == ["3", "2"]
    assert shared.base("M", {}) is parse_expr("32*$DD0 + 16*$WG0")


def test_an_explicit_grid_leaves_placing_to_the_kernel():
    persistent = geometry(
        tkw.WorkgroupConstraint(M, 16, 0), tkw.GridConstraint(8), M=512
    )
    assert texts(persistent.grid) == ["8"]
    assert str(persistent.base("M", {})) == "0"


def test_reordering_reads_a_coordinate_as_another():
    swapped = geometry(
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.ReorderingConstraint(3 - tkw.WORKGROUP_0, 0),
        M=64,
    )
    assert swapped.numbering == ((workgroup_symbol(0), parse_expr("3 - $HW0")),)


@pytest.mark.parametrize(
    ("code", "constraints", "bindings"),
    [
        ("WV0303", [tkw.WorkgroupConstraint(M, 48, 0), tkw.WaveConstraint(M, 32)], {}),
        ("WV0304", [tkw.WorkgroupConstraint(M, 16, 0), tkw.WaveConstraint(M, 32)], {}),
        ("WV0305", [tkw.WaveConstraint(M, 32)], {}),
        ("WV0306", [tkw.WorkgroupConstraint(M, 16, 1, primary=False)], {}),
        (
            "WV0306",
            [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 16, 0)],
            {},
        ),
        ("WV0307", [HARDWARE], {}),
        (
            "WV0323",
            [tkw.TilingConstraint(K, 16), tkw.TilingConstraint(K, 32)],
            {},
        ),
        ("WV0308", [tkw.WorkgroupConstraint(M, BLOCK / 2, 0)], {"BLOCK": 7}),
        ("WV0316", [tkw.WorkgroupConstraint(M, BLOCK, 0)], {"BLOCK": 0}),
        ("WV0317", [tkw.WorkgroupConstraint(M, 64, 0), tkw.WaveConstraint(M, 2)], {}),
        ("WV0319", [tkw.DeviceConstraint(M, 16, 1)], {}),
        (
            "WV0325",
            [
                tkw.WorkgroupConstraint(M, 64, 0),
                tkw.WorkgroupConstraint(N, 64, 0, primary=False),
                tkw.WaveConstraint(M, 32),
                tkw.WaveConstraint(N, 16),
            ],
            {},
        ),
    ],
)
def test_constraints_that_contradict_each_other(code, constraints, bindings):
    with pytest.raises(UserError) as caught:
        geometry(*constraints, **bindings)
    found = caught.value.diagnostics
    assert [d.code for d in found] == [code]
    assert found[0].primary.location.file == __file__


def test_a_wave_that_the_machine_does_not_have():
    wrong = tkw.HardwareConstraint(threads_per_wave=32)
    with pytest.raises(UserError, match="waves of 32 lanes"):
        Geometry((wrong,), {}, generic_target())


def test_a_loop_without_a_tiling_constraint_is_refused():
    with pytest.raises(UserError, match="no TilingConstraint"):
        geometry().trip_count("K")


@pytest.mark.parametrize("waves", [(1,), (4, 1)])
def test_the_waves_given_are_those_that_the_tile_is_cut_for(waves):
    hardware = tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=waves)
    split = [tkw.WorkgroupConstraint(M, 64, 0), tkw.WaveConstraint(M, 32)]
    with pytest.raises(UserError, match="is cut for 2 waves, axis 0 has"):
        Geometry((hardware, *split), {}, generic_target())


def test_waves_beyond_those_of_the_constraints_all_do_the_same():
    hardware = tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(2, 1))
    rows = (hardware, tkw.WorkgroupConstraint(M, 64, 0))
    assert Geometry(rows, {}, generic_target()).waves == (2, 1)


def test_a_whole_float_is_told_how_to_be_an_integer():
    with pytest.raises(UserError, match="WV0308") as caught:
        tkw.WaveConstraint(M, 64 / 2)
    helps = caught.value.diagnostics[0].help
    assert helps[0] == "write 32, or `//` in place of `/`"


def test_a_fraction_of_a_dimension_follows_its_constraints(gemm):
    assert gemm.base("M // 2", {}) is parse_expr("64*$WG0 + 32*$WV0")
    assert gemm.base("3*K // 4", loops("K")) is parse_expr("24*$IV:K")
    assert texts([gemm.tile("2*M", {}), gemm.tile("K // 32", loops("K"))]) == [
        "128",
        "1",
    ]
    assert gemm.loop_axis("K // 32") == "K"


def test_an_alias_moves_with_the_loop_of_its_target():
    rows = geometry(
        tkw.TilingConstraint(K, 32), tkw.SymbolicAlias(N, K, lambda size: size / 8)
    )
    assert rows.base("N", loops("K")) is parse_expr("4*$IV:K")


@pytest.mark.parametrize(
    "row",
    [
        tkw.WorkgroupConstraint(M, 48, 0),
        tkw.TilingConstraint(M),
        tkw.TilingConstraint(M, 64, start=N),
        tkw.WorkgroupConstraint(M, 64, 0, apply_fn=lambda place: place * 16),
    ],
)
def test_a_tile_that_cuts_elements_of_a_fraction(row):
    with pytest.raises(UserError) as caught:
        geometry(row).base("M // 32", loops("M"))
    assert caught.value.code == "WV0329"
    assert "are not proved to be a whole number of `M // 32`" in str(caught.value)
    assert "multiples of 32" in str(caught.value)


@pytest.mark.parametrize(("rows", "bound"), [(32, {}), (BLOCK, {"BLOCK": 32})])
def test_rows_of_matrix_instructions_are_a_number_or_a_symbol(rows, bound):
    values = {symbol(name): value for name, value in bound.items()}
    hardware = tkw.HardwareConstraint(mma_rows=rows)
    assert Geometry((hardware,), values, generic_target()).mma_rows == 32


def test_rows_of_matrix_instructions_are_known_to_the_compiler():
    open_rows = (tkw.HardwareConstraint(mma_rows=BLOCK),)
    with pytest.raises(UserError, match="not known before the launch") as raised:
        _ = Geometry(open_rows, {}, generic_target()).mma_rows
    assert raised.value.code == "WV0327"
