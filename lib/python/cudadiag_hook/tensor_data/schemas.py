"""What operators do with their arguments, from their schemas, and what known operators require of them."""
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


# The tensors that these operators create are uninitialised.
UNINITIALISED = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_empty_affine_quantized",
                 "empty_permuted", "resize_", "resize_as_", "_resize_output_", "set_")
# Each element of these operators' results is an element of an argument.
STRUCTURAL = ("lift_fresh", "set_", "clone", "copy_", "_to_copy", "cat", "stack", "index", "index_select", "select", "gather",
              "where", "masked_fill", "masked_fill_", "masked_select", "fill_", "full", "full_like", "scatter", "scatter_",
              "index_put", "index_put_", "index_copy", "index_copy_", "repeat", "flip", "roll", "sort", "topk",
              "constant_pad_nd", "masked_scatter", "masked_scatter_", "_pin_memory", "new_full", "scalar_tensor",
              "detach_copy", "expand_copy", "lift_fresh_copy", "squeeze_copy")
# Only the first results of these operators are checked, because parts of the other results are never read.
FIRST_RESULT = ("_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention",
                "_scaled_dot_product_cudnn_attention", "_efficient_attention_forward", "_flash_attention_forward",
                "_scaled_dot_product_flash_attention_for_cpu", "_cudnn_rnn", "_thnn_fused_lstm_cell",
                "_thnn_fused_gru_cell", "cudnn_batch_norm", "miopen_batch_norm", "mkldnn_rnn_layer")


# Pointwise operators that overwrite an argument, and can turn finite elements into NaN.
OVERWRITE = ("div_", "addcdiv_", "sub_", "log_", "log2_", "log10_", "log1p_", "sqrt_", "rsqrt_", "pow_", "reciprocal_",
             "acos_", "asin_", "acosh_", "atanh_", "fmod_", "remainder_", "masked_fill_", "xlogy_", "logit_", "lgamma_",
             "digamma_")


class Facts:
    def __init__(self, function):
        schema = function._schema
        self.operator, self.overload = schema.name, schema.overload_name
        space, _, self.name = schema.name.rpartition("::")
        self.own = space == "aten"
        self.parameters = [each.name for each in schema.arguments]
        self.written = [number for number, each in enumerate(schema.arguments)
                        if each.alias_info is not None and each.alias_info.is_write]
        self.fresh = [number for number, each in enumerate(schema.returns) if each.alias_info is None]
        self.results = len(schema.returns)
        if self.own and self.name in FIRST_RESULT:
            self.fresh = self.fresh[:1]
        tags = [str(tag).rpartition(".")[2] for tag in function.tags]
        self.pointwise = "pointwise" in tags or self.name in ("div_", "mul_", "add_", "sub_")
        self.keeps_inputs = self.own and bool(self.written) and self.name in OVERWRITE
        self.enters = False  # origins.Entry has true
        self.has_bounds = rule_for(self.operator) is not None
        self.lifts = self.own and self.name == "lift_fresh"
        self.adopts = self.own and self.name == "set_"  # uses existing memory, perhaps of another process
        self.is_view = bool(getattr(function, "is_view", False))
        self.makes_nothing = not self.written and not self.fresh and not self.lifts
        self.makes_one = not self.written and self.results == 1 and self.fresh == [0]
        self.uninitialised = self.own and self.name in UNINITIALISED
        self.asks = None  # whether a program checks values with it; set by non_finite
        self.compares = self.own and self.name in ("eq", "ne", "lt", "le", "gt", "ge")
        self.structural = self.own and self.name in STRUCTURAL
        self.reads_scalar = self.own and self.name == "_local_scalar_dense"
        self.chooses = self.own and self.name in ("where", "masked_fill", "masked_fill_")

    def full_name(self):
        return self.operator + ("." + self.overload if self.overload else "")


known = {}


def facts_of(function):
    facts = known.get(function)
    if facts is None:
        facts = known[function] = Facts(function)
    return facts


def tensors_in(value, kinds):
    """Returns the tensors in an argument or a result: the value itself if it is a tensor, or the tensors in it if it is
    a list or tuple."""
    if type(value) in kinds:
        return (value,)
    if type(value) in (list, tuple):
        return [each for each in value if type(each) in kinds]
    return ()
