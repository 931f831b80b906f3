"""Which backend makes the code of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.backends import BackendSpec
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.diagnostics import UserError


_OF_TEXT = frozenset({"WV0604", "WV0606"})
"""Codes of what a compiler or an assembler refuses, and of what ends it."""


def backend_of(session: Session, target: str, name: str = "") -> BackendSpec:
    """The backend that makes code for ``target``: that of a name, or the first.

    Raises:
        UserError: WV0719 where there is none.
    """
    table = session.plugins.backends
    fitting = [each.value for each in table.values() if target in each.value.targets]
    if name and fitting:
        fitting = [_named(name, target, fitting)]
    if not fitting:
        listed = sorted(
            {name for each in table.values() for name in each.value.targets}
        )
        raise user_error(
            "WV0719",
            f"no backend makes code for target `{target}`",
            notes=f"there are backends for: {', '.join(listed) or 'nothing'}",
            help=(
                "`pip install wave-backend-amdgpu` brings AMD GPUs",
                "`pip install wave-backend-nvgpu` brings NVIDIA GPUs",
            ),
        )
    return fitting[0]


def _named(name: str, target: str, fitting: Sequence[BackendSpec]) -> BackendSpec:
    """The backend of a name, among those for a target."""
    for spec in fitting:
        if spec.name == name:
            return spec
    raise user_error(
        "WV0719",
        f"no backend `{name}` makes code for target `{target}`",
        help=(
            f"these do: {', '.join(spec.name for spec in fitting)}",
            "what runs the kernel is `device=`: hip, iree, emulator, sim",
        ),
    )


def check_overrides(
    session: Session, options: WaveCompileOptions, spec: BackendSpec
) -> None:
    """See that the backend reads all text that is given in place of generated one.

    Raises:
        UserError: WV0823 for what only another one reads.
    """
    for name, reader in overrides(session, options).items():
        if name not in spec.overrides:
            fits = options.target_name in reader.targets
            raise user_error(
                "WV0823",
                f"option `{name}` is given, and backend `{spec.name}` does not read it",
                at=options.location,
                label="given here",
                help=f"`backend={reader.name!r}` does"
                if fits
                else f"leave it out: it is for targets of backend `{reader.name}`",
            )


def overrides(
    session: Session, options: WaveCompileOptions
) -> Mapping[str, BackendSpec]:
    """The options with text of the user's that are given, and who reads each."""
    found: dict[str, BackendSpec] = {}
    for row in session.plugins.backends.values():
        for name in row.value.overrides:
            given = options.plugin_options.get(name, getattr(options, name, None))
            if given is not None:
                found[name] = row.value
    return found


def blames_given_text(
    error: UserError, session: Session, options: WaveCompileOptions
) -> bool:
    """Whether a compiler refused text that the user gave, or did not survive it."""
    return error.code in _OF_TEXT and bool(overrides(session, options))


def find_backend(
    session: Session, target: str, form: str, name: str = ""
) -> BackendSpec:
    """The backend that makes ``form`` for ``target``; that of a name, if one is given.

    Raises:
        UserError: WV0719 where there is none, WV0823 where it lacks the form.
    """
    spec = backend_of(session, target, name)
    if form not in spec.forms:
        raise user_error(
            "WV0823",
            f"backend `{spec.name}` does not emit `{form}`",
            help=f"it emits: {', '.join(spec.forms)}",
        )
    return spec
