"""What can go wrong between an artifact and a finished launch."""

from __future__ import annotations


class RuntimeFailure(Exception):  # noqa: N818 - says what it is
    """Base of all errors of this package."""


class ArtifactError(RuntimeFailure):
    """A file is no artifact, is damaged, or is for another version."""


class DeviceError(RuntimeFailure):
    """A driver is missing, or reported an error."""


class LaunchRefused(RuntimeFailure):
    """An argument does not fit the kernel; nothing ran."""
