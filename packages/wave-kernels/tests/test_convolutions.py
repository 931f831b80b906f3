"""Convolutions at their boundaries, in both simulators, against torch in f64."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_core.compile import Session, run_case
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_kernels.definitions.conv import conv_kernel
from wave_kernels.definitions.conv_maps import Order
from wave_kernels.definitions.conv_sizes import ConvSizes, Move, Steps

SESSION = Session(announce=lambda _: None)
PRODUCTS = ("conv2d", "conv2d-input", "conv2d-weight")
KERNELS = (*PRODUCTS, "conv-depthwise")
TILE = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "WAVES_M": 1, "WAVES_N": 1}
FILTERS = {
    "one element": ({"HF": 1, "WF": 1}, {}),
    "one element that skips": ({"HF": 1, "WF": 1}, {"STRIDE": 3}),
    "as large as the image": ({"HF": 5, "WF": 6}, {}),
    "larger than the image": ({"HF": 7, "WF": 6}, {"PADDING": 1}),
    "farther than it is long": ({"HF": 2, "WF": 2}, {"STRIDE": 3, "PADDING": 1}),
    "with holes": ({"HF": 2, "WF": 3}, {"DILATION": 2}),
    "with holes, beside the image": (
        {"HF": 3, "WF": 2},
        {"DILATION": 3, "PADDING": 3, "STRIDE": 2},
    ),
    "wholly beside the image": ({"HF": 1, "WF": 2}, {"PADDING": 4}),
}
ORDERS = [
    {"IMAGES": images, "FILTERS": filters}
    for images in ("nhwc", "nchw")
    for filters in ("hwcf", "fhwc", "fchw")
]


def check(name, shape, settings, device="sim"):
    sizes = {"N": 1, "H": 5, "W": 6, "C": 3, "HF": 2, "WF": 3, "NF": 5} | shape
    if name == "conv-depthwise":
        sizes = {k: v for k, v in sizes.items() if k != "NF"}
        settings = {k: v for k, v in settings.items() if k not in ("GROUPS", *TILE)}
    factory = SESSION.plugins.load_kernel(name)
    case = make_case(factory, name, sizes, settings, "generic")
    options = replace(case.options, device=device, poison_outputs=True)
    report = run_case(case, options=options, session=SESSION)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


@pytest.mark.parametrize("title", FILTERS)
@pytest.mark.parametrize("name", KERNELS)
def test_filters(name, title):
    shape, settings = FILTERS[title]
    check(name, shape, TILE | settings)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(order.values()))
@pytest.mark.parametrize("name", KERNELS)
def test_orders(name, order):
    check(name, {"N": 2}, {**TILE, **order, "PADDING": 1, "STRIDE": 2})


@pytest.mark.parametrize("order", ORDERS[::5], ids=lambda each: each["IMAGES"])
@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("name", PRODUCTS)
def test_groups(name, groups, order):
    sizes = {"N": 2, "C": 4, "NF": 12}
    check(name, sizes, {**TILE, **order, "PADDING": 1, "GROUPS": groups})


@pytest.mark.parametrize("edge", [-1, 0, 1])
@pytest.mark.parametrize("name", PRODUCTS)
def test_sizes_around_a_tile(name, edge):
    # Rows, columns and depth of each of the three products in turn.
    sizes = {"H": 1, "W": 16 + edge, "C": 16 + edge, "NF": 16 + edge, "HF": 1, "WF": 1}
    check(name, sizes, TILE)


@pytest.mark.parametrize("images", ["nhwc", "nchw"])
@pytest.mark.parametrize("edge", [-1, 0, 1])
def test_depthwise_sizes_around_a_tile(edge, images):
    for channels, width in ((64 + edge, 4 + edge), (4 + edge, 64 + edge)):
        sizes = {"H": 1, "W": width, "C": channels, "HF": 1, "WF": 2}
        check("conv-depthwise", sizes, {"PADDING": 1, "IMAGES": images})


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", KERNELS)
def test_types(name, dtype):
    check(name, {}, {**TILE, "DTYPE": dtype, "RESULT": dtype, "PADDING": 1})


@pytest.mark.parametrize("name", KERNELS)
def test_f32(name):
    # In the simulator of tiles, since not every chip multiplies matrices of f32.
    check(name, {}, {"DTYPE": "f32", "PADDING": 1}, "sim-logical")


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("name", ["conv2d", "conv-depthwise"])
def test_bias(name, groups):
    sizes = {"C": 4, "NF": 6}
    check(name, sizes, {**TILE, "BIAS": 1, "GROUPS": groups, "PADDING": 1})


def test_positions():
    assert Move().results(5, 5) == 1
    assert Move(before=1, after=2).results(5, 3) == 6
    assert Move(stride=2, dilation=2).results(9, 3) == 3
    assert Move(stride=2).results(2, 3) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Move(stride=0),
        lambda: Move(dilation=0),
        lambda: Move(before=-1),
        lambda: ConvSizes(1, 4, 4, 3, 5, 1, 2),
        lambda: ConvSizes(1, 4, 4, 3, 1, 1, 2, Steps(groups=2)),
        lambda: Order(images="hwnc"),
        lambda: Order(filters="nchw"),
        lambda: conv_kernel(order=Order(results="nhw")),
    ],
)
def test_what_is_no_convolution_is_refused(wrong):
    with pytest.raises(UserError) as raised:
        wrong()
    assert raised.value.code == "WV0823"
