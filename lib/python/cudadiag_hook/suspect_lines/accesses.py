"""Reports the memory that the operators of a racing line use: names, shapes and addresses, but no values."""
import sys

from .. import recorder
from ..recorder import to_json
from ..tensor_data.arguments import array, named_arguments, named_variable
from ..tensor_data.tensors import Guard, describe, devices, each_tensor, is_tensor, torch_module
from .visits import Place, visits

FULLY_TOLD = 64  # calls of an operator at a line; later calls are reported only if their tensors are new there
MOST_TOLD, MOST_MESSAGES = 8 << 20, 8000  # MOST_TOLD in bytes; these are also the reader's limits
MOST_TENSORS = 48
WHOLE = ("aten::copy_", "aten::fill_", "aten::zero_")  # these use every element, but PyTorch does not tag them


class Accesses:
    """Per-process state."""

    def __init__(self):
        self.calls, self.known, self.schemas = {}, set(), {}
        self.told = self.messages = 0
        self.stopped = False


accesses = Accesses()


def is_news(suspect, what, tensors):
    count = accesses.calls[suspect, what] = accesses.calls.get((suspect, what), 0) + 1
    key = (suspect, what) + tuple((each["name"], each.get("pointer"), tuple(each["shape"]), each["dtype"])
                                  for each in tensors)
    fresh = key not in accesses.known
    if not accesses.stopped:
        accesses.known.add(key)
    return fresh or count <= FULLY_TOLD


def tell_access(message):
    text = to_json(message)
    accesses.told += len(text)
    accesses.messages += 1
    within = accesses.told <= MOST_TOLD and accesses.messages <= MOST_MESSAGES
    return within and recorder.deliver(text) or stop_telling()


def stop_telling():
    """Notes in the session that no more accesses are reported. Later accesses may use the same memory as the reported
    ones."""
    if not accesses.stopped:
        accesses.stopped = True
        recorder.deliver('{"kind":"untold","arguments":[]}')
    return False


def span(tensor):
    """Returns the number of bytes from the start of the tensor's first element to the end of its last element."""
    if not tensor.numel():
        return 0
    return (1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))) * tensor.element_size()


def tensor_access(name, tensor, place, written):
    about = {"name": name, "origin": "operator", **describe(tensor)}
    if "pointer" in about:
        about["bytes"] = span(tensor)
    if written is not None:
        about["written"] = written
    variables = place.variables + place.hidden
    known = named_variable(tensor, variables)
    whole = known[0] if known is not None else named_whole(tensor, variables)
    if whole is not None:
        about["name"], about["origin"], about["parameter"] = whole, "variable", name
    if known is None and whole is not None:
        about["view"] = True
    return about


def named_whole(tensor, variables):
    """Returns the variable that the tensor is a view of: the smallest one whose memory contains the tensor's memory."""
    strided = sys.modules["torch"].strided
    if tensor.layout is not strided or not tensor.numel():
        return None
    first, last, found = tensor.data_ptr(), tensor.data_ptr() + span(tensor), []
    for name, value in variables:
        if is_tensor(value) and value.layout is strided and value.device == tensor.device:
            begin, size = value.data_ptr(), span(value)
            if begin <= first and last <= begin + size:
                found.append((size, name))
    return min(found)[1] if found else None


def argument_accesses(schema, args, kwargs, place):
    declared = {each.name: each.alias_info for each in schema.arguments}
    found = []
    for name, value in named_arguments(schema, args, kwargs):
        written = declared[name] is not None and declared[name].is_write
        for label, tensor in each_tensor(name, value):
            if tensor.device.type in devices and len(found) < MOST_TENSORS:
                found.append(tensor_access(label, tensor, place, written))
    return found


def result_accesses(schema, result, place):
    """Returns the accesses to new tensors. Results that alias an argument, according to the schema, are omitted."""
    results = [result] if len(schema.returns) == 1 else result
    found = []
    for number, (declared, value) in enumerate(zip(schema.returns, results or ())):
        name = declared.name or ("result" if len(schema.returns) == 1 else "result %d" % number)
        for label, tensor in each_tensor(name, value):
            if declared.alias_info is None and tensor.device.type in devices and len(found) < MOST_TENSORS:
                found.append(tensor_access(label, tensor, place, True))
    return found


def uses_all(function):
    """Returns whether the operator uses every element of its tensors, according to PyTorch's own tags."""
    tags = [str(tag).rpartition(".")[2] for tag in function.tags]
    return function._schema.name in WHOLE or "pointwise" in tags or "reduction" in tags


def facts_of(function):
    if function not in accesses.schemas:
        accesses.schemas[function] = (str(function._schema), uses_all(function))
    return accesses.schemas[function]


def tell_call(kind, place, function, tensors):
    schema, (text, whole) = function._schema, facts_of(function)
    return tell_access({"kind": kind, "file": place.suspect.file, "line": place.suspect.line,
                        "operator": schema.name, "overload": schema.overload_name, "schema": text, "whole": whole,
                        "arguments": tensors})


def before_access(place, function, args, kwargs):
    """Always returns True, because the operations that follow belong to the operator."""
    with Guard():
        tensors = argument_accesses(function._schema, args, kwargs, place)
    news = is_news(place.suspect, facts_of(function)[0], tensors)
    visits.racing = (place, news)
    if news:
        tell_call("operator", place, function, tensors)
    return True


def after_access(function, result):
    place, told = visits.racing
    with Guard():
        tensors = result_accesses(function._schema, result, place)
    news = tensors and is_news(place.suspect, facts_of(function)[0] + " results", tensors)
    if told or news:
        tell_call("results", place, function, tensors)


def arrive_racing(place):
    """Reports the line's variables, because kernels that are not operators use them as arguments."""
    if torch_module() is not None:
        with Guard():
            tensors = variable_accesses(place)
    else:
        tensors = variable_accesses(place)
    if tensors and is_news(place.suspect, "", tensors):
        tell_access({"kind": "line", "file": place.suspect.file, "line": place.suspect.line, "arguments": tensors})


def variable_accesses(place):
    found = []
    for name, value in place.variables[:MOST_TENSORS]:
        if is_tensor(value) and value.device.type in devices:
            about = tensor_access(name, value, Place(place.suspect, None, [], []), None)
            found.append({**about, "origin": "variable"})
        elif not is_tensor(value):
            about = array(name, "variable", value)
            if about is not None and value.__cuda_array_interface__.get("strides") is None:
                about["bytes"] = packed_size(about)
            found.append(about)
    return [each for each in found if each is not None and each.get("bytes") and "pointer" in each]


def packed_size(about):
    size = about["dtype"][2:]
    bytes_ = int(size) if size.isdigit() else 0
    for each in about["shape"]:
        bytes_ *= each
    return bytes_
