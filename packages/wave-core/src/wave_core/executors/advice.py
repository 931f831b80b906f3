"""What helps against defects that simulators and emulators find alike."""

from __future__ import annotations

OUT_OF_BOUNDS = "mask it by `bounds=`, or `mask=` of a thread; or correct its index"

STUCK = (
    "let each lock be written before its writer waits itself, or ends",
    "give the launch a lock that holds zeros",
)
