"""The operations of the language, each declared once."""

from __future__ import annotations

from wave_core.ops.base import Op
from wave_core.ops.builtin import builtin_ops
from wave_core.ops.traits import Effect, EffectKind, Trait

__all__ = ["Effect", "EffectKind", "Op", "Trait", "builtin_ops"]
