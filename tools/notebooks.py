"""Notebooks, which the tests run and the site shows as pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import workspace

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: What the author writes.
        is_code: Whether it is run; else it is Markdown.
        output: What it prints, and the value of its last line as text.
    """

    text: str
    is_code: bool
    output: str = ""


def notebooks() -> list[Path]:
    """Every notebook of the examples."""
    return sorted((workspace.ROOT / "examples").glob("*.ipynb"))


def cells_of(text: str) -> list[Cell]:
    """The cells of a notebook in nbformat 4, in order."""
    return [_cell(each) for each in json.loads(text)["cells"]]


def _cell(cell: dict[str, Any]) -> Cell:
    outputs = map(_output, cell.get("outputs", []))
    is_code = cell["cell_type"] == "code"
    return Cell("".join(cell["source"]), is_code, "".join(outputs))


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return "".join(output["text"])
    return "".join(output["data"]["text/plain"]) + "\n"


def as_page(text: str, file: str) -> str:
    """A notebook as a page of Markdown, with a link to its file."""
    parts = [*map(_part, cells_of(text)), f"The notebook: [{file}]({file})."]
    return "\n\n".join(parts) + "\n"


def _part(cell: Cell) -> str:
    if not cell.is_code:
        return cell.text
    output = f"\n\n```output\n{cell.output}```" if cell.output else ""
    return f"```python\n{cell.text}\n```{output}"
