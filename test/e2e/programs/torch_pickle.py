"""Writes pickles as PyTorch's C++ pickler does: texts and shared dictionaries once, and one operation for all items of a
list or dictionary."""

import struct


class Shared(dict):
    """A dictionary that several values contain."""

    def __hash__(self):
        return id(self)

    __eq__ = object.__eq__


def dumps(value):
    stored = {}
    return b"\x80\x02" + b"".join(_parts(value, stored)) + b"."


def _parts(value, stored):
    if value is None:
        yield b"N"
    elif isinstance(value, bool):
        yield b"\x88" if value else b"\x89"
    elif isinstance(value, int):
        yield _integer(value)
    elif isinstance(value, (str, Shared)) and value in stored:
        number = stored[value]
        yield struct.pack("<BB", 0x68, number) if number < 256 else struct.pack("<BI", 0x6a, number)
    elif isinstance(value, str):
        yield b"X" + struct.pack("<I", len(value.encode())) + value.encode()
        yield _store(value, stored)
    elif isinstance(value, tuple):
        assert len(value) == 2
        for item in value:
            yield from _parts(item, stored)
        yield b"\x86"
    else:
        yield b"}(" if isinstance(value, dict) else b"]("
        for item in ([x for pair in value.items() for x in pair] if isinstance(value, dict) else value):
            yield from _parts(item, stored)
        yield b"u" if isinstance(value, dict) else b"e"
        if isinstance(value, Shared):
            yield _store(value, stored)


def _store(value, stored):
    number = stored[value] = len(stored)
    return struct.pack("<BB", 0x71, number) if number < 256 else struct.pack("<BI", 0x72, number)


def _integer(value):
    if 0 <= value < 1 << 8:
        return struct.pack("<BB", 0x4b, value)
    if 0 <= value < 1 << 16:
        return struct.pack("<BH", 0x4d, value)
    if -(1 << 31) <= value < 1 << 31:
        return struct.pack("<Bi", 0x4a, value)
    return b"\x8a\x08" + struct.pack("<q", value)
