"""What MkDocs asks of this repository: navigation by folder, and anchors as in links.

MkDocs calls the functions that are named after its events; nothing here imports it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import check_links

#: Title of a tab -> the pages in it, by pattern, in this order.
TABS: dict[str, tuple[str, ...]] = {
    "Wave": ("README.md", "docs/README.md"),
    "Tutorials": ("docs/tutorial/*.md", "examples/*.md"),
    "Gallery": ("docs/gallery/*.md",),
    "Coming from": ("docs/coming-from/*.md",),
    "How to": ("docs/howto/*.md",),
    "Explanation": ("docs/explanation/*.md", "docs/*.md", "ARCHITECTURE.md"),
    "Reference": ("docs/reference/*.md",),
    "Packages": ("packages/*/README.md", "examples/*/README.md"),
    "Contributing": ("CONTRIBUTING.md",),
}
_RESOURCE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?P<src>[^\"'\s>]+)"
    r"|<link\b[^>]*\brel=[\"']?(?:stylesheet|preconnect)[^>]*href=[\"']?(?P<href>[^\"'\s>]+)"
)


def navigation(source: Path) -> list[dict[str, list[str]]]:
    """The tabs with their pages; a page stands in the first tab that asks for it."""
    placed: set[str] = set()
    tabs: list[dict[str, list[str]]] = []
    for title, patterns in TABS.items():
        found = [path for each in patterns for path in sorted(source.glob(each))]
        names = [path.relative_to(source).as_posix() for path in found]
        own = [name for name in names if name not in placed]
        placed |= set(own)
        if own:
            tabs.append({title: own})
    return tabs


def fetched(html: str) -> list[str]:
    """What a browser would fetch from elsewhere to show a page."""
    found = (match["src"] or match["href"] for match in _RESOURCE.finditer(html))
    return [url for url in found if re.match(r"(https?:)?//", url)]


def slug(text: str, separator: str) -> str:
    """The anchor of a heading, as the links of a checkout name it."""
    del separator
    return check_links.anchor(text)


def on_config(config: Any) -> Any:
    """Set what a file in YAML does not say."""
    config["nav"] = navigation(Path(config["docs_dir"]))
    config["mdx_configs"]["toc"] = {"slugify": slug, "permalink": True}
    return config


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse a page that asks the network for anything."""
    del config
    if elsewhere := fetched(output):
        message = f"{page.file.src_uri} fetches from elsewhere: {elsewhere}"
        raise ValueError(message)
    return output
