"""What was measured is used wherever `auto` compiles the kernel, and only there."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import optuna
import pytest

from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_tune.key import size_class
from wave_tune.sampler import distributions
from wave_tune.store import Store, store_of
from wave_tune.subject import Subject
from wave_tune.tuner import Asked, prepared, result_of

SHAPE = {"M": 256, "N": 256, "K": 128}


def session(announce=lambda _: None):
    return Session(config=Config(cache=False), announce=announce)


@pytest.fixture
def tuned(store):
    """A point that no estimate takes, measured as the fastest."""
    text = tuple(f"{name}={size}" for name, size in SHAPE.items())
    job = prepared(Asked(Subject("gemm", text, target="gfx942"), store), session())
    found = job.space.tried[-1]
    job.study.add_trial(
        optuna.create_trial(
            params=dict(found.params),
            distributions=distributions(job.space),
            value=1.0,
            user_attrs={"point": found.point.text(), "unit": "cycles", "us": 1.0},
        )
    )
    assert result_of(job).best == found.point
    return found.point


def compiled(shape, told=lambda _: None, **more):
    where = session(told)
    factory = where.plugins.load_kernel("gemm")
    case = make_case(factory, "gemm", {**SHAPE, **shape}, {}, "gfx942")
    options = replace(case.options, device="emulator", **more)
    return wave_compile(options, case.kernel, session=where)


def uses(kernel, point):
    settled = {name: str(value) for name, value in kernel.settled.items()}
    same = kernel.options.preset == point.options["preset"]
    return same and settled == {k: str(v) for k, v in point.subs.items()}


def test_a_tuned_point_is_used_without_being_named(tuned, monkeypatch):
    assert uses(compiled({}), tuned)
    # Sizes of the same class are compiled alike, others and other options are not.
    assert uses(compiled({"M": 240}), tuned)
    assert not uses(compiled({"M": 512}), tuned)
    assert not uses(compiled({}, use_fast_math=True), tuned)
    assert not uses(compiled({}, preset="default"), tuned)
    monkeypatch.setenv("WAVE_TUNE_STORE", "off")
    assert not uses(compiled({}), tuned)


@pytest.mark.parametrize("what", ["no database", "another version"])
def test_a_store_that_cannot_be_used_is_told_once(what, store, request):
    if what == "no database":
        store.path.write_text("notes")
    else:
        request.getfixturevalue("tuned")
        import sqlite3

        with sqlite3.connect(store.path) as database:
            database.execute("UPDATE alembic_version SET version_num = 'v99.9'")
            database.execute("UPDATE version_info SET schema_version = 99")
        database.close()
        from wave_tune.store import _open

        _open.cache_clear()
    told = []
    assert compiled({}, told.append).options.preset != "auto"
    (line,) = told
    assert line.startswith(f"the store `{store.url}` cannot be used: ")
    assert line.endswith("; kernels are compiled without it")
    with pytest.raises(UserError) as caught:
        store.open()
    assert caught.value.code == "WV0830"


def test_a_store_is_a_file_a_url_or_off(tmp_path):
    assert store_of("off") is None
    assert store_of(str(tmp_path / "a")).path == tmp_path / "a"
    assert store_of("postgresql://u:secret@host/wave").path is None
    assert "secret" not in store_of("postgresql://u:secret@host/wave").shown
    assert store_of(None, {"WAVE_TUNE_STORE": "b.db"}).path == Path("b.db").absolute()
    for wrong in ("nothing://", "sqlite://\n://"):
        with pytest.raises(UserError) as caught:
            Store(wrong).open() if wrong == "nothing://" else store_of("://")
        assert caught.value.code == "WV0830"


def test_a_store_says_which_driver_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UserError) as caught:
        Store("postgresql+psycopg://u:secret@host/wave").open()
    said = str(caught.value)
    assert "its driver `psycopg` is not installed" in said
    assert "install it here: pip install psycopg" in said
    assert "secret" not in said


def test_sizes_that_are_tuned_together():
    classes = [size_class(size) for size in (1, 16, 17, 64, 80, 128, 100, 4096)]
    assert classes == [
        "1",
        "16",
        "to 32 ragged",
        "to 64",
        "to 128",
        "to 128",
        "to 128 ragged",
        "to 4096",
    ]
