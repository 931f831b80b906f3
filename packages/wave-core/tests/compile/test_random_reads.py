"""Whatever a function reads, in whatever way, its key changes with it."""

from __future__ import annotations

import types

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.compile.fingerprint import fingerprint
from wave_core.compile.read_log import recall

M = tkw.sym.M

#: Pairs of values that Python may take for equal, or that differ within.
LEAVES = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    (np.float32(0.0), np.float32(-0.0)),
    (np.int8(1), np.int16(1)),
    (np.float64(1), 1.0),
    ("a", "b"),
    ((1,), [1]),
    ({1}, frozenset({1})),
    (None, 0),
    (M, M + 1),
    (M + 1, M + 1.0),
    (tkw.f16, tkw.f32),
    (tkw.Register[M, tkw.f16], tkw.Register[M, tkw.f32]),
    (tkw.AddressSpace.GLOBAL, tkw.AddressSpace.SHARED),
    (tkw.MMAType.F32_16x16x16_F16, "F32_16x16x16_F16"),
    (len, max),
    (lambda: 1, lambda: 2),
]


def with_attribute(value):
    def helper(): ...

    helper.tile = value
    return helper


def with_keyword(value):
    def helper(*, k=value): ...

    return helper


#: How a value is packed, and how what is packed is replaced in place.
PACKS = {
    "list": (lambda x: [0, x], lambda box, x: box.__setitem__(1, x)),
    "dict": (lambda x: {"k": x}, lambda box, x: box.__setitem__("k", x)),
    "function": (
        with_attribute,
        lambda box, x: setattr(box, "tile", x),
    ),
    "keyword": (
        with_keyword,
        lambda box, x: box.__kwdefaults__.__setitem__("k", x),
    ),
    "mapping": (
        lambda x: tkw.IndexMapping(1, {M: x}, {M: M}),
        lambda box, x: box.input_mapping.__setitem__(M, x),
    ),
    "mapping, whole": (
        lambda x: tkw.IndexMapping(1, {M: x}, {M: M}),
        lambda box, x: setattr(box, "input_mapping", {M: x}),
    ),
}

#: Text of a function that reads ``box`` from somewhere.
READERS = [
    "def f(): return box",
    "def f(): return place.box",
    "def f(): return [box for _ in range(1)]",
    "def f(k=box): return k",
    "def f():\n    def g(): return box\n    return g()",
    "def outer(box):\n    def f(): return box\n    return f\nf = outer(box)",
    "def h(): return place.box\ndef f(): return h()",
    "def f():\n    def g(a: 'box'): return a\n    return g",
    "def f(a: 'place.box'): return a",
    "f = lambda: (lambda: box)()",
]


def pick(rng, items):
    return items[rng.integers(len(items))]


@pytest.mark.parametrize("seed", range(8))
def test_random_changes_are_seen(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        pair = pick(rng, LEAVES)
        old, new = pair if rng.integers(2) else pair[::-1]
        place = types.ModuleType("place")
        make, replace = pick(rng, list(PACKS.values()))
        box = inner = make(old)
        for _ in range(rng.integers(3)):
            box = pick(rng, [(box,), [box], {"a": box}])
        place.box = box
        space, known = {"box": box, "place": place}, {}
        exec(pick(rng, READERS), space)
        function = space["f"]
        before = recall(known, function, (), fingerprint)
        assert before == fingerprint(function)
        assert before is not None
        replace(inner, new)
        for after in (fingerprint(function), recall(known, function, (), fingerprint)):
            assert after is not None
            assert after != before
        replace(inner, old)
        assert recall(known, function, (), fingerprint) == before


def test_every_kernel_of_the_language_has_a_key():
    """What the language exports can be read without compiling anew each time."""
    for name in dir(tkw):
        function = eval(f"lambda: tkw.{name}", {"tkw": tkw})
        assert fingerprint(function) is not None, name
