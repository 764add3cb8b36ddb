"""Writes pickles as PyTorch's C++ pickler does: texts once, and one operation for all items of a list or dictionary."""

import struct


def dumps(value):
    texts = {}
    return b"\x80\x02" + b"".join(_parts(value, texts)) + b"."


def _parts(value, texts):
    if value is None:
        yield b"N"
    elif isinstance(value, bool):
        yield b"\x88" if value else b"\x89"
    elif isinstance(value, int):
        yield _integer(value)
    elif isinstance(value, str):
        if value in texts:
            number = texts[value]
            yield struct.pack("<BB", 0x68, number) if number < 256 else struct.pack("<BI", 0x6a, number)
            return
        number = texts[value] = len(texts)
        yield b"X" + struct.pack("<I", len(value.encode())) + value.encode()
        yield struct.pack("<BB", 0x71, number) if number < 256 else struct.pack("<BI", 0x72, number)
    elif isinstance(value, tuple):
        assert len(value) == 2
        for item in value:
            yield from _parts(item, texts)
        yield b"\x86"
    else:
        yield b"}(" if isinstance(value, dict) else b"]("
        for item in ([x for pair in value.items() for x in pair] if isinstance(value, dict) else value):
            yield from _parts(item, texts)
        yield b"u" if isinstance(value, dict) else b"e"


def _integer(value):
    if 0 <= value < 1 << 8:
        return struct.pack("<BB", 0x4b, value)
    if 0 <= value < 1 << 16:
        return struct.pack("<BH", 0x4d, value)
    if -(1 << 31) <= value < 1 << 31:
        return struct.pack("<Bi", 0x4a, value)
    return b"\x8a\x08" + struct.pack("<q", value)
