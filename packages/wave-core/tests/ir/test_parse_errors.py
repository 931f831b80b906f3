"""Text that does not fit: always a coded message with line and column."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from wave_core.diagnostics import UserError
from wave_core.ir import parse_graph, print_graph

TEXT = """\
kernel "k" target "generic" {
  bind BLOCK = 64
  constraint #TilingConstraint(dim = K, tile_size = BLOCK)
  %0 = argument parameter "a" : mem<M, N, global, f32>
  %1 = read %0, [] : reg<M, N, f32>
  %2 = add %1, %1 : reg<M, N, f32>
  %3 = iterate [%2], [%0] {axis = K} body {
    %4 = argument carried "c" : reg<M, N, f32>
    %5 = argument capture "a" : mem<M, N, global, f32>
    write %4, %5, []
    yield [%4]
  }
  yield []
}
"""

MISTAKES = [
    ("= add %1", "= ad %1", 6, 8, "unknown op `ad`"),
    ("add %1, %1 :", "add %1 :", 6, 15, "expected `,`, found `:`"),
    ("add %1, %1 :", "add %1, %1, %1 :", 6, 18, "`add` takes 2 operands"),
    ("add %1, %1 :", "add %1, %9 :", 6, 16, "`%9` is not defined in this region"),
    ("write %4", "write %2", 10, 11, "`%2` is not defined in this region"),
    ("  %5 = argument", "  %4 = argument", 9, 5, "`%4` is defined twice"),
    ("add %1, %1 :", "add %1, [%1] :", 6, 16, "`rhs` of `add` is a value"),
    ("read %0, []", "read %0, %0", 5, 17, "`indices` of `read` is values in br"),
    ("{axis = K}", "{axes = K}", 7, 28, "`axes` is not a field of `iterate`"),
    ("{axis = K}", "", 7, 3, "`iterate` needs `axis`"),
    ("{axis = K}", "{axis = K, axis = K}", 7, 38, "`axis` is given twice"),
    ("{axis = K}", "{axis = K +}", 7, 35, ""),
    ("%1 : reg<M, N, f32>", "%1 : reg<M, N, f33>", 6, 31, "unknown element type `f33`"),
    ("%1 : reg<M, N, f32>", "%1 : rag<M, N, f32>", 6, 21, "unknown type `rag`"),
    ("argument carried", "argument carry", 8, 19, "unknown role `carry`"),
    ("BLOCK = 64", "BLOCK = x", 2, 8, "`BLOCK` needs one integer"),
    ("#TilingConstraint", "#Tiling", 3, 14, "unknown class `Tiling`"),
    ("dim = K, ", "", 3, 14, "`TilingConstraint` needs `dim`"),
    ('"generic" {', '"generic {', 1, 19, "expected the target's"),
    ("body {", "{", 7, 38, "expected `body`, found `{`"),
    (
        "  yield []\n}\n",
        "  yield []\n",
        14,
        1,
        "expected the name of an op, found the e",
    ),
    ("yield []\n}\n", "yield []\n}\n}\n", 15, 1, "expected the end of the text"),
    ("%1 : reg", "%1 @place() : reg", 6, 20, "unknown fact `place`"),
    ("%1 : reg<M, N, f32>", "%0", 6, 3, "`add`: "),
]


@pytest.mark.parametrize(("good", "bad", "line", "column", "message"), MISTAKES)
def test_message_has_line_and_column(
    good: str, bad: str, line: int, column: int, message: str
) -> None:
    assert TEXT.count(good) >= 1
    with pytest.raises(UserError) as raised:
        parse_graph(TEXT.replace(good, bad, 1), file="k.wave")
    (found,) = raised.value.diagnostics
    assert (found.code, found.location.file) == ("WV9904", "k.wave")
    assert found.message.startswith(f"line {line}, column {column}: {message}")
    assert (found.location.line, found.location.column) == (line, column)


def test_unknown_names_list_close_ones() -> None:
    with pytest.raises(UserError) as raised:
        parse_graph(TEXT.replace("add", "addd"))
    assert "`add`" in raised.value.diagnostics[0].help[0]


def _deep_regions(depth: int) -> str:
    loop = "iterate [], [] {axis = K} body {"
    return f'kernel "k" target "t" {{ {loop * depth}'


@pytest.mark.parametrize(
    "text",
    [
        'kernel "k" target "t" { bind B = ' + "[" * 100_000,
        'kernel "k" target "t" { facts ' + "[" * 100_000,
        _deep_regions(3_000),
        'kernel "k" target "t" { bind B = ' + "9" * 100_000,
        'kernel "k" target "t" { dynamic [' + "(" * 100_000 + ")" * 100_000,
        'kernel "k" target "t" { bind B = ' + "#TilingConstraint(dim = " * 100_000,
        "",
        "\0",
    ],
)
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(UserError) as raised:
        parse_graph(text)
    assert raised.value.code == "WV9904"


PIECES = ["", "%1", "none", "loc(", "@placement(", "tags [", "#layout(", "//", "9" * 30]
PIECES += list('[]{}()<>"`,=!#-\n\\x')


@settings(max_examples=300)
@given(rng=st.randoms(use_true_random=False))
def test_damaged_text_never_escapes(random_graph: Any, rng: Any) -> None:
    text = print_graph(random_graph(rng), locations=rng.random() < 0.5)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text))
        end = at + rng.choice([0, 1, 5, 40])
        text = text[:at] + rng.choice(PIECES) + text[end:]
    # Any other exception fails the test.
    with suppress(UserError):
        parse_graph(text)
