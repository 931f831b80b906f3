"""A plugin that asks for direct copies wherever they are possible."""

from __future__ import annotations

from wave_core.passes import Amendment
from wave_core.plugin import hookimpl

REQUIRES_API = (1, 0)


@hookimpl
def wave_amend_pipeline(request):
    del request
    options = {"copy-direct-to-lds": {"demanded": True}}
    yield Amendment(options=options, reason="the tests want direct copies")
