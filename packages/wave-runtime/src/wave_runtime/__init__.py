"""Loads and launches compiled Wave kernels; needs no compiler, no torch, no sympy."""

from __future__ import annotations

from wave_runtime.artifact import Artifact
from wave_runtime.artifact import load_artifact
from wave_runtime.artifact import save_artifact
from wave_runtime.devices import device_names
from wave_runtime.devices import open_device
from wave_runtime.errors import ArtifactError
from wave_runtime.errors import DeviceError
from wave_runtime.errors import LaunchRefused
from wave_runtime.errors import RuntimeFailure
from wave_runtime.grid import GridExpression
from wave_runtime.kernel import LoadedKernel
from wave_runtime.manifest import BindingInfo
from wave_runtime.manifest import ConstantInfo
from wave_runtime.manifest import Manifest

__all__ = [
    "Artifact",
    "ArtifactError",
    "BindingInfo",
    "ConstantInfo",
    "DeviceError",
    "GridExpression",
    "LaunchRefused",
    "LoadedKernel",
    "Manifest",
    "RuntimeFailure",
    "device_names",
    "load_artifact",
    "open_device",
    "save_artifact",
]
