"""PTX text to data (PTX ISA 8.3, sections 4 to 6 and 11)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from wave_emulator_ptx.errors import PtxSyntaxError
from wave_emulator_ptx.lexer import Word, words
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
    Tuple,
    Variable,
)
from wave_emulator_ptx.types import TYPES

SPACES = frozenset({"shared", "global", "const", "local"})
LINKING = frozenset({".visible", ".extern", ".weak", ".common"})


def parse(text: str) -> Module:
    """Read a module.

    Raises:
        PtxSyntaxError: EP0101, with the line.
    """
    return _Parser(words(text)).module()


class _Parser:
    """Reads words from the first to the last; ``_scopes`` renames inner registers."""

    def __init__(self, found: list[Word]) -> None:
        last = found[-1].line if found else 1
        self._words = [*found, Word("end", "the end", last)]
        self._at = 0
        self._files = _files(found)
        self._source: str | None = None
        self._used_bytes: int | None = None
        self._scopes: list[dict[str, str]] = []
        self._renamed = 0

    # ------------------------------------------------------------------ words

    @property
    def _next(self) -> Word:
        return self._words[self._at]

    def _take(self) -> Word:
        word = self._next
        self._at += word.kind != "end"
        return word

    def _try(self, text: str) -> bool:
        found = self._next.text == text and self._next.kind != "end"
        self._at += found
        return found

    def _expect(self, text: str) -> Word:
        if self._next.text != text:
            raise self._problem(f"`{text}` is missing before `{self._next.text}`")
        return self._take()

    def _kind(self, kind: str) -> Word:
        if self._next.kind != kind:
            raise self._problem(f"a {kind} is missing before `{self._next.text}`")
        return self._take()

    def _integer(self) -> int:
        minus = self._try("-")
        value = _number(self._kind("number")).value
        return -value if minus else value

    def _problem(self, message: str) -> PtxSyntaxError:
        return PtxSyntaxError(message, self._next.line)

    # ------------------------------------------------------------------ modules

    def module(self) -> Module:
        self._expect(".version")
        module = Module(self._take().text, "")
        while self._next.kind != "end":
            self._top(module)
        return module

    def _top(self, module: Module) -> None:
        if self._try(".target"):
            module.target = self._take().text
            while self._try(","):
                self._take()
        elif self._try(".address_size"):
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
        self._take()
        self._expect("{")
        while not self._try("}"):
            if self._next.kind == "end":
                raise self._problem("a section does not end")
            self._take()

    def _declaration(self, module: Module) -> None:
        external = False
        while self._next.text in LINKING:
            external |= self._take().text == ".extern"
        if self._try(".entry"):
            kernel = self._kernel()
            module.kernels[kernel.name] = kernel
        elif self._next.text[1:] in SPACES:
            module.variables.append(self._variable(external=external))
        else:
            raise self._problem(f"`{self._next.text}` is not supported here")

    def _variable(self, *, external: bool = False) -> Variable:
        """A piece of memory, to its semicolon."""
        found = replace(self._declared(), external=external)
        if self._try("="):
            found = replace(found, values=self._initial())
        self._expect(";")
        return found

    def _declared(self) -> Variable:
        """``.space .align N .type name[count]``."""
        space, align, kind = self._kind("directive").text[1:], 0, ""
        while self._next.kind == "directive":
            word = self._take().text[1:]
            if word == "align":
                align = self._integer()
            elif word in TYPES:
                kind = word
            elif word not in {"ptr", "attribute"} | SPACES:
                raise self._problem(f"`.{word}` is not supported here")
        if not kind:
            raise self._problem("a type is missing")
        name = self._kind("name").text
        count = 1
        while self._try("["):
            count *= 0 if self._next.text == "]" else self._integer()
            self._expect("]")
        return Variable(name, space, kind, align or TYPES[kind].bytes, count)

    def _initial(self) -> tuple[Number, ...]:
        if not self._try("{"):
            return (_number(self._kind("number")),)
        values: list[Number] = []
        while not self._try("}"):
            values.append(_number(self._kind("number")))
            self._try(",")
        return tuple(values)

    # ------------------------------------------------------------------ kernels

    def _kernel(self) -> Kernel:
        name = self._kind("name").text
        parameters: list[Variable] = []
        if self._try("("):
            while not self._try(")"):
                parameters.append(self._declared())
                self._try(",")
        kernel = Kernel(name, tuple(parameters))
        while self._next.kind == "directive":
            self._limits(kernel)
        self._block(kernel)
        return kernel

    def _limits(self, kernel: Kernel) -> None:
        directive = self._take().text
        values: list[int] = []
        while self._next.kind == "number":
            values.append(self._integer())
            self._try(",")
        if directive in {".maxntid", ".reqntid"}:
            kernel.threads = prod(values)
        elif directive == ".reqnctapercluster":
            kernel.cluster = prod(values)
        elif directive == ".minnctapersm":
            kernel.residents = prod(values)
        elif directive == ".maxnreg":
            kernel.most_registers = prod(values)

    def _block(self, kernel: Kernel) -> None:
        self._expect("{")
        self._scopes.append({})
        self._name_labels()
        while not self._try("}"):
            self._statement(kernel)
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
            kernel.variables.append(self._variable())
        elif word.kind == "name" and self._words[self._at + 1].text == ":":
            label = self._resolve(word.text)
            if label in kernel.labels:
                raise self._problem(f"`{word.text}` is a label already")
            kernel.labels[label] = len(kernel.body)
            self._at += 2
        else:
            kernel.body.append(self._instruction())

    def _registers(self, kernel: Kernel) -> None:
        self._take()
        kind = self._kind("directive").text[1:]
        if kind not in TYPES:
            raise self._problem(f"`.{kind}` is no type")
        while not self._try(";"):
            name = self._kind("name").text
            names = [name]
            if self._try("<"):
                names = [f"{name}{i}" for i in range(self._integer())]
                self._expect(">")
            for each in names:
                kernel.registers[self._define(each)] = kind
            self._try(",")

    def _define(self, name: str) -> str:
        """A name unique in the kernel; an inner block hides those around it."""
        if len(self._scopes) == 1:
            return name
        self._renamed += 1
        self._scopes[-1][name] = f"{name}#{self._renamed}"
        return self._scopes[-1][name]

    def _name_labels(self) -> None:
        """Define the labels of an inner block, to which it may branch before them."""
        depth, at = 0, self._at
        while len(self._scopes) > 1 and depth >= 0 and at + 1 < len(self._words):
            word = self._words[at]
            depth += (word.text == "{") - (word.text == "}")
            if not depth and word.kind == "name" and self._words[at + 1].text == ":":
                self._define(word.text)
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
        name, _, value = self._kind("string").text.strip('"').partition(" ")
        if name == "used_bytes_mask":
            self._used_bytes = int(value, 0)
        self._expect(";")

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
        operands: list[Operand] = []
        while not self._try(";"):
            operands.append(self._operand())
            if not self._try(",") and self._next.text != ";":
                raise self._problem(f"`;` is missing before `{self._next.text}`")
        used, self._used_bytes = self._used_bytes, None
        return Instruction(
            opcode, tuple(modifiers), tuple(operands), guard, word.line, self._source,
            used,
        )  # fmt: skip

    # ------------------------------------------------------------------ operands

    def _operand(self) -> Operand:
        if self._try("{"):
            parts: list[Operand] = []
            while not self._try("}"):
                parts.append(self._operand())
                self._try(",")
            return Tuple(tuple(parts))
        if self._try("["):
            return self._address()
        if self._try("!"):
            return Not(Name(self._resolve(self._kind("name").text)))
        if self._next.kind == "name":
            return self._named()
        minus = self._try("-")
        number = _number(self._kind("number"))
        return replace(number, value=-number.value) if minus else number

    def _named(self) -> Operand:
        name = Name(self._resolve(self._take().text))
        if self._try("|"):
            return Pair(name, Name(self._resolve(self._kind("name").text)))
        if self._next.text in {"+", "-"}:
            return Address(name, self._offset())
        return name

    def _address(self) -> Address:
        base: Name | Number
        if self._next.kind == "number":
            base = _number(self._take())
        else:
            base = Name(self._resolve(self._kind("name").text))
        offset = self._offset() if self._next.text in {"+", "-"} else 0
        coordinates: tuple[Operand, ...] = ()
        if self._try(","):
            found = self._operand()
            coordinates = found.parts if isinstance(found, Tuple) else (found,)
        self._expect("]")
        return Address(base, offset, coordinates)

    def _offset(self) -> int:
        sign = 1 if self._take().text == "+" else -1
        return sign * self._integer()


def _files(found: list[Word]) -> dict[int, str]:
    """The names behind ``.file``, which stands where it likes."""
    starts = [i for i, word in enumerate(found[:-2]) if word.text == ".file"]
    return {
        int(found[i + 1].text): found[i + 2].text.strip('"')
        for i in starts
        if found[i + 1].text.isdigit()
    }


def _number(word: Word) -> Number:
    text = word.text
    if text[:2] in {"0f", "0F"} and len(text) == 10:
        return Number(_bits(text), 32)
    if text[:2] in {"0d", "0D"} and len(text) == 18:
        return Number(_bits(text), 64)
    if "." in text:
        raise PtxSyntaxError(f"`{text}` is a decimal fraction", word.line)
    return Number(int(text.rstrip("U"), 0))


def _bits(text: str) -> int:
    """The bits of ``0fXXXXXXXX`` or ``0dXXXXXXXXXXXXXXXX``."""
    return int.from_bytes(bytes.fromhex(text[2:]), "big")
