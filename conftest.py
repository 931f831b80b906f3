"""Settings that the tests of all packages share; every test group has hypothesis."""

from __future__ import annotations

import os

from hypothesis import settings

# Compiling and simulating takes as long as the machine needs, so hypothesis sets no
# deadline per example. CI repeats the same examples; elsewhere each run draws new ones.
settings.register_profile("wave", deadline=None, print_blob=True)
settings.register_profile("wave-ci", settings.get_profile("wave"), derandomize=True)
settings.load_profile("wave-ci" if os.environ.get("CI") else "wave")
