"""The key of a compiled kernel: a digest of all that decides the result."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.compile.kernel import Compiled

#: Raised when what goes into the key changes meaning.
_FORMAT = 1

#: Options that change what is printed and not what is compiled.
_SILENT = frozenset({"print_ir_after", "print_ir_before", "timing", "cost_limit"})


def content_key(compiled: Compiled) -> str:
    """SHA-256 in hexadecimal, the same in every process and on every machine."""
    described = compiled.options.describe()
    content = {
        "format": _FORMAT,
        "ir": str(compiled.traced),
        "options": {k: v for k, v in described.items() if k not in _SILENT},
        "target": repr(compiled.target),
        "device": compiled.device.name,
        "pipeline": str(compiled.plan.runner().text()),
        "plugins": sorted(
            (each.info.name, each.info.distribution, each.info.version)
            for each in compiled.session.plugins.plugins
        ),
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
