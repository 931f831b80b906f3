"""FileCheck on strings, in process."""

from __future__ import annotations

from io import StringIO

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser
from filecheck.parser import pattern_for_opts


def check_text(text: str, checks: str) -> None:
    """Match ``text`` with the ``CHECK`` lines in ``checks``.

    Raises:
        AssertionError: where they do not match, with the text.
    """
    options = Options(match_filename="<checks>", check_prefixes=["CHECK"])
    parser = Parser(options, StringIO(checks), *pattern_for_opts(options))
    matcher = Matcher(options, FInput("<text>", text), parser)
    matcher.stderr = StringIO()
    failed = matcher.run()
    assert failed == 0, f"the checks do not match:\n{checks}\nin:\n{text}"
