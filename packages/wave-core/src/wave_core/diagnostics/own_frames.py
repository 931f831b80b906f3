"""Which frames of the Python stack are Wave's own, and which are the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

#: Packages whose frames are not the user's. `wave_kernels` is absent on purpose:
#: a kernel is user code wherever it is shipped. `numpy`, `sympy` and `torch` stand
#: between a Python operator on a traced value and the kernel.
INTERNAL_PACKAGES = (
    "wave_core",
    "wave_sim_cpu",
    "wave_testing",
    "wave_runtime",
    "wave_passes_memory",
    "wave_passes_scheduling",
    "wave_backend_amdgpu",
    "wave_emulator_amdgcn",
    "importlib",
    "numpy",
    "sympy",
    "torch",
)

#: A module sets this global to "user" or "internal" to say how its frames count.
FRAMES_KEY = "__wave_frames__"


class PackageTest(dict[str, bool]):
    """Whether a module lies in some packages, remembered by module name.

    A dictionary, because a subscript is the cheapest call there is: locations are
    captured for every op of a kernel.
    """

    def __init__(self, packages: tuple[str, ...]) -> None:
        """Test for packages, given with or without a final dot."""
        super().__init__()
        self._prefixes = tuple(f"{package.rstrip('.')}." for package in packages)

    def __missing__(self, module: str) -> bool:
        """Find out once."""
        inside = self[module] = f"{module}.".startswith(self._prefixes)
        return inside


#: The default test; a memory of pure results, not a setting.
IS_INTERNAL = PackageTest(INTERNAL_PACKAGES)


def doctest_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is a doctest example.

    A doctest of one of Wave's modules runs under that module's name, so that its
    frame looks internal.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<doctest "):
            return frame
        frame = frame.f_back
    return None
