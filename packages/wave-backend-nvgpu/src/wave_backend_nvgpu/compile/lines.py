"""The user's lines in LLVM IR, and how to leave them out.

They change no instruction. In machine code they take more bytes than the code does.
"""

from __future__ import annotations

import re

# Each begins with fixed text, which is looked for much faster: modules have megabytes.
_PLACE = re.compile(r", !dbg !\d+")
_SCOPE = re.compile(r" !dbg !\d+")
_NODE = re.compile(r"\n!(?:\d+ = (?:distinct )?!DI|llvm\.dbg\.cu = ).*(?=\n)")


def without_lines(llvm: str) -> str:
    """A module that `codegen` wrote, without places in the program."""
    return _NODE.sub("", _SCOPE.sub("", _PLACE.sub("", llvm)))
