"""The reference pages, from the declarations of what is installed.

    python tools/generate_reference.py [--out out/site-source/docs/reference]

Needs the packages of this repository. The same packages give the same pages, byte by
byte; nothing in them is written by hand. Their links lead to pages of the site.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer.main

import wave_core.constraints as constraint_module
import workspace
from doc_text import code, codes, fields_of, first_sentence, markdown, table
from language_page import language_page, signature
from op_tables import op_tables
from wave_core.cli.app import app
from wave_core.compile import Config, option_table
from wave_core.constraints import Constraint
from wave_core.lang.absent import INSTEAD
from wave_core.ops.base import FieldKind
from wave_core.ops.elementwise import Elementwise
from wave_core.passes import InstalledPass, load_pass
from wave_core.passes.literal import print_value
from wave_core.passes.options import (
    describe_type,
    option_fields,
    option_name,
    option_types,
    to_text_value,
)
from wave_core.passes.resolve import resolve
from wave_core.plugin import Fact, Phase, PluginHost, WaveSpecs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from op_tables import OpTable
    from wave_core.compile.option_rows import OptionRow
    from wave_core.ops.base import Op
    from wave_core.passes import Pass

OUT = workspace.ROOT / "out" / "site-source" / "docs" / "reference"
_VARIABLE = re.compile(r"WAVE_[A-Z_]+")
_GENERATED = "This page is generated from the declarations in the code."

#: What the first two digits of a code say.
_FAMILIES = {
    "WV01": "Tracing",
    "WV02": "Types",
    "WV03": "Constraints and distribution",
    "WV04": "Memory and layout",
    "WV05": "Scheduling",
    "WV06": "Lowering",
    "WV07": "Target and launch",
    "WV08": "Plugins, pipeline and options",
    "WV09": "Simulation",
    "WV99": "Faults of Wave itself",
}


# ----------------------------------------------------------------------------- ops


def ops_page(host: PluginHost) -> str:
    """Every op with its fields."""
    parts = [
        "# Ops\n",
        (
            "The ops of the IR by name. A kernel author calls the functions of"
            " [`wave_core.lang`](language.md); passes and backends see these.\n"
        ),
    ]
    parts += [_op(cls) for _, cls in sorted(host.op_classes.items())]
    return "\n".join(parts)


def _op(cls: type[Op]) -> str:
    parts = [f"## `{cls.op_name}`\n", markdown(cls.__doc__)]
    if issubclass(cls, Elementwise):
        parts.append(f"{markdown(Elementwise.__doc__)}")
    if cls.traits:
        parts.append(f"Traits: {codes(sorted(t.value for t in cls.traits))}.\n")
    rows = [
        (
            code(field.name),
            field.kind.value,
            "" if field.required else code(repr(field.default)),
            field.help,
        )
        for field in cls.fields
        if field.kind is not FieldKind.REGION
    ]
    if rows:
        parts.append(table(("field", "kind", "default", "meaning"), rows))
    return "\n".join(parts)


# ------------------------------------------------------------------------ backends


def backends_page(host: PluginHost) -> str:
    """Which op runs where, and why not elsewhere."""
    tables = op_tables(host)
    reasons: list[str] = []
    rows = [
        (code(name), *(_cell(found, cls, reasons) for found in tables.values()))
        for name, cls in sorted(host.op_classes.items())
    ]
    notes = [f"{position}. {text}" for position, text in enumerate(reasons, start=1)]
    others = ((code(name), instead) for name, instead in INSTEAD.items())
    parts = [
        "# Ops by backend\n",
        (
            "What the simulators execute and the backends lower; a number is the"
            " reason why not, or what is left out. Most ops without a rule are gone"
            " before: passes of the pipeline replace them.\n"
        ),
        table(("op", *map(code, tables)), rows),
        "## Reasons\n",
        "\n".join([*notes, ""]),
        "## Names of other languages\n",
        "What to write where the language has no such name; using one is `WV0119`.\n",
        table(("name", "write"), others),
    ]
    return "\n".join(parts)


def _cell(found: OpTable, cls: type[Op], reasons: list[str]) -> str:
    word = "yes" if found.lowers(cls) else "no"
    reason = found.reason(cls)
    if reason is None:
        return word if word == "yes" else "no, and nobody says why"
    if reason not in reasons:
        reasons.append(reason)
    return f"{word} ({reasons.index(reason) + 1})"


# --------------------------------------------------------------------- constraints


def constraints_page(host: PluginHost) -> str:
    """Every constraint with its arguments."""
    del host
    parts = ["# Constraints\n"]
    for name, cls in constraint_classes().items():
        shown = inspect.signature(cls)
        own = [p for p in shown.parameters.values() if p.name not in _INHERITED]
        bare = signature(name, cls) if not own else _signature_of(name, own)
        parts.append(f"## `{name}`\n\n{bare}\n{markdown(cls.__doc__)}")
    return "\n".join(parts)


_INHERITED = frozenset({"obligations", "location"})


def _signature_of(name: str, parameters: list[inspect.Parameter]) -> str:
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return f"```python\n{name}{inspect.Signature(plain)}\n```\n"


def constraint_classes() -> dict[str, type[Constraint]]:
    """The constraints that authors write, by name."""
    found = ((n, getattr(constraint_module, n)) for n in dir(constraint_module))
    return {
        name: value
        for name, value in found
        if inspect.isclass(value)
        and issubclass(value, Constraint)
        and value is not Constraint
    }


# ------------------------------------------------------------------------- options


def options_page(host: PluginHost) -> str:
    """Every option of compilation, and the package that gives it its meaning."""
    rows = [
        (
            code(row.name),
            row.owner,
            code(row.type),
            code(repr(row.default)),
            _meaning(host, row),
        )
        for row in option_table()
    ]
    columns = ("option", "package", "type", "default", "meaning")
    parts = [
        "# Compile options\n",
        (
            "Fields of `WaveCompileOptions`. One whose package is not installed is"
            " refused with `WV0824`.\n"
        ),
        table(columns, rows),
    ]
    declared = [
        (code(n), each.value.package, each.value.help)
        for n, each in host.option_specs.items()
    ]
    if declared:
        parts += ["## Of plugins\n", table(("option", "package", "meaning"), declared)]
    return "\n".join(parts)


def _meaning(host: PluginHost, row: OptionRow) -> str:
    """What an option means, said by who declares it."""
    name, _, option = row.setting.partition(".")
    if not name:
        known = host.option_specs
        return row.summary or known[row.name].value.help
    if not option:
        return f"{code(name)} runs: {host.pass_specs[name].value.summary}"
    step = load_pass(InstalledPass(host.pass_specs[name].value, name))
    said = option_fields(step)[option].summary
    return f"{code(f'{name}.{option_name(option)}')}: {said}"


def environment_page(host: PluginHost) -> str:
    """The environment variables."""
    del host
    rows = [
        (code(_VARIABLE.findall(t)[0]), t) for t in fields_of(Config.__doc__).values()
    ]
    parts = [
        "# Environment variables\n",
        (
            "Read once for each session. A value that means nothing is refused with"
            " `WV0825`.\n"
        ),
        table(("variable", "meaning"), rows),
    ]
    return "\n".join(parts)


# -------------------------------------------------------------------------- passes


def passes_page(host: PluginHost) -> str:
    """Phases, facts, passes and presets."""
    parts = ["# Passes\n", "## Phases\n", _members_table(Phase)]
    parts += ["## Facts\n", _members_table(Fact)]
    pipeline = resolve(host.passes)
    parts.append("## The passes in order\n")
    for entry in pipeline.passes:
        step = load_pass(entry)
        parts.append(_pass(entry.spec, entry.provider, step))
    running = {entry.name for entry in pipeline.passes}
    replaced = [row for row in host.passes if row.name not in running]
    if replaced:
        parts.append("## Passes that others replace\n")
    parts += [_pass(row.spec, row.provider, load_pass(row)) for row in replaced]
    rows = [
        (code(n), each.provider.name, each.value.summary)
        for n, each in host.presets.items()
    ]
    parts += ["## Presets\n", table(("preset", "plugin", "meaning"), rows)]
    return "\n".join(parts)


def _members_table(cls: type[Enum]) -> str:
    """The members of an enumeration with the strings that follow them."""
    lines = [line.strip() for line in inspect.getsource(cls).split("\n")]
    rows = [
        (code(m.value), lines[lines.index(f'{m.name} = "{m.value}"') + 1].strip('"'))
        for m in cls
    ]
    return table(("name", "meaning"), rows)


def _pass(spec: Any, provider: str, step: Pass) -> str:
    facts = ("requires", "provides", "clobbers")
    named = ("after", "before", "replaces")
    rows = [("plugin", provider), ("phase", code(spec.phase))]
    rows += [(k, codes(getattr(spec, k))) for k in named if getattr(spec, k)]
    rows += [(k, codes(sorted(getattr(spec, k)))) for k in facts if getattr(spec, k)]
    options = option_types(type(step)).items()
    rows += [_option_row(step, name, wanted) for name, wanted in options]
    doc = markdown(type(step).__doc__)
    return f"### `{spec.name}`\n\n{doc}\n{table(('', ''), rows)}"


def _option_row(step: Pass, name: str, wanted: Any) -> tuple[str, str]:
    """An option of a pass: type, default and meaning."""
    default = print_value(to_text_value(getattr(step, name)))
    summary = option_fields(step)[name].summary
    kind = describe_type(wanted)
    return f"option {code(option_name(name))}", f"{kind}; {code(default)}: {summary}"


# ------------------------------------------------------------------------ machines


def machines_page(host: PluginHost) -> str:
    """Targets, what runs kernels, and the kernels known by name."""
    parts = ["# Targets, devices, kernels\n", "## Targets\n"]
    parts += [_target(host, name) for name in host.targets]
    devices = [
        (
            code(n),
            each.provider.name,
            each.value.summary,
            codes(sorted(each.value.requires)),
        )
        for n, each in host.executors.items()
    ]
    kernels = [
        (code(n), each.provider.name, each.value.summary)
        for n, each in host.kernels.items()
    ]
    parts += [
        "## Devices\n",
        table(("device", "plugin", "meaning", "needs the facts"), devices),
        "## Kernels\n",
        table(("kernel", "plugin", "meaning"), kernels),
    ]
    return "\n".join(parts)


def _target(host: PluginHost, name: str) -> str:
    target = host.load_target(name)
    memory = target.memory
    rows = [
        (
            "lanes of a wave",
            ", ".join(map(str, target.wave_sizes or (target.wave_size,))),
        ),
        ("threads of a workgroup, at most", str(target.max_workgroup_threads)),
        ("LDS of a workgroup, bytes", str(memory.lds_bytes)),
        ("widest access of a lane, bits", str(memory.max_access_bits)),
        ("line of global memory, bytes", str(memory.cache_line_bytes)),
    ]
    matrix = [
        (
            code(row.name),
            " x ".join(map(str, row.shape)),
            codes(row.operand_dtypes),
            code(row.result_dtype),
            code(row.lhs),
            code(row.rhs),
            code(row.acc),
        )
        for row in target.matrix_instructions
    ]
    columns = ("instruction", "M x N x K", "operands", "result", "lhs", "rhs", "acc")
    head = f"### `{name}`\n\n{target.summary}\n"
    return "\n".join([head, table(("", ""), rows), table(columns, matrix)])


# --------------------------------------------------------------------- diagnostics


def diagnostics_page(host: PluginHost) -> str:
    """Every code: `wave explain` prints the same."""
    rows = [each.value for each in host.diagnostics.values()]
    parts = [
        "# Diagnostic codes\n",
        "`wave explain CODE` prints one of these.\n",
        table(("code", "meaning"), ((_link(r.name), r.title) for r in rows)),
    ]
    family = ""
    for row in rows:
        if row.name[:4] != family:
            family = row.name[:4]
            parts.append(f"## {_FAMILIES[family]}\n")
        text = inspect.cleandoc(row.explanation)
        parts.append(f"### {row.name}\n\n{row.title}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


# --------------------------------------------------------------------------- hooks


def hooks_page(host: PluginHost) -> str:
    """Every hook, with an example."""
    del host
    parts = ["# Hooks\n", markdown(inspect.getmodule(WaveSpecs).__doc__)]
    for name, function in hook_functions().items():
        names = [n for n in inspect.signature(function).parameters if n != "self"]
        head = f"## `{name}({', '.join(names)})`"
        parts.append(f"{head}\n\n{markdown(function.__doc__)}")
    return "\n".join(parts)


def hook_functions() -> Mapping[str, Callable[..., object]]:
    """The declarations of the hooks, in the order of the declaration."""
    found = vars(WaveSpecs).items()
    return {name: value for name, value in found if name.startswith("wave_")}


# ----------------------------------------------------------------------------- cli


def cli_page(host: PluginHost) -> str:
    """The command `wave` and its subcommands."""
    del host
    group: Any = typer.main.get_command(app)
    context = group.context_class(group, info_name="wave")
    parts = [
        "# The command `wave`\n",
        (
            "Exit codes: 0 done, 1 the kernel or the compiler failed, 2 the command"
            " line asks for something that is not there.\n"
        ),
    ]
    for name in group.list_commands(context):
        _, command, _ = group.resolve_command(context, [name])
        rows = [
            (codes(each.opts), getattr(each, "help", "") or "")
            for each in command.params
        ]
        title = f"## `wave {name}`\n\n{first_sentence(command.help)}\n"
        parts.append(f"{title}\n{table(('argument', 'meaning'), rows)}")
    return "\n".join(parts)


# --------------------------------------------------------------------------- pages

PAGES: dict[str, tuple[str, Callable[[PluginHost], str]]] = {
    "language.md": ("what a kernel imports", language_page),
    "ops.md": ("the ops of the IR", ops_page),
    "backends.md": ("which op runs where", backends_page),
    "constraints.md": ("how dimensions spread", constraints_page),
    "options.md": ("options of compilation", options_page),
    "environment.md": ("environment variables", environment_page),
    "passes.md": ("phases, facts, passes, presets", passes_page),
    "machines.md": ("targets, devices, kernels", machines_page),
    "diagnostics.md": ("what each code means", diagnostics_page),
    "hooks.md": ("what plugins implement", hooks_page),
    "cli.md": ("the command line", cli_page),
}


def pages(host: PluginHost) -> Iterator[tuple[str, str]]:
    """Name and text of every page, the index first."""
    rows = [(f"[{name}]({name})", meaning) for name, (meaning, _) in PAGES.items()]
    yield "README.md", f"# Reference\n\n{_GENERATED}\n\n{table(('page', ''), rows)}"
    for name, (_, make) in PAGES.items():
        yield name, f"{make(host).rstrip()}\n\n{_GENERATED}\n"


def generate(out: Path) -> list[Path]:
    """Write all pages into a fresh folder."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    written: list[Path] = []
    for name, text in pages(PluginHost(workspace.plugins())):
        path = out / name
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def main() -> int:
    """Write the pages and say where."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write")
    arguments = parser.parse_args()
    written = generate(arguments.out)
    print(f"{len(written)} pages in {arguments.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
