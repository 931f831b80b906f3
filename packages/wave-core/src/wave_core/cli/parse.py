"""Reads the values of options such as ``--shape M=512,N=512``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable


def assignments(option: str, given: Iterable[str]) -> dict[str, int | str]:
    """Names with their values, from texts like ``M=512,N=512``.

    Raises:
        typer.BadParameter: for text without a name or a value, and for two values of
            one name.
    """
    found: dict[str, int | str] = {}
    for text in given:
        for item in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = (part.strip() for part in item.partition("="))
            if not (equals and name and value):
                message = f"{option} takes NAME=VALUE, not `{item}`"
                raise typer.BadParameter(message)
            read = _value(value)
            if found.setdefault(name, read) != read:
                message = f"{option} {name}: both {found[name]} and {read} are given"
                raise typer.BadParameter(message)
    return found


def sizes(option: str, given: Iterable[str]) -> dict[str, int]:
    """Names with sizes: integers that are not negative.

    Raises:
        typer.BadParameter: for anything else.
    """
    found: dict[str, int] = {}
    for name, value in assignments(option, given).items():
        if not isinstance(value, int) or value < 0:
            message = f"{option} {name}={value}: a size is an integer from 0"
            raise typer.BadParameter(message)
        found[name] = value
    return found


def _value(text: str) -> int | str:
    try:
        return int(text, 0)
    except ValueError:
        return text
