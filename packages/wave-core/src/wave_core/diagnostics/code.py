"""One row of the catalogue of diagnostic codes."""

from __future__ import annotations

from dataclasses import dataclass


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
