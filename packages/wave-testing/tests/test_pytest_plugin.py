"""The fixtures."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

TEXT = """\
kernel "negate" target "generic" {
  %0 = argument parameter "a" : mem<M, global, f32>
  %1 = argument parameter "b" : mem<M, global, f32>
  %2 = read %0, [] : reg<M, f32>
  %3 = neg %2 : reg<M, f32>
  %4 = neg %2 : reg<M, f32>
  %5 = add %3, %4 : reg<M, f32>
  write %5, %1, []
  yield []
}
"""


def test_one_pass_runs_on_text_and_is_checked(run_pass, filecheck):
    found = run_pass("merge-common-subexpressions", TEXT)
    filecheck(
        found,
        """
        # CHECK: %[[X:.*]] = neg
        # CHECK-NOT: neg
        # CHECK: add %[[X]], %[[X]]
        """,
    )


def test_checks_that_do_not_match_fail_with_the_text(filecheck):
    with pytest.raises(AssertionError, match="kernel"):
        filecheck(TEXT, "# CHECK: mul")


def test_random_numbers_depend_on_the_test_alone(rng, request):
    again = np.random.default_rng(crc32(request.node.nodeid.encode()))
    assert rng.integers(1 << 30) == again.integers(1 << 30)


def test_a_golden_file_is_compared(golden):
    golden("the text\n")


def test_sessions_are_separate(wave_session):
    assert "generic" in wave_session.plugins.targets
