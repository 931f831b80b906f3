"""Options of passes: the fields of a dataclass, converted from and to text values."""

from __future__ import annotations

import types
from dataclasses import MISSING, dataclass, field as dataclass_field, fields
from enum import Enum
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from wave_core.diagnostics import plugin_error, user_error
from wave_core.passes.literal import print_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from wave_core.diagnostics import UserError
    from wave_core.passes.literal import OptionValue

_UNION_ORIGINS = (Union, types.UnionType)


@dataclass(frozen=True)
class OptionField:
    """The declaration of an option, besides its type and default.

    Attributes:
        summary: One line for tables.
        reads_file: Whether the value names a file whose contents decide the result.
        reports: Whether the option only asks to be told something on the way; a
            compilation with it is not answered from a cache.
        at_least: The smallest number that means something.
        at_most: The largest number.
    """

    summary: str = ""
    reads_file: bool = False
    reports: bool = False
    at_least: int | None = None
    at_most: int | None = None


_DECLARED = "wave_option"


def option(
    default: Any,
    summary: str,
    *,
    reads_file: bool = False,
    reports: bool = False,
    at_least: int | None = None,
    at_most: int | None = None,
) -> Any:
    """Declare an option as a field of a frozen dataclass, such as a pass.

    ``default`` is the value when it is not given, the rest as of `OptionField`.
    """
    declared = OptionField(summary, reads_file, reports, at_least, at_most)
    return dataclass_field(default=default, metadata={_DECLARED: declared})


@cache
def option_fields(cls: Any) -> Mapping[str, OptionField]:
    """Declarations of a dataclass's fields, by name."""
    nothing = OptionField()
    return {each.name: each.metadata.get(_DECLARED, nothing) for each in fields(cls)}


class _MismatchError(ValueError):
    """A value does not have the wanted type."""


def option_name(field_name: str) -> str:
    """The option's name in text: ``max_bits`` is ``max-bits``."""
    return field_name.replace("_", "-")


@cache
def option_types(cls: type) -> Mapping[str, Any]:
    """The types of the options of a pass class, by field name.

    Raises:
        PluginError: WV0809 where a field has no default or a type without text form.
    """
    hints = get_type_hints(cls)
    declared: dict[str, Any] = {}
    for field in fields(cls):
        if field.default is MISSING and field.default_factory is MISSING:
            raise _bad_field(cls, field.name, "has no default")
        if not has_text_form(hints[field.name]):
            raise _bad_field(cls, field.name, "has a type without text form")
        declared[field.name] = hints[field.name]
    return declared


def _bad_field(cls: type, name: str, what: str) -> Exception:
    return plugin_error(
        "WV0809",
        f"option `{name}` of `{cls.__qualname__}` {what}",
        help="an option is a bool, int, float, str, None, Enum, Literal, a tuple or"
        " a union of these, with a default",
    )


def has_text_form(wanted: Any) -> bool:
    """Whether values of the type ``wanted`` can be written as text."""
    origin = get_origin(wanted)
    if origin in _UNION_ORIGINS or origin is tuple:
        return all(has_text_form(arg) for arg in get_args(wanted) if arg is not ...)
    if wanted in {None, type(None), bool, int, float, str} or origin is Literal:
        return True
    return isinstance(wanted, type) and issubclass(wanted, Enum)


def to_text_value(value: Any) -> OptionValue:
    """The text form of a typed option; an enum becomes its word."""
    if isinstance(value, Enum):
        return _word(value)
    if isinstance(value, tuple):
        return tuple(map(to_text_value, cast("tuple[Any, ...]", value)))
    return value


def _word(member: Enum) -> str:
    return member.value if isinstance(member.value, str) else member.name.lower()


def convert_option(
    owner: str,
    name: str,
    value: object,
    wanted: Any,
    at_least: int | None = None,
    at_most: int | None = None,
) -> Any:
    """The typed option that ``value`` stands for.

    Args:
        owner: The pass or object that has the option, for the message.
        name: The option.
        value: A value as text gives it, or already typed.
        wanted: The declared type.
        at_least: The smallest number that means something.
        at_most: The largest; a number has 64 bits in any case.

    Raises:
        UserError: WV0804 where the value does not fit.
    """
    try:
        return _in_range(_convert(value, wanted), at_least, at_most)
    except _MismatchError:
        limits = "" if at_least is None else f" from {at_least}"
        limits += "" if at_most is None else f" to {at_most}"
        raise user_error(
            "WV0804",
            f"option `{name}` of `{owner}` cannot be {_shown(value)}",
            help=(
                *did_you_mean(str(value), _words(wanted)),
                f"it takes {describe_type(wanted)}{limits}",
            ),
        ) from None


def _in_range(value: Any, at_least: int | None, at_most: int | None) -> Any:
    """The value, unless it is a number beyond these limits or those of 64 bits."""
    least = -(2**63) if at_least is None else at_least
    most = 2**63 - 1 if at_most is None else at_most
    if isinstance(value, int) and not least <= value <= most:
        raise _MismatchError
    return value


def _words(wanted: Any) -> list[str]:
    """The words among the values of a type."""
    if get_origin(wanted) is Literal:
        return [each for each in get_args(wanted) if isinstance(each, str)]
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return [_word(member) for member in wanted]
    return [word for each in get_args(wanted) for word in _words(each)]


def _shown(value: object) -> str:
    plain = value is None or isinstance(value, (bool, int, float, str, tuple, Enum))
    shown = print_value(to_text_value(value)) if plain else repr(cast("object", value))
    return f"`{shown}`"


def _convert(value: object, wanted: Any) -> Any:
    origin = get_origin(wanted)
    if origin in _UNION_ORIGINS:
        return _convert_union(value, get_args(wanted))
    if origin is tuple:
        return _convert_tuple(value, get_args(wanted))
    if origin is Literal:
        return _member(value, get_args(wanted))
    if wanted is None or wanted is type(None):
        return _member(value, (None,))
    if issubclass(wanted, Enum):
        return _convert_enum(value, wanted)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise _MismatchError
    return value


def _member(value: object, choices: Iterable[object]) -> object:
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    raise _MismatchError


def _convert_union(value: object, alternatives: tuple[Any, ...]) -> Any:
    if value == "" and type(None) in alternatives:
        # Where nothing can be given, an empty text is no way to say so.
        raise _MismatchError
    for alternative in alternatives:
        try:
            return _convert(value, alternative)
        except _MismatchError:
            continue
    raise _MismatchError


def _convert_tuple(value: object, items: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)):
        raise _MismatchError
    values = cast("tuple[object, ...]", tuple(value))  # pyright: ignore[reportUnknownArgumentType] - any sequence
    if len(items) == 2 and items[1] is ...:
        items = items[:1] * len(values)
    if len(items) != len(values):
        raise _MismatchError
    return tuple(map(_convert, values, items))


def _convert_enum(value: object, wanted: type[Enum]) -> Enum:
    if isinstance(value, wanted):
        return value
    word = print_value(value) if value is None or isinstance(value, bool) else value
    for member in wanted:
        if word in (_word(member), member.name):
            return member
    raise _MismatchError


def describe_type(wanted: Any) -> str:
    """A type in words, for messages and tables."""
    arguments = get_args(wanted)
    if get_origin(wanted) in _UNION_ORIGINS:
        return " or ".join(map(describe_type, arguments))
    if get_origin(wanted) is tuple:
        inner = [describe_type(arg) for arg in arguments if arg is not ...]
        return f"({', '.join(inner)}{', ...' if ... in arguments else ''})"
    if get_origin(wanted) is Literal:
        return " or ".join(f"`{print_value(arg)}`" for arg in arguments)
    if wanted is None or wanted is type(None):
        return "`none`"
    if issubclass(wanted, Enum):
        return " or ".join(f"`{print_value(_word(member))}`" for member in wanted)
    return "`true` or `false`" if wanted is bool else wanted.__name__


def find_option(owner: str, name: str, known: Iterable[str]) -> str:
    """The field that an option's name stands for.

    Raises:
        UserError: WV0803 where there is none.
    """
    by_name = {option_name(field): field for field in known}
    found = by_name.get(option_name(name))
    if found is None:
        raise unknown_option(owner, name, by_name)
    return found


def unknown_option(owner: str, name: str, known: Collection[str]) -> UserError:
    """WV0803: ``owner`` has no option of that name; with those that it has."""
    joined = ", ".join(f"`{each}`" for each in known)
    listed = f"its options are: {joined}" if joined else "it has no options"
    return user_error(
        "WV0803",
        f"`{owner}` has no option `{name}`",
        help=(*did_you_mean(name, known), listed),
    )


def did_you_mean(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The help line that names what was probably meant, if anything was."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for mistakes

    close = get_close_matches(name, sorted(known), n=1)
    return tuple(f"did you mean `{match}`?" for match in close)
