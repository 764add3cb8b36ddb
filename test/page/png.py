"""Small PNG files as rows of red, green and blue, with the standard library alone."""

import struct
import zlib

CHANNELS = {2: 3, 6: 4}  # with and without transparency


def _pieces(data):
    at = 8
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def _unfiltered(kind, row, above, step):
    for i, value in enumerate(row):
        left = row[i - step] if i >= step else 0
        up, corner = above[i], above[i - step] if i >= step else 0
        if kind == 1:
            value += left
        elif kind == 2:
            value += up
        elif kind == 3:
            value += (left + up) // 2
        elif kind == 4:
            distances = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            value += (left, up, corner)[distances.index(min(distances))]
        row[i] = value & 0xff


def colour_rows(data):
    """Returns the rows of pixels as bytes, three for each pixel."""
    pieces = list(_pieces(data))
    width, height, depth, colour = struct.unpack(">IIBB", dict(pieces)[b"IHDR"][:10])
    assert depth == 8, "one byte for each channel"
    palette = dict(pieces).get(b"PLTE", b"")
    channels = CHANNELS.get(colour, 1)
    raw = zlib.decompress(b"".join(piece for kind, piece in pieces if kind == b"IDAT"))
    size = width * channels
    rows, above = [], bytes(size)
    for y in range(height):
        begin = y * (size + 1)
        row = bytearray(raw[begin + 1:begin + 1 + size])
        _unfiltered(raw[begin], row, above, channels)
        above = bytes(row)
        if palette:
            rows.append(b"".join(palette[3 * index:3 * index + 3] for index in above))
        else:
            rows.append(b"".join(above[x:x + 3] for x in range(0, size, channels)))
    return rows


def _written(rows, width, kind, palette=b""):
    def piece(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, len(rows), 8, kind, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return (b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", header) + (piece(b"PLTE", palette) if palette else b"") +
            piece(b"IDAT", body) + piece(b"IEND", b""))


def write_colour(rows):
    return _written(rows, len(rows[0]) // 3, 2)


def write_few_colours(rows):
    """Rounds the levels until 256 colours are enough, which makes a picture of text four times smaller."""
    step = 1
    while True:
        rounded = bytes(min(255, (level + step // 2) // step * step) for level in range(256))
        pixels = [[row[x:x + 3].translate(rounded) for x in range(0, len(row), 3)] for row in rows]
        colours = {pixel for row in pixels for pixel in row}
        if len(colours) <= 256:
            break
        step *= 2
    order = {colour: index for index, colour in enumerate(sorted(colours))}
    return _written([[order[pixel] for pixel in row] for row in pixels], len(pixels[0]), 3, b"".join(sorted(colours)))
