"""Whole renderings, one shape of message each."""

from __future__ import annotations

import re

from wave_core.diagnostics import Location, UserError, fuse, make_diagnostic, user_error


def test_primary_and_secondary_on_neighbouring_lines(kernel, shows):
    error = user_error(
        "WV0203",
        "mma operands disagree on the contracted dimension",
        at=kernel.find("mma(a_reg, b_reg, c)"),
        label="contracts [M, K] with [N, J]",
        secondary=[(kernel.find("read(b)"), "this register has dims [N, J]")],
        notes="lhs and rhs must share exactly one dimension absent from acc",
        help="did you mean to read `b` over [N, K]?",
    )
    shows(
        error,
        """
        error[WV0203]: mma operands disagree on the contracted dimension
          --> user_kernel.py:5:11 in gemm
        4 |     b_reg = read(b)
          |             ------- this register has dims [N, J]
        5 |     acc = mma(a_reg, b_reg, c)
          |           ^^^^^^^^^^^^^^^^^^^^ contracts [M, K] with [N, J]
          = note: lhs and rhs must share exactly one dimension absent from acc
          = help: did you mean to read `b` over [N, K]?
        """,
    )


def test_distant_lines_are_joined_by_dots_and_gutters_align(kernel, shows):
    error = user_error(
        "WV0204",
        "element types differ",
        at=kernel.find("write(total, c)"),
        label="f32",
        secondary=[(kernel.find("read(a)"), "f16")],
    )
    shows(
        error,
        """
        error[WV0204]: element types differ
           --> user_kernel.py:15:5 in gemm
         3 |     a_reg = read(a)
           |             ------- f16
        ...
        15 |     write(total, c)
           |     ^^^^^^^^^^^^^^^ f32
        """,
    )


def test_a_gap_of_one_line_shows_the_line(kernel, shows):
    error = user_error(
        "WV0204",
        "element types differ",
        at=kernel.find("mma(a_reg, b_reg, c)"),
        secondary=[(kernel.find("read(a)"), "f16")],
    )
    shows(
        error,
        """
        error[WV0204]: element types differ
          --> user_kernel.py:5:11 in gemm
        3 |     a_reg = read(a)
          |             ------- f16
        4 |     b_reg = read(b)
        5 |     acc = mma(a_reg, b_reg, c)
          |           ^^^^^^^^^^^^^^^^^^^^
        """,
    )


def test_labels_on_one_line_hang_below(kernel, shows):
    place = kernel.find("mma(")
    rhs = Location.of_span(place.file, 5, 22, 5, 27, "gemm")
    lhs = Location.of_span(place.file, 5, 15, 5, 20, "gemm")
    callee = Location.of_span(place.file, 5, 11, 5, 14, "gemm")
    error = user_error(
        "WV0203",
        "no product",
        at=callee,
        label="contracts nothing",
        secondary=[(rhs, "[N, J]"), (lhs, "[M, K]")],
    )
    shows(
        error,
        """
        error[WV0203]: no product
          --> user_kernel.py:5:11 in gemm
        5 |     acc = mma(a_reg, b_reg, c)
          |           ^^^ -----  ----- [N, J]
          |           |   |
          |           |   [M, K]
          |           contracts nothing
        """,
    )


def test_overlapping_labels_get_rows_of_their_own(kernel, shows):
    error = user_error(
        "WV0203",
        "no product",
        at=kernel.find("mma(a_reg, b_reg, c)"),
        label="contracts nothing",
        secondary=[(Location.of_span("user_kernel.py", 5, 15, 5, 20), "[M, K]")],
    )
    shows(
        error,
        """
        error[WV0203]: no product
          --> user_kernel.py:5:11 in gemm
        5 |     acc = mma(a_reg, b_reg, c)
          |           ^^^^^^^^^^^^^^^^^^^^ contracts nothing
          |               ----- [M, K]
        """,
    )


def test_a_span_of_several_lines(kernel, shows):
    place = Location.of_span("user_kernel.py", 10, 13, 13, 6, "gemm")
    shows(
        user_error("WV0204", "element types differ", at=place, label="f16 and f32"),
        """
        error[WV0204]: element types differ
           --> user_kernel.py:10:13 in gemm
        10 |     total = add(
           |             ^^^^
        11 |         acc,
           |         ^^^^
        12 |         bias,
           |         ^^^^^
        13 |     )
           |     ^ f16 and f32
        """,
    )


def test_a_long_span_shows_its_ends(kernel, shows):
    place = Location.of_span("user_kernel.py", 2, 1, 15, 20, "gemm")
    shows(
        user_error("WV0112", "kernel `gemm` returns a value", at=place, label="here"),
        """
        error[WV0112]: kernel `gemm` returns a value
           --> user_kernel.py:2:1 in gemm
         2 | def gemm(a: A, b: B, c: C):
           | ^^^^^^^^^^^^^^^^^^^^^^^^^^^
         3 |     a_reg = read(a)
           |     ^^^^^^^^^^^^^^^
        ...
        15 |     write(total, c)
           |     ^^^^^^^^^^^^^^^ here
        """,
    )


def test_tabs_and_wide_characters(kernel, shows):
    # `y`, behind a tab and two characters of double width.
    place = Location.of_span("user_kernel.py", 14, 14, 14, 15, "gemm")
    error = user_error("WV0205", "wrong operand", at=place, label="a float")
    shows(
        error,
        """
        error[WV0205]: wrong operand
           --> user_kernel.py:14:14 in gemm
        14 |     x = "é日本" + y
           |                   ^ a float
        """,
    )


def test_two_files(kernel, source, shows):
    other = source("tiles.py", "BLOCK = 64\nWAVE = 48\n")
    error = user_error(
        "WV0303",
        "the wave tile does not divide",
        at=other.find("48", "<module>"),
        label="48",
        secondary=[
            (kernel.find("@wave(constraints)", ""), "of this kernel"),
            (other.find("64", "<module>"), "64"),
        ],
    )
    shows(
        error,
        """
        error[WV0303]: the wave tile does not divide
          --> tiles.py:2:8 in <module>
        1 | BLOCK = 64
          |         -- 64
        2 | WAVE = 48
          |        ^^ 48
          ::: user_kernel.py:1:1
        1 | @wave(constraints)
          | ------------------ of this kernel
        """,
    )


def test_without_source(kernel, shows):
    error = user_error(
        "WV0201",
        "needs a register",
        at=Location.of_span("<string>", 7, 3, 7, 9, "make"),
        label="a memory",
        secondary=[(kernel.find("read(a)"), "not this")],
    )
    shows(
        error,
        """
        error[WV0201]: needs a register
          --> <string>:7:3 in make
          | a memory
          ::: user_kernel.py:3:13 in gemm
        3 |     a_reg = read(a)
          |             ------- not this
        """,
    )


def test_without_columns_the_line_is_underlined(kernel, shows):
    shows(
        user_error("WV0205", "wrong", at=Location.of_span("user_kernel.py", 7)),
        """
        error[WV0205]: wrong
          --> user_kernel.py:7
        7 |     scale = 2
          |     ^^^^^^^^^
        """,
    )


def test_without_any_location_labels_become_notes(shows):
    error = user_error(
        "WV0307",
        "a kernel needs exactly one HardwareConstraint",
        label="none given",
        secondary=[(Location.unknown(), "two given")],
        help=["first line\nsecond line", "another"],
    )
    shows(
        error,
        """
        error[WV0307]: a kernel needs exactly one HardwareConstraint
          = note: none given
          = note: two given
          = help: first line
                  second line
          = help: another
        """,
    )


def test_callers_and_fused_parts_are_listed(kernel, shows):
    inner = Location.from_text(
        '"user_kernel.py":3:13-20 in load from "user_kernel.py":5:5-8 in gemm'
    )
    place = fuse(inner, kernel.find("bias = 3"))
    shows(
        user_error("WV0201", "needs a register", at=place),
        """
        error[WV0201]: needs a register
          --> user_kernel.py:3:13 in load
        3 |     a_reg = read(a)
          |             ^^^^^^^
          = called from user_kernel.py:5:5 in gemm
          = also from user_kernel.py:8:5 in gemm
        """,
    )


def test_source_that_shrank_since(kernel, shows):
    place = Location.of_span("user_kernel.py", 3, 90, 3, 99, "gemm")
    shows(
        user_error("WV0201", "needs a register", at=place, label="x"),
        """
        error[WV0201]: needs a register
          --> user_kernel.py:3:90 in gemm
        3 |     a_reg = read(a)
          |                    ^ x
        """,
    )


def test_several_diagnostics_are_separated_by_a_line(kernel, shows):
    first = make_diagnostic("WV0201", "one")
    second = make_diagnostic("WV0202", "two\nlines")
    shows(
        UserError([first, second]),
        """
        error[WV0201]: one

        error[WV0202]: two
          lines
        """,
    )


def test_files_below_the_working_directory_are_shortened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Location.of_span(str(tmp_path / "kernels" / "k.py"), 4)
    assert "--> kernels/k.py:4" in str(user_error("WV0201", "x", at=place))


def test_colours_change_nothing_but_colours(kernel):
    place = kernel.find("mma(a_reg, b_reg, c)")
    secondary = [(kernel.find("read(b)"), "from")]
    found = make_diagnostic(
        "WV0201", "x", at=place, label="y", secondary=secondary, help="z"
    )
    colored = found.render(color=True)
    assert "\033[1;31merror[WV0201]\033[0m" in colored
    assert re.sub(r"\033\[[\d;]*m", "", colored) == found.render()


def test_control_characters_of_the_source_do_not_reach_the_terminal(source):
    file = source("evil.py", "x = '\033[2J'\n")
    text = str(user_error("WV0201", "x", at=file.find("x")))
    assert "\033" not in text


def test_of_a_line_without_end_the_beginning_is_shown(tmp_path):
    path = tmp_path / "generated.txt"
    path.write_text("x" * 1_000_000)
    for column in (3, 900_000):
        at = Location.of_span(str(path), 1, column)
        rows = user_error("WV0604", "malformed", at=at).diagnostics[0].render()
        assert f"generated.txt:1:{column}" in rows
        assert f" {'x' * 400}...\n" in rows
        assert len(rows) < 2_000
