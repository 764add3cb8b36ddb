"""Computes the bytes that two tensors share. Comparing ranges is not enough: two columns of a matrix share no bytes,
although their ranges overlap."""

MOST_PIECES = 1 << 16


class Pieces:
    """Runs of `width` bytes at begin + i0 * pitch0 + i1 * pitch1 and so on. Dimensions: (count, pitch), innermost
    first."""

    __slots__ = ("begin", "width", "dimensions", "end", "count")

    def __init__(self, begin, width, dimensions):
        self.begin, self.width, self.dimensions = begin, width, dimensions
        self.end, self.count = begin + width, 1
        for count, pitch in dimensions:
            self.end += (count - 1) * pitch
            self.count *= count

    def starts(self):
        """Returns the start addresses, in ascending order."""
        starts = [self.begin]
        for count, pitch in reversed(self.dimensions):
            starts = [start + i * pitch for start in starts for i in range(count)]
        return starts

    def count_in(self, first, last):
        """Returns how many bytes of the pieces are in [first, last)."""
        return count_in(self.begin, self.width, self.dimensions, first, last)


def count_in(begin, width, dimensions, first, last):
    if not dimensions:
        return max(0, min(begin + width, last) - max(begin, first))
    if last <= begin:
        return 0
    count, pitch = dimensions[-1]
    inner = dimensions[:-1]
    span = whole = width
    for inner_count, inner_pitch in inner:
        span += (inner_count - 1) * inner_pitch
        whole *= inner_count
    part = min(max(first - begin, 0) // pitch, count)
    end = min((last - begin - 1) // pitch + 1, count)
    found = 0
    while part < end:
        at = begin + part * pitch
        if at >= first and at + span <= last:
            inside = max(part + 1, end - 1) - part  # all further parts, except perhaps the last one
            found += inside * whole
            part += inside
        else:
            found += count_in(at, width, inner, first, last)
            part += 1
    return found


def pieces_of(begin, element, shape, strides):
    """Returns the pieces of a tensor at address `begin`; None if its elements overlap, or if it has none."""
    dimensions = sorted((stride * element, count) for count, stride in zip(shape, strides) if count != 1 and stride)
    width, merged = element, []
    for pitch, count in dimensions:
        if count < 1 or pitch < 0:
            return None
        if not merged and pitch == width:
            width *= count
        elif merged and pitch == merged[-1][0] * merged[-1][1]:
            merged[-1] = (merged[-1][0] * count, merged[-1][1])
        else:
            if pitch < Pieces(0, width, merged).end:
                return None  # overlapping windows, such as those of unfold()
            merged.append((count, pitch))
    return Pieces(begin, width, merged) if 0 not in shape else None


def common(a, b):
    """Returns (begin, end, bytes) of what two lists of pieces share; None if they share nothing, or are too long to
    compare."""
    found = [each for one in a for other in b for each in [common_pieces(one, other)] if each is not None]
    if not found:
        return None
    return min(each[0] for each in found), max(each[1] for each in found), sum(each[2] for each in found)


def common_pieces(a, b):
    if a.end <= b.begin or b.end <= a.begin:
        return None
    few, many = (a, b) if a.count <= b.count else (b, a)
    if few.count > MOST_PIECES:
        return None
    first = last = None
    total = 0
    for begin in few.starts():
        end = begin + few.width
        bytes_ = many.count_in(begin, end)
        if bytes_:
            first = (begin, end) if first is None else first
            last = (begin, end)
            total += bytes_
    if not total:
        return None
    return first_in(many, *first), end_in(many, *last), total


def first_in(pieces, first, last):
    none_before, one_before = first, last
    while one_before - none_before > 1:
        middle = (none_before + one_before) // 2
        if pieces.count_in(first, middle):
            one_before = middle
        else:
            none_before = middle
    return one_before - 1


def end_in(pieces, first, last):
    everything, too_few, enough = pieces.count_in(first, last), first, last
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if pieces.count_in(first, middle) == everything:
            enough = middle
        else:
            too_few = middle
    return enough
