"""Converts arguments of operators to plain tensors: tensors of the target's subclasses, and numbers.

The attributes of a subclass may be functions of the target, which must not run for the hook.

In C++, a number such as the 1 of `x + 1` may be a tensor. PyTorch passes it to a dispatch mode as a Python number, but only
some operators accept that number again. torch.jit.trace also calls operators that do not accept it."""
import sys

from .budget import is_from_handler
from .tensor_data.tensors import Guard, tensor_kinds

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


NUMBERS = (bool, int, float, complex)


def as_tensors(function, args, kwargs, error):
    """Returns the arguments of an operator that has rejected a number in place of a tensor, with a tensor instead:
    (args, kwargs). None if the operator has failed for a different reason: it may have run, and must not be called
    again."""
    text = str(error)
    if "Expected a value of type" not in text or "Tensor" not in text:
        return None
    names = [each.name for each in function._schema.arguments if "Tensor" in str(each.type)]
    arguments = dict(zip([each.name for each in function._schema.arguments], args), **kwargs)
    if not any(type(each) in NUMBERS for name in names for each in elements(arguments.get(name))):
        return None
    with Guard():
        made = {name: as_tensor(value) if name in names else value for name, value in arguments.items()}
    return [made.pop(name) for name in list(made)[:len(args)]], made


def elements(value):
    return value if type(value) in (list, tuple) else (value,)


def as_tensor(value):
    if type(value) in (list, tuple):
        return [as_tensor(each) for each in value]
    if type(value) not in NUMBERS:
        return value
    torch = sys.modules["torch"]
    kinds = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
    return torch.scalar_tensor(value, dtype=kinds[type(value)])
