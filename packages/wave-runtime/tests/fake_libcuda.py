"""A CUDA driver of two GPUs that records its calls, called as C calls it."""

from __future__ import annotations

import ctypes

from wave_runtime.cuda_driver import LATER, PROTOTYPES

NAMES = {2: b"CUDA_ERROR_OUT_OF_MEMORY", 218: b"CUDA_ERROR_INVALID_PTX"}
HOPPER = {75: 9, 76: 0, 97: 232_448, 16: 132, 1: 1024, 5: 2**31 - 1, 6: 65535, 7: 65535}
CONTEXT = 0x5000_0000_0000
MODULE, FUNCTION = 0x6000_0000_0000, 0x7000_0000_0000


def put(kind, place, value):
    kind.from_address(place).value = value
    return 0


class Library:
    """``status`` says which functions fail, and how."""

    def __init__(self, attributes=HOPPER, log=b"", **status):
        self.attributes, self.log, self.status = attributes, log, status
        self.calls, self.stack, self.images, self.launched = [], [CONTEXT], [], []
        self.parameters, self.encoded, self.encoders = (), [], []
        for name, kinds in {**PROTOTYPES, **LATER}.items():
            form = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)
            setattr(self, name, form(self._recorded(name)))

    def __getitem__(self, name):
        """A function that converts no arguments, as a library of ctypes gives it."""
        address = ctypes.cast(getattr(self, name), ctypes.c_void_p).value
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)

    def _recorded(self, name):
        made = getattr(self, f"_{name}", lambda *_: 0)

        def called(*arguments):
            self.calls.append((name, arguments))
            wrong = self.status.get(name, 0)
            if name == "cuModuleLoadDataEx" or not wrong:
                made(*arguments)
            return wrong

        return called

    def called(self, name):
        return [arguments for each, arguments in self.calls if each == name]

    def _cuGetErrorName(self, status, place):
        put(ctypes.c_char_p, place, NAMES.get(status, b"CUDA_ERROR"))

    def _cuGetErrorString(self, status, place):
        put(ctypes.c_char_p, place, b"in words")

    def _cuDriverGetVersion(self, place):
        put(ctypes.c_int, place, 13020)

    def _cuDeviceGetCount(self, place):
        put(ctypes.c_int, place, 2)

    def _cuDeviceGet(self, place, ordinal):
        put(ctypes.c_int, place, ordinal)

    def _cuDeviceGetName(self, text, size, place):
        # The prototype says text, which a callback sees as bytes: the name stays empty.
        del text, size, place

    def _cuDeviceGetAttribute(self, place, row, device):
        put(ctypes.c_int, place, self.attributes[row])

    def _cuDeviceTotalMem_v2(self, place, device):
        put(ctypes.c_size_t, place, 141 << 30)

    def _cuDevicePrimaryCtxRetain(self, place, device):
        put(ctypes.c_void_p, place, CONTEXT + device)

    def _cuCtxGetCurrent(self, place):
        put(ctypes.c_void_p, place, self.stack[-1] if self.stack else None)

    def _cuCtxPushCurrent_v2(self, context):
        self.stack.append(context)

    def _cuCtxPopCurrent_v2(self, place):
        put(ctypes.c_void_p, place, self.stack.pop())

    def _cuModuleLoadDataEx(self, place, image, count, kinds, values):
        self.images.append(image)
        put(ctypes.c_void_p, place, MODULE)
        options = dict(
            zip(
                (ctypes.c_int * count).from_address(kinds),
                (ctypes.c_void_p * count).from_address(values),
                strict=True,
            )
        )
        assert options[6] > len(self.log)
        ctypes.memmove(options[5], self.log + b"\0", len(self.log) + 1)

    def _cuModuleGetFunction(self, place, module, name):
        put(ctypes.c_void_p, place, FUNCTION)

    def _cuMemAlloc_v2(self, place, size):
        put(ctypes.c_uint64, place, 0x7F00_0000_0000)

    def _cuTensorMapEncodeTiled(self, place, dtype, rank, address, *rest):
        """What the driver is told; its bytes are the number of the call."""
        assert place % 64 == 0
        extents, strides, box, steps, *modes = rest
        rows = (
            (ctypes.c_uint64, extents, rank),
            (ctypes.c_uint64, strides, rank - 1),
            (ctypes.c_uint32, box, rank),
            (ctypes.c_uint32, steps, rank),
        )
        seen = [tuple((kind * size).from_address(at)) for kind, at, size in rows]
        self.encoders.append(self.stack[-1] if self.stack else None)
        self.encoded.append((dtype, address, *seen, *modes))
        ctypes.memset(place, len(self.encoded), 128)

    def _cuLaunchKernel(self, *arguments):
        """What the kernel would see: the stack of contexts, pointers, words."""
        places = arguments[9]
        values, offset = [], 0
        for kind in self.parameters:
            at = ctypes.c_void_p.from_address(places + offset).value
            values.append(kind.from_address(at).value)
            offset += 8
        self.launched.append((self.stack[-1], arguments[1:9], values))
