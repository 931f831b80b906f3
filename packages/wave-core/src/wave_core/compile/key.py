"""The key of a compiled kernel: a digest of all that decides the result."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from wave_core.compile.inputs import asked_of, input_files
from wave_core.compile.option_rows import Role
from wave_core.compile.options import option_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.compiled import Traced

#: Raised when what goes into the key changes meaning.
_FORMAT = 1


def content_key(kernel: Traced, extra: Mapping[str, object] | None = None) -> str:
    """SHA-256 in hexadecimal, the same in every process and on every machine.

    Args:
        kernel: The traced kernel, and how it is compiled.
        extra: Other things that decide the result, as JSON values.
    """
    options, session, schedule = kernel.options, kernel.session, kernel.schedule
    written = {} if schedule is None else {"schedule": schedule.digest()}
    # Options of passes are in the text of the pipeline.
    decisive = {
        row.name
        for row in option_table()
        if row.role is Role.RESULT and not row.setting
    }
    content = {
        "format": _FORMAT,
        "ir": str(kernel.traced),
        "options": {k: v for k, v in options.describe().items() if k in decisive},
        "files": input_files(asked_of(options, session)),
        "target": session.target_digest(kernel.target),
        # Code does not depend on what will run it.
        "device": "" if kernel.device is None else kernel.device.name,
        "pipeline": str(kernel.plan.runner().text()),
        "plugins": sorted(
            (each.info.name, each.info.distribution, each.info.version)
            for each in session.plugins.plugins
        ),
        "extra": {**(extra or {}), **written},
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
