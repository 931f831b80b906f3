"""A call of a function, whose kernel is built; the tensors and words of such calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from wave_kernels.functions.requests import Request, requests_kept

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (*HALVES, torch.float32)

LENGTHS = (1024, 2048, 4096, 5120, 8192, 16_384)
"""Of rows: the widths of models from 1 to 70 billion parameters."""

LINEAR = ((4096, 4096), (12_288, 4096), (11_008, 4096), (4096, 11_008))
"""Outputs and inputs of the layers of Llama 2 7B. Source: its `config.json`."""

ROWS = (16, 4096)
"""Rows of a matrix that tiles are chosen for: decoding, and a prompt."""


@dataclass(frozen=True)
class Call:
    """A call whose kernel is built.

    Attributes:
        function: Its name.
        options: Which one of the function, in words that `wave_kernels.prebuilt.run`
            takes.
        tag: What tells it from others of the function; a part of its place.
        call: Makes it.
        dynamic: Sizes that are left to the launch.
        tuned: Whether tiles are chosen for the sizes of the call, not for any.
        launch: Which of its launches, where there are several.
    """

    function: str
    options: Mapping[str, str | int | float | bool]
    tag: str
    call: Callable[[], object]
    dynamic: tuple[str, ...]
    tuned: bool = False
    launch: int = 0

    @property
    def name(self) -> str:
        """Equal for no two calls."""
        return f"{self.function}-{self.tag}"

    @property
    def request(self) -> Request:
        """What the function asks to be compiled, with its sizes."""
        with requests_kept() as found:
            self.call()
        return found[self.launch]


def tensor_of(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """A tensor with a shape and no memory."""
    return torch.empty(shape, dtype=dtype, device="meta")


def word(dtype: torch.dtype) -> str:
    """A type as tags have it."""
    words = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
    return words[dtype]
