"""A view as one file of HTML, which asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_view.records import View

_SCRIPTS = (
    "base", "costs", "source", "summary", "ir", "elements", "lds", "chart", "schedule",
    "machine", "cycles", "roofline", "frame",
)  # fmt: skip
"""The parts of the script, in the order of the tabs; the frame draws them."""


def page(view: View) -> str:
    """The page of a kernel: complete, with a policy that lets nothing else in.

    Text of the author's is data of the page: no part of it is read as markup or as
    a script, whatever it says.
    """
    body = "\n".join(_part(f"{name}.js") for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{body}}})();\n'
    filled = {
        "policy": _policy(script),
        "title": html.escape(f"{view.kernel} · {view.target} · Wave"),
        "style": _part("style.css"),
        "data": _embedded(view),
        "script": script,
    }
    before, *rest = _part("page.html").split("{{")
    parts = [before]
    for piece in rest:
        name, _, text = piece.partition("}}")
        parts += [filled[name], text]
    return "".join(parts)


def _part(name: str) -> str:
    return (files("wave_view") / "assets" / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Only this script runs, and nothing is fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"
        "; base-uri 'none'; form-action 'none'"
    )


def _embedded(view: View) -> str:
    """JSON that no parser of HTML takes for an end of the element it stands in."""
    text = json.dumps(view.to_json(), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028")
