"""The example of each name of the language, out of the pages whose code is run.

Nothing is written for the reference alone: a statement of a page that uses a name is
its example, and where it stands tells how it goes on. Functions of elements, which
pages compare with torch in a dictionary, have a row instead.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import check_links
import doc_pages
import wave_core.lang as language
import workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULES = ("tkl", "tkw")
#: Of a diagnostic, in what a page says that a block prints.
_CODE = re.compile(r"\bWV\d{4}\b")
#: Whoever looks a name up sees the whole statement without scrolling.
_LINES = 24
_REFERENCE = workspace.ROOT / "docs" / "reference"
#: Pages that explain step by step come first, those on other languages last.
_FOLDERS = ("tutorial", "howto", "explanation", "docs")


@dataclass(frozen=True)
class Example:
    """A statement that uses a name.

    Attributes:
        text: Its lines, decorators included.
        line: The number of the first of them in the page, from 1.
        page: The page.
        uses: The names of the language in it, each with its lines, from 1.
    """

    text: str
    line: int
    page: Path
    uses: dict[str, tuple[int, ...]]

    def shown(self, name: str) -> str:
        """The statement with the lines of `name` marked, and where it stands."""
        lines = " ".join(map(str, self.uses[name]))
        above = doc_pages.headings(self.page.read_text(encoding="utf-8"), self.line)
        titles = dict.fromkeys(title.replace("`", "") for title in above)
        place = Path(os.path.relpath(self.page, _REFERENCE)).as_posix()
        link = f"[{': '.join(titles)}]({place}#{check_links.anchor(above[-1])})"
        return f'```python hl_lines="{lines}"\n{self.text}```\n\nFrom {link}.\n'

    @property
    def rank(self) -> tuple[bool, int, int, str, int]:
        """Least for what is best to read."""
        length = self.text.count("\n")
        known = self.page.parent.name in _FOLDERS
        folder = _FOLDERS.index(self.page.parent.name) if known else len(_FOLDERS)
        return length > _LINES, folder, length, str(self.page), self.line


@cache
def examples() -> dict[str, Example]:
    """The best example of each name that a page uses."""
    best: dict[str, Example] = {}
    for example in sorted(_statements(), key=lambda each: each.rank):
        for name in example.uses:
            best.setdefault(name, example)
    return best


@cache
def in_torch() -> dict[str, str]:
    """What functions of elements are in torch, as pages compare them."""
    found: dict[str, str] = {}
    for _, block in _blocks():
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.Dict):
                found |= _compared(node)
    return found


def _compared(node: ast.Dict) -> dict[str, str]:
    """The rows of a dictionary from functions of the language to those of torch."""
    rows = zip(node.keys, node.values, strict=True)
    named = ((_name(key), value) for key, value in rows if key is not None)
    return {name: _term(value) for name, value in named if _is_function(name)}


def _is_function(name: str) -> bool:
    return inspect.isfunction(getattr(language, name, None))


def _term(function: ast.expr) -> str:
    """What a function gives: the body of a lambda, or its name."""
    return ast.unparse(function.body if isinstance(function, ast.Lambda) else function)


def _statements() -> Iterator[Example]:
    """Every statement at the top of a block."""
    for page, block in _blocks():
        lines = block.text.splitlines(keepends=True)
        for node in ast.parse(block.text).body:
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            first = min(each.lineno for each in (node, *decorators))
            text = "".join(lines[first - 1 : node.end_lineno])
            yield Example(text, block.line + first - 1, page, _uses(node, first))


def _blocks() -> Iterator[tuple[Path, doc_pages.Block]]:
    """The code of the pages, without what is wrong on purpose."""
    for page in doc_pages.pages():
        blocks = doc_pages.blocks_of(page.read_text(encoding="utf-8"))
        starts = [n for n, each in enumerate(blocks) if each.language == "python"]
        for start, end in pairwise([*starts, len(blocks)]):
            followed = blocks[start + 1 : end]
            printed = [each.text for each in followed if each.language == "output"]
            if not any(map(_CODE.search, printed)):
                yield page, blocks[start]


def _uses(node: ast.stmt, first: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.expr) and (name := _name(each)):
            found.setdefault(name, set()).add(each.lineno - first + 1)
    return {name: tuple(sorted(lines)) for name, lines in found.items()}


def _name(node: ast.expr) -> str:
    """The name of the language that an expression is, if it is one."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return ""
    return node.attr if node.value.id in _MODULES else ""
