"""Where a bad element came from: back through the operators that carried it, to the one that made it or gave it entry.

Of each result the smallest and the greatest element are kept, as long as the budget lasts. An operator made a bad
element if none of its inputs had one.
"""
import sys

from . import stream
from .budget import guarded, state
from .finite_checks import as_floats
from .forward_places import places_here
from .lineage import Writers, has_storage
from .schemas import facts_of, tensors_in
from .stacks import frames_of_places
from .tensors import Guard, is_capturing, tensor_kinds

MOST_ELEMENTS = 1 << 20  # of a result that is looked at
MOST_INPUTS = 16
MOST_STEPS = 64  # back
MOST_TOLD = 4
MOST_RESULTS = 1 << 17  # kept with their inputs

# Of a result that has only elements of its first argument, or numbers that it was given.
FILLS = ("full", "full_like", "fill_", "new_full", "masked_fill", "masked_fill_", "scalar_tensor", "constant_pad_nd",
         "index_fill", "index_fill_", "arange")


# They move an element by a little: one that was bad before was not made bad there. What other operators are given, such as
# a hash before its remainder, may be of another kind than their results.
SHIFTS = ("add", "add_", "sub", "sub_", "rsub", "abs", "unique", "_unique2", "unique_dim", "minimum", "maximum", "clamp_min",
          "clamp", "sort", "topk", "amax", "max", "min", "detach", "alias", "view", "contiguous")


class Result:
    """What an operator wrote to a range of bytes."""

    __slots__ = ("facts", "place", "inputs", "least", "greatest", "given", "__weakref__")

    def is_clean(self):
        return False

    def is_outside(self, bound):
        return self.least is not None and not (self.least >= bound.least and self.greatest < bound.least_too_much)


class Range:
    """Good elements: from `least` to below `least_too_much`."""

    def __init__(self, least, least_too_much):
        self.least, self.least_too_much = least, least_too_much


class Origins(stream.Listener):
    def __init__(self):
        self.writers = Writers()
        self.kept = 0

    def before(self, function, args, kwargs):
        facts = facts_of(function)
        if facts.makes_nothing or not state.on:
            return None
        return facts, args, kwargs, guarded(self.inputs_of, args, kwargs) or []

    def inputs_of(self, args, kwargs):
        """[(results in it, least, greatest)] of each tensor."""
        kinds, found = tensor_kinds(), []
        for value in (*args, *kwargs.values()):
            for tensor in tensors_in(value, kinds)[:MOST_INPUTS]:
                results = self.writers.values_in(tensor)
                least, greatest = (None, None) if results else extremes(tensor)
                found.append((results, least, greatest))
        return found

    def after(self, token, result, returned):
        if returned:
            guarded(self.keep, token, result)

    def keep(self, token, result):
        facts, args, kwargs, inputs = token
        if facts.uninitialised:
            for tensor in tensors_in(result, tensor_kinds()):
                self.writers.write(tensor, None)
            return
        place = None
        for tensor in outputs_of(facts, args, kwargs, result):
            if not has_storage(tensor):
                continue
            kept = Result()
            place = place or places_here.place()
            kept.facts, kept.place, kept.inputs = facts, place, inputs
            kept.least, kept.greatest = extremes(tensor)
            kept.given = [each for each in (*args, *kwargs.values()) if type(each) in (int, float, bool)]
            if self.kept >= MOST_RESULTS:
                kept.inputs = []  # of the latest alone nothing could be dropped: their chains end here
            self.kept += 1
            self.writers.write(tensor, kept)


def outputs_of(facts, args, kwargs, result):
    for number in facts.written:
        value = args[number] if number < len(args) else kwargs.get(facts.parameters[number])
        yield from tensors_in(value, tensor_kinds())
    results = result if facts.results > 1 and type(result) in (tuple, list) else (result,)
    for number in (0,) if facts.lifts else facts.fresh:
        if number < len(results):
            yield from tensors_in(results[number], tensor_kinds())


def extremes(tensor):
    """(None, None): not known."""
    torch = sys.modules["torch"]
    if not 0 < tensor.numel() <= MOST_ELEMENTS or not has_storage(tensor) or tensor.dtype is torch.bool:
        return None, None
    if tensor.dtype.is_complex or (tensor.dtype.is_floating_point and as_floats(tensor) is None) or is_capturing():
        return None, None
    with Guard():
        least, greatest = torch.aminmax(tensor)
        return least.item(), greatest.item()


def element_range(tensor, index):
    """The tensor's view of one element."""
    with Guard():
        return tensor[tuple(index)] if index else tensor


def steps_back(writers, tensor, index, bound):
    """Results that hold the bad element, the latest first; and the inputs of the last one."""
    results = writers.values_in(element_range(tensor, index)) or writers.values_in(tensor)
    steps = []
    while results and len(steps) < MOST_STEPS:
        result = next((each for each in results if each.is_outside(bound)), results[-1])
        steps.append(result)
        results, entered = [], False
        if not (result.facts.structural or result.facts.name in SHIFTS):
            return steps, False
        for inner, least, greatest in result.inputs:
            bad = [each for each in inner if each.is_outside(bound)]
            if bad:
                results = bad
                break
            if not inner and least is not None and not (least >= bound.least and greatest < bound.least_too_much):
                entered = True
        if entered and not results:
            return steps, True
    return steps, False


def role_of(result, entered):
    if result.facts.lifts:
        return "copied"
    if entered:
        return "loaded"
    return "passed" if result.facts.name in FILLS else "made"


def origin_of(listener, tensor, index, value, bound):
    """[{role, operator, value, stack}]: the origin, then what carried the element; []: nothing is known."""
    steps, entered = steps_back(listener.writers, tensor, index, bound)
    if not steps:
        return []
    first = steps[-1]
    told = [{"role": role_of(first, entered), "operator": first.facts.full_name(), "value": value,
             "stack": frames_of_places(first.place[0])}]
    for each in steps[-2::-1][:MOST_TOLD]:
        told.append({"role": "copied" if each.facts.structural else "passed", "operator": each.facts.full_name(),
                     "value": None, "stack": frames_of_places(each.place[0])})
    return told


listener = Origins()


def begin():
    stream.push(listener)
