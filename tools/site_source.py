"""The source of the site: every page of the documentation, and what the pages link to.

    python tools/site_source.py [--out out/site-source] [--gallery all]

The folder mirrors the repository, so that a link means the same on the site and in a
checkout. The generated reference and the gallery are added where their places are.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import check_links
import doc_pages
import gallery
import generate_reference
import notebooks
import workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

OUT = workspace.ROOT / "out" / "site-source"


def linked(page: Path) -> set[Path]:
    """The files of the repository that a page links to."""
    found = (check_links.file_of(page, t) for t in check_links.targets(page))
    return {path for path in found if path is not None and path.is_file()}


def sources() -> list[Path]:
    """The pages and, until nothing is missing, the files that one of them links to."""
    known: set[Path] = set()
    pending = {*doc_pages.pages(), *(workspace.ROOT / "docs" / "assets").glob("*")}
    while pending:
        path = pending.pop()
        known.add(path)
        if path.suffix == ".md":
            pending |= linked(path) - known
    return sorted(known)


def gather(out: Path, kernels: Sequence[str] = gallery.USUAL) -> list[Path]:
    """Write the source of the site into a fresh folder; the gallery draws `kernels`."""
    shutil.rmtree(out, ignore_errors=True)
    for path in notebooks.notebooks():
        page = out / path.relative_to(workspace.ROOT).with_suffix(".md")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            notebooks.as_page(path.read_text("utf-8"), path.name), encoding="utf-8"
        )
    generate_reference.generate(out / "docs" / "reference")
    gallery.write(out / "docs" / "gallery", kernels)
    written = [path.relative_to(workspace.ROOT) for path in sources()]
    for path in written:
        if (out / path).exists():
            continue  # what a checkout has in the place of a generated page
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(workspace.ROOT / path, out / path)
    return written


def main() -> int:
    """Write the folder and say where."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write")
    told = "kernels that the gallery draws, or `all`, which takes minutes"
    usual = list(gallery.USUAL)
    parser.add_argument("--gallery", nargs="+", default=usual, help=told)
    arguments = parser.parse_args()
    gather(arguments.out, arguments.gallery)
    pages = sum(1 for _ in arguments.out.rglob("*.md"))
    print(f"{pages} pages in {arguments.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
