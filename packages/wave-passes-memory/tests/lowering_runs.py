"""Lower kernels with chosen passes, and run the result on lanes with all checks."""

from __future__ import annotations

from typing import cast

import numpy as np

from wave_core.compile import Session
from wave_core.passes import Amendment, PassContext, Pipeline, Verify
from wave_core.plugin.plan import plan_pipeline
from wave_core.plugin.results import PipelineRequest
from wave_core.symbols import symbol
from wave_sim_cpu import lanes


class Lowered:
    """A lowered graph, its target, and what the passes counted."""

    def __init__(self, kernel, passes, target="generic", **bindings):
        session = Session()
        self.target = session.target(target)
        self.graph = kernel.trace(bindings)
        amendment = Amendment.of_text(Pipeline.parse(passes)) if passes else None
        request = PipelineRequest(target, self.graph.name, "naive")
        asked = () if amendment is None else (("test", amendment),)
        plan = plan_pipeline(session.plugins, request, asked)
        context = PassContext(self.target)
        report = plan.runner((), Verify.EACH).run(cast("object", self.graph), context)
        self.counted = {run.name: dict(run.statistics) for run in report.passes}

    def count(self, name, region=None):
        """Ops of a name, in the graph or directly in a region."""
        ops = self.graph.walk() if region is None else region.ops
        return sum(op.op_name == name for op in ops)

    def loops(self):
        return [op for op in self.graph.walk() if op.op_name == "iterate"]

    def run(self, arrays, **symbols):
        """Execute in place; the counters. Anything reported is an error."""
        values = {symbol(name): value for name, value in symbols.items()}
        result = lanes.run(self.graph, arrays, values, self.target)
        assert result.ok, [report.message for report in result.reports]
        return result.counters


def random_array(shape, dtype="float32", seed=0):
    """Small numbers, exact in every type."""
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, shape).astype(dtype)
