"""Code objects of objects, without starting a linker."""

from __future__ import annotations

from wave_backend_amdgpu.link.toolbox import Toolbox

__all__ = ["Toolbox"]
