"""The operations of the language, each declared once."""

from __future__ import annotations

from wave_core.ops.base import Op as Op
from wave_core.ops.builtin import builtin_ops as builtin_ops
from wave_core.ops.traits import EffectKind as EffectKind, Trait as Trait
