"""`attention` of few queries, whose keys are cut in parts, against f64."""

from __future__ import annotations

import pytest
import torch
from attention_formula import assert_accurate, attended

from wave_core.compile import default_session
from wave_kernels.definitions.key_parts import STEP
from wave_kernels.definitions.split_attention import split_attention_kernel
from wave_kernels.functions import attention, key_parts, launches, split_attention

VARIANTS = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": 290},
    "biased": {"bias": "b"},
    "biased heads": {"bias": "h", "causal": True, "window": 270},
    "all": {
        "bias": "bhm",
        "causal": True,
        "window": 300,
        "softcap": 2.0,
        "slopes": torch.rand(6),
    },
}
"""A bias has these dims of the scores, and keys."""


@pytest.fixture
def asked(monkeypatch):
    """In how many parts the calls of a test cut keys."""
    found = []
    launch = key_parts.launch

    def kept(make, what, sizes, arguments, dynamic):
        if make is split_attention_kernel:
            found.append(arguments[-1].shape[1] if what["cut"].parts else 1)
        return launch(make, what, sizes, arguments, dynamic)

    monkeypatch.setattr(key_parts, "launch", kept)
    return found


def tensors(*, b=2, h=6, kvh=2, m=1, s=513, d=20, dv=17, dtype=torch.float16):
    shapes = (b, h, m, d), (b, kvh, s, d), (b, kvh, s, dv)
    return [torch.randn(shape).to(dtype) for shape in shapes]


def words_of(variant, queries, keys, dtype):
    """The arguments of a variant, with a bias where it has one."""
    words, whole = dict(VARIANTS[variant]), {"b": 2, "h": 6, "m": queries}
    if dims := words.get("bias"):
        shape = [size if dim in dims else 1 for dim, size in whole.items()]
        words["bias"] = torch.randn(*shape, keys).to(dtype)
    return words


def check(given, layout="bhsd", **variant):
    right, shown = attended(*given, **variant), given
    if layout == "bshd":
        right, shown = right.transpose(1, 2), [each.transpose(1, 2) for each in given]
    out = torch.full(right.shape, torch.nan).to(given[0].dtype)
    assert attention(*shown, layout=layout, out=out, **variant) is out
    assert_accurate(out, right, given[2])
    assert torch.equal(attention(*shown, layout=layout, **variant), out)


@pytest.mark.covering(1)
@pytest.mark.parametrize("keys", [512, 513, 767])
@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("kvh", [1, 2, 6])
@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_parts_and_variants(
    asked, monkeypatch, dtype, variant, layout, kvh, queries, keys
):
    monkeypatch.setattr(split_attention, "_FILLING", key_parts.Filling(8, 128))
    words = words_of(variant, queries, keys, dtype)
    check(tensors(kvh=kvh, m=queries, s=keys, dtype=dtype), layout, **words)
    assert asked


def test_tiles_of_several_waves(asked):
    check(tensors(b=1, h=10, kvh=1, m=6, s=300), causal=True)
    assert asked[0] > 1


def test_values_wider_than_those_of_a_workgroup(asked):
    check(tensors(s=300, d=24, dv=200))
    assert asked[0] > 1


def test_parts_fill_the_units_and_none_is_empty(asked):
    for b, keys, wanted in ((1, 1024, 8), (1, 1031, 6), (2, 1024, 4), (9, 1024, 1)):
        attention(*tensors(b=b, s=keys))
        assert asked[-1] == wanted
        share = -(-keys // (wanted * STEP)) * STEP
        assert (wanted - 1) * share < keys
    attention(*tensors(s=600), window=200)
    assert asked[-1] == 1


def test_many_queries_and_sequences_that_attend_to_themselves_have_no_parts(asked):
    attention(*tensors(m=22, s=300))
    attention(*tensors(m=20, s=20))
    assert not asked


def test_a_cache_that_grows_needs_no_further_kernel(monkeypatch):
    made = []
    compiled = launches.wave_compile

    def counted(options, kernel, **named):
        made.append(kernel)
        return compiled(options, kernel, **named)

    monkeypatch.setattr(launches, "wave_compile", counted)
    default_session().forget()
    query, key, value = tensors(b=1, s=1999, d=16, dv=16)
    lengths = (*range(1, 200), *range(200, 2000, 257))
    for keys in lengths:
        seen = key[:, :, :keys], value[:, :, :keys]
        found = attention(query, *seen, causal=True)
        assert_accurate(found, attended(query, *seen), seen[1])
    assert len(made) == 3, "keys whole, keys in parts, and what merges these"


@pytest.mark.covering(1)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("keys", [1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1021])
def test_keys_at_and_beside_the_edges_of_tiles_and_parts(keys, variant):
    check(tensors(m=2, s=keys), **words_of(variant, 2, keys, torch.float16))


def test_rows_that_see_no_key_and_numbers_that_are_none():
    query, key, value = tensors(m=3, s=600)
    bias = torch.zeros(3, 600, dtype=torch.float16)
    bias[1], bias[2, :300] = -torch.inf, -torch.inf
    check([query, key, value], bias=bias)
    query[0, 0, 1, 2], key[0, 1, 3, 0], value[1, 0, 599, 4] = torch.nan, torch.inf, 9e4
    found = attention(query, key, value)
    right = torch.nn.functional.scaled_dot_product_attention(
        query.double(), key.double(), value.double(), enable_gqa=True
    )
    torch.testing.assert_close(found.double(), right, atol=4e-3, rtol=0, equal_nan=True)
