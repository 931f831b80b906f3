"""What stands behind the operands of an instruction, as bits of its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wave_backend_asm.encode.operands import UnknownError, number_of


def flags_of(modifiers: Sequence[str], flags: Mapping[str, int]) -> int:
    """The bits of words that stand alone.

    Raises:
        UnknownError: for another word, such as one with a number.
    """
    bits = 0
    for each in modifiers:
        if each not in flags:
            raise UnknownError(each)
        bits |= flags[each]
    return bits


def offset_of(modifiers: Sequence[str], least: int, most: int) -> tuple[int, list[str]]:
    """The number of ``offset:``, 0 without one, and the other modifiers.

    Raises:
        UnknownError: it is no number of these.
    """
    rest = [each for each in modifiers if not each.startswith("offset:")]
    if len(rest) == len(modifiers):
        return 0, rest
    (found,) = [each for each in modifiers if each.startswith("offset:")]
    number = number_of(found[7:])
    if not least <= number <= most:
        raise UnknownError(found)
    return number, rest


def values_of(modifiers: Sequence[str]) -> dict[str, str]:
    """What stands behind the colon of each.

    Raises:
        UnknownError: there is none.
    """
    parts = [each.partition(":") for each in modifiers]
    found = {name: value for name, _, value in parts}
    if "" in found.values():
        raise UnknownError(*modifiers)
    return found


def bits_of(value: str, count: int) -> int:
    """The bits of ``[1,0]``, the first the lowest.

    Raises:
        UnknownError: it is no list of as many.
    """
    words = value.removeprefix("[").removesuffix("]").split(",")
    if len(words) != count or not {"0", "1"}.issuperset(words):
        raise UnknownError(value)
    return sum(1 << place for place, word in enumerate(words) if word == "1")
