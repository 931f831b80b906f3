"""Products of warpgroups against products of whole matrices."""

from __future__ import annotations

import numpy as np
import pytest
from assembler import complaints
from group_products import Product
from operand_tiles import Tile
from test_hazards import ORDERS, without
from test_matrix import BRAIN, E4M3, E5M2, HALF, SINGLE, nineteen_bits, values

from wave_emulator_ptx import ExecutionError

LIES = [Tile(swizzle, across) for swizzle in (0, 32, 64, 128) for across in (0, 1)]
ALONG = [each for each in LIES if not each.across]

TYPES = [
    (("f32", "f16", "f16"), (SINGLE, HALF, HALF)),
    (("f16", "f16", "f16"), (HALF, HALF, HALF)),
    (("f32", "bf16", "bf16"), (SINGLE, BRAIN, BRAIN)),
    (("f32", "tf32", "tf32"), (SINGLE, SINGLE, SINGLE)),
    (("f32", "e4m3", "e4m3"), (SINGLE, E4M3, E4M3)),
    (("f32", "e4m3", "e5m2"), (SINGLE, E4M3, E5M2)),
    (("f16", "e5m2", "e4m3"), (HALF, E5M2, E4M3)),
    (("s32", "s8", "s8"), (np.int32, np.int8, np.int8)),
    (("s32", "u8", "s8"), (np.int32, np.uint8, np.int8)),
]


def operands(product, seed=0):
    source = np.random.default_rng(seed)
    a = values(source, (64, product.depth), product.dtypes[1])
    b = values(source, (product.columns, product.depth), product.dtypes[2])
    return a, b, values(source, (64, product.columns), product.dtypes[0])


def expected(product, a, b, before):
    if product.types[1] == "tf32":
        a, b = nineteen_bits(a), nineteen_bits(b)
    sign = product.signs[0] * product.signs[1]
    return sign * (a.astype(np.float64) @ b.astype(np.float64).T) + before.astype(
        np.float64
    )


def check(product, **asked):
    a, b, before = operands(product)
    found, result = product.run(a, b, before, **asked)
    assert result.reports == []
    wanted = expected(product, a, b, before * asked.get("keep", True))
    if product.dtypes[0] is np.int32:
        np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(np.int32))
        return
    room = 2e-3 if product.dtypes[0] is HALF else 1e-6
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found.astype(np.float64), wanted, atol=room * scale)


@pytest.mark.parametrize(("types", "dtypes"), TYPES, ids=lambda each: str(each[:3]))
def test_types_in_each_place_of_a(types, dtypes):
    check(Product(16, types, dtypes, left=None))
    check(Product(16, types, dtypes, steps=2))
    check(Product(8, types, dtypes, Tile(0), Tile(32)), keep=False)


@pytest.mark.parametrize("left", [None, *LIES])
def test_halves_in_each_lie(left):
    types, dtypes = TYPES[0]
    check(Product(24, types, dtypes, left, LIES[2], steps=2))


@pytest.mark.parametrize("right", LIES)
@pytest.mark.parametrize("columns", [64, 136])
def test_right_operands_in_each_lie(right, columns):
    if right.across and right.swizzle and columns * 2 % right.swizzle:
        columns = 128
    types, dtypes = TYPES[2]
    check(
        Product(columns, types, dtypes, Tile(64), right, steps=3 if right.across else 2)
    )


@pytest.mark.parametrize("lie", ALONG)
@pytest.mark.parametrize("number", [3, 4, 7])
def test_other_types_along_k(number, lie):
    types, dtypes = TYPES[number]
    check(Product(48, types, dtypes, lie, lie, steps=2))


@pytest.mark.parametrize("columns", [8, 16, 248, 256])
def test_the_widest_and_the_narrowest(columns):
    types, dtypes = TYPES[0]
    check(Product(columns, types, dtypes, None))


@pytest.mark.parametrize("signs", [(1, -1), (-1, 1), (-1, -1)])
def test_signs(signs):
    types, dtypes = TYPES[0]
    check(Product(16, types, dtypes, signs=signs))


def test_integers_stop_at_their_ends_where_asked():
    types, dtypes = TYPES[7]
    product = Product(8, types, dtypes, limited=True)
    a, b, before = operands(product)
    before[:] = 2**31 - 1
    found, _ = product.run(a, b, before)
    wanted = np.clip(expected(product, a, b, before), -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(found, wanted.astype(np.int32))


def test_what_is_not_added_may_be_anything():
    types, dtypes = TYPES[0]
    product = Product(8, types, dtypes)
    a, b, before = operands(product)
    before[:] = np.nan
    found, result = product.run(a, b, before, keep=False)
    assert result.reports == []
    np.testing.assert_allclose(found, expected(product, a, b, 0 * found), rtol=1e-5)


FENCED = [
    ("fence.proxy.async.shared::cta;", {"EP0510"}),
    ("wgmma.fence.sync.aligned;", {"EP0513"}),
    ("wgmma.commit_group.sync.aligned;", {"EP0504", "EP0507"}),
    ("wgmma.wait_group.sync.aligned 0;", {"EP0504", "EP0507"}),
]
SMALL = Product(16, *TYPES[0], steps=2)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("line", "codes"), FENCED)
def test_each_fence_and_wait_is_missed(line, codes, order):
    text = SMALL.text()
    assert text.count(line) == 1
    _, result = SMALL.run(*operands(SMALL), text.replace(line, ""), order=order)
    assert {each.code for each in result.reports} == codes


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("number", [0, 1])
def test_each_barrier_is_missed(number, order):
    text = without(SMALL.text(), number)
    _, result = SMALL.run(*operands(SMALL), text, order=order)
    assert {each.code for each in result.reports} & {"EP0501", "EP0507"}


@pytest.mark.parametrize("number", [0, 2, 4, 7])
@pytest.mark.parametrize("left", [None, Tile()])
def test_the_assembler_takes_the_texts(tmp_path, left, number):
    product = Product(16, *TYPES[number], left=left, steps=2)
    assert complaints(product.text(), tmp_path) == ""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("use", "codes"),
    [
        ("mov.b32 %v0, %a0; add.u32 %v1, %v0, 1;", {"EP0504"}),
        ("add.u32 %v0, %a0, 1;", {"EP0504"}),
        ("mov.b32 %a0, %r0;", {"EP0504"}),
        ("mov.b32 %v0, %s0;", set()),
        ("mov.b32 %v0, %s0; mov.b32 %s0, %v0;", set()),
        ("mov.b32 %v0, %s0; st.global.b32 [%d7], %v0;", {"EP0504"}),
        ("add.u32 %s0, %s0, 1;", {"EP0504"}),
    ],
)
def test_registers_under_way(use, codes, order):
    """Copies of a register wait with it; its other uses are reported."""
    product = Product(16, *TYPES[0], left=None)
    commit = "wgmma.commit_group.sync.aligned;"
    text = product.text().replace(commit, commit + use)
    _, result = product.run(*operands(product), text, order=order)
    assert {each.code for each in result.reports} == codes


SWAPS = [
    (Tile(one), Tile(other)) for one in (32, 64, 128) for other in (0, 32, 64, 128)
]


@pytest.mark.parametrize(
    ("lie", "said"), [(one, other) for one, other in SWAPS if one != other]
)
def test_a_wrong_swizzle_makes_wrong_numbers(lie, said, monkeypatch):
    product = Product(32, *TYPES[0], right=lie, steps=2)
    a, b, before = operands(product)
    wanted, _ = product.run(a, b, before)
    monkeypatch.setattr(Tile, "image", lambda _, *given: IMAGE(lie, *given))
    found, result = Product(32, *TYPES[0], right=said, steps=2).run(a, b, before)
    assert result.reports or not np.array_equal(found, wanted)


IMAGE = Tile.image
APART = """    setp.lt.u32 %p1, %r0, 96;
    @%p1 bra NEXT;
    ret;
NEXT:
    wgmma.fence"""


def test_a_warpgroup_that_is_not_whole_waits_for_ever():
    text = SMALL.text().replace("    wgmma.fence", APART)
    with pytest.raises(ExecutionError, match="EP0304") as found:
        SMALL.run(*operands(SMALL), text)
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "mma_async" in each)
    assert f"line {line}" in str(found.value)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("setp.ne.u32 %p2, %r5, 0;", "setp.gt.u32 %p2, %r0, 7;"), "EP0512"),
        (
            ("    bar.sync 0;\n    wgmma", "    add.s64 %d4, %d4, 8192;\n    wgmma"),
            "EP0503",
        ),
    ],
)
def test_operands_that_a_warpgroup_cannot_have(change, code):
    text = SMALL.text().replace(*change)
    _, result = SMALL.run(*operands(SMALL), text)
    assert code in {each.code for each in result.reports}
