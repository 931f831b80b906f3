"""One name for instructions that differ between generations only in their name."""

from __future__ import annotations

import re

_EXACT = {
    "V_ADD_CO_CI_U32": "V_ADDC_CO_U32", "V_SUB_CO_CI_U32": "V_SUBB_CO_U32",
    "V_SUBREV_CO_CI_U32": "V_SUBBREV_CO_U32",
    "V_MAD_CO_U64_U32": "V_MAD_U64_U32", "V_MAD_CO_I64_I32": "V_MAD_I64_I32",
    "V_CVT_PK_RTZ_F16_F32": "V_CVT_PKRTZ_F16_F32",
    "V_CVT_PK_NORM_I16_F32": "V_CVT_PKNORM_I16_F32",
    "V_CVT_PK_NORM_U16_F32": "V_CVT_PKNORM_U16_F32",
    "V_CVT_FLOOR_I32_F32": "V_CVT_FLR_I32_F32",
    "V_CVT_NEAREST_I32_F32": "V_CVT_RPI_I32_F32", "V_CLZ_I32_U32": "V_FFBH_U32",
    "V_CTZ_I32_B32": "V_FFBL_B32", "V_CLS_I32": "V_FFBH_I32",
    "S_CLZ_I32_U32": "S_FLBIT_I32_B32", "S_CLZ_I32_U64": "S_FLBIT_I32_B64",
    "S_CTZ_I32_B32": "S_FF1_I32_B32", "S_CTZ_I32_B64": "S_FF1_I32_B64",
    "S_CLS_I32": "S_FLBIT_I32", "S_ADD_CO_U32": "S_ADD_U32",
    "S_SUB_CO_U32": "S_SUB_U32", "S_ADD_CO_I32": "S_ADD_I32",
    "S_SUB_CO_I32": "S_SUB_I32", "S_ADD_CO_CI_U32": "S_ADDC_U32",
    "S_SUB_CO_CI_U32": "S_SUBB_U32", "S_ADDK_CO_I32": "S_ADDK_I32",
    "V_FMA_DX9_ZERO_F32": "V_FMA_LEGACY_F32", "V_MUL_DX9_ZERO_F32": "V_MUL_LEGACY_F32",
    "V_DOT2ACC_F32_F16": "V_DOT2C_F32_F16", "V_DOT2ACC_F32_BF16": "V_DOT2C_F32_BF16",
    "V_FMA_MIX_F32": "V_MAD_MIX_F32", "V_FMA_MIXLO_F16": "V_MAD_MIXLO_F16",
    "V_FMA_MIXHI_F16": "V_MAD_MIXHI_F16",
}  # fmt: skip

_WORD = {
    "B32": "DWORD", "B64": "DWORDX2", "B96": "DWORDX3", "B128": "DWORDX4",
    "B256": "DWORDX8", "B512": "DWORDX16",
}  # fmt: skip
_SMALL = {
    "U8": "UBYTE", "I8": "SBYTE", "U16": "USHORT", "I16": "SSHORT", "B8": "BYTE",
    "B16": "SHORT",
}  # fmt: skip
_D16 = {
    "D16_U8": "UBYTE_D16", "D16_HI_U8": "UBYTE_D16_HI", "D16_I8": "SBYTE_D16",
    "D16_HI_I8": "SBYTE_D16_HI", "D16_B16": "SHORT_D16", "D16_HI_B16": "SHORT_D16_HI",
    "D16_HI_B8": "BYTE_D16_HI",
}  # fmt: skip
_MEMORY = re.compile(
    r"(?P<head>(?:GLOBAL|FLAT|SCRATCH|BUFFER|S|S_BUFFER)_(?:LOAD|STORE)(?:_LDS)?)_"
    r"(?P<tail>[A-Z0-9_]+)"
)
_DS = re.compile(r"DS_(LOAD|STORE)(.*)")
_DS_ATOMIC = {"STOREXCHG": "WRXCHG", "CMPSTORE": "CMPST"}
_ATOMIC = re.compile(
    r"(?P<head>(?:GLOBAL|FLAT|BUFFER)_ATOMIC)_(?P<op>[A-Z_]+?_[BUIF])(?P<bits>32|64)"
)
_ATOMIC_OPS = {
    "SUB_U": "SUB", "ADD_U": "ADD", "MIN_I": "SMIN", "MIN_U": "UMIN", "MAX_I": "SMAX",
    "MAX_U": "UMAX", "AND_B": "AND", "OR_B": "OR", "XOR_B": "XOR", "SWAP_B": "SWAP",
    "CMPSWAP_B": "CMPSWAP", "INC_U": "INC", "DEC_U": "DEC",
}  # fmt: skip


def canonical(name: str) -> str:
    """The name that the tables use, which is that of gfx9 where it exists."""
    if name in _EXACT:
        return _EXACT[name]
    if name.startswith(("GLOBAL", "FLAT", "BUFFER", "SCRATCH", "S_LOAD", "S_BUFFER")):
        return _memory(name)
    if name.startswith("DS_"):
        return _lds(name)
    if name.startswith("V_"):
        name = name.replace("_NUM_F", "_F").replace("_NC_", "_")
    if name.startswith("S_"):
        name = name.replace("_AND_NOT1_", "_ANDN2_").replace("_OR_NOT1_", "_ORN2_")
        name = name.replace("_AND_NOT0_", "_ANDN1_").replace("_OR_NOT0_", "_ORN1_")
    return name


def _memory(name: str) -> str:
    found = _MEMORY.fullmatch(name)
    if found:
        tail = found["tail"]
        tail = _D16.get(tail) or _WORD.get(tail) or _SMALL.get(tail) or tail
        return f"{found['head']}_{tail}"
    found = _ATOMIC.fullmatch(name)
    if found and found["op"] in _ATOMIC_OPS:
        wide = "_X2" if found["bits"] == "64" else ""
        return f"{found['head']}_{_ATOMIC_OPS[found['op']]}{wide}"
    return name


def _lds(name: str) -> str:
    for new, old in _DS_ATOMIC.items():
        name = name.replace(new, old)
    found = _DS.fullmatch(name)
    if not found:
        return name
    tail = found[2].replace("_2ADDR_STRIDE64", "2ST64").replace("_2ADDR", "2")
    verb = "READ" if found[1] == "LOAD" else "WRITE"
    return f"DS_{verb}{tail}"
