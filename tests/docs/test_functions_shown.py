"""Every function of the language stands in an example that runs."""

from __future__ import annotations

import inspect
import re

import pytest

import doc_pages
import wave_core.lang as tkl

FUNCTIONS = [
    name
    for name, found in inspect.getmembers(tkl, inspect.isfunction)
    if not name.startswith("_")
]


@pytest.fixture(scope="module")
def examples():
    blocks = (
        doc_pages.blocks_of(page.read_text("utf-8")) for page in doc_pages.pages()
    )
    return "\n".join(
        each.text for page in blocks for each in page if each.language == "python"
    )


def test_there_are_functions():
    assert {"read", "mma", "cumsum", "atomic_add", "stagger"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_page_shows(name, examples):
    assert re.search(rf"\btk[lw]\.{name}\b", examples), f"no page shows `{name}`"
