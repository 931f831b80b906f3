"""The site holds every page, its links hold, and it asks no network for anything."""

from __future__ import annotations

import pytest

import check_links
import doc_pages
import gallery
import site_hooks
import site_source
import workspace
from wave_core.diagnostics import WaveError
from wave_core.plugin import PluginHost


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    site_source.gather(out, ["copy"])
    return out


def test_every_page_is_in_the_navigation(source):
    named = [name for tab in site_hooks.navigation(source) for name in [*tab.values()]]
    flat = [page for names in named for page in names]
    there = {p.relative_to(source).as_posix() for p in source.rglob("*.md")}
    assert sorted(flat) == sorted(there)
    own = {p.relative_to(workspace.ROOT).as_posix() for p in doc_pages.pages()}
    assert own <= there


def test_generated_pages_stand_in_their_places(source):
    text = (source / "docs" / "reference" / "README.md").read_text("utf-8")
    assert "[language.md](language.md)" in text


def test_links_hold_on_the_site(source):
    assert check_links.broken_links(source) == []


def test_the_gallery_shows_kernels_and_lists_all(source):
    folder = source / "docs" / "gallery"
    text = (folder / "README.md").read_text("utf-8")
    assert "\n## copy\n\nb = a\n\n[![Waves of copy" in text
    assert "over time](copy.svg)](copy.html)\n" in text
    assert "\n| occupancy | 8 waves of a SIMD, limited by waves |\n" in text
    known = PluginHost(workspace.plugins()).kernels
    assert [name for name in known if f"\n| {name} | " not in text] == ["copy"]
    assert "\n| [copy](#copy) | b = a | M=129, N=100 | 0 | 1," in text
    assert "wave 15" in (folder / "copy.svg").read_text("utf-8")
    assert "<html" in (folder / "copy.html").read_text("utf-8")


def test_a_kernel_that_nobody_has_is_refused():
    with pytest.raises(WaveError, match="WV0801"):
        gallery.show("copied")


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://x.org/a.js">',
        '<link rel="stylesheet" href="//x.org/a.css">',
        "<img src=http://x.org/a.png>",
    ],
)
def test_what_is_fetched_from_elsewhere_is_found(html):
    assert len(site_hooks.fetched(html)) == 1


def test_links_to_elsewhere_and_own_files_are_no_fetches():
    html = '<a href="https://x.org">x</a><script src="assets/a.js"></script>'
    assert site_hooks.fetched(html) == []


def test_anchors_are_those_of_a_checkout():
    assert site_hooks.slug("The command `wave`", "-") == "the-command-wave"
