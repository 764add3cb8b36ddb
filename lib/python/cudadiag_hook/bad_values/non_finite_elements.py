"""The first bad element of a result, and the elements from which the operator computed it."""
import sys

from ..stacks import frames_of_places
from ..tensor_data.arguments import named_arguments
from ..tensor_data.finite_checks import INFINITE, as_floats, reach
from ..tensor_data.tensors import MOST_TEXT, describe, devices, is_tensor, summarise

MOST_KEPT = 1 << 14  # elements; larger arguments are not copied before an operator overwrites them
MOST_ARGUMENTS = 8
ENGINE = "_engine_run_backward"


def on_host_now(tensor):
    return tensor.device.type not in devices


def kept_inputs(call):
    """Copies the arguments that the operator is about to overwrite. Returns the copies by id() of the tensor."""
    kept = {}
    for number in call.facts.written:
        tensor = call.args[number] if number < len(call.args) else None
        if is_tensor(tensor) and on_host_now(tensor) and tensor.numel() <= MOST_KEPT and as_floats(tensor) is not None:
            kept[id(tensor)] = tensor.clone()
    return kept


def chosen(call, each, result):
    """Returns the elements of argument `each` that the operator has chosen for its result, with zeros elsewhere."""
    torch = sys.modules["torch"]
    if call.facts.name == "where":
        mask = call.args[0] if each is call.args[1] else ~call.args[0]
    else:
        mask = ~call.args[1]
    return torch.where(mask, result, torch.zeros((), dtype=result.dtype, device=result.device))


def non_finite_mask(tensor):
    return ~tensor.isfinite() if reach.worst == INFINITE else tensor.isnan()


def first_bad(tensor):
    """Returns {"bad": number of bad elements, "index": index of the first one, "shape": the tensor's shape}."""
    mask = non_finite_mask(tensor)
    flat = int(mask.reshape(-1).to(sys.modules["torch"].uint8).argmax())
    index, rest = [], flat
    for size in reversed(mask.shape):
        index.insert(0, rest % size)
        rest //= size
    return {"bad": int(mask.sum()), "index": index, "shape": list(tensor.shape)[:16]}


def element_at(value, shape, index):
    """Returns the argument's element at `index`, after broadcasting to `shape`; None if it cannot be broadcast."""
    if not is_tensor(value):
        return value if type(value) in (int, float, bool) else None
    try:
        return sys.modules["torch"].broadcast_to(value, shape)[tuple(index)].item()
    except RuntimeError:
        return None


def elements(call, tensor, index):
    """Returns [{name, value}] of the elements from which a pointwise operator computed the element at `index`."""
    found = []
    for name, value in named_arguments(call.function._schema, call.args, call.kwargs):
        if any(value is call.args[number] for number in call.facts.written if number < len(call.args)):
            value = (call.kept or {}).get(id(value))
        element = element_at(value, tensor.shape, index)
        if element is not None and type(element) is not complex:
            found.append({"name": name, "value": repr(element)[:MOST_TEXT]})
    return found[:MOST_ARGUMENTS]


def argument(name, tensor):
    about = {"name": name, "origin": "operator", **describe(tensor)}
    if tensor.numel() and not tensor.dtype.is_complex and tensor.layout is sys.modules["torch"].strided:
        about.update(summarise(tensor.double() if tensor.dtype.is_floating_point else tensor.long()))
    return about


def arguments(call):
    found = []
    for name, value in named_arguments(call.function._schema, call.args, call.kwargs):
        for number, each in enumerate((value,) if is_tensor(value) else value if type(value) in (list, tuple) else ()):
            if is_tensor(each) and on_host_now(each) and len(found) < MOST_ARGUMENTS:
                each = (call.kept or {}).get(id(each), each)
                found.append(argument(name if each is value else "%s[%d]" % (name, number), each))
    return found


def about_place(place):
    """Returns the message fields that say where an operator was called."""
    stack, _, step, node, made, certain = place
    frames = frames_of_places(stack)
    about = {"step": step, "stack": frames}
    if not node:
        return about  # not called in a backward pass
    about["node"] = node
    inner = [number for number, frame in enumerate(frames) if frame[2] == ENGINE]
    if inner:
        about["stack"], about["backward_stack"] = frames[:inner[0]], frames[inner[0] + 1:]
    if made is not None:
        about["forward_stack"], about["forward_certain"] = frames_of_places(made[0]), certain
    return about


def about_module(place):
    module = place[1] or (place[4][1] if place[4] is not None else None)
    return {} if module is None else {"module": module[0], "module_class": module[1]}


def about_root(call, tensor, place):
    about = {"operator": call.facts.operator, "overload": call.facts.overload, **about_place(place), **about_module(place)}
    source = next((value.source for _, values in call.inputs for value in values if value.source is not None), None)
    if source is not None:
        operator, source_place = source
        about["infinite"] = {"operator": operator, "stack": about_place(source_place)["stack"]}
    if tensor is None or tensor.device.type == "meta":
        return about
    dtype, tensor = tensor.dtype, as_floats(tensor)
    if tensor is None:
        return about
    about.update(first_bad(tensor))
    about["dtype"] = str(tensor.dtype if dtype.is_complex else dtype).replace("torch.", "")
    if on_host_now(tensor):
        about["arguments"] = arguments(call)
        if call.facts.pointwise:
            about["elements"] = elements(call, tensor, about["index"])
    return about
