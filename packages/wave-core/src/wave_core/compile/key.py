"""The key of a compiled kernel: a digest of all that decides the result."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from wave_core.compile.inputs import input_files
from wave_core.compile.option_rows import Role
from wave_core.compile.options import option_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.compiled import Compiled
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule
    from wave_core.plugin.plan import PipelinePlan
    from wave_core.targets import Target

#: Raised when what goes into the key changes meaning.
_FORMAT = 1


def content_key(compiled: Compiled) -> str:
    """SHA-256 in hexadecimal, the same in every process and on every machine."""
    return digest_of(
        compiled.options,
        compiled.traced,
        compiled.target,
        compiled.device.name,
        compiled.plan,
        compiled.session,
        schedule_entry(compiled.schedule),
    )


def schedule_entry(schedule: ManualSchedule | None) -> dict[str, object]:
    """The schedule's part of the key: nothing where there is none."""
    return {} if schedule is None else {"schedule": schedule.digest()}


def digest_of(
    options: WaveCompileOptions,
    traced: Graph,
    target: Target,
    device: str,
    plan: PipelinePlan,
    session: Session,
    extra: Mapping[str, object],
) -> str:
    """The digest of a traced kernel, how it is compiled, and what else counts."""
    # Options of passes are in the text of the pipeline.
    decisive = {
        row.name
        for row in option_table()
        if row.role is Role.RESULT and not row.setting
    }
    content = {
        "format": _FORMAT,
        "ir": str(traced),
        "options": {k: v for k, v in options.describe().items() if k in decisive},
        "files": input_files(options, session),
        "target": session.target_digest(target),
        "device": device,
        "pipeline": str(plan.runner().text()),
        "plugins": sorted(
            (each.info.name, each.info.distribution, each.info.version)
            for each in session.plugins.plugins
        ),
        "extra": extra,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
