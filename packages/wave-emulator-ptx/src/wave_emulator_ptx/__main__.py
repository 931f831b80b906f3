"""Runs `cli.main`."""

from __future__ import annotations

from wave_emulator_ptx.cli import main

raise SystemExit(main())
