"""One argument of one call is spoiled in an example: a result or a coded error.

An example calls the language some dozens of times: constraints, mappings, ops, options.
One call gets an argument too few or too many, or another value in an argument or in an
element of one. Whatever comes of it is the user's mistake, told with a code, or right.
"""

from __future__ import annotations

import inspect
from itertools import count

import numpy as np
import pytest
from programs import PROGRAMS

import wave_core.lang as language
from wave_core.diagnostics import InternalError, WaveError

# Too many arguments to these two are told by Python, as to any function.
PLAIN = {"wave", "wave_compile"}
NAMES = sorted(
    name
    for name in set(dir(language)) - PLAIN
    if inspect.isfunction(getattr(language, name))
    or name.endswith("Constraint")
    or name == "WaveCompileOptions"
)
VALUES = (
    *(None, 0, -1, 1, 3, 1000, 2**31, 2**40, -(2**63), 10**400, True, 1.5),
    *(float("nan"), float("inf"), "x", "", b"x", [], {}, (), object(), int, ...),
    *(np.float32(1), np.int64(2), np.zeros(3), slice(None), lambda x: x),
    *(language.sym.M, language.sym.UNKNOWN, language.sym.M + 1, language.sym.M / 2),
    *([language.sym.M], [language.sym.M] * 2, [None], {language.sym.M: None}),
    *(language.f32, language.f16, language.GLOBAL_ADDRESS_SPACE, "f32"),
)


class Spoiler:
    """Counts calls of the language, and spoils one of them."""

    def __init__(self, rng, at):
        self.rng, self.at = rng, at
        self.calls = count()
        self.what = "nothing"

    def pick(self, rows):
        return rows[int(self.rng.integers(len(rows)))]

    def wrapped(self, name, function):
        def call(*args, **named):
            if next(self.calls) == self.at:
                args, named = self.spoiled(name, args, named)
            return function(*args, **named)

        return call

    def spoiled(self, name, args, named):
        rows = dict(enumerate(args)) | named
        way = self.rng.random()
        if way < 0.1 or not rows:
            rows[len(args)] = self.pick(VALUES)
        else:
            key = self.pick(list(rows))
            old = rows.pop(key)
            if way > 0.2:
                rows[key] = self.other(old)
            self.what = f"{name}, argument {key}: {old!r} -> {rows.get(key)!r:.80}"
        return (
            [rows[key] for key in sorted(key for key in rows if isinstance(key, int))],
            {key: value for key, value in rows.items() if isinstance(key, str)},
        )

    def other(self, old):
        """Another value, or a sequence with another element."""
        new = self.pick(VALUES)
        if not isinstance(old, list | tuple) or not old or self.rng.random() < 0.5:
            return new
        row = list(old)
        place = int(self.rng.integers(len(row)))
        row[place : place + 1] = self.pick(([new], [], [row[place]] * 2))
        return type(old)(row)


def run(name, spoiler, monkeypatch):
    with monkeypatch.context() as patch:
        for each in NAMES:
            patch.setattr(
                language, each, spoiler.wrapped(each, getattr(language, each))
            )
        kernel, tensors, _ = PROGRAMS[name].build()
        kernel(*tensors)


def check(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    name = sorted(PROGRAMS)[int(rng.integers(len(PROGRAMS)))]
    whole = Spoiler(rng, None)
    run(name, whole, monkeypatch)
    spoiler = Spoiler(rng, int(rng.integers(next(whole.calls))))
    try:
        run(name, spoiler, monkeypatch)
    except InternalError as error:
        pytest.fail(f"{name}: {spoiler.what}\n{error}")
    except WaveError:
        pass
    except Exception as error:
        error.add_note(f"{name}: {spoiler.what}")
        raise


@pytest.mark.parametrize("seed", range(12))
def test_some_spoiled_calls(seed, monkeypatch):
    check(seed, monkeypatch)


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(40))
def test_spoiled_calls(block, monkeypatch):
    for seed in range(50 * block, 50 * block + 50):
        check(seed, monkeypatch)
