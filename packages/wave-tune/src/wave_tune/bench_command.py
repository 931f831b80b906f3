"""``wave bench KERNEL``."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wave_core.cli.files import tell_written, writing
from wave_core.cli.load import open_session
from wave_core.cli.output import announce, print_json, print_table
from wave_core.compile.devices import AUTO
from wave_runtime.artifact import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_tune.bench import Report, Row


def bench_kernel(  # noqa: PLR0913, PLR0917 - the options of the command
    kernel: str = typer.Argument(help="A kernel's name, or FILE.py:NAME."),
    shape: list[str] = typer.Option([], help="Sizes: M=512,N=512."),  # noqa: B008 - typer's form
    over: str = typer.Option(
        "", help="Sizes that change together: M,N,K=512,1024,2048."
    ),
    settings: list[str] = typer.Option([], "--set", help="Settings: BLOCK_M=128."),  # noqa: B008 - typer's form
    against: str = typer.Option(
        "", help="What it is compared with: torch, or NAME=FILE.py:FUNCTION; by commas."
    ),
    target: str = typer.Option(
        AUTO, help="The machine to compile for; auto: that of a GPU here."
    ),
    preset: str | None = typer.Option(None, help="A named configuration."),
    option: list[str] = typer.Option(  # noqa: B008 - typer's form
        [], "--option", help="Another compile option: use_fast_math=true."
    ),
    output: Path | None = typer.Option(  # noqa: B008 - typer's form
        None, "-o", "--output", help="A file of JSON, and a picture .svg beside it."
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Measure a kernel over sizes, beside the roofline and beside others."""
    # The compiler loads torch; other commands go without.
    from wave_tune.bench import report  # noqa: PLC0415
    from wave_tune.subject import Subject  # noqa: PLC0415

    subject = Subject(
        kernel, tuple(shape), tuple(settings), target, preset, tuple(option)
    )
    others = [each.strip() for each in against.split(",") if each.strip()]
    found = report(subject, shapes_of(over), others, open_session())
    for name in found.left_out:
        announce(f"`{name}` is measured on GPUs alone, and none of the target is here")
    if output is not None:
        _write(found, output)
    if json:
        print_json(found.to_json())
    else:
        _show(found)


def shapes_of(text: str) -> list[dict[str, int]]:
    """The sizes of ``--over``: several names have the same value each time.

    Raises:
        typer.BadParameter: for text that is not of that form.
    """
    if not text:
        return [{}]
    names, equals, values = text.partition("=")
    keys = [each.strip() for each in names.split(",") if each.strip()]
    sizes = [each.strip() for each in values.split(",") if each.strip()]
    if not (equals and keys and sizes and all(each.isdecimal() for each in sizes)):
        message = f"--over takes NAMES=SIZES, as M,N=512,1024, not `{text}`"
        raise typer.BadParameter(message)
    return [dict.fromkeys(keys, int(each)) for each in sizes]


def _write(found: Report, output: Path) -> None:
    from wave_tune.plot import drawn  # noqa: PLC0415 - only a picture needs it

    with writing(f"--output {output}"):
        table = write_whole(output, dumps(found.to_json(), indent=1).encode())
        picture = write_whole(output.with_suffix(".svg"), drawn(found).encode())
    tell_written([table, picture])


def _show(found: Report) -> None:
    print_table(
        ("", ""),
        [
            ("kernel", found.kernel),
            ("target", found.target),
            ("measured on", found.on),
        ],
    )
    peers = list(dict.fromkeys(name for row in found.rows for name in row.peers))
    titles = (
        "sizes",
        "us",
        "wave",
        *peers,
        "roofline",
        "of it",
        "bound",
        "compiled as",
    )
    print_table(titles, [_cells(row, peers) for row in found.rows])


def _cells(row: Row, peers: Sequence[str]) -> tuple[str, ...]:
    sizes = " ".join(f"{name}={size}" for name, size in row.shape.items())
    others = [f"{row.peers[name]:,.4g} {row.unit}" for name in peers]
    roof = f"{row.roof:,.4g} {row.unit}" if row.roof else ""
    share = f"{row.rate / row.roof:.0%}" if row.roof else ""
    return (
        sizes,
        f"{row.us:,.4g}",
        f"{row.rate:,.4g} {row.unit}",
        *others,
        roof,
        share,
        row.bound,
        row.told,
    )
