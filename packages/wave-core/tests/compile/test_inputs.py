"""Files that options name: their contents are part of what is asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from wave_core.compile.inputs import input_files
from wave_core.compile.options import WaveCompileOptions
from wave_core.plugin import OptionSpec


@pytest.fixture
def session():
    """One with two options, of which one names a file."""
    specs = (
        OptionSpec("read_me", str | None, None, "p", "a file", "a-pass.me", True),
        OptionSpec("write_me", str | None, None, "p", "a file", "a-pass.you"),
    )
    rows = {spec.name: SimpleNamespace(value=spec) for spec in specs}
    return SimpleNamespace(plugins=SimpleNamespace(option_specs=rows))


def by_option(name, path):
    return WaveCompileOptions(subs={}, plugin_options={name: str(path)})


def by_pass(path):
    return WaveCompileOptions(subs={}, passes={"a-pass": {"me": str(path)}})


def test_a_file_counts_by_what_it_holds(session, tmp_path):
    path = tmp_path / "a.txt"
    found = set()
    for text in ("one", "two", "one"):
        path.write_text(text, "utf-8")
        found.add(input_files(by_option("read_me", path), session))
    assert len(found) == 2


def test_files_that_are_numbered_count_with_the_first(session, tmp_path):
    path = tmp_path / "a.txt"
    options = by_option("read_me", path)
    names = ["a.txt"]
    assert [name for name, _ in input_files(options, session)] == [str(path)]
    for name in ("a.1.txt", "b.txt", "ab.txt"):
        (tmp_path / name).write_text(name, "utf-8")
        names += [name] if name.startswith("a.") else []
    found = [name for name, _ in input_files(options, session)]
    assert found == [str(tmp_path / name) for name in names]


def test_an_option_that_names_no_input_does_not_count(session, tmp_path):
    assert input_files(by_option("write_me", tmp_path / "a.txt"), session) == ()


def test_a_file_that_is_not_there_has_no_digest(session, tmp_path):
    path = tmp_path / "none" / "a.txt"
    assert input_files(by_option("read_me", path), session) == ((str(path), ""),)


def test_options_of_passes_name_files_too(session, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one", "utf-8")
    expected = input_files(by_option("read_me", path), session)
    assert input_files(by_pass(path), session) == expected
