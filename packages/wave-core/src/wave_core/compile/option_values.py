"""Brings the values of compile options into their immutable form, or refuses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

from wave_core.compile.option_rows import rows_of
from wave_core.diagnostics import Label, UserError, user_error
from wave_core.passes.text import PassText, Pipeline

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.passes.literal import OptionValue
    from wave_core.targets import Target

#: Fields that other functions here bring into form.
_CONVERTED = frozenset({"subs", "dynamic_symbols", "passes", "checks"})


def at_options(
    error: UserError, at: Location | None, which: str = "these options"
) -> UserError:
    """The error at the user's options, where it does not say another place."""
    label = Label(at, which) if at is not None and at.is_known else None
    return UserError(
        replace(each, primary=each.primary or label) for each in error.diagnostics
    )


def names(option: str, given: Any, at: Location) -> tuple[str, ...]:
    """A list of names, each once; one name, or several with commas, count too.

    Raises:
        UserError: WV0823 where it is something else.
    """
    listed: object = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, Iterable):
        raise unfit(option, given, "names", at)
    found = list(cast("Iterable[object]", listed))
    if not all(isinstance(item, str) for item in found):
        raise unfit(option, given, "names", at)
    stripped = [cast("str", item).strip() for item in found]
    return tuple(dict.fromkeys(name for name in stripped if name))


def by_name(option: str, given: Any, at: Location) -> Mapping[str, object]:
    """Values by name.

    Raises:
        UserError: WV0823 where it is no mapping, or a key no name.
    """
    wanted = "a dictionary with names for keys"
    if not isinstance(given, Mapping):
        raise unfit(option, given, wanted, at)
    rows = cast("Mapping[Any, object]", given)
    if all(isinstance(key, str) for key in rows):
        return rows
    raise unfit(option, dict(rows), wanted, at)


def pass_texts(given: Any, at: Location) -> tuple[PassText, ...]:
    """Options of passes in their one form, in order of the passes' names.

    Raises:
        UserError: WV0802 for text that does not fit, WV0823 for another type.
    """
    try:
        return _pass_texts(given, at)
    except UserError as error:
        raise at_options(error, at) from None


def _pass_texts(given: Any, at: Location) -> tuple[PassText, ...]:
    if isinstance(given, str):
        return _ordered(Pipeline.parse(given).passes)
    if isinstance(given, Mapping):
        rows = by_name("passes", given, at)
        return _ordered([_of_row(name, row, at) for name, row in rows.items()])
    if not isinstance(given, Iterable):
        raise unfit("passes", given, "pass texts", at)
    items = [_of_item(item, at) for item in cast("Iterable[object]", given)]
    return _ordered(items)


def _ordered(items: Iterable[PassText]) -> tuple[PassText, ...]:
    """One text a pass; of an option that is given twice the later value counts."""
    found: dict[str, dict[str, OptionValue]] = {}
    for each in items:
        named = {name.replace("_", "-"): value for name, value in each.options}
        found.setdefault(each.name, {}).update(named)
    return tuple(PassText(name, tuple(found[name].items())) for name in sorted(found))


def _of_item(item: object, at: Location) -> PassText:
    if isinstance(item, PassText):
        return item
    if isinstance(item, str):
        return PassText.parse(item)
    raise unfit("passes", item, "pass texts", at)


def _of_row(name: str, row: object, at: Location) -> PassText:
    if isinstance(row, Mapping):
        options: Mapping[str, Any] = by_name(f"passes[{name}]", row, at)
        return PassText(name, tuple(sorted(options.items())))
    if isinstance(row, str):
        text = row.strip().removeprefix("{").removesuffix("}")
        return PassText.parse(f"{name}{{{text}}}")
    raise unfit(f"passes[{name}]", row, "options as text or by name", at)


def check_types(options: Any, at: Location) -> None:
    """Refuse values whose type is not the declared one.

    Raises:
        UserError: WV0823.
    """
    hints = _hints(options.__class__)
    least = {row.name: row.at_least for row in rows_of(options.__class__)}
    for row in fields(options):
        if row.name in _CONVERTED:
            continue
        value: object = getattr(options, row.name)
        if value is row.default:
            continue
        if not _fits(value, hints[row.name]):
            empty = ", and no empty text" if _is_empty_text(value) else ""
            raise unfit(row.name, value, f"{row.type}{empty}", at)
        if type(value) is int and not value >= least[row.name]:
            raise unfit(row.name, value, f"{row.type} from {least[row.name]:g}", at)
    _check_checks(options, at)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _fits(value: object, wanted: Any) -> bool:
    if getattr(wanted, "__origin__", None) is not None:
        return True
    alternatives = get_args(wanted)
    if alternatives:
        # Where nothing can be given, an empty text is no way to say so.
        empty = _is_empty_text(value) and type(None) in alternatives
        return not empty and any(_fits(value, each) for each in alternatives)
    if wanted is int:
        return type(value) is int
    # No file and no name has a NUL in it.
    return isinstance(value, wanted) and not (isinstance(value, str) and "\0" in value)


def _is_empty_text(value: object) -> bool:
    """Asked of the type first: arrays compare element by element."""
    return isinstance(value, str) and not value


def _check_checks(options: Any, at: Location) -> None:
    known = ("alignment", "bounds", "poison", "races")
    given: object = options.checks
    for name in () if isinstance(given, bool) else cast("tuple[str, ...]", given):
        if name not in known:
            raise unfit("checks", name, f"one of {', '.join(known)}", at)


def check_waves(options: Any, target: Target) -> None:
    """See that a SIMD of the target holds the waves that are asked for.

    Raises:
        UserError: WV0823.
    """
    wanted, file = options.waves_per_eu, target.registers
    if wanted is not None and file is not None and wanted > file.max_waves:
        raise user_error(
            "WV0823",
            f"option `waves_per_eu` is {wanted}",
            at=options.location,
            label="given here",
            help=f"it takes a number from 1 to {file.max_waves}",
        )


def text_option(options: Any, name: str) -> str | None:
    """The text of a backend's option, if it is given.

    Raises:
        UserError: WV0823 for text that no file can hold.
    """
    found = options.plugin_options.get(name)
    assert found is None or isinstance(found, str), "checked with the options"
    try:
        (found or "").encode()
    except UnicodeEncodeError as error:
        raise user_error(
            "WV0823",
            f"option `{name}` has half a character at position {error.start}",
            at=options.location,
            label="given here",
            help="read the file as UTF-8",
        ) from None
    return found


def unfit(option: str, value: object, wanted: str, at: Location) -> Exception:
    """Option ``option`` takes what is ``wanted``, and got something else."""
    return user_error(
        "WV0823",
        f"option `{option}` is {value!r}, of type {type(value).__name__}",
        at=at,
        label="given here",
        help=f"it takes {wanted}",
    )
