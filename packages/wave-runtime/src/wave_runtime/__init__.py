"""Loads and launches compiled Wave kernels; needs no compiler, no torch, no sympy."""

from __future__ import annotations

from wave_runtime.artifact import Artifact, load_artifact, save_artifact
from wave_runtime.devices import cards_of, device_names, open_device
from wave_runtime.errors import (
    ArtifactError,
    DeviceError,
    LaunchRefused,
    RuntimeFailure,
)
from wave_runtime.grid import GridExpression
from wave_runtime.kernel import LoadedKernel
from wave_runtime.manifest import BindingInfo, ConstantInfo, Manifest, TensorMapInfo

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
    "TensorMapInfo",
    "cards_of",
    "device_names",
    "load_artifact",
    "open_device",
    "save_artifact",
]
