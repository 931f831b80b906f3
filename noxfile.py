"""Everything that a developer or CI runs: `python -m nox -l` lists it.

Each session says which risk it covers. The packages and the Python versions are read
from the workspace. Every installation is constrained by deps/tested.txt.

Installing torch takes the longest, so most sessions share the environment `workspace`:
they name it with `requires` and run programs from it. Those that need one of their own
require `stock` and install from its files. `nox -R -s tests` skips installing when no
dependency changed.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

import workspace as ws  # noqa: E402  (tools/ is importable only from here on)

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "imports", "types", "size", "tests"]

PACKAGES = ws.packages()
PYTHONS = nox.project.python_versions(ws.closure(PACKAGES[0])[0].pyproject)
ENVIRONMENTS = ROOT / ".nox"
STOCK = ENVIRONMENTS / "stock"
OUT = ROOT / "out"
BIN = "Scripts" if os.name == "nt" else "bin"

# What `nox -s demo` runs, in this order, with the programs of the workspace.
DEMO = (("python", "examples/gemm.py", "--demo", "--out", str(OUT)),)

TEST_TOOLS = ("pytest-xdist",)
CHECK_TOOLS = ("codespell", "import-linter", "mkdocs-material", "ruff", "towncrier")
BUILD_TOOLS = ("hatchling",)
# pyright runs on node; where there is none, a wheel brings it.
TYPE_TOOLS = ("pyright",) if shutil.which("node") else ("pyright[nodejs]",)


def install(session: nox.Session, *arguments: str) -> None:
    """Install the tested versions of what is asked for."""
    session.install("-c", str(ws.TESTED), *arguments)


def install_from_stock(session: nox.Session, *arguments: str) -> None:
    """Install the tested versions of what is asked for, in about a second.

    The files of an environment are links to one copy that all of them share: torch
    alone has 1.4 GB, and a run of CI makes an environment for every package.
    """
    uv = shutil.which("uv", path=STOCK / BIN)
    if uv is None:
        session.error("uv is not in stock: run it without -R")
    files = ("--no-index", "--find-links", str(STOCK / "wheels"))
    place = ("--python", session.virtualenv.location)
    copy = {"UV_CACHE_DIR": str(STOCK / "unpacked")}
    what = (*place, *files, "-c", str(ws.TESTED), *arguments)
    session.run_install(uv, "pip", "install", "--quiet", *what, env=copy, external=True)


def editable(packages: tuple[ws.Package, ...]) -> list[str]:
    """What installs packages of this repository so that edits take effect at once.

    The environment needs BUILD_TOOLS before that.
    """
    paths = [part for each in packages for part in ("-e", each.installable)]
    return ["--no-build-isolation", *paths]


def shared(session: nox.Session, environment: str, *command: str) -> None:
    """Run a program of a shared environment; its processes keep their bytecode.

    Where the caller forbids that, each of the tests' processes would compile anew
    what it imports.
    """
    program = shutil.which(command[0], path=ENVIRONMENTS / environment / BIN)
    if program is None:
        session.error(f"{command[0]} is not in {environment}: run it without -R")
    keeping = {"PYTHONDONTWRITEBYTECODE": ""}
    session.run(program, *command[1:], env=keeping, external=True)


def pytest(session: nox.Session, *arguments: str) -> None:
    """Run tests in the workspace environment; what follows `--` comes last."""
    shared(session, "workspace", "pytest", *arguments, *session.posargs)


# ------------------------------------------------------------------ environments


@nox.session(default=False)
def workspace(session: nox.Session) -> None:
    """Environment: all packages, editable, with what tests and types need."""
    install(session, *BUILD_TOOLS)
    wanted = (*ws.foreign_requirements(), *TEST_TOOLS, *TYPE_TOOLS, "towncrier")
    install(session, *editable(PACKAGES), *wanted)


@nox.session(default=False)
def stock(session: nox.Session) -> None:
    """Environment: uv, and the files of whatever packages and their tests ask for.

    pip gets the files, as it alone knows where some machines keep theirs.
    """
    install(session, "uv")
    wanted = (*ws.foreign_requirements(), *TEST_TOOLS, *BUILD_TOOLS)
    getting = ("python", "-m", "pip", "wheel", "-w", str(STOCK / "wheels"))
    session.run_install(*getting, "-c", str(ws.TESTED), *wanted)


@nox.session(default=False)
def checks(session: nox.Session) -> None:
    """Environment: the tools that read source without importing it; no torch."""
    install(session, *CHECK_TOOLS)


# -------------------------------------------------------------------------- users


@nox.session(python=False, requires=["workspace"])
def demo(session: nox.Session) -> None:
    """Risk: a newcomer sees nothing run. The GEMM, from source to checked result."""
    OUT.mkdir(exist_ok=True)
    for command in DEMO:
        shared(session, "workspace", *command, *session.posargs)


# -------------------------------------------------------------------------- tests


@nox.session(python=False, requires=["workspace"])
def tests(session: nox.Session) -> None:
    """Risk: wrong results. Every test of every package and of tests/."""
    pytest(session, "-n", "2")


@nox.session(requires=["stock"])
@nox.parametrize("package", [nox.param(each, id=each.name) for each in PACKAGES])
def tests_isolated(session: nox.Session, package: ws.Package) -> None:
    """Risk: an undeclared dependency. One package, only what it declares installed.

    Results are for `tests`: here run the cases that show what the tests import, which
    `that_show_needs` in tools/covering.py chooses.
    """
    install_from_stock(session, *BUILD_TOOLS)
    others = {each.name for each in PACKAGES}
    asked = package.test_requirements
    wanted = [r for r in asked if ws.requirement_name(r) not in others]
    packages = editable(ws.closure(package))
    install_from_stock(session, *packages, *wanted, *TEST_TOOLS)
    tests = ("-n", "2", "--needs", str(package.tests))
    session.run("pytest", *tests, *session.posargs)


@nox.session(python=PYTHONS, default=False)
def tests_python(session: nox.Session) -> None:
    """Risk: a Python version that we promise and do not run. Needs that Python."""
    workspace.func(session)
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session(default=False)
def newest(session: nox.Session) -> None:
    """Risk: a release of a dependency breaks us. The newest versions we allow."""
    test_with_versions(session, {})


@nox.session(default=False)
def lowest(session: nox.Session) -> None:
    """Risk: a range that lies. The lowest declared version of every dependency."""
    test_with_versions(session, ws.lowest(ws.foreign_requirements()))


def test_with_versions(session: nox.Session, versions: dict[str, str]) -> None:
    """Run all tests with `versions`, the rest as new as pip finds; torch as tested.

    An installation of torch is gigabytes, so its version is the one of deps/tested.txt.
    """
    exact = versions | {"torch": ws.pins()["torch"]}
    constraints = Path(session.create_tmp()).resolve() / "versions.txt"
    rows = (f"{name}=={version}\n" for name, version in sorted(exact.items()))
    constraints.write_text("".join(rows), encoding="utf-8")
    session.install(*BUILD_TOOLS)
    wanted = (*editable(PACKAGES), *ws.foreign_requirements(), *TEST_TOOLS)
    session.install("--upgrade", "-c", str(constraints), *wanted)
    session.run("python", "-m", "pip", "list")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session(python=False, requires=["workspace"])
def fuzz(session: nox.Session) -> None:
    """Risk: what nobody thought of. The random searches, at their full length."""
    pytest(session, "-n", "2", "-m", "fuzz", "--timeout", "3600")


@nox.session(python=False, requires=["workspace"])
def bench(session: nox.Session) -> None:
    """Risk: it got slow. Each script of benchmarks/ measures and checks its budget."""
    for script in sorted((ROOT / "benchmarks").glob("bench_*.py")):
        shared(session, "workspace", "python", str(script), *session.posargs)


@nox.session(default=False, requires=["workspace"])
def peers(session: nox.Session) -> None:
    """Risk: we are slow and do not know it. Triton's code beside ours, by the model."""
    folder = ROOT / "benchmarks" / "peers"
    session.install("-r", str(folder / "requirements.txt"))
    triton = str(shutil.which("python", path=session.bin))
    command = ("python", str(folder / "compare.py"), "--triton", triton)
    shared(session, "workspace", *command, *session.posargs)


# ------------------------------------------------------------------------- checks


@nox.session(python=False, requires=["checks"])
def lint(session: nox.Session) -> None:
    """Risk: reviews about form. Ruff, spelling, changelog fragments."""
    shared(session, "checks", "ruff", "check", ".")
    shared(session, "checks", "ruff", "format", "--check", ".")
    shared(session, "checks", "codespell")
    shared(session, "checks", "python", "tools/check_changes.py", *session.posargs)


@nox.session(python=False, requires=["checks"])
def imports(session: nox.Session) -> None:
    """Risk: layers that tangle. The import rules of ARCHITECTURE.md, as contracts."""
    paths = os.pathsep.join(str(package.source.parent) for package in PACKAGES)
    session.env["PYTHONPATH"] = paths
    shared(session, "checks", "lint-imports", "--no-cache")


@nox.session(python=False, requires=["workspace"])
def types(session: nox.Session) -> None:
    """Risk: a type that lies. Pyright, strict on src and tools, standard on tests."""
    python = str(shutil.which("python", path=ENVIRONMENTS / "workspace" / BIN))
    for project in ("pyproject.toml", "tests/pyrightconfig.json"):
        shared(session, "workspace", "pyright", "-p", project, "--pythonpath", python)


@nox.session(python=False)
def size(session: nox.Session) -> None:
    """Risk: functions and files that nobody reads any more. The size budget."""
    session.run(sys.executable, "tools/size_report.py", "--check")


@nox.session(python=False, requires=["workspace", "checks"])
def docs(session: nox.Session) -> None:
    """Risk: pages that lead nowhere. Links, reference, gallery, the site with search.

    `-- --gallery all` draws every kernel, in minutes.
    """
    shared(session, "workspace", "python", "tools/site_source.py", *session.posargs)
    shared(session, "workspace", "python", "tools/check_links.py")
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    shared(session, "checks", "mkdocs", "build", "--strict", "--quiet")


# ------------------------------------------------------------ what others receive


@nox.session(reuse_venv=False, requires=["stock"])
def third_party(session: nox.Session) -> None:
    """Risk: only we can extend Wave. Plugins from outside, installed and tested.

    They are the example, and what `wave init` writes.
    """
    install_from_stock(session, *BUILD_TOOLS)
    install_from_stock(session, *editable(PACKAGES))
    place = Path(session.create_tmp()).resolve()
    started = [place / name for name in ("my-kernels", "my-pass")]
    for folder in started:
        shutil.rmtree(folder, ignore_errors=True)
        session.run("wave", "init", folder.name, "-o", str(place))
    for project in (ROOT / "examples" / "third-party-pass", *started):
        tools = ("pytest", "pytest-timeout")
        install_from_stock(session, "--no-build-isolation", str(project), *tools)
        session.run("pytest", str(project), *session.posargs)


@nox.session(reuse_venv=False, requires=["stock"])
def wheels(session: nox.Session) -> None:
    """Risk: works here, broken installed. Build, install in a fresh place, smoke."""
    build_and_install(session, PACKAGES, Path(session.create_tmp()).resolve())


def build_and_install(
    session: nox.Session, packages: tuple[ws.Package, ...], dist: Path
) -> None:
    """Make wheels of packages, and try them where nothing else is installed."""
    install(session, *BUILD_TOOLS)
    for package in packages:
        with session.chdir(package.directory):
            session.run("hatchling", "build", "-d", str(dist))
    built = {p.name: str(next(dist.glob(f"{p.module}-*.whl"))) for p in packages}
    light = [package for package in packages if not package.project["dependencies"]]
    for package in light:
        install(session, "--no-index", built[package.name])
        session.run("python", "-c", f"import {package.module}")
    install_from_stock(session, *built.values())
    session.run("python", "-m", "pip", "check")
    for package in packages:
        session.run("python", "-c", f"import {package.module}")
    session.run("wave", "plugins")


@nox.session(default=False, reuse_venv=False, requires=["workspace", "checks", "stock"])
def release(session: nox.Session) -> None:
    """Risk: a release that nobody tried. `-- wave-core=0.2.0`, or `-- all=0.2.0`.

    Versions, ranges and changelogs are written into a copy, and wheels of it are built
    and installed; `--write` then writes them here too. Nothing is uploaded.
    """
    words = [word for word in session.posargs if word != "--write"]
    place = Path(session.create_tmp()).resolve()
    copy, dist = place / "checkout", OUT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    prepare = ("checks", "python", "tools/release.py")
    shared(session, *prepare, *words, "--into", str(copy))
    agree = str(copy / "tests" / "architecture" / "test_packages.py")
    shared(session, "workspace", "pytest", "-q", "--rootdir", str(copy), agree)
    build_and_install(session, ws.packages(copy), dist)
    if len(words) < len(session.posargs):
        shared(session, *prepare, *words)
    else:
        session.log(f"tried, with wheels in {dist}; add `--write` to release it")


@nox.session(default=False, python=False, requires=["checks"])
def changelog(session: nox.Session) -> None:
    """What the next release of each package would say; changes nothing."""
    config = str(ROOT / "pyproject.toml")
    for package in PACKAGES:
        names = ("--name", package.name, "--version", package.project["version"])
        where = ("--config", config, "--dir", str(package.directory))
        shared(session, "checks", "towncrier", "build", "--draft", *where, *names)
