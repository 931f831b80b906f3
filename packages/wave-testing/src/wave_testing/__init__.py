"""Test kit of Wave: fixtures, strategies, random programs, conformance classes.

Import the part that is needed; this module loads nothing.
"""

from __future__ import annotations
