"""Converts numbers back to tensors. In C++, a number such as the 1 of `x + 1` may be a tensor. PyTorch passes it to a
dispatch mode as a Python number, but only some operators accept that number again. torch.jit.trace also calls operators
that do not accept it."""
import sys

from ..tensor_data.tensors import Guard

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
