"""Converts tensors of the target's subclasses to plain tensors. Their attributes may be functions of the target, which
must not run for the hook."""
import sys

from ..budget import is_from_handler
from ..tensor_data.tensors import Guard, tensor_kinds

SEQUENCES = (list, tuple)
known = {}  # by type: whether it is a subclass of Tensor that takes part in PyTorch's own dispatch


def is_subclass(kind):
    found = known.get(kind)
    if found is None:
        tensor = sys.modules["torch"].Tensor
        found = known[kind] = issubclass(kind, tensor) and kind not in tensor_kinds() and \
            kind.__torch_dispatch__ is tensor.__torch_dispatch__
    return found


def is_of_subclass(value):
    return is_subclass(type(value))


def holds_subclass(value):
    kind = type(value)
    return any(map(is_subclass, set(map(type, value)))) if kind in SEQUENCES else is_subclass(kind)


def plain(value):
    """Returns a plain tensor with the same memory if the value is a tensor of a subclass; otherwise the value itself.
    The caller must hold a Guard."""
    if type(value) in SEQUENCES:
        return [plain(each) for each in value]
    if not is_of_subclass(value):
        return value
    tensor = sys.modules["torch"].Tensor
    return tensor.as_subclass(value, tensor)


def plain_arguments(args, kwargs):
    """Returns the arguments of an operator, with plain tensors."""
    try:
        if not any(map(holds_subclass, args)) and not (kwargs and any(map(holds_subclass, kwargs.values()))):
            return args, kwargs
        with Guard():
            return tuple([plain(each) for each in args]), {name: plain(each) for name, each in kwargs.items()}
    except Exception as error:
        if is_from_handler(error):
            raise
        return args, kwargs
