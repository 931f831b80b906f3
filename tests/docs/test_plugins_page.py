"""The page on plugins names the hooks and what they yield, and no others."""

from __future__ import annotations

import re

import workspace
from wave_core.plugin import WaveSpecs
from wave_core.plugin.validate import HOOKS

PAGE = workspace.ROOT / "docs" / "explanation" / "plugins.md"


def test_the_page_names_the_hooks_and_no_others():
    packages = {package.module for package in workspace.packages()}
    named = set(re.findall(r"`(wave_\w+)`", PAGE.read_text("utf-8")))
    assert named - packages == set(HOOKS)


def test_the_page_says_what_each_hook_yields():
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, re.MULTILINE)
    declared = {
        name: getattr(WaveSpecs, name).__annotations__["return"]
        for name in HOOKS
        if name.startswith("wave_register_")
    }
    assert {name: f"Iterable[{kind}]" for name, kind in rows} == declared
