"""Facts from an operator's schema, read once per operator."""
from .bounds import rule_for

# The tensors that these operators create are uninitialised.
UNINITIALISED = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_empty_affine_quantized",
                 "empty_permuted", "resize_", "resize_as_", "_resize_output_", "set_")
# A program uses these operators to check whether its values are finite, or to treat bad values as missing.
LOOKS = ("isnan", "isfinite", "isinf", "isposinf", "isneginf", "nan_to_num", "nan_to_num_", "nansum", "nanmean",
         "nanmedian", "nanquantile", "_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_")
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
        self.enters = False  # set by entries.Entry
        self.has_bounds = rule_for(self.operator) is not None
        self.lifts = self.own and self.name == "lift_fresh"
        self.adopts = self.own and self.name == "set_"  # uses existing memory, perhaps of another process
        self.is_view = bool(getattr(function, "is_view", False))
        self.makes_nothing = not self.written and not self.fresh and not self.lifts
        self.makes_one = not self.written and self.results == 1 and self.fresh == [0]
        self.uninitialised = self.own and self.name in UNINITIALISED
        self.looks = self.own and self.name in LOOKS
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
