"""The union of dims, for any two lists of dims."""

from __future__ import annotations

from hypothesis import given, strategies as st

from wave_core.ops.rules import merge_dims
from wave_core.symbols import symbol

DIMS = [symbol(name) for name in "ABCDEF"]
shapes = st.permutations(DIMS).flatmap(
    lambda order: st.integers(0, len(order)).map(lambda n: tuple(order[:n]))
)


def is_subsequence(part, whole) -> bool:
    return [dim for dim in whole if dim in part] == list(part)


@given(shapes, shapes)
def test_union_has_every_dim_once_and_keeps_both_orders(first, second):
    merged = merge_dims(first, second)
    shared = [dim for dim in first if dim in second]
    agree = shared == [dim for dim in second if dim in first]
    if merged is None:
        assert not agree
        return
    assert agree
    assert set(merged) == set(first) | set(second)
    assert len(merged) == len(set(merged))
    assert is_subsequence(first, merged)
    assert is_subsequence(second, merged)


@given(shapes)
def test_union_with_a_part_of_itself_changes_nothing(shape):
    assert merge_dims(shape, shape[::2]) == shape
    assert merge_dims(shape, ()) == shape
