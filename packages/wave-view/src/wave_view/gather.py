"""Gathers all that is known about a kernel, whatever of it fails."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wave_core.backends.options import DEBUG_LINES
from wave_core.cli.assembly import metric_rows
from wave_core.cli.load import settled_case, with_options
from wave_core.cli.views import view_of
from wave_core.compile.backends import backend_of
from wave_core.compile.compiler import wave_compile
from wave_core.compile.emission import emit
from wave_core.compile.front import front_of
from wave_core.compile.printing import launch_facts
from wave_core.compile.roofline import roofline
from wave_core.diagnostics import WaveError
from wave_view.code import code_of
from wave_view.executed import executed_lines
from wave_view.places import Places
from wave_view.records import Missing, Problem, View
from wave_view.stages import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.compile.compiled import Compiled, Traced
    from wave_core.compile.kernel import WaveKernel
    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.diagnostics import Diagnostic
    from wave_view.records import Json, Table

DRAWN = ("memory", "schedule", "cycles")
"""Views of plugins whose documents the page draws; of others it shows the tables."""

REPEATED = frozenset({"lines"})
"""Views that execute a kernel once more for what the page has of `cycles`."""


def collect(
    case: KernelCase,
    session: Session,
    told: Mapping[str, object] = MappingProxyType({}),
    without: Sequence[str] = (),
) -> View:
    """A kernel with sizes and arguments, and options as told: all views.

    What cannot be computed is left out, and `View.missing` says why. A kernel that
    does not compile has its source, the stages up to the pass that refuses it, and the
    diagnostic. Views that ``without`` names are not computed.
    """
    case, refusal = _settled(case, session, told)
    gathering = _Gathering(case.kernel, case.options, case.shape, session)
    gathering.pipeline(refusal)
    if gathering.compiled is not None:
        gathering.machine_code()
        names = session.plugins.views.keys() - REPEATED - set(without)
        gathering.views(sorted(names), lambda name: view_of(session, case, name))
    return gathering.view()


def _settled(
    case: KernelCase, session: Session, told: Mapping[str, object]
) -> tuple[KernelCase, WaveError | None]:
    """What the preset takes; the case as it is, and why, where the preset fails."""
    try:
        return settled_case(session, case, told), None
    except WaveError as error:
        return with_options(case, told), error


def view_of_kernel(kernel: WaveKernel) -> View:
    """A compiled kernel: all views that need no arguments."""
    compiled, source = kernel.compiled, kernel.source
    gathering = _Gathering(source, kernel.options, _sizes(compiled), compiled.session)
    gathering.pipeline()
    gathering.machine_code()
    return gathering.view()


def _sizes(compiled: Compiled) -> Mapping[str, int]:
    return {str(name): size for name, size in compiled.shape.bindings.items()}


class _Gathering:
    """Collects the parts of one view."""

    def __init__(
        self,
        kernel: LaunchableWave,
        options: WaveCompileOptions,
        shape: Mapping[str, int],
        session: Session,
    ) -> None:
        self._kernel = kernel
        self._options = options
        self._shape = shape
        self._session = session
        self._places = Places()
        self._places.number(kernel.location)
        self.compiled: Compiled | None = None
        self._parts: dict[str, Any] = {}
        self._missing: list[Missing] = []
        self._facts: list[tuple[str, str]] = []
        self._problems: dict[str, Problem] = {}

    def pipeline(self, refusal: WaveError | None = None) -> None:
        """The kernel through the passes, as far as it comes."""
        try:
            if refusal is not None:
                raise refusal
            compiled = wave_compile(self._options, self._kernel, session=self._session)
        except WaveError as error:
            self._failed(error)
            self._front()
            return
        self.compiled = compiled.compiled
        self._options = compiled.options
        self._problem(compiled.warnings)
        self._facts += launch_facts(self.compiled)
        self._stages(self.compiled)
        self._attempt("roofline", self._roofline)

    def _front(self) -> None:
        try:
            front = front_of(self._options, self._kernel, self._session)
        except WaveError as error:
            self._failed(error)
        else:
            self._stages(front)

    def _stages(self, front: Traced) -> None:
        recorder, error = record(front, self._places)
        if error is not None:
            self._failed(error)
        self._parts["stages"] = tuple(recorder.stages)
        self._parts["texts"] = recorder.texts
        self._parts["layouts"] = recorder.layouts

    def _roofline(self) -> None:
        assert self.compiled is not None, "the pipeline went through"
        found = roofline(self.compiled, self._shape)
        peaks = found.peaks
        self._parts["roofline"] = {
            **found.to_json(),
            "memory_bytes_per_ns": peaks.memory_bytes_per_ns,
            "clock_ghz": peaks.clock_ghz,
        }

    def machine_code(self) -> None:
        """Assembly with lines, and what the backend counts in it."""
        self._attempt("code", self._code)
        if "code" in self._parts:
            self._attempt("metrics", self._metrics)

    def _code(self) -> None:
        named = self._options.backend
        spec = backend_of(self._session, self._options.target_name, named)
        told = {**self._options.plugin_options, DEBUG_LINES: True}
        options = replace(self._options, plugin_options=told)
        text = self._emitted(options, spec.assembly)
        self._parts["code"] = code_of(spec.assembly, text, self._places)

    def _metrics(self) -> None:
        self._facts += metric_rows(json.loads(self._emitted(self._options, "metrics")))

    def _emitted(self, options: WaveCompileOptions, form: str) -> str:
        found = emit(options, self._kernel, form, self._session)
        return "".join(data.decode() for data in found.files.values())

    def views(self, names: Sequence[str], compute: Callable[[str], Any]) -> None:
        """The views of plugins."""
        documents: dict[str, Json] = {}
        tables: dict[str, Sequence[Table]] = {}

        def keep(name: str) -> None:
            result = compute(name)
            if name in DRAWN:
                documents[name] = result.document
            else:
                tables[name] = result.tables

        for name in names:
            self._attempt(name, lambda name=name: keep(name))
        self._parts |= {"documents": documents, "tables": tables}
        timeline = documents.get("cycles", {}).get("timeline")
        if timeline is not None and "code" in self._parts:
            found = executed_lines(self._parts["code"], timeline["instructions"])
            self._parts["executed"] = found

    def _attempt(self, view: str, part: Callable[[], None]) -> None:
        """Do a part; where that fails, keep why."""
        try:
            part()
        except WaveError as error:
            said = error.diagnostics[0] if error.diagnostics else None
            why = str(error) if said is None else f"{said.message} ({said.code})"
            helps = () if said is None else tuple(said.help)
            self._missing.append(Missing(view, why, helps))

    def _failed(self, error: WaveError) -> None:
        if error.diagnostics:
            self._problem(error.diagnostics)
        else:
            self._problems.setdefault(str(error), Problem("error", str(error), None))

    def _problem(self, diagnostics: Sequence[Diagnostic]) -> None:
        for each in diagnostics:
            text = each.render(color=False).rstrip()
            place = None
            if each.primary is not None and each.primary.location.is_known:
                span = each.primary.location.span
                place = self._places.of(span.file, span.line)
            self._problems.setdefault(text, Problem(each.severity.value, text, place))

    def view(self) -> View:
        """What was gathered."""
        return View(
            kernel=self._kernel.name,
            target=self._options.target_name,
            shape=dict(self._shape),
            facts=tuple(self._facts),
            problems=tuple(self._problems.values()),
            sources=self._places.sources(),
            above=self._places.above(),
            place_lists=self._places.lists(),
            missing=tuple(self._missing),
            **self._parts,
        )
