"""The command line ``wave``."""

from __future__ import annotations

from wave_core.cli.app import main as main
