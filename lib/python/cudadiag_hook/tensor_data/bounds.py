"""What known operators require of their arguments."""
from .tensors import first_of, is_tensor


class Range:
    """Numbers from `least` to `most`. `ignored` is allowed too."""

    least, ignored = 0, None

    def allows(self, least, greatest):
        """Returns whether all elements of a tensor with these extremes are allowed; None if the extremes are
        unknown."""
        return None if least is None else self.least <= least and greatest <= self.most


class Bound(Range):
    """Integers that index `count` entries."""

    def __init__(self, count, negative=False, ignored=None):
        self.count, self.ignored = count, ignored
        if count is not None:
            self.least, self.most = -count if negative else 0, count - 1

    def check(self, host):
        if host.dtype.is_floating_point:
            return {}
        wrong = (host < self.least) | (host >= self.count)
        if self.ignored is not None:
            wrong &= host != self.ignored
        return {"bound": self.count, **first_of(wrong, host)}


class Unit(Range):
    """Floats from 0 to 1."""

    most = 1

    def check(self, host):
        return first_of(~((host >= 0) & (host <= 1)), host) if host.dtype.is_floating_point else {}


class Weights(Range):
    """Rows of probabilities: none negative, NaN or infinite, and not all zero."""

    most = 1.7976931348623157e308

    def check(self, host):
        if not host.dtype.is_floating_point:
            return {}
        found = first_of(~((host >= 0) & host.isfinite()), host)
        return found if found["outside"] else first_of(host.sum(-1) == 0, host.sum(-1))


def size_of(arguments, name, dimension):
    tensor = arguments.get(name)
    shape = tuple(tensor.shape) if is_tensor(tensor) else ()
    return shape[dimension] if -len(shape) <= dimension < len(shape) else None


def rows_of(name, indices):
    """For operators whose argument `indices` contains row numbers of `name`."""
    return lambda arguments: {indices: Bound(size_of(arguments, name, 0))}


def along_dimension(arguments):
    dimension = arguments.get("dim")
    return {"index": Bound(size_of(arguments, "self", dimension))} if type(dimension) is int else {}


def elements(arguments):
    tensor = arguments.get("self")
    return {"index": Bound(tensor.numel(), negative=True)} if is_tensor(tensor) else {}


def classes(arguments):
    scores = arguments.get("self")
    count = size_of(arguments, "self", 1 if is_tensor(scores) and scores.dim() > 1 else 0)
    return {"target": Bound(count, ignored=arguments.get("ignore_index"))}


def subscripts(arguments):
    """x[i, None, j]: each index applies to one dimension, in order. A mask applies to as many dimensions as it has."""
    bounds, dimension = {}, 0
    for number, index in enumerate(arguments.get("indices") or ()):
        if not is_tensor(index):
            dimension += 1
            continue
        if str(index.dtype) in ("torch.bool", "torch.uint8"):
            dimension += index.dim()
            continue
        bounds["indices[%d]" % number] = Bound(size_of(arguments, "self", dimension), negative=True)
        dimension += 1
    return bounds


def one_hot_classes(arguments):
    count = arguments.get("num_classes")
    return {"self": Bound(count)} if type(count) is int and count > 0 else {}


BOUNDS = {
    "embedding": rows_of("weight", "indices"),
    "embedding_renorm_": rows_of("self", "indices"),
    "embedding_bag": rows_of("weight", "indices"),
    "_embedding_bag": rows_of("weight", "indices"),
    "_embedding_bag_forward_only": rows_of("weight", "indices"),
    "embedding_dense_backward": lambda arguments: {"indices": Bound(arguments.get("num_weights"))},
    "index_select": along_dimension,
    "gather": along_dimension,
    "scatter": along_dimension,
    "scatter_add": along_dimension,
    "scatter_reduce": along_dimension,
    "index_add": along_dimension,
    "index_copy": along_dimension,
    "index_fill": along_dimension,
    "index_reduce": along_dimension,
    "take": elements,
    "put": elements,
    "index": subscripts,
    "index_put": subscripts,
    "_index_put_impl": subscripts,
    "_unsafe_index": subscripts,
    "_unsafe_index_put": subscripts,
    "nll_loss": classes,
    "nll_loss_forward": classes,
    "nll_loss_backward": classes,
    "nll_loss2d_forward": classes,
    "nll_loss2d_backward": classes,
    "multi_margin_loss": classes,
    "one_hot": one_hot_classes,
    "multinomial": lambda arguments: {"self": Weights()},
    "binary_cross_entropy": lambda arguments: {"self": Unit()},
    "binary_cross_entropy_backward": lambda arguments: {"self": Unit()},
    "bernoulli": lambda arguments: {"p" if is_tensor(arguments.get("p")) else "self": Unit()},
}


def rule_for(operator):
    name = operator.rpartition("::")[2]
    rule = BOUNDS.get(name) or BOUNDS.get(name.rstrip("_"))
    return rule if operator.startswith("aten::") else None


def bounds_of(operator, arguments):
    """Returns the requirements of each argument, by name. `operator` is the name in the schema, such as
    aten::scatter_."""
    rule = rule_for(operator)
    if rule is None:
        return {}
    known = rule(arguments)
    return {name: bound for name, bound in known.items() if getattr(bound, "count", 0) is not None}
