"""Relative links of the Markdown files: the file exists, and so does the heading.

python tools/check_links.py
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import workspace

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(?P<text>.+?)\s*$", re.MULTILINE)
_HIDDEN = re.compile(r"(^|/)(\.[^/]+|node_modules|dist)/")


def pages(root: Path) -> list[Path]:
    """Every Markdown file outside of hidden and generated directories."""
    found = (p for p in root.rglob("*.md") if not p.is_symlink())
    return sorted(p for p in found if not _HIDDEN.search(str(p.relative_to(root))))


def anchor(heading: str) -> str:
    """The fragment under which a rendered page offers the heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Every anchor of a page."""
    body = _FENCE.sub("", text)
    return {anchor(match["text"]) for match in _HEADING.finditer(body)}


def targets(page: Path) -> list[str]:
    """What a page links to, as written."""
    text = _CODE.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))
    return [match["target"] for match in _LINK.finditer(text)]


def file_of(page: Path, target: str) -> Path | None:
    """The file of a link, whether it is there or not; None where it leads elsewhere."""
    if re.match(r"[a-z]+:", target):
        return None
    name = unquote(target).partition("#")[0]
    return (page.parent / name).resolve() if name else page


def problem(page: Path, target: str) -> str | None:
    """What is wrong with the link, or None."""
    path = file_of(page, target)
    if path is None:
        return None
    if not path.exists():
        return f"{page}: {target}: no such file"
    fragment = unquote(target).partition("#")[2]
    if not fragment or path.suffix != ".md":
        return None
    known = anchors(path.read_text(encoding="utf-8"))
    return None if fragment in known else f"{page}: {target}: no such heading"


def broken_links(root: Path) -> list[str]:
    """A sentence for each link that leads nowhere."""
    found: list[str] = []
    for page in pages(root):
        found += filter(None, (problem(page, target) for target in targets(page)))
    return found


def main() -> int:
    """Print the broken links and fail on any."""
    found = broken_links(workspace.ROOT)
    print("\n".join(found or ["links: fine"]))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
