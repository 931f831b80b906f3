"""Loads and launches compiled Wave kernels; needs no compiler, no torch, no sympy."""

from __future__ import annotations

from wave_runtime.artifact import Artifact, load_artifact, save_artifact
from wave_runtime.choice import Choice, NoVariant, Runs, choose, of_sizes, of_tensors
from wave_runtime.devices import cards_of, device_names, open_device
from wave_runtime.errors import (
    ArtifactError,
    DeviceError,
    LaunchRefused,
    RuntimeFailure,
)
from wave_runtime.grid import GridExpression
from wave_runtime.hub import HubVariant, hub_variants, open_hub
from wave_runtime.kernel import LoadedKernel
from wave_runtime.library import Entry, Index, Library, TensorInfo, library_folders
from wave_runtime.manifest import BindingInfo, ConstantInfo, Manifest, TensorMapInfo
from wave_runtime.signing import Trust, signature_of

__all__ = [
    "Artifact",
    "ArtifactError",
    "BindingInfo",
    "Choice",
    "ConstantInfo",
    "DeviceError",
    "Entry",
    "GridExpression",
    "HubVariant",
    "Index",
    "LaunchRefused",
    "Library",
    "LoadedKernel",
    "Manifest",
    "NoVariant",
    "Runs",
    "RuntimeFailure",
    "TensorInfo",
    "TensorMapInfo",
    "Trust",
    "cards_of",
    "choose",
    "device_names",
    "hub_variants",
    "library_folders",
    "load_artifact",
    "of_sizes",
    "of_tensors",
    "open_device",
    "open_hub",
    "save_artifact",
    "signature_of",
]
