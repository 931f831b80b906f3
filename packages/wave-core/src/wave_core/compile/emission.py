"""Machine code of a kernel: from the cache, or through pipeline and backend."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from wave_core.compile.backends import check_overrides, find_backend
from wave_core.compile.cache import DiskCache
from wave_core.compile.choosing import first_that_fits
from wave_core.compile.compiler import lower_front, memo_key, with_target
from wave_core.compile.front import front_of
from wave_core.compile.inputs import asked_of
from wave_core.compile.key import content_key
from wave_core.compile.sources import sources_of
from wave_core.passes.resolve import check_consumer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.backends import Backend, BackendSpec
    from wave_core.compile.attempts import Attempt
    from wave_core.compile.compiled import Traced
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session


@dataclass(frozen=True)
class Emitted:
    """Files of one form.

    Attributes:
        files: By name.
        cached: Whether they come from this session or from the cache on disk.
        digest: Computes the key, where nobody has asked for it yet.
    """

    files: Mapping[str, bytes]
    cached: bool
    digest: Callable[[], str] = field(repr=False, compare=False)

    @cached_property
    def key(self) -> str:
        """The digest of all that decides the files."""
        return self.digest()


def session_cache(session: Session) -> DiskCache | None:
    """The cache on disk that a session uses; ``None`` where it is switched off."""
    if not session.config.cache:
        return None
    return DiskCache.of(session.config)


def emit(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    form: str,
    session: Session,
    choices: Sequence[WaveCompileOptions] = (),
) -> Emitted:
    """The files of ``form``, compiled once for equal kernels and options.

    Args:
        options: Those of the user.
        kernel: What is compiled.
        form: Of the files.
        session: Where plugins are.
        choices: Ways to settle what the options leave open, the best first, instead of
            those that are found; such files are not remembered.

    Raises:
        UserError: for mistakes in the kernel, and where it cannot be compiled.
    """
    options = with_target(options, session)
    spec = find_backend(session, options.target_name, form, options.backend)
    check_overrides(session, options, spec)
    known = None if choices else memo_key(options, kernel, session)
    memo = None if known is None else ("emitted", form, known)
    found = None if memo is None else session.remembered(memo)
    if isinstance(found, Emitted):
        return found
    emitted = first_that_fits(
        options,
        kernel,
        session,
        lambda settled, traces, attempt: _emitted(
            front_of(settled, kernel, session, traces=traces),
            kernel,
            form,
            spec,
            attempt,
        ),
        known=choices,
    )
    if memo is not None:
        session.remember(memo, replace(emitted, cached=True))
    return emitted


def _emitted(
    front: Traced,
    kernel: LaunchableWave,
    form: str,
    spec: BackendSpec,
    attempt: Attempt,
) -> Emitted:
    """The files from the cache on disk, or made."""
    session = front.session
    backend = session.plugins.load_backend(spec.name)
    plan, who = front.plan, f"backend `{spec.name}`"
    check_consumer(who, spec.requires, plan.pipeline, plan.installed)
    sources = sources_of(session.plugins.plugins)
    digest = cache(partial(_key, front, spec, backend, form, sources, attempt))
    schedule = front.schedule
    has_no_key = sources is None or (
        schedule is not None and schedule.replay is not None
    )
    disk = None if has_no_key else session_cache(session)
    make = partial(_made, front, kernel, spec, backend, form, attempt)
    if disk is not None and not asked_of(front.options, session).reports:
        return Emitted(*disk.fetch(digest(), make), digest)
    files = make()
    if disk is not None:
        disk.put(digest(), files)
    return Emitted(files, cached=False, digest=digest)


def _key(
    front: Traced,
    spec: BackendSpec,
    backend: Backend,
    form: str,
    sources: Mapping[str, str] | None,
    attempt: Attempt,
) -> str:
    versions = dict(backend.versions())
    extra = {"form": form, "backend": versions, "sources": dict(sources or {})}
    plugins, off = front.session.plugins, front.options.disable_passes
    passes = plugins.module_passes(spec.name, off)
    extra |= {"module passes": [asdict(each) for each in passes]} if passes else {}
    # What a preset that is named spills is refused where `auto` has other ways.
    extra |= {} if attempt.spills is None else {"may spill": attempt.spills}
    return content_key(front, extra)


def _made(
    front: Traced,
    kernel: LaunchableWave,
    spec: BackendSpec,
    backend: Backend,
    form: str,
    attempt: Attempt,
) -> Mapping[str, bytes]:
    backend.prepare()
    lowered = lower_front(front, kernel, machine_code=True, attempt=attempt).graph
    off = front.options.disable_passes
    table = front.session.plugins.lowering_table(spec.name, off)
    return backend.emit(lowered, front.target, front.options, table, form)
