"""Where measurements are kept: a database of Optuna, a file or a server."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from optuna import Study
    from optuna.storages import RDBStorage

    from wave_tune.points import Space

VARIABLE = "WAVE_TUNE_STORE"
"""A URL, the path of a file, or ``off``."""

OFF = "off"

FORMAT = 1
"""Raised when what names or fills a study changes meaning."""

HEARTBEAT_S = 2
"""Seconds between two signs of life of a trial."""

GRACE_S = 10
"""Seconds without one after which a trial is taken for lost, and done again."""

SQLITE = "sqlite:///"


@dataclass(frozen=True)
class Store:
    """A database.

    Attributes:
        url: Where it is, as SQLAlchemy writes it.
    """

    url: str

    @property
    def path(self) -> Path | None:
        """The file that it is; ``None`` for a server."""
        return Path(self.url[len(SQLITE) :]) if self.url.startswith(SQLITE) else None

    @property
    def shown(self) -> str:
        """The URL without a password."""
        import sqlalchemy  # noqa: PLC0415 - where a store is used

        return sqlalchemy.engine.make_url(self.url).render_as_string()

    def open(self) -> RDBStorage:
        """The storage, made where it is not there.

        Raises:
            UserError: WV0830 where it cannot be used.
        """
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._unusable(error) from error
        return _open(self)

    def study(self, key: str, on: str, space: Space) -> Study:
        """The measurements of a kernel's ways on a device; begun where there are none.

        Raises:
            UserError: WV0830.
        """
        import optuna  # noqa: PLC0415 - compiling goes without, where nothing is kept

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        name = f"{_prefix(key)}{on}/{space.digest}"
        with self.failures():
            return optuna.create_study(
                storage=self.open(), study_name=name, load_if_exists=True
            )

    def studies(self, key: str) -> Iterator[Study]:
        """All that was measured of a kernel; nothing is made.

        Raises:
            UserError: WV0830.
        """
        if self.path is not None and not self.path.exists():
            return
        import optuna  # noqa: PLC0415 - as above

        with self.failures():
            storage = self.open()
            for name in optuna.get_all_study_names(storage):
                if name.startswith(_prefix(key)):
                    yield optuna.load_study(study_name=name, storage=storage)

    def failures(self) -> Failures:
        """Turns what goes wrong in the database into a diagnostic."""
        return Failures(self)

    def _unusable(self, error: Exception) -> Exception:
        driver = _missing_driver(error)
        first = str(error).strip().partition("\n")[0]
        why = f"its driver `{driver}` is not installed" if driver else first
        install = (f"install it here: pip install {driver}",) if driver else ()
        return user_error(
            "WV0830",
            f"the store `{self.shown}` cannot be used: {why}",
            help=(
                *install,
                f"name another: `--store`, or {VARIABLE}",
                f"{VARIABLE}={OFF} compiles without measurements",
            ),
        )


class Failures:
    """A block in which errors of the database become WV0830."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> None:
        """Nothing happens."""

    def __exit__(self, _kind: object, error: BaseException | None, _at: object) -> None:
        """Turn an error of the database into the diagnostic.

        Raises:
            UserError: WV0830.
        """
        if isinstance(error, Exception) and _is_of_database(error):
            raise self._store._unusable(error) from error  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its own block


def _is_of_database(error: Exception) -> bool:
    from optuna.exceptions import StorageInternalError  # noqa: PLC0415 - as above
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - as above

    # Optuna says by a RuntimeError that tables are of another version, and by an
    # ImportError that a driver is missing.
    kinds = StorageInternalError, SQLAlchemyError, RuntimeError, ImportError
    return isinstance(error, kinds)


def _missing_driver(error: Exception) -> str | None:
    """The module that the kind of database needs; Optuna does not say which it is."""
    cause = error.__cause__ or error.__context__
    return cause.name if isinstance(cause, ModuleNotFoundError) else None


@lru_cache(maxsize=4)
def _open(store: Store) -> RDBStorage:
    """The storage, opened once a process: that takes longer than to ask it."""
    from optuna.storages import RDBStorage  # noqa: PLC0415 - as above

    with store.failures(), warnings.catch_warnings():
        # Signs of life are an experiment of Optuna's.
        warnings.simplefilter("ignore")
        return RDBStorage(
            store.url, heartbeat_interval=HEARTBEAT_S, grace_period=GRACE_S
        )


def drop_lost(study: Study) -> None:
    """Mark the trials of which nothing is heard any more: they will be done again."""
    import optuna  # noqa: PLC0415 - as above

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optuna.storages.fail_stale_trials(study)


def store_of(
    text: str | None = None, environ: Mapping[str, str] = os.environ
) -> Store | None:
    """The store that a user names, or the environment, or the platform's.

    Args:
        text: A URL, the path of a file, or ``off``.
        environ: Where the environment is read.

    Returns:
        ``None`` where nothing is to be kept.

    Raises:
        UserError: WV0830 for text that is no URL.
    """
    given = text or environ.get(VARIABLE, "")
    if given == OFF:
        return None
    if not given:
        from platformdirs import user_data_path  # noqa: PLC0415 - where nobody says

        given = str(user_data_path("wave", appauthor=False) / "tune.sqlite3")
    return Store(_url(given))


def _url(given: str) -> str:
    if "://" not in given:
        return f"{SQLITE}{Path(given).expanduser().absolute()}"
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - as above
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - as above

    try:
        make_url(given)
    except ArgumentError as error:
        raise user_error(
            "WV0830",
            f"`{given}` names no store: {error}",
            help="a path, or a URL such as `postgresql://host/wave`",
        ) from error
    return given


def _prefix(key: str) -> str:
    return f"wave-tune/{FORMAT}/{key}/"


def measured_on(study: Study) -> str:
    """The device that a study is about."""
    found: Any = study.user_attrs
    return str(found.get("on", ""))
