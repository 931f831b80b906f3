"""One message to the user: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from wave_core.diagnostics.codes import OWN_PREFIX, declaring_package
from wave_core.diagnostics.exception_types import InternalError
from wave_core.diagnostics.location import Location
from wave_core.diagnostics.render import render

_UNKNOWN_CODE = "WV9906"


class Severity(Enum):
    """How bad it is. Only errors stop the compiler."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Label:
    """A place in the source and what to say about it."""

    location: Location
    message: str = ""

    def to_json(self) -> dict[str, object]:
        """Message and location as JSON values."""
        return {"message": self.message, "location": location_to_json(self.location)}


@dataclass(frozen=True)
class Diagnostic:
    """A coded message. Immutable.

    Attributes:
        code: a row of the catalogue, such as `WV0203`.
        message: what is wrong, one line as a rule; names and numbers included.
        primary: the line to change.
        secondary: other lines that take part.
        notes: facts that explain.
        help: things to do, best first.
        data: values for tools; JSON values, others are printed as text.
        severity: how bad it is.

    Raises:
        InternalError: WV9906, the code has Wave's prefix and is not declared.
    """

    code: str
    message: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    data: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        """Refuse codes that `wave explain` could not explain."""
        own = self.code.startswith(OWN_PREFIX)
        if own and declaring_package(self.code) is None:
            message = f"diagnostic code {self.code} is not in the catalogue"
            notes = (f"its message was: {self.message}",)
            unknown = Diagnostic(_UNKNOWN_CODE, message, self.primary, notes=notes)
            raise InternalError(unknown)

    @property
    def location(self) -> Location | None:
        """Location of the primary label."""
        return None if self.primary is None else self.primary.location

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order of printing: by place, then by code."""
        where = Location.unknown() if self.primary is None else self.primary.location
        return (where.file, where.line, where.column, self.code, self.message)

    def render(self, *, color: bool = False) -> str:
        """The message with source excerpts, as text for a terminal."""
        return render(self, color=color)

    def to_json(self) -> dict[str, object]:
        """JSON values; the keys are always all present."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "primary": None if self.primary is None else self.primary.to_json(),
            "secondary": [label.to_json() for label in self.secondary],
            "notes": list(self.notes),
            "help": list(self.help),
            "data": {key: json_value(value) for key, value in self.data.items()},
        }


def location_to_json(location: Location) -> dict[str, object]:
    """A location with its callers and fused parts as JSON values."""
    return {
        **location.span._asdict(),
        "callers": [caller.span._asdict() for caller in location.callers],
        "fused": [location_to_json(part) for part in location.parts[1:]],
    }


def json_value(value: object) -> object:
    """A JSON value; what JSON does not know becomes its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Location):
        return location_to_json(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # any mapping
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # any sequence
    return str(value)
