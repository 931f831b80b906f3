"""The walk of a newcomer: few commands, and each does what its page says.

That they run, and print what is shown, `test_code_blocks.py` sees to.
"""

from __future__ import annotations

import json
import re

import pytest

import doc_pages
import workspace
from wave_core.cli.app import run_command

PAGE = workspace.ROOT / "docs" / "tutorial" / "0-first-steps.md"
README = (workspace.ROOT / "README.md").read_text("utf-8")
BY_NAME = {package.name: package for package in workspace.packages()}
INSTALLED = re.compile(r"\./packages/([\w-]+)(?:\[([\w,]+)\])?")
MOST = 10


def lines(text):
    """The lines of all commands of a page, run by tests or not."""
    blocks = (each for each in doc_pages.blocks_of(text) if each.language == "sh")
    return [line for block in blocks for line in block.text.splitlines()]


def test_few_commands_lead_from_the_clone_to_something_fast():
    found = [line.split() for line in lines(PAGE.read_text("utf-8"))]
    assert len(found) <= MOST
    kinds = [" ".join(words[:2]) for words in found]
    steps = ["python -m", "wave doctor", "python product.py", "python wrong.py"]
    assert kinds[:4] == steps
    assert {"wave explain", "wave view", "wave inspect"} <= set(kinds[4:])


def test_the_second_kernel_takes_half_the_time(tmp_path, monkeypatch, capsys):
    text = PAGE.read_text("utf-8")
    for block in (each for each in doc_pages.blocks_of(text) if each.file):
        (tmp_path / block.file).write_text(block.text)
    monkeypatch.chdir(tmp_path)
    cycles = {}
    for _, command, *arguments in (line.split() for line in lines(text)):
        if command == "inspect":
            assert run_command([command, *arguments, "--json"]) == 0
            found = json.loads(capsys.readouterr().out)
            cycles[arguments[0]] = found["cycles"]["total"]
    slow, fast = cycles["product.py:plain"], cycles["product.py:staged"]
    assert fast <= 0.55 * slow


def missing(text):
    """What the packages that a text installs ask for and nobody installs."""
    installed = dict(INSTALLED.findall(text))
    asked = {
        workspace.requirement_name(wanted)
        for name, extras in installed.items()
        for wanted in requirements(BY_NAME[name], extras.split(","))
    }
    return sorted((asked & BY_NAME.keys()) - installed.keys())


def requirements(package, extras):
    more = [item for each in extras if each for item in package.extras[each]]
    return [*package.project["dependencies"], *more]


@pytest.mark.parametrize(
    "page",
    [page for page in doc_pages.pages() if INSTALLED.search(page.read_text("utf-8"))],
    ids=lambda page: page.relative_to(workspace.ROOT).as_posix(),
)
def test_what_a_page_installs_is_complete(page):
    text = "\n".join(lines(page.read_text("utf-8")))
    begins_anew = "./packages/wave-core " in text
    assert missing(text if begins_anew else text + README) == []


def test_what_is_missing_is_found():
    assert missing("pip install ./packages/wave-sim-cpu") == ["wave-core"]
    assert missing("./packages/wave-kernels") == ["wave-runtime"]
    both = "./packages/wave-runtime ./packages/wave-kernels[compile]"
    assert missing(both) == ["wave-core"]
