"""The addresses that a package tells of itself: `[project.urls]` of its pyproject.toml.

Nothing in the repository knows where it is published, so the release is told: one
address, below which the others lie as GitHub, Gitea and Forgejo lay them out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import workspace as ws

_TABLE = re.compile(r"^\[project\.urls\]\n(?:(?!\[).*\n)*", re.MULTILINE)
_AFTER_PROJECT = re.compile(r"^\[project\]\n(?:(?!\[).*\n)*", re.MULTILINE)


def is_home(address: str) -> bool:
    """Whether an address can be that of a repository: https, a host, and a path."""
    parts = urlsplit(address)
    plain = not (parts.query or parts.fragment or re.search(r"[\s\"\\]", address))
    return plain and parts.scheme == "https" and bool(parts.netloc and parts.path[1:])


def urls_of(name: str, home: str) -> dict[str, str]:
    """Label, as PyPI knows it -> address, below that of the repository."""
    home = home.rstrip("/").removesuffix(".git")
    newest = f"{home}/blob/HEAD"
    return {
        "Homepage": home,
        "Documentation": f"{newest}/docs/README.md",
        "Source": f"{home}/tree/HEAD/packages/{name}",
        "Issues": f"{home}/issues",
        "Changelog": f"{newest}/packages/{name}/CHANGELOG.md",
    }


def has_urls(package: ws.Package) -> bool:
    """Whether the package says already where its home is."""
    return "Homepage" in package.project.get("urls", {})


def with_urls(pyproject: str, name: str, home: str) -> str:
    """The text of a pyproject.toml with the addresses of a home, in place of others."""
    lines = [f'{label} = "{url}"\n' for label, url in urls_of(name, home).items()]
    table = "[project.urls]\n" + "".join(lines) + "\n"
    without = _TABLE.sub("", pyproject)
    return _AFTER_PROJECT.sub(lambda project: _apart(project[0]) + table, without, 1)


def _apart(text: str) -> str:
    """A table with one empty line behind it."""
    return text.rstrip("\n") + "\n\n"
