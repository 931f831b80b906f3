"""Code objects of objects, without starting a linker."""

from __future__ import annotations

from wave_isa_amdgcn.link.toolbox import LinkError, Toolbox, linked

__all__ = ["LinkError", "Toolbox", "linked"]
