"""Runs modules (``.vmfb``) through IREE's runtime, on any of its drivers.

On a GPU this has not been run by its authors; loading, listing and calling conventions
have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_runtime.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence


def _runtime() -> Any:
    """IREE's runtime.

    Raises:
        DeviceError: where it is not installed.
    """
    try:
        import iree.runtime as found  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise DeviceError(
            "IREE's runtime is not installed: pip install 'wave-runtime[iree]'"
        ) from None
    return found


def function_names(module: bytes) -> tuple[str, ...]:
    """The functions of a module; needs no GPU.

    Raises:
        DeviceError: where it is no module.
    """
    runtime = _runtime()
    instance = runtime.VmInstance()
    try:
        loaded = runtime.VmModule.copy_buffer(instance, module)
    except (RuntimeError, ValueError) as error:
        raise DeviceError(f"IREE refused the module: {error}") from None
    return tuple(loaded.function_names)


class IreeProgram:
    """A module on a device."""

    def __init__(self, module: bytes, driver: str = "hip") -> None:
        """Load ``module``.

        Raises:
            DeviceError: where the driver or the device is missing.
        """
        runtime = _runtime()
        try:
            config = runtime.Config(driver)
            loaded = runtime.VmModule.copy_buffer(config.vm_instance, module)
            context = runtime.SystemContext(config=config)
            context.add_vm_module(loaded)
        except (RuntimeError, ValueError) as error:
            raise DeviceError(f"IREE, driver {driver}: {error}") from None
        self._functions = context.modules[loaded.name]

    def __call__(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Call a function; gives the tensors that the kernel writes.

        Raises:
            DeviceError: where the call fails.
        """
        try:
            found = self._functions[name](*arguments)
        except (RuntimeError, ValueError) as error:
            raise DeviceError(f"IREE: {error}") from None
        several = isinstance(found, (tuple, list))
        results: list[Any] = [*found] if several else [found]
        return [result.to_host() for result in results]
