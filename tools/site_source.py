"""The source of the site: every page of the documentation, and what the pages link to.

    python tools/site_source.py [--out out/site-source]

The folder mirrors the repository, so that a link means the same on the site and in a
checkout. The generated reference is added where its place is.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import check_links
import doc_pages
import generate_reference
import workspace

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


def gather(out: Path) -> list[Path]:
    """Write the source of the site into a fresh folder."""
    shutil.rmtree(out, ignore_errors=True)
    generate_reference.generate(out / "docs" / "reference")
    written = [path.relative_to(workspace.ROOT) for path in sources()]
    for path in written:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(workspace.ROOT / path, out / path)
    return written


def main() -> int:
    """Write the folder and say where."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write")
    arguments = parser.parse_args()
    gather(arguments.out)
    pages = sum(1 for _ in arguments.out.rglob("*.md"))
    print(f"{pages} pages in {arguments.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
