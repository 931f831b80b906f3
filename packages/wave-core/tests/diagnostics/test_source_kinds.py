"""Locations of code that is in no ordinary file."""

from __future__ import annotations

import doctest
import linecache
import sys
import types

import pytest

from wave_core.diagnostics import Location, capture_location, user_error

CELL = "def f():\n    é = capture()\n    return é\nx = f()\n"


def run(file, text=CELL, module="__main__"):
    scope = {"__name__": module, "capture": capture_location}
    exec(compile(text, file, "exec"), scope)
    return scope.get("x")


def test_a_notebook_cell_has_an_excerpt():
    file = "/tmp/ipykernel_1/123456.py"
    # What IPython's `compilerop` registers: no modification time, kept for good.
    linecache.cache[file] = (len(CELL), None, CELL.splitlines(keepends=True), file)
    text = str(user_error("WV0201", "m", at=run(file), label="here"))
    del linecache.cache[file]
    assert "2 |     é = capture()" in text
    assert "  |         ^^^^^^^^^ here" in text


def test_a_lazy_entry_is_read_from_its_loader():
    class Loader:
        def get_source(self, name):
            return CELL

    file = "inside.zip/cell.py"
    linecache.lazycache(file, {"__name__": "cell", "__loader__": Loader()})
    place = run(file)
    assert (place.line, place.column) == (2, 9)
    assert place.source_line(2) == "    é = capture()"
    del linecache.cache[file]


def test_code_without_source_has_a_line_and_no_excerpt():
    place = run("<string>")
    assert (place.file, place.line, place.function) == ("<string>", 2, "f")
    text = str(user_error("WV0201", "m", at=place, label="here"))
    assert text.splitlines()[1:] == ["  --> <string>:2:10 in f", "  | here"]


def test_code_without_positions_has_a_line():
    code = compile("def f():\n  return capture()\n", "<bare>", "exec")
    scope = {"capture": capture_location}
    exec(code, scope)
    bare = scope["f"].__code__.replace(co_linetable=b"")
    place = types.FunctionType(bare, scope)()
    assert (place.line, place.column) == (1, 0)


def test_the_prompt_of_python_3_13(monkeypatch):
    lines = CELL.splitlines(keepends=True)
    monkeypatch.setattr(
        linecache, "_getlines_from_code", lambda code: lines, raising=False
    )
    place = run("<python-input-7>")
    assert (place.line, place.column) == (2, 9)
    assert place.source_line(2) == "    é = capture()"


def test_a_file_that_changed_is_read_again(tmp_path):
    file = tmp_path / "k.py"
    file.write_text(CELL)
    assert run(str(file)).source_line(2) == "    é = capture()"
    changed = "# a comment\n" + CELL
    file.write_text(changed)
    place = run(str(file), changed)
    assert place.source_line(place.line) == "    é = capture()"


def test_a_file_that_is_not_utf8_is_no_crash(tmp_path):
    file = tmp_path / "k.py"
    file.write_bytes(b"x = '\xff'\n")
    text = str(user_error("WV0201", "m", at=Location.of_span(str(file), 1, 1, 1, 2)))
    assert "k.py:1:1" in text


@pytest.mark.parametrize("module", ["wave_core.lang.pretend", "my_kernels"])
def test_a_doctest_is_user_code(module):
    seen = []
    host = types.ModuleType(module, ">>> see(capture())\n")
    names = {**vars(host), "see": seen.append, "capture": capture_location}
    example = doctest.DocTestParser().get_doctest(host.__doc__, names, module, None, 0)
    doctest.DocTestRunner(verbose=False).run(example, out=sys.stdout.write)
    assert seen[0].file.startswith(f"<doctest {module}")
