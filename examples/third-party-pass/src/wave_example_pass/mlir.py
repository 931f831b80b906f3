"""A pass on the MLIR that is emitted: ``x * 1.0`` is ``x``.

Wave calls it in the process of the compiler, which has MLIR's Python bindings.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir


def drop_products_with_one(module: ir.Module, _request: object) -> None:
    """Replace products whose right factor is one; exact for all floats."""
    found: list[Any] = []

    def visit(operation: Any) -> ir.WalkResult:
        if operation.name == "arith.mulf" and _is_one(operation.operands[1]):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for product in found:
        product.results[0].replace_all_uses_with(product.operands[0])
        product.erase()


def _is_one(value: Any) -> bool:
    """Whether a value is the constant one, in every element."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return False
    number = owner.attributes["value"]
    if isinstance(number, ir.DenseElementsAttr) and number.is_splat:
        number = number.get_splat_value()
    return isinstance(number, ir.FloatAttr) and number.value == 1.0
