"""Computes the bytes that an operator certainly reads and writes. Uncertain ones are omitted."""
import sys

from .strides import Pieces, pieces_of
from .tensors import each_tensor, is_tensor

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
    if tensor.layout is not sys.modules["torch"].strided or not tensor.numel():
        return []
    if tensor.is_contiguous():
        return [Pieces(tensor.data_ptr(), tensor.numel() * tensor.element_size(), [])]
    pieces = pieces_of(tensor.data_ptr(), tensor.element_size(), tuple(tensor.shape), tensor.stride())
    return [] if pieces is None else [pieces]


def rows(tensor, dimension, index):
    """Returns the pieces of the rows whose numbers are in `index`. Waits for `index` if it is on a GPU."""
    if not is_tensor(index) or index.dtype.is_floating_point or index.numel() > MOST_ROWS or not tensor.dim():
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
