"""Errors between an artifact and a finished launch."""

from __future__ import annotations

from enum import StrEnum


class RuntimeFailure(Exception):  # noqa: N818 - says what it is
    """Base of all errors of this package."""


class ArtifactError(RuntimeFailure):
    """A file is no artifact, is damaged, or is for another version."""


class DeviceError(RuntimeFailure):
    """A driver is missing, or reported an error."""


class Misfit(StrEnum):
    """Why a launch is refused, in one word."""

    KIND = "kind"
    DTYPE = "dtype"
    DEVICE = "device"
    LAYOUT = "layout"
    ALIGNMENT = "alignment"
    EXTENT = "extent"
    OVERLAP = "overlap"


class LaunchRefused(RuntimeFailure):
    """An argument does not fit the kernel; nothing ran.

    Attributes:
        why: In one word.
    """

    def __init__(self, message: str, why: Misfit = Misfit.KIND) -> None:
        super().__init__(message)
        self.why = why


class UnfitArgument(LaunchRefused):
    """Something is no memory that a kernel could read.

    Attributes:
        what: What it is: ends the sentence "an argument is ...".
        help: What to do instead.
        note: A fact that explains; may be empty.
    """

    def __init__(self, why: Misfit, what: str, help_text: str, note: str = "") -> None:
        super().__init__(f"an argument is {what}: {help_text}", why)
        self.what, self.help, self.note = what, help_text, note
