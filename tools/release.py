"""Prepare a release of some packages: versions, ranges, changelogs.

    python tools/release.py wave-core=0.2.0 wave-view=0.1.1
    python tools/release.py all=0.2.0 --home https://HOST/OWNER/NAME --into DIRECTORY

Everything is checked before anything is written. With `--into` a copy of the checkout
is changed in place of the checkout itself. `--home` is the address of the repository,
from which each package gets its `[project.urls]`; without them it is not released, and
of a copy there is a warning. Nothing is committed, tagged or uploaded: what is left to
do is printed. `nox -s release` tries it first.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import project_urls
import workspace as ws

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ALL = "all"
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_RELEASED = re.compile(r"^## \S+ (?P<version>\d+\.\d+\.\d+) ", re.MULTILINE)
_LEFT = """\
Left to do, once `git diff` reads well:

  git commit -am "release: {names}"
  .ci/run
{tags}
  git push --follow-tags

and to upload, of what `nox -s release` leaves in out/dist:

{files}
"""
#: Characters of a commit's subject, less those of its area.
_SUBJECT = 72 - len("release: ")

Version = tuple[int, ...]


class RefusedError(ValueError):
    """What was asked for cannot be released; a sentence for each reason."""


def asked(words: Iterable[str], packages: Sequence[ws.Package]) -> dict[str, Version]:
    """Package -> version, of words such as `wave-core=0.2.0`.

    Raises:
        RefusedError: for another form, a package that is not there, or one named twice.
    """
    known = [package.name for package in packages]
    found: dict[str, Version] = {}
    for word in words:
        name, _, text = word.partition("=")
        if not _VERSION.fullmatch(text):
            message = f"`{word}`: write PACKAGE=X.Y.Z, or {ALL}=X.Y.Z"
            raise RefusedError(message)
        if name != ALL and name not in known:
            message = f"`{name}` is no package; they are {', '.join(known)}"
            raise RefusedError(message)
        for each in known if name == ALL else [name]:
            if found.setdefault(each, numbers(text)) != numbers(text):
                message = f"`{each}` has two versions"
                raise RefusedError(message)
    return found


def numbers(version: str) -> Version:
    """A version that can be compared."""
    return tuple(int(part) for part in version.split("."))


def text_of(version: Version) -> str:
    """A version as it is written."""
    return ".".join(map(str, version))


def range_of(version: Version) -> str:
    """Versions that do for who works with this one: before 1.0 a minor may break."""
    major, minor, _ = version
    return f">={major},<{major + 1}" if major else f">=0.{minor},<0.{minor + 1}"


def admits(wanted: str, version: Version) -> bool:
    """Whether a requirement on one of our packages, `>=A,<B`, holds for a version."""
    bounds = re.search(r">=([\d.]+),<([\d.]+)", wanted)
    return bounds is None or numbers(bounds[1]) <= version < numbers(bounds[2])


def problems(
    packages: Sequence[ws.Package], new: Mapping[str, Version]
) -> Iterator[str]:
    """A sentence for each reason not to release these versions."""
    for package in packages:
        if package.name in new:
            yield from _own_problems(package, new[package.name])
            continue
        for wanted in package.requirements:
            version = new.get(ws.requirement_name(wanted))
            if version is not None and not admits(wanted, version):
                told = f"{ws.requirement_name(wanted)} {text_of(version)}"
                yield f"{package.name} asks for {wanted}: release it with {told}"


def _own_problems(package: ws.Package, version: Version) -> Iterator[str]:
    log = (package.directory / "CHANGELOG.md").read_text(encoding="utf-8")
    released = [numbers(found) for found in _RELEASED.findall(log)]
    if released and version <= max(released):
        yield f"{package.name} {text_of(max(released))} is released already"
    elif version < numbers(package.project["version"]):
        yield f"{package.name} is at {package.project['version']} already"
    fragments = {p.name for p in (package.directory / "changes").glob("*.md")}
    if fragments <= {"README.md"}:
        yield f"{package.name} has no changes to tell of"


def prepare(
    root: Path,
    words: Sequence[str],
    *,
    home: str | None = None,
    date: str | None = None,
) -> str:
    """Write the release into a checkout; returns what is left to do.

    Args:
        root: The checkout.
        words: PACKAGE=X.Y.Z, each.
        home: The address of the repository, for the packages that are released.
        date: Of the changelogs; today's by default.

    Raises:
        RefusedError: and nothing was written.
    """
    packages = ws.packages(root)
    new = asked(words, packages)
    if refused := list(problems(packages, new)):
        raise RefusedError("\n".join(refused))
    if home is not None:
        _write_urls(packages, new, home)
    for path in _files(root):
        text = path.read_text(encoding="utf-8")
        changed = with_ranges(text, new)
        if changed != text:
            path.write_text(changed, encoding="utf-8")
    for package in packages:
        if package.name in new:
            _set_version(package, text_of(new[package.name]))
            _write_changelog(root, package, text_of(new[package.name]), date)
    return left_to_do(new)


def _files(root: Path) -> list[Path]:
    """The files that name ranges of our packages."""
    patterns = ("packages/*/pyproject.toml", "packages/*/README.md")
    examples = ("examples/*/pyproject.toml", "docs/**/*.md")
    return sorted(p for each in (*patterns, *examples) for p in root.glob(each))


def with_ranges(text: str, new: Mapping[str, Version]) -> str:
    """A text whose ranges of our packages admit the new versions."""
    for name, version in new.items():
        ranges = re.compile(rf"\b({re.escape(name)}(?:\[[\w,-]+\])?)(>=[\d.]+,<[\d.]+)")
        text = ranges.sub(
            lambda found, to=version: (
                found[0] if admits(found[2], to) else found[1] + range_of(to)
            ),
            text,
        )
    return text


def _set_version(package: ws.Package, version: str) -> None:
    """Where the version stands: in pyproject.toml, and in some modules."""
    initial = package.source / "__init__.py"
    for path, name in (
        (package.directory / "pyproject.toml", "version"),
        (initial, "__version__"),
    ):
        line = re.compile(rf'^{name} = ".*"$', re.MULTILINE)
        text = path.read_text(encoding="utf-8")
        path.write_text(line.sub(f'{name} = "{version}"', text, 1), encoding="utf-8")


def _write_urls(
    packages: Sequence[ws.Package], new: Mapping[str, Version], home: str
) -> None:
    """Say in each package that is released where its home is."""
    for package in packages:
        if package.name in new:
            path = package.directory / "pyproject.toml"
            text = path.read_text(encoding="utf-8")
            changed = project_urls.with_urls(text, package.name, home)
            path.write_text(changed, encoding="utf-8")


def _write_changelog(
    root: Path, package: ws.Package, version: str, date: str | None
) -> None:
    """Move the fragments of a package into its changelog."""
    command = [sys.executable, "-m", "towncrier", "build", "--yes"]
    command += ["--config", str(root / "pyproject.toml"), "--dir"]
    command += [str(package.directory), "--name", package.name, "--version", version]
    printed(root, *command, *(["--date", date] if date else []))


def left_to_do(new: Mapping[str, Version]) -> str:
    """What the maintainer does next."""
    released = {name: text_of(version) for name, version in sorted(new.items())}
    names = ", ".join(f"{name} {version}" for name, version in released.items())
    names = names if len(names) <= _SUBJECT else f"{len(new)} packages"
    tags = "\n".join(f"  git tag -a {n}-v{v} -m '{n} {v}'" for n, v in released.items())
    files = "\n".join(f"  {n.replace('-', '_')}-{v}*" for n, v in released.items())
    return _LEFT.format(names=names, tags=tags, files=files)


def copy_tracked(root: Path, to: Path) -> None:
    """A fresh copy of what git tracks, as it is in the working tree."""
    shutil.rmtree(to, ignore_errors=True)
    for name in printed(root, "git", "ls-files", "-z").split("\0"):
        source = root / name
        if name and source.is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to / name, follow_symlinks=False)


def printed(root: Path, *command: str) -> str:
    """What a program prints.

    Raises:
        RefusedError: where it fails.
    """
    done = subprocess.run(command, cwd=root, check=False, capture_output=True)
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace")
        message = f"{' '.join(command)} fails:\n{said}"
        raise RefusedError(message)
    return done.stdout.decode()


def homeless(
    packages: Sequence[ws.Package], words: Sequence[str], home: str | None
) -> str | None:
    """Which of the packages to release would not say where their home is, if any."""
    new = asked(words, packages) if home is None else {}
    without = [
        package.name
        for package in packages
        if package.name in new and not project_urls.has_urls(package)
    ]
    if not without:
        return None
    return f"give the repository's address by --home: {', '.join(without)} have none"


def _prepared(arguments: argparse.Namespace) -> str:
    words, into, home = arguments.release, arguments.into, arguments.home
    if home is not None and not project_urls.is_home(home):
        message = f"`{home}` is no repository's address: --home https://HOST/OWNER/NAME"
        raise RefusedError(message)
    if told := homeless(ws.packages(), words, home):
        if into is None:
            raise RefusedError(told)
        print(f"warning: {told}", file=sys.stderr)
    if into is not None:
        copy_tracked(ws.ROOT, into)
        prepare(into, words, home=home, date=arguments.date)
        return f"prepared in {into}"
    if changed := printed(ws.ROOT, "git", "status", "--porcelain"):
        message = f"commit first: a release is a commit of its own\n{changed}"
        raise RefusedError(message)
    return prepare(ws.ROOT, words, home=home, date=arguments.date)


def main() -> int:
    """Prepare the release, and say what is left to do or why it is refused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("release", nargs="+", help="PACKAGE=X.Y.Z, or all=X.Y.Z")
    parser.add_argument("--home", help="the repository: https://HOST/OWNER/NAME")
    parser.add_argument("--into", type=Path, help="folder for a copy to change instead")
    parser.add_argument("--date", help="of the changelogs; today's by default")
    try:
        print(_prepared(parser.parse_args()))
    except RefusedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
