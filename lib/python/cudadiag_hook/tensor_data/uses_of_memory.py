"""Computes the bytes that an operator certainly reads and writes, and those that two tensors share. Uncertain ones are omitted.

Comparing ranges is not enough: two columns of a matrix share no bytes, although their ranges overlap."""

from .lineage import has_storage
from .tensors import each_tensor, is_tensor

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


MOST_ROWS = 1024  # elements; larger indices are not read

# These operators use only some elements of `self`; their other arguments choose which.
PARTIAL = ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "take",
           "put", "put_", "masked_select", "masked_scatter", "masked_scatter_", "masked_fill", "masked_fill_", "index",
           "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put", "embedding_bag",
           "_embedding_bag", "_embedding_bag_forward_only", "nll_loss", "nll_loss_forward", "nll_loss2d_forward",
           "max_pool2d_with_indices", "avg_pool2d", "max_unpool2d", "grid_sampler_2d", "grid_sampler_3d", "multinomial",
           "upsample_nearest2d", "upsample_bilinear2d", "where", "tril", "triu", "diagonal_scatter", "select_scatter",
           "slice_scatter", "bucketize", "searchsorted", "sort", "index_reduce_", "unfold_backward", "as_strided_copy")
# These operators use the rows that an index tensor lists. Each entry names the arguments with the rows, the dimension
# and the index.
ROWS = {"index_fill_": ("self", "dim", "index"), "index_copy_": ("self", "dim", "index"),
        "index_add_": ("self", "dim", "index"), "index_select": ("self", "dim", "index"),
        "index_fill": ("self", "dim", "index"), "index_copy": ("self", "dim", "index"),
        "index_add": ("self", "dim", "index"), "embedding": ("weight", None, "indices"),
        "embedding_renorm_": ("self", None, "indices")}


PLAIN = (int, float, bool, str, type(None))


class Use:
    """One tensor that an operator uses, and the pieces of it that the operator reads or writes."""

    __slots__ = ("tensor", "parameter", "written", "pieces")

    def __init__(self, tensor, parameter, written, pieces):
        self.tensor, self.parameter, self.written, self.pieces = tensor, parameter, written, pieces


def whole(tensor):
    """Returns the pieces of the whole tensor; [] if its bytes are unknown, or if it is empty."""
    if not has_storage(tensor) or not tensor.numel():
        return []
    if tensor.is_contiguous():
        return [Pieces(tensor.data_ptr(), tensor.numel() * tensor.element_size(), [])]
    pieces = pieces_of(tensor.data_ptr(), tensor.element_size(), tuple(tensor.shape), tensor.stride())
    return [] if pieces is None else [pieces]


def rows(tensor, dimension, index):
    """Returns the pieces of the rows whose numbers are in `index`. Waits for `index` if it is on a GPU."""
    if not has_storage(tensor) or not is_tensor(index) or index.dtype.is_floating_point or index.numel() > MOST_ROWS or not tensor.dim():
        return []
    shape, strides, element = list(tensor.shape), list(tensor.stride()), tensor.element_size()
    dimension = dimension % tensor.dim()
    count, pitch = shape[dimension], strides[dimension] * element
    shape[dimension] = 1
    numbers = sorted({each % count for each in index.reshape(-1).tolist() if -count <= each < count})
    found = [pieces_of(tensor.data_ptr() + number * pitch, element, shape, strides) for number in numbers]
    return [] if None in found else found


class Rule:
    """What is known about an operator's use of its arguments."""

    def __init__(self, facts):
        self.written = [facts.parameters[number] for number in facts.written]
        self.rows = ROWS.get(facts.name)
        self.in_part = ("self", "weight", "input") if facts.name in PARTIAL else ()

    def pieces_used(self, name, tensor, arguments):
        if self.rows is not None and name == self.rows[0]:
            dimension = 0 if self.rows[1] is None else arguments.get(self.rows[1], 0)
            return rows(tensor, dimension, arguments.get(self.rows[2]))
        return [] if name in self.in_part else whole(tensor)


rules = {}  # by an operator's Facts


def argument_uses(facts, args, kwargs):
    """Returns the uses of the call's arguments. The caller must hold a Guard."""
    if not facts.own:
        return []  # a custom operator's use of its arguments is unknown
    rule = rules.get(facts)
    if rule is None:
        rule = rules[facts] = Rule(facts)
    arguments, found = {**dict(zip(facts.parameters, args)), **kwargs}, []
    for name, value in arguments.items():
        if type(value) in PLAIN:
            continue
        for label, tensor in each_tensor(name, value):
            pieces = rule.pieces_used(name, tensor, arguments)
            if pieces:
                found.append(Use(tensor, label, name in rule.written, pieces))
    return found


def result_uses(facts, result):
    """Returns the new tensors that the operator has filled."""
    if facts.uninitialised or not facts.own:
        return []
    results = result if facts.results > 1 and type(result) in (tuple, list) else (result,)
    found = []
    for number in facts.fresh:
        if number < len(results):
            for label, tensor in each_tensor("result", results[number]):
                found.append(Use(tensor, label, True, whole(tensor)))
    return found
