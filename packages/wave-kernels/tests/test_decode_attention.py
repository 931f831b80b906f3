"""`attention_decode` on tensors of the CPU, against f64; what it refuses."""

from __future__ import annotations

import pytest
import torch
from attention_formula import assert_accurate
from sequences import paged, ragged, wanted

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import attention_decode, key_parts

TILE = 64
KEYS = (0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 7)
VARIANTS = {
    "plain": {},
    "window": {"window": 70},
    "slopes": {"slopes": torch.rand(4), "scale": 0.7},
    "all": {"window": 5, "softcap": 2.0, "slopes": torch.rand(4)},
}


def check(keys, *, pages=False, splits=None, kvh=2, dtype=torch.float16, **variant):
    given, most = ragged([1] * len(keys), keys, kvh=kvh, dtype=dtype)
    (query, key, value, _, starts), table = paged(given) if pages else (given, None)
    out = torch.full((*query.shape[:2], value.shape[2]), torch.nan).to(dtype)
    words = {"max_keys": most["max_keys"], "table": table, "splits": splits, "out": out}
    found = attention_decode(query, key, value, starts, **words, **variant)
    assert found is out
    assert_accurate(found, wanted(given, variant), given[2])


@pytest.mark.covering(2)
@pytest.mark.parametrize("kvh", [1, 2, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("splits", [1, 2, 5])
@pytest.mark.parametrize("pages", [False, True])
def test_parts_and_variants(pages, splits, variant, dtype, kvh):
    words = {"pages": pages, "splits": splits, "kvh": kvh, "dtype": dtype}
    check(KEYS, **words, **VARIANTS[variant])


def test_more_heads_share_keys_than_a_tile_has_rows():
    given, most = ragged([1, 1], [70, 3], h=20, kvh=1)
    query, key, value, _, starts = given
    found = attention_decode(query, key, value, starts, max_keys=70, splits=2)
    assert most["max_keys"] == 70
    assert_accurate(found, wanted(given, {}), value)


def test_a_long_sequence_is_cut_in_parts(monkeypatch):
    made = []
    launch = key_parts.launch

    def counted(make, what, sizes, arguments, dynamic):
        made.append((make.__name__, what, arguments))
        return launch(make, what, sizes, arguments, dynamic)

    monkeypatch.setattr(key_parts, "launch", counted)
    check([1030])
    assert [name for name, *_ in made] == ["decode_attention_kernel", "merge_kernel"]
    assert made[0][1]["decoding"].cut.parts
    assert made[1][2][0].shape[1] == 4
    made.clear()
    check([255], window=200)
    assert [what["decoding"].cut.parts for _, what, _ in made] == [False]


def test_nothing_of_something():
    given, _ = ragged([1, 1], [2, 0])
    query, key, value, _, starts = given
    assert not attention_decode(query, key, value, starts, max_keys=2)[1].any()
    none = attention_decode(query, key[:0], value[:0], starts * 0, max_keys=0)
    assert not none.any()
    few = attention_decode(query[:0], key, value, starts[:1], max_keys=2)
    assert few.shape == (0, 4, 9)


def i32(*numbers):
    return lambda _: torch.tensor(numbers, dtype=torch.int32)


REFUSED = [
    ("WV0704", "table", {"table": lambda _: [1]}),
    ("WV0705", "query", {"query": lambda q: q.float()}),
    ("WV0705", "key_starts", {"key_starts": lambda s: s.long()}),
    ("WV0706", "query", {"query": lambda q: q[0]}),
    ("WV0707", "key", {"key": lambda k: k[:, :0]}),
    ("WV0707", "value", {"value": lambda v: v[:4]}),
    ("WV0707", "key_starts", {"key_starts": i32(0, 3)}),
    ("WV0707", "key_starts", {"key_starts": i32(0, 3, 8)}),
    ("WV0707", "key_starts", {"max_keys": lambda _: 3}),
    ("WV0707", "table", {"table": i32(0, 1, 2, 3, 4, 5, 7)}),
    ("WV0707", "slopes", {"slopes": lambda _: torch.ones(3)}),
    ("WV0707", "splits", {"splits": lambda _: 0}),
    ("WV0707", "window", {"window": lambda _: 0}),
]


@pytest.mark.parametrize(("code", "name", "changes"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(code, name, changes):
    (query, key, value, _, starts), _ = ragged([1, 1], [3, 4])
    words = {"query": query, "key": key, "value": value, "key_starts": starts}
    words |= {"max_keys": 4}
    words |= {name: make(words.get(name)) for name, make in changes.items()}
    with pytest.raises(LaunchError) as raised:
        attention_decode(**words)
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
