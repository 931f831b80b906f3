"""The page on plugins names every hook, and none that does not exist."""

from __future__ import annotations

import re

import workspace
from wave_core.plugin import HOOKS

PAGE = workspace.ROOT / "docs" / "explanation" / "plugins.md"


def test_the_page_names_the_hooks_and_no_others():
    packages = {package.module for package in workspace.packages()}
    named = set(re.findall(r"`(wave_\w+)`", PAGE.read_text("utf-8")))
    assert named - packages == set(HOOKS)
