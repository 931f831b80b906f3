"""``wave cache info|clear|prune|export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wave_core.cli.files import tell_written, writing
from wave_core.cli.load import open_session
from wave_core.cli.output import notes, print_json, print_table

if TYPE_CHECKING:
    from wave_core.compile.cache import DiskCache

app = typer.Typer(add_completion=False, no_args_is_help=True)

MEBIBYTE = 1 << 20


def _cache() -> DiskCache:
    from wave_core.compile.cache import DiskCache  # noqa: PLC0415

    return DiskCache.of(open_session().config)


@app.command()
def info(
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Say where compiled kernels are kept, and how many."""
    used = open_session().config.cache
    cache = _cache()
    found = cache.info()
    if json:
        keys = [path.stem for path in cache.entries()]
        print_json(
            {
                "folder": str(found.folder),
                "entries": found.entries,
                "bytes": found.total_bytes,
                "writable": found.writable,
                "used": used,
                "keys": keys,
            }
        )
        return
    rows = [
        ("folder", str(found.folder)),
        ("entries", str(found.entries)),
        ("size", f"{found.total_bytes / MEBIBYTE:.1f} MiB"),
        ("writable", "yes" if found.writable else "no: nothing is kept"),
        ("used", "yes" if used else "no: WAVE_CACHE is off"),
    ]
    print_table(("", ""), rows)


@app.command()
def clear(
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Remove all compiled kernels."""
    _tell_removed(_cache().clear(), as_json=json)


@app.command()
def prune(
    keep: int = typer.Option(256, min=0, help="MiB to keep; oldest uses go first."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Remove the compiled kernels used longest ago."""
    _tell_removed(_cache().prune(keep * MEBIBYTE), as_json=json)


def _tell_removed(count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"removed": count})
    else:
        notes().print(f"removed {count} entries")


@app.command()
def export(
    key: str = typer.Argument(help="The key of an entry; `wave cache info --json`."),
    output: Path = typer.Option(..., "-o", "--output", help="A folder."),  # noqa: B008 - typer's form
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Copy the files of an entry."""
    with writing(f"-o {output}"):
        paths = _cache().export(key, output)
    if json:
        print_json({"written": [str(path) for path in paths]})
    else:
        tell_written(paths)
