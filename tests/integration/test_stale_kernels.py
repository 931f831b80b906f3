"""A kernel is compiled anew when anything that its function reads has changed."""

from __future__ import annotations

import math
import string

import numpy as np
import pytest
import torch

import wave_core.lang as tkw
from wave_core.compile import Session, WaveCompileOptions, wave_compile

M, N = tkw.sym.M, tkw.sym.N
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE
PREAMBLE = """
import enum, fractions, functools, math, operator, types
import numpy as np
import sympy
import torch
import wave_core.lang as tkw
from collections import defaultdict, namedtuple
module = types.ModuleType("settings")
"""

#: Name: definitions with ``factor()``, which a kernel multiplies by, and a change.
CASES = {
    "function attribute": (
        "def helper(): ...\nhelper.tile = 2\ndef factor(): return helper.tile",
        "helper.tile = 3",
    ),
    "function attribute that appears": (
        "def helper(): ...\ndef factor(): return 3 if 'tile' in helper.__dict__ else 2",
        "helper.tile = 1",
    ),
    "attribute of ours": (
        "def factor(): return tkw.read.tile\ntkw.read.tile = 2",
        "tkw.read.tile = 3",
    ),
    "attribute of ours by another name": (
        "def factor():\n    read = tkw.read\n    return read.tile\ntkw.read.tile = 2",
        "tkw.read.tile = 3",
    ),
    "attribute by a made name": (
        "module.tile4 = 2\ndef factor(): return getattr(module, f'tile{4}')",
        "module.tile4 = 3",
    ),
    "attribute by a joined name": (
        "module.tile = 2\ndef factor(): return getattr(module, 'ti' + 'le')",
        "module.tile = 3",
    ),
    "module handed on": (
        (
            "module.tile = 2\ndef of(where): return where.tile\n"
            "def factor(): return of(module)"
        ),
        "module.tile = 3",
    ),
    "module in a tuple": (
        "module.tile = 2\nplaces = (module,)\ndef factor(): return places[0].tile",
        "module.tile = 3",
    ),
    "module with a getter": (
        (
            "state = [2]\nmodule.__getattr__ = lambda name: state[0]\n"
            "def factor(): return module.tile"
        ),
        "state[0] = 3",
    ),
    "format of a module": (
        "module.tile = 2\ndef factor(): return int('{.tile}'.format(module))",
        "module.tile = 3",
    ),
    "wraps of a trusted function": (
        (
            "size = 2\n@functools.wraps(tkw.read)\ndef helper(): return size\n"
            "def factor(): return helper()"
        ),
        "size = 3",
    ),
    "member of an enumeration": (
        (
            "class Mode(enum.Enum):\n    A = 1\nMode.A.tile = 2\n"
            "def factor(): return Mode.A.tile"
        ),
        "Mode.A.tile = 3",
    ),
    "property of an enumeration": (
        (
            "size = 2\nclass Mode(enum.Enum):\n    A = 1\n"
            "    @property\n    def tile(self): return size\n"
            "mode = Mode.A\ndef factor(): return mode.tile"
        ),
        "size = 3",
    ),
    "member of our enumeration": (
        (
            "tkw.AddressSpace.GLOBAL.tile = 2\n"
            "def factor(): return tkw.AddressSpace.GLOBAL.tile"
        ),
        "tkw.AddressSpace.GLOBAL.tile = 3",
    ),
    "subclass of int": (
        (
            "class Size(int): ...\nsize = Size(1)\nsize.tile = 2\n"
            "def factor(): return size.tile"
        ),
        "size.tile = 3",
    ),
    "subclass of tuple": (
        (
            "class Size(tuple): ...\nsize = Size((1,))\nsize.tile = 2\n"
            "def factor(): return size.tile"
        ),
        "size.tile = 3",
    ),
    "method of a named tuple": (
        (
            "value = 2\nclass Size(namedtuple('Size', 'a')):\n"
            "    def tile(self): return value\n"
            "size = Size(1)\ndef factor(): return size.tile()"
        ),
        "value = 3",
    ),
    "missing key": (
        (
            "value = 2\nclass Sizes(dict):\n"
            "    def __missing__(self, key): return value\n"
            "sizes = Sizes()\ndef factor(): return sizes['tile']"
        ),
        "value = 3",
    ),
    "default of a dictionary": (
        (
            "value = 2\nsizes = defaultdict(lambda: value)\n"
            "def factor(): return sizes.default_factory()"
        ),
        "value = 3",
    ),
    "bound method": (
        (
            "class Size:\n    tile = 2\n    def of(self): return self.tile\n"
            "of = Size().of\ndef factor(): return of()"
        ),
        "Size.tile = 3",
    ),
    "cached function": (
        (
            "value = 2\n@functools.lru_cache\ndef of(): return value\n"
            "def factor(): return of()"
        ),
        "value = 3\nof.cache_clear()",
    ),
    "partial": (
        (
            "value = 2\ndef of(a): return value\n"
            "helper = functools.partial(of, 1)\n"
            "def factor(): return helper()"
        ),
        "value = 3",
    ),
    "the default dtype of torch": (
        "def factor(): return 2 if torch.get_default_dtype() is torch.float32 else 3",
        "torch.set_default_dtype(torch.float64)",
    ),
    "zero of numpy": (
        (
            "zero = np.float32(0.0)\n"
            "def factor(): return 2 if math.copysign(1, zero) > 0 else 3"
        ),
        "zero = np.float32(-0.0)",
    ),
    "sign of a complex zero": (
        (
            "zero = complex(1, 0.0)\n"
            "def factor(): return 2 if math.copysign(1, zero.imag) > 0 else 3"
        ),
        "zero = complex(1, -0.0)",
    ),
    "sign of a NaN": (
        (
            "number = math.nan\n"
            "def factor(): return 2 if math.copysign(1, number) > 0 else 3"
        ),
        "number = -math.nan",
    ),
    "a set of integers or floats": (
        (
            "sizes = frozenset({1})\n"
            "def factor(): return 2 if isinstance(max(sizes), int) else 3"
        ),
        "sizes = frozenset({1.0})",
    ),
    "order of a set": (
        "sizes = {8, 0}\ndef factor(): return 2 if list(sizes)[0] == 8 else 3",
        "sizes = {0, 8}",
    ),
    "order of a dictionary": (
        "sizes = {'a': 2, 'b': 3}\ndef factor(): return list(sizes.values())[0]",
        "sizes['a'] = sizes.pop('a')",
    ),
    "bounds of a range": (
        "sizes = range(0, 3, 2)\ndef factor(): return sizes.stop - 1",
        "sizes = range(0, 4, 2)",
    ),
    "number in an expression": (
        (
            "size = sympy.Symbol('x') + 1\n"
            "def factor(): return 2 if size.args[0].is_Integer else 3"
        ),
        "size = sympy.Symbol('x') + sympy.Float(1.0)",
    ),
    "list in a tuple": (
        "sizes = (1, [2])\ndef factor(): return sizes[1][0]",
        "sizes[1][0] = 3",
    ),
    "replaced function of ours": (
        "def factor(): return 2 if tkw.exp.__name__ == 'exp' else 3",
        "tkw = types.SimpleNamespace(exp=tkw.exp2)",
    ),
    "replaced constant of math": (
        "def factor(): return int(math.tau)\nmath.tau = 2",
        "math.tau = 3",
    ),
    "builtin that is hidden": (
        "def factor(): return len('ab')",
        "def len(text): return 3",
    ),
    "globals of a helper": (
        (
            "value = 2\ndef helper(): ...\n"
            "def factor(): return helper.__globals__['value']"
        ),
        "value = 3",
    ),
    "a key word": (
        "def factor(*, tile=2): return tile",
        "factor.__kwdefaults__['tile'] = 3",
    ),
    "random numbers": (
        (
            "state = np.random.default_rng(0)\n"
            "def factor():\n"
            "    return int(state.bit_generator.state['state']['state'] % 97)"
        ),
        "state.random(2)",
    ),
    "class in a function": (
        (
            "value = 2\ndef factor():\n    class Inner:\n        tile = value\n"
            "    return Inner.tile"
        ),
        "value = 3",
    ),
    "import in a function": (
        (
            "import string\ndef factor():\n    import string as s\n    return s.tile\n"
            "string.tile = 2"
        ),
        "string.tile = 3",
    ),
    "a pattern": (
        (
            "def helper(): ...\nhelper.tile = 2\ndef factor():\n"
            "    match helper:\n        case types.FunctionType(tile=t): return t"
        ),
        "helper.tile = 3",
    ),
}


@pytest.fixture(autouse=True)
def _restored():
    """Cases change what is shared; everything is put back."""
    tau = math.tau
    yield
    math.tau = tau
    torch.set_default_dtype(torch.float32)
    for owner in (tkw.read, tkw.AddressSpace.GLOBAL, string):
        vars(owner).pop("tile", None)


def kernel_of(factor):
    @tkw.wave([tkw.WorkgroupConstraint(M, 8, 0), tkw.HardwareConstraint(64)])
    def scaled(
        a: tkw.Memory[M, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
        b: tkw.Memory[M, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32],
    ):
        tkw.write(tkw.read(a) * factor(), b)

    return scaled


def result(kernel, session):
    options = WaveCompileOptions(subs={M: 8}, device="sim-logical")
    a, b = np.ones(8, np.float32), np.full(8, np.nan, np.float32)
    wave_compile(options, kernel, session=session)(a, b)
    return b[0]


@pytest.mark.parametrize("name", CASES)
def test_a_change_of_what_is_read_is_seen(name):
    definitions, change = CASES[name]
    space = {"__name__": "adversary"}
    exec(PREAMBLE + definitions, space)
    kernel, session = kernel_of(space["factor"]), Session()
    before = result(kernel, session)
    assert before == space["factor"]()
    assert result(kernel, session) == before
    exec(change, space)
    assert space["factor"]() != before
    assert result(kernel, session) == space["factor"]()


def test_a_mapping_that_is_changed_in_place_is_seen():
    place = tkw.IndexMapping.iterator(0)
    mapping = tkw.IndexMapping(1, {N: place + 1}, {M: place})

    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
    def kernel(a: tkw.Memory[N, GLOBAL, tkw.f32], c: tkw.Memory[M, GLOBAL, tkw.f32]):
        tkw.write(tkw.read(a, mapping=mapping), c)

    session = Session(announce=lambda _: None)
    options = WaveCompileOptions(subs={M: 64, N: 80}, device="sim")
    a = torch.arange(80, dtype=torch.float32)
    for step in (1, 2):
        mapping.input_mapping[N] = place + step
        c = torch.zeros(64)
        wave_compile(options, kernel, session=session)(a, c)
        assert torch.equal(c, a[step : 64 + step])
