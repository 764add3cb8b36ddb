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

# Their results have only elements of the first argument, or numbers that they were given.
FILLS = ("full", "full_like", "fill_", "new_full", "masked_fill", "masked_fill_", "scalar_tensor", "constant_pad_nd",
         "index_fill", "index_fill_", "arange")


# They move an element by a little: one that was bad before was not made bad there. What other operators are given, such as
# a hash before its remainder, may be of another kind than their results.
SHIFTS = ("add", "add_", "sub", "sub_", "abs", "unique", "_unique2", "unique_dim", "minimum", "maximum", "clamp_min",
          "clamp", "amax", "amin")
# They keep the sign, and nothing else, of what they are given.
QUOTIENTS = ("div", "div_", "floor_divide", "floor_divide_")


class Result:
    """What an operator wrote to a range of bytes."""

    __slots__ = ("facts", "place", "inputs", "least", "greatest", "given", "__weakref__")

    def is_clean(self):
        return False



class Side:
    """Of the good elements, the side on which the bad one lies."""

    def __init__(self, value, least, least_too_much):
        self.is_below, self.least, self.least_too_much = value < least, least, least_too_much

    def has(self, least, greatest):
        """Whether there are elements on it; they may be others than the one that is looked for."""
        if least is None:
            return False
        return least < self.least if self.is_below else greatest >= self.least_too_much


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


def leads_on(result, side):
    """Whether a bad element of the result may have been bad before."""
    facts = result.facts
    return facts.structural or facts.name in SHIFTS or (side.is_below and facts.name in QUOTIENTS)


def steps_back(writers, tensor, index, side):
    """Results that hold the bad element, the latest first; and whether it entered with an input of the last one."""
    results = writers.values_in(element_range(tensor, index)) or writers.values_in(tensor)
    steps = []
    while results and len(steps) < MOST_STEPS:
        result = next((each for each in results if side.has(each.least, each.greatest)), results[-1])
        steps.append(result)
        results, entered = [], False
        for inner, least, greatest in result.inputs if leads_on(result, side) else ():
            results = [each for each in inner if side.has(each.least, each.greatest)]
            if results:
                break
            entered = entered or (not inner and side.has(least, greatest))
        if entered and not results:
            return steps, True
    return steps, False


def role_of(result, entered):
    if result.facts.enters:
        return "loaded"
    if result.facts.lifts:
        return "copied"
    if entered:
        return "loaded"
    return "passed" if result.facts.name in FILLS else "made"


def origin_of(listener, tensor, index, value, bound):
    """`bound`: the least good element, and the first one that is too much. [{role, operator, value, stack}]: the origin, then what carried the element; []: nothing is known."""
    steps, entered = steps_back(listener.writers, tensor, index, Side(value, *bound))
    if not steps:
        return []
    first = steps[-1]
    told = [{"role": role_of(first, entered), "operator": first.facts.full_name(), "value": value,
             "stack": frames_of_places(first.place[0])}]
    for each in steps[-2::-1][:MOST_TOLD]:
        told.append({"role": "copied" if each.facts.structural else "passed", "operator": each.facts.full_name(),
                     "value": None, "stack": frames_of_places(each.place[0])})
    return told


class Entry:
    """Stands for the facts of an operator where tensors come from a file or another process."""

    structural = lifts = False
    enters, name = True, "entry"

    def __init__(self, name):
        self.operator = name

    def full_name(self):
        return self.operator


def note_entry(listener, name, value, depth=4):
    if type(value) in tensor_kinds():
        if has_storage(value):
            kept = Result()
            kept.facts, kept.place, kept.inputs, kept.given = Entry(name), places_here.place(), [], []
            kept.least, kept.greatest = extremes(value)
            listener.writers.write(value, kept)
    elif depth:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for each in list(inner):
            note_entry(listener, name, each, depth - 1)


def follow_entries(listener, replace):
    """`replace(owner, name, make)`: `make` gets the original and gives what takes its place."""

    def make(name):
        def made(original):
            def entered(*args, **kwargs):
                value = original(*args, **kwargs)
                guarded(note_entry, listener, name, value)
                return value

            return entered

        return made

    torch = sys.modules["torch"]
    replace(torch, "load", make("torch.load"))
    loader = sys.modules.get("torch.utils.data.dataloader")
    replace(getattr(loader, "_MultiProcessingDataLoaderIter", None), "__next__", make("DataLoader"))
