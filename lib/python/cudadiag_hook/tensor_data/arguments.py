"""The fields that are reported for tensors and scalars. Their names are those of the members of diagnose::Argument."""
import sys

from .schemas import bounds_of
from .tensors import MOST_TEXT, describe, devices, is_tensor, on_host, summarise

MOST_ARGUMENTS = 24
FEW_ELEMENTS = 1 << 16


def scalar(name, origin, value):
    return {"name": name, "origin": origin, "value": repr(value)[:MOST_TEXT]}


def array(name, origin, value):
    """Describes an array of a library other than PyTorch, from its __cuda_array_interface__ and without its values."""
    if not any("__cuda_array_interface__" in vars(kind) for kind in type(value).__mro__):
        return None
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:  # a tensor of a subclass that is not on a GPU
        return None
    about = {"name": name, "origin": origin, "dtype": str(interface["typestr"])[:16], "device": "cuda",
             "shape": [int(size) for size in interface["shape"]][:16]}
    pointer = interface.get("data", (None,))[0]
    if type(pointer) is int:
        about["pointer"] = pointer
    return about


def same_memory(a, b):
    return a.data_ptr() == b.data_ptr() and a.dtype == b.dtype and a.numel() == b.numel() and a.is_contiguous() and \
        b.is_contiguous()


def named_variable(tensor, variables):
    """Returns (name, shape) of the variable that is the tensor, or has the same memory in a different shape; else
    None."""
    for name, value in variables:
        if value is tensor:
            return name, tuple(tensor.shape)
    for name, value in variables:
        if is_tensor(value) and value.layout is tensor.layout and tensor.numel() and same_memory(value, tensor):
            return name, tuple(value.shape)
    return None


def worth_copying(tensor, bound, rule_known):
    """Returns whether to copy the tensor. If a rule says which argument matters, other large arguments are not
    copied."""
    return bound is not None or not rule_known or tensor.numel() <= FEW_ELEMENTS


def tensor_argument(name, tensor, variables, bound, copies):
    """Describes one tensor of an operator's call, under the name of the user's variable if there is one."""
    about = {"name": name, "origin": "operator", **describe(tensor)}
    if str(tensor.device).partition(":")[0] not in devices:
        return about
    known = named_variable(tensor, variables)
    if known is not None:
        about["name"], about["origin"] = known[0], "variable"
        about["parameter"] = name
    host = on_host(tensor) if copies else None
    if host is None:
        return about
    if known is not None and known[1] != tuple(host.shape):
        host = host.reshape(known[1])
        about["shape"] = list(known[1])[:16]
        about.pop("strides", None)
    about.update(summarise(host))
    if bound is not None:
        about.update(bound.check(host))
    return about


def named_arguments(schema, args, kwargs):
    """Returns the call's arguments with the names in the operator's schema: [(name, value)]."""
    found = []
    for number, argument in enumerate(schema.arguments):
        if number < len(args):
            found.append((argument.name, args[number]))
        elif argument.name in kwargs:
            found.append((argument.name, kwargs[argument.name]))
        elif argument.has_default_value():
            found.append((argument.name, argument.default_value))
    return found


def operator_arguments(operator, pairs, variables, copies):
    """Returns the call's tensors, tensors in lists, and plain numbers. `pairs` comes from named_arguments()."""
    bounds = bounds_of(operator, dict(pairs))
    found = []

    def add(name, tensor):
        bound = bounds.get(name)
        found.append(tensor_argument(name, tensor, variables, bound, copies and worth_copying(tensor, bound, bounds)))

    for name, value in pairs:
        if len(found) == MOST_ARGUMENTS:
            break
        if is_tensor(value):
            add(name, value)
        elif type(value) in (list, tuple):
            for number, each in enumerate(value[:8]):
                if is_tensor(each):
                    add("%s[%d]" % (name, number), each)
        elif type(value) in (int, float, bool):
            found.append(scalar(name, "operator", value))
    # Arguments that break a rule come first.
    return sorted(found, key=lambda about: not about.get("outside"))


def touches_device(pairs):
    for _, value in pairs:
        for each in value if type(value) in (list, tuple) else [value]:
            if is_tensor(each) and each.device.type in devices:
                return True
    return False


def variable_arguments(variables, copies):
    found = []
    for name, value in variables:
        if len(found) == MOST_ARGUMENTS:
            break
        if is_tensor(value):
            found.append(tensor_argument(name, value, [(name, value)], None, copies))
        elif type(value) in (int, float, bool):
            found.append(scalar(name, "variable", value))
        else:
            about = array(name, "variable", value)
            if about is not None:
                found.append(about)
    return found
