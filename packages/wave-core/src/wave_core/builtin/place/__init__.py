"""Where memories are staged: in core, nowhere."""

from __future__ import annotations
