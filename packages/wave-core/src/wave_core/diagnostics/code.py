"""One row of the catalogue of diagnostic codes, and rows as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TITLE = re.compile(r"^([A-Z]+\d+): (.+)\n", re.MULTILINE)
_PART = re.compile(r"^(?=(?:Bad|Good|Fix):)", re.MULTILINE)


@dataclass(frozen=True)
class Code:
    """A diagnostic code.

    Attributes:
        name: such as `WV0203`.
        title: the mistake in one line, lower case, without a full stop.
        explanation: what `wave explain` prints: the cause, an example that fails
            and one that works, the fix. Common indentation is removed.
    """

    name: str
    title: str
    explanation: str


def read_codes(text: str) -> tuple[Code, ...]:
    """The codes that ``text`` lists: for each its title, then its explanation.

    Both are written as `wave explain` prints them, without the blank lines between
    the parts of an explanation::

        TOY001: too many toys
        Cause: a box holds two.
        Bad:
            box(3)
        Good:
            box(2)
        Fix: use another box.
    """
    _, *found = _TITLE.split(text)
    rows = zip(found[::3], found[1::3], found[2::3], strict=True)
    return tuple(
        Code(name, title, _PART.sub("\n", explanation).strip())
        for name, title, explanation in rows
    )
