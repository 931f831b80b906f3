"""Kernels of the examples, made to take wave size and instruction from the target."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module

from programs import PROGRAMS

import wave_core.lang as language
from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.constraints import HardwareConstraint

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")
LARGE_ONLY = {"attention-large", "attention-mixed"}
"""Programs that are about one instruction of MI200 and later."""

NAMES = tuple(name for name in PROGRAMS if name not in LARGE_ONLY)
MACHINE_AMDGPU = 224


class RecordedError(Exception):
    """What an example asked to be compiled."""

    def __init__(self, options, kernel):
        super().__init__("recorded")
        self.options = options
        self.kernel = kernel


def asked_for(name, monkeypatch):
    """The options and the kernel that an example compiles."""

    def record(options, kernel):
        raise RecordedError(options, kernel)

    program = PROGRAMS[name]
    module = import_module(program.script)
    monkeypatch.setattr(language, "wave_compile", record)
    if hasattr(module, "mfma_variant"):
        monkeypatch.setattr(module, "mfma_variant", (None, None))
    arguments = program.arguments(module)
    if program.script == "attention":
        arguments["mfma_variant"] = (None, None)
    try:
        module.build(**arguments)
    except RecordedError as found:
        return found.options, for_any_machine(found.kernel)
    raise AssertionError(f"{name} compiles nothing")


def for_any_machine(kernel):
    """The kernel with a hardware constraint that names no machine."""
    rows = [
        replace(row, threads_per_wave=None, mma_type=None)
        if isinstance(row, HardwareConstraint)
        else row
        for row in kernel.constraints
    ]
    return replace(kernel, constraints=tuple(rows))


def open_session():
    """A session that compiles afresh and says nothing."""
    return Session(config=Config(cache=False), announce=lambda _: None)


def case_of(session, name, target, settings=None):
    """The options and the kernel of a case of the library."""
    case = make_case(
        session.plugins.load_kernel(name), name, {}, settings or {}, target
    )
    return case.options, case.kernel


def compiled(session, kernel, target, form="asm", subs=None, **options):
    """One file of a form: text, or bytes for ``hsaco``."""
    given = WaveCompileOptions(subs=subs or {}, target=target, **options)
    return emitted(session, given, kernel, form)


def emitted(session, options, kernel, form="asm"):
    """As `compiled`, with the options ready."""
    files = emit(options, kernel, form, session).files
    if form == "hsaco":
        return files["code.hsaco"]
    (text,) = files.values()
    return text.decode()


def is_elf(code):
    """Whether bytes are an ELF file for these machines."""
    machine = int.from_bytes(code[18:20], "little")
    return code[:4] == b"\x7fELF" and machine == MACHINE_AMDGPU


def number(assembly, name):
    """A number of the metadata of the code object."""
    found = re.search(rf"\.{name}:\s+(\d+)", assembly)
    return 0 if found is None else int(found.group(1))


def instructions(assembly):
    """The mnemonics in order."""
    return [
        line.split()[0]
        for line in assembly.splitlines()
        if line.startswith("\t") and not line.startswith("\t.")
    ]
