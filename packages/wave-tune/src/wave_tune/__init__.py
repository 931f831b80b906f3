"""Ways to compile a kernel, measured: the best is kept, and used from then on.

`wave_autotune` declares what may be tried; `tune` and the command ``wave tune`` try it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wave_tune.space import wave_autotune as wave_autotune
    from wave_tune.tuner import Asked as Asked, Result as Result, tune as tune

_WHERE = {
    "Asked": "wave_tune.tuner",
    "Result": "wave_tune.tuner",
    "tune": "wave_tune.tuner",
    "wave_autotune": "wave_tune.space",
}


def __getattr__(name: str) -> Any:
    """The names of this package; the compiler is loaded with the first of them."""
    if name not in _WHERE:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_WHERE[name]), name)
