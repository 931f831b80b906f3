"""Which backend makes the code of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.backends import BackendSpec
    from wave_core.compile.session import Session


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
