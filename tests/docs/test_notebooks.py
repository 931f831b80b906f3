"""Every notebook runs, and its cells print and show what is stored in it."""

from __future__ import annotations

import ast
import io
import linecache
from contextlib import redirect_stdout

import pytest

import doc_pages
import notebooks

NOTEBOOKS = {path.name: path for path in notebooks.notebooks()}


def run(cell, name, namespace):
    """Run a cell as Jupyter does: what it prints, and the value of its last line."""
    lines = cell.text.splitlines(keepends=True)
    linecache.cache[name] = len(cell.text), None, lines, name
    tree = ast.parse(cell.text, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            code = compile(ast.Expression(last.value), name, "eval")
            value = eval(code, namespace)
    shown = "" if value is None else f"{value!r}\n"
    return printed.getvalue() + shown, value


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_notebooks_run_and_show_kernels(notebook):
    cells = notebooks.cells_of(NOTEBOOKS[notebook].read_text("utf-8"))
    namespace = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(cells):
        if cell.is_code:
            printed, value = run(cell, f"<cell {number} of {notebook}>", namespace)
            assert doc_pages.agrees(cell.output, printed), printed
            shown += [] if value is None else [value._repr_html_()]
    assert shown
    for html in shown:
        assert html.startswith("<b>gemm</b><table>")
        # The source is in the page, though no file has it.
        assert "return tkw.mma(tkw.read(a), tkw.read(b), acc)" in html


def test_a_cell_that_prints_something_else_is_found():
    cell = notebooks.Cell("print(1)\n2", is_code=True, output="1\n3\n")
    assert not doc_pages.agrees(cell.output, run(cell, "<cell>", {})[0])


def test_a_notebook_is_a_page():
    text = NOTEBOOKS["gemm.ipynb"].read_text("utf-8")
    page = notebooks.as_page(text, "gemm.ipynb")
    assert page.startswith("# A matrix product in a notebook\n")
    assert "](gemm.ipynb)" in page
    blocks = [block.language for block in doc_pages.blocks_of(page)]
    assert blocks == ["python", *["python", "output"] * 3]
