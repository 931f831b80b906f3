"""The page of the reference on what the author of a kernel imports."""

from __future__ import annotations

import inspect
from enum import Enum
from typing import TYPE_CHECKING

import wave_core.lang as language
from doc_text import code, first_sentence, markdown, table
from name_examples import examples, in_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wave_core.plugin import PluginHost

_OF_ELEMENTS = """\
## Functions of elements

Each computes element by element, as here:

{example}
The column on the right says the same in torch, `x` and `y` for the arguments.

{table}"""


def language_page(host: PluginHost) -> str:
    """Everything that the author of a kernel imports, each name with an example."""
    del host
    parts = ["# `wave_core.lang`\n", _functions_of_elements()]
    for title, names in _groups().items():
        parts.append(f"## {title}\n")
        parts += [_entry(name) for name in names]
    return "\n".join(parts)


def _functions_of_elements() -> str:
    """One table, for those of which nothing more is to be said."""
    terms = sorted(in_torch().items())
    rows = [
        (_call(name), markdown(_documented(name)), code(term)) for name, term in terms
    ]
    shown = table(("function", "meaning", "in torch"), rows)
    return _OF_ELEMENTS.format(example=examples()["log"].shown("log"), table=shown)


def _call(name: str) -> str:
    found = inspect.signature(getattr(language, name)).parameters.values()
    names = [each.name for each in found if each.kind is not each.KEYWORD_ONLY]
    return code(f"{name}({', '.join(names)})")


def _documented(name: str) -> str:
    """What stands above the arguments."""
    return inspect.cleandoc(getattr(language, name).__doc__).partition("\n\nArgs:")[0]


def _groups() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Values": []}
    for name in sorted(set(dir(language)) - set(in_torch()), key=_alphabetical):
        value = getattr(language, name)
        if inspect.isclass(value):
            groups["Classes"].append(name)
        elif inspect.isfunction(value):
            groups["Functions"].append(name)
        else:
            groups["Values"].append(name)
    return groups


def _alphabetical(name: str) -> tuple[str, str]:
    return name.lower(), name


def _entry(name: str) -> str:
    parts = [f"### `{name}`\n", *_described(name, getattr(language, name))]
    if name in examples():
        parts.append(examples()[name].shown(name))
    return "\n".join(parts)


def _described(name: str, value: object) -> Iterator[str]:
    if inspect.isfunction(value):
        yield signature(name, value)
        yield _function_doc(value)
    elif inspect.isclass(value):
        yield markdown(value.__doc__)
        if issubclass(value, Enum):
            yield table(("member", "value"), ((m.name, str(m.value)) for m in value))
    else:
        yield _value_doc(value)


def _function_doc(value: object) -> str:
    """The documentation of a function; what derives from an op is said with the op."""
    cls = getattr(value, "op_class", None)
    if cls is None:
        return markdown(getattr(value, "__doc__", None))
    return f"{first_sentence(cls.__doc__)} See [`{cls.op_name}`](ops.md).\n"


def _value_doc(value: object) -> str:
    ours = type(value).__module__.startswith("wave_core")
    meaning = first_sentence(type(value).__doc__) if ours else "A symbol."
    shown = type(value).__repr__ is not object.__repr__
    return f"`{value}`. {meaning}\n" if shown else f"{meaning}\n"


def signature(name: str, value: Callable[..., object]) -> str:
    """How a function is called, without types."""
    found = inspect.signature(value)
    plain = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in found.parameters.values()
    ]
    bare = found.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return f"```python\n{name}{bare}\n```\n"
