"""Files that options name: their contents are part of what is asked for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from wave_core.compile import Session, WaveCompileOptions
from wave_core.compile.inputs import asked_of, input_files
from wave_core.passes import Pass, PassSpec, option
from wave_core.plugin import hookimpl


@dataclass(frozen=True)
class ReadAndTell(Pass):
    """One option names a file to read, one a file to write."""

    read_me: str | None = option(None, "a file", reads_file=True)
    write_me: str | None = option(None, "a file", reports=True)

    def apply(self, graph, context):
        return False


@hookimpl
def wave_register_passes():
    yield PassSpec("read-and-tell", "optimize", "own_passes:ReadAndTell")


@pytest.fixture
def session(monkeypatch):
    module = SimpleNamespace(__name__="own_passes", ReadAndTell=ReadAndTell)
    monkeypatch.setitem(sys.modules, "own_passes", module)
    plugin = SimpleNamespace(
        REQUIRES_API=(1, 0), wave_register_passes=wave_register_passes
    )
    return Session(plugins={"own": plugin})


def by_option(name, path):
    given = {"read-and-tell": {name: str(path)}}
    return WaveCompileOptions(subs={}, passes=given)


def test_a_file_counts_by_what_it_holds(session, tmp_path):
    path = tmp_path / "a.txt"
    found = set()
    for text in ("one", "two", "one"):
        path.write_text(text, "utf-8")
        found.add(input_files(asked_of(by_option("read_me", path), session)))
    assert len(found) == 2


def test_files_that_are_numbered_count_with_the_first(session, tmp_path):
    path = tmp_path / "a.txt"
    options = by_option("read_me", path)
    names = ["a.txt"]
    assert [name for name, _ in input_files(asked_of(options, session))] == [str(path)]
    for name in ("a.1.txt", "b.txt", "ab.txt"):
        (tmp_path / name).write_text(name, "utf-8")
        names += [name] if name.startswith("a.") else []
    found = [name for name, _ in input_files(asked_of(options, session))]
    assert found == [str(tmp_path / name) for name in names]


def test_an_option_that_names_no_input_does_not_count(session, tmp_path):
    assert (
        input_files(asked_of(by_option("write_me", tmp_path / "a.txt"), session)) == ()
    )


def test_a_file_that_is_not_there_has_no_digest(session, tmp_path):
    path = tmp_path / "none" / "a.txt"
    assert input_files(asked_of(by_option("read_me", path), session)) == (
        (str(path), ""),
    )


def test_a_pipeline_names_files_too(session, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one", "utf-8")
    text = f'read-and-tell{{read-me="{path}"}}'
    found = input_files(asked_of(WaveCompileOptions(pipeline=text), session))
    assert found == input_files(asked_of(by_option("read_me", path), session))


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (WaveCompileOptions(), False),
        (WaveCompileOptions(timing=True), True),
        (by_option("write_me", "a.txt"), True),
        (by_option("read_me", "a.txt"), False),
        (by_option("nothing", "a.txt"), False),
    ],
)
def test_what_reports_is_compiled_anew(session, options, wanted):
    assert asked_of(options, session).reports is wanted
