"""FileCheck on strings, in the process."""

from __future__ import annotations

import io
import re

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts

_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def check_text(text: str, checks: str, *, prefix: str = "CHECK") -> None:
    """See that ``text`` has what the lines of ``checks`` ask for, in order.

    Args:
        text: What is checked.
        checks: Lines with ``CHECK:`` and the like; others are ignored.
        prefix: What to look for in place of ``CHECK``.

    Raises:
        AssertionError: where it has not, or there is nothing to check.
    """
    options = Options("checks", "text", [prefix])
    parser = Parser(options, io.StringIO(checks), *pattern_for_opts(options))
    matcher = Matcher(options, FInput("text", text), parser)
    matcher.stderr = io.StringIO()
    if matcher.run():
        message = _COLOR.sub("", matcher.stderr.getvalue())
        raise AssertionError(f"{message}\nin this text:\n{text}")
