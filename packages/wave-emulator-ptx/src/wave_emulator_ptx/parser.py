"""PTX text to data (PTX ISA 8.3, sections 4 to 6 and 11)."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from wave_emulator_ptx.errors import DeclarationError
from wave_emulator_ptx.lexer import Word, words
from wave_emulator_ptx.reader import Reader, integer, number
from wave_emulator_ptx.syntax import (
    Address,
    Instruction,
    Kernel,
    Module,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Sum,
    Tuple,
    Variable,
)
from wave_emulator_ptx.types import DECLARED, TYPES, fits

SPACES = frozenset({"shared", "global", "const", "local"})
INITIALISED = frozenset({"global", "const"})
LINKING = frozenset({".visible", ".extern", ".weak", ".common"})
LIMITS = {
    ".maxntid": range(1, 4),
    ".reqntid": range(1, 4),
    ".reqnctapercluster": range(1, 4),
    ".minnctapersm": range(1, 2),
    ".maxnreg": range(1, 2),
    ".maxclusterrank": range(1, 2),
    ".explicitcluster": range(1),
}
"""How many numbers stand behind what a kernel says of its launches. A cluster of one
workgroup is within every rank and explicit."""
VERSION = re.compile(r"[0-9]+\.[0-9]+")
TARGET = re.compile(r"sm_[0-9]+[af]?")
IN_SECTIONS = re.compile(r"\.b(?:8|16|32|64)|[+\-,:]|[\w$][\w$.]*")
"""Words between the braces of a section: numbers, labels and what adds them up."""
MOST_REGISTERS = 1 << 16
"""Of a kernel; each has a word for every thread that is executed."""
MOST_ELEMENTS = (1 << 64) - 1
"""Of an array: no address is beyond. Each extent may be as large, so that the product
of many would be a number that Python does not even print."""
MOST_NESTED = 64
"""Blocks, one within the other."""


def parse(text: str) -> Module:
    """Read a module.

    Raises:
        PtxSyntaxError: EP0101, with the line.
        DeclarationError: EP0104, an array has more elements than there are addresses.
    """
    return _Parser(words(text)).module()


class _Parser(Reader):
    """Reads a module.

    ``_scopes`` renames what inner blocks declare; ``_declared`` are the names of the
    module, of the kernel, and of the blocks within it.
    """

    def __init__(self, found: list[Word]) -> None:
        super().__init__(found)
        self._files = _files(found)
        self._source: str | None = None
        self._used_bytes: int | None = None
        self._scopes: list[dict[str, str]] = []
        self._declared: list[set[str]] = [set()]
        self._renamed = 0

    # ------------------------------------------------------------------ modules

    def module(self) -> Module:
        self._expect(".version")
        version = self._like(VERSION, "a version")
        self._expect(".target")
        module = Module(version, self._like(TARGET, "an architecture, such as sm_90a,"))
        while self._try(","):
            self._kind("name")
        while self._next.kind != "end":
            self._top(module)
        return module

    def _like(self, form: re.Pattern[str], what: str) -> str:
        if form.fullmatch(self._next.text) is None:
            raise self._problem(f"{what} is missing before `{self._next.text}`")
        return self._take().text

    def _top(self, module: Module) -> None:
        if self._try(".address_size"):
            if self._integer() != 64:
                raise self._problem("addresses have to have 64 bits")
        elif self._try(".file"):
            self._file()
        elif self._try(".section"):
            self._skip_section()
        else:
            self._declaration(module)

    def _file(self) -> None:
        self._integer()
        self._kind("string")
        while self._try(","):
            self._integer()

    def _skip_section(self) -> None:
        """Data for debuggers; all else is beyond a brace that is missing."""
        self._take()
        self._expect("{")
        while not self._try("}"):
            if IN_SECTIONS.fullmatch(self._next.text) is None:
                message = f"a section does not end before `{self._next.text}`"
                raise self._problem(message)
            self._take()

    def _declaration(self, module: Module) -> None:
        external = False
        while self._next.text in LINKING:
            external |= self._take().text == ".extern"
        if self._try(".entry"):
            kernel = self._kernel()
            module.kernels[kernel.name] = kernel
        elif self._next.text[1:] in SPACES:
            found = self._variable(external=external)
            self._name(found.name)
            module.variables.append(found)
        elif self._next.text == ".func":
            message = "`.func` is not supported here: have functions inlined"
            raise self._problem(message)
        else:
            raise self._problem(f"`{self._next.text}` is not supported here")

    def _name(self, name: str) -> None:
        """Take a name for what is declared in the innermost block."""
        if name in self._declared[-1]:
            raise self._problem(f"`{name}` is declared already")
        self._declared[-1].add(name)

    # ------------------------------------------------------------------ variables

    def _variable(self, *, external: bool = False) -> Variable:
        """A piece of memory, to its semicolon."""
        found = self._memory(self._kind("directive").text[1:])
        if self._try("="):
            found = self._with_values(found)
        if external and found.space != "shared":
            raise self._problem(f"`{found.name}` is declared elsewhere: link it first")
        if not found.count and not external:
            raise self._problem(f"`{found.name}` has no size")
        self._expect(";")
        return replace(found, external=external and not found.count)

    def _memory(self, space: str) -> Variable:
        """``.align N .type name[count]``; ``.attribute`` is left out."""
        line, align = self._next.line, 0
        while self._next.text in {".align", ".attribute"}:
            if self._take().text == ".align":
                align = self._alignment()
            else:
                self._list_in_parentheses()
        kind = self._type(DECLARED - {"pred"})
        if space == "param" and self._try(".ptr"):
            self._pointee()
        name = self._identifier()
        align, count = align or TYPES[kind].bytes, self._extents(name)
        return Variable(name, space, kind, align, count, line=line)

    def _list_in_parentheses(self) -> None:
        self._expect("(")
        self._list(")", lambda: self._kind("directive"))

    def _type(self, known: frozenset[str]) -> str:
        word = self._next
        if word.text[1:] not in known or word.kind != "directive":
            raise self._problem(f"a type is missing before `{word.text}`")
        return self._take().text[1:]

    def _alignment(self) -> int:
        align = self._natural()
        if align.bit_count() != 1:
            raise self._problem(f"an alignment of {align} bytes is no power of two")
        return align

    def _pointee(self) -> None:
        """What a pointer points at: ``.space .align N``."""
        if self._next.text[1:] in SPACES:
            self._take()
        if self._try(".align"):
            self._alignment()

    def _extents(self, name: str) -> int:
        """Elements of an array; 0 where its only dimension is left open."""
        if not self._try("["):
            return 1
        if self._try("]"):
            return 0
        count = self._positive()
        self._expect("]")
        while self._try("["):
            count *= self._positive()
            if count > MOST_ELEMENTS:
                message = f"`{name}` has more than {MOST_ELEMENTS} elements"
                raise DeclarationError(message, self._next.line)
            self._expect("]")
        return count

    def _with_values(self, variable: Variable) -> Variable:
        """With those behind `=`; an array without a size gets that of its values."""
        if variable.space not in INITIALISED:
            message = f"`{variable.name}`: memory of .{variable.space} has no values"
            raise self._problem(message)
        listed = self._try("{")
        values = self._list("}", self._literal) if listed else [self._literal()]
        if len(values) > (variable.count or len(values)):
            message = f"{len(values)} values for `{variable.name}[{variable.count}]`"
            raise self._problem(message)
        if not all(fits(each, TYPES[variable.type]) for each in values):
            raise self._problem(f"a value of `{variable.name}` is no .{variable.type}")
        count = variable.count or len(values)
        return replace(variable, count=count, values=tuple(values))

    # ------------------------------------------------------------------ kernels

    def _kernel(self) -> Kernel:
        name = self._identifier()
        self._name(name)
        self._declared.append(set())
        parameters = self._list(")", self._parameter) if self._try("(") else []
        kernel = Kernel(name, tuple(parameters))
        while self._next.kind == "directive":
            self._limits(kernel)
        self._block(kernel)
        self._declared.pop()
        return kernel

    def _parameter(self) -> Variable:
        self._expect(".param")
        found = self._memory("param")
        if not found.count:
            raise self._problem(f"`{found.name}` has no size")
        self._name(found.name)
        return found

    def _limits(self, kernel: Kernel) -> None:
        directive = self._take().text
        if directive not in LIMITS:
            raise self._problem(f"`{directive}` is not supported here")
        values: list[int] = []
        while self._next.kind == "number":
            values.append(self._natural())
            self._try(",")
        if len(values) not in LIMITS[directive] or 0 in values:
            raise self._problem(f"`{directive}` takes other numbers")
        if directive in {".maxntid", ".reqntid"}:
            kernel.threads = prod(values)
            kernel.exact = directive == ".reqntid"
        elif directive == ".reqnctapercluster":
            kernel.cluster = prod(values)
        elif directive == ".minnctapersm":
            kernel.residents = prod(values)
        elif directive == ".maxnreg":
            kernel.most_registers = prod(values)

    def _block(self, kernel: Kernel) -> None:
        self._expect("{")
        if len(self._scopes) == MOST_NESTED:
            raise self._problem(f"more than {MOST_NESTED} blocks are nested")
        self._scopes.append({})
        if len(self._scopes) > 1:
            self._declared.append(set())
            self._name_labels()
        while not self._try("}"):
            self._statement(kernel)
        if len(self._scopes) > 1:
            self._declared.pop()
        self._scopes.pop()

    def _statement(self, kernel: Kernel) -> None:
        word = self._next
        if word.text == "{":
            self._block(kernel)
        elif word.text == ".reg":
            self._registers(kernel)
        elif word.text == ".loc":
            self._location()
        elif word.text == ".pragma":
            self._pragma()
        elif word.text[1:] in SPACES and word.kind == "directive":
            found = self._variable()
            kernel.variables.append(replace(found, name=self._define(found.name)))
        elif word.kind == "name" and self._words[self._at + 1].text == ":":
            self._label(kernel)
        else:
            kernel.body.append(self._instruction())

    def _label(self, kernel: Kernel) -> None:
        name = self._next.text
        label = self._resolve(name)
        if label in kernel.labels:
            raise self._problem(f"`{name}` is a label already")
        self._identifier()
        self._expect(":")
        kernel.labels[label] = len(kernel.body)

    def _registers(self, kernel: Kernel) -> None:
        self._take()
        kind = self._type(DECLARED)
        self._list(";", lambda: self._register_names(kernel, kind))

    def _register_names(self, kernel: Kernel, kind: str) -> None:
        """``name``, or ``name<count>`` for that many."""
        name, names = self._identifier(), None
        if self._try("<"):
            count = self._natural()
            self._expect(">")
            names = map(f"{name}{{}}".format, range(count))
            if count + len(kernel.registers) > MOST_REGISTERS:
                message = f"a kernel with more than {MOST_REGISTERS} registers"
                raise self._problem(message)
        for each in names or [name]:
            kernel.registers[self._define(each)] = kind

    def _define(self, name: str) -> str:
        """A name unique in the kernel; an inner block hides those around it."""
        self._name(name)
        if len(self._scopes) == 1:
            return name
        self._renamed += 1
        self._scopes[-1][name] = f"{name}#{self._renamed}"
        return self._scopes[-1][name]

    def _define_once(self, name: str) -> None:
        if name not in self._scopes[-1]:
            self._define(name)

    def _name_labels(self) -> None:
        """Define the labels of an inner block, to which it may branch before them."""
        depth, at = 0, self._at
        while depth >= 0 and at + 1 < len(self._words):
            word = self._words[at]
            depth += (word.text == "{") - (word.text == "}")
            if not depth and word.kind == "name" and self._words[at + 1].text == ":":
                self._define_once(word.text)
            at += 1

    def _resolve(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def _location(self) -> None:
        self._take()
        file, line = self._integer(), self._integer()
        self._integer()
        while self._try(","):
            self._inlined()
        self._source = f"{self._files.get(file, '?')}:{line}" if line else None

    def _pragma(self) -> None:
        """``used_bytes_mask`` holds for the next instruction; others change nothing."""
        self._take()
        for word in self._list(";", lambda: self._kind("string")):
            name, _, value = word.text.strip('"').partition(" ")
            if name == "used_bytes_mask":
                self._used_bytes = integer(value, word.line)

    def _inlined(self) -> None:
        """``function_name L`` or ``inlined_at FILE LINE COLUMN``."""
        if self._kind("name").text == "function_name":
            self._kind("name")
            if self._try("+"):
                self._integer()
            return
        for _ in range(3):
            self._integer()

    def _instruction(self) -> Instruction:
        guard = None
        if self._try("@"):
            wanted = not self._try("!")
            guard = Name(self._resolve(self._kind("name").text)), wanted
        word = self._kind("name")
        opcode, *modifiers = word.text.split(".")
        if opcode == "call":
            self._skip_lists()
        operands = self._list(";", self._operand)
        used, self._used_bytes = self._used_bytes, None
        return Instruction(
            opcode, tuple(modifiers), tuple(operands), guard, word.line, self._source,
            used,
        )  # fmt: skip

    def _skip_lists(self) -> None:
        """The operands of a call, which nothing executes."""
        while self._next.text != ";" and self._next.kind != "end":
            self._take()

    # ------------------------------------------------------------------ operands

    def _operand(self) -> Operand:
        if self._try("{"):
            return self._vector()
        if self._try("["):
            return self._address()
        return self._value()

    def _vector(self) -> Tuple:
        parts = self._list("}", self._value)
        if not parts:
            raise self._problem("nothing stands in the braces")
        return Tuple(tuple(parts))

    def _value(self) -> Operand:
        """What stands alone or in braces."""
        if self._try("!"):
            return Not(self._register())
        if self._next.kind != "name":
            return self._literal()
        name = self._register()
        if self._try("|"):
            return Pair(name, self._register())
        if self._next.text in {"+", "-"}:
            return Sum(name, self._offset())
        return name

    def _register(self) -> Name:
        return Name(self._resolve(self._kind("name").text))

    def _address(self) -> Address:
        base: Name | Number
        base = self._literal() if self._next.kind == "number" else self._register()
        offset = self._offset() if self._next.text in {"+", "-"} else 0
        coordinates: tuple[Operand, ...] = ()
        if self._try(","):
            self._expect("{")
            coordinates = self._vector().parts
        self._expect("]")
        return Address(base, offset, coordinates)

    def _offset(self) -> int:
        sign = 1 if self._take().text == "+" else -1
        return sign * self._integer()


def _files(found: list[Word]) -> dict[int, str]:
    """The names behind ``.file``, which stands where it likes."""
    starts = [i for i, word in enumerate(found[:-2]) if word.text == ".file"]
    return {
        number(found[i + 1]).value: found[i + 2].text.strip('"')
        for i in starts
        if found[i + 1].kind == "number"
    }
