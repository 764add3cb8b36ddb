"""Keeps the results of all operators, with the least and the greatest element of each, and the tensors that come from a
file, from NumPy, or from a data loader. If an operator receives an element that is out of bounds, finds where that
element came from (module `tracing`). In a rerun that confirms, this runs beside suspect lines, whose mode is then inside
this one's."""
import sys

from .. import recorder
from ..budget import Budget
from ..recorder import to_json
from ..stacks import frames_of_places, without_own_frames
from ..suspect_lines.visits import visits
from ..tensor_data.arguments import named_arguments
from ..tensor_data.schemas import bounds_of, facts_of, tensors_in
from ..tensor_data.finite_checks import as_floats
from ..tensor_data.lineage import Writers, has_storage
from ..tensor_data.tensors import Guard, first_of, is_capturing, tensor_kinds, unwrapped
from ..operator_places import places_here
from ..dispatch_mode import Listener
from ..whole_program import listen, replace, when_torch_is_there
from .tracing import Bad, origin_of

MOST_ELEMENTS = 1 << 20  # larger results are not read
MOST_INPUTS = 16
MOST_RESULTS = 1 << 17  # later results are kept without their inputs
MOST_WRITERS = 256  # per storage
MOST_TOLD = 16
MOST_FRAMES = 24
MOST_DEPTH = 4  # limit for nested containers
MOST_ROWS = 4096
SAMPLES = "_cudadiag_samples"  # attribute of a loader's iterator: indices into the data set, by batch number
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")  # types whose extremes PyTorch can compute

END_OF_CALLS = to_json({"kind": "operator", "line": 0, "file": "", "operator": "", "overload": "", "arguments": []})

# These parameters only choose elements of other arguments. Their own elements are not part of the operator's result.
CHOOSERS = ("index", "indices", "mask", "condition")
OVERWRITTEN = ("copy_", "fill_", "zero_", "random_", "uniform_", "normal_")  # these do not read what they overwrite
# All results of these operators except the first are indices or counts.
INDEX_RESULTS = ("sort", "topk", "max", "min", "kthvalue", "mode", "median", "nanmedian", "cummax", "cummin",
                 "_unique2", "unique_dim", "unique_consecutive")


class Result:
    """The result that an operator wrote to a range of bytes."""

    __slots__ = ("facts", "place", "inputs", "least", "greatest", "given", "is_index", "batch", "count", "__weakref__")

    def __init__(self, facts, place):
        self.facts, self.place, self.inputs, self.given = facts, place, [], []
        self.least = self.greatest = None  # None means unknown
        self.is_index, self.batch = False, None
        self.count = 0  # number of elements

    def is_clean(self):
        return False

    def same_call_site(self, other):
        return self.facts is other.facts and self.place[0] == other.place[0] and self.is_index == other.is_index


# No operator wrote these bytes, or we did not see the write.
UNKNOWN = Result(None, ((),))


class Origins(Listener):
    def __init__(self):
        self.writers = Writers()
        self.kept = self.told = 0
        self.budget = Budget()

    def before(self, function, args, kwargs):
        token = self.look(function, args, kwargs)
        # The hook is on the native stack of each operator, whether or not it reads anything. If suspect lines did not
        # report the operator, the values of an earlier one must not be taken for its own.
        if visits.told and not visits.telling:
            visits.told = False
            recorder.deliver(END_OF_CALLS)
        recorder.hooked(True)
        return token

    def look(self, function, args, kwargs):
        """Returns what keep() needs; () if there is nothing to keep."""
        if recorder.failed():
            self.budget.on = False
        if not self.budget.on:
            return ()
        facts = facts_of(function)
        self.budget.guarded(self.look_for_bad, facts, function, args, kwargs)
        if facts.makes_nothing:
            return ()
        return facts, args, kwargs, self.budget.guarded(self.inputs_of, facts, args, kwargs) or None

    def inputs_of(self, facts, args, kwargs):
        """Returns ([(earlier results, least, greatest), ...],): one entry for each tensor whose elements may be in the
        result."""
        kinds, found = tensor_kinds(), []
        for name, value in (*zip(facts.parameters, args), *kwargs.items()):
            if facts.structural and name in CHOOSERS or (name == "self" and facts.own and facts.name in OVERWRITTEN):
                continue
            for tensor in tensors_in(value, kinds)[:MOST_INPUTS]:
                if not tensor.numel():
                    continue
                results = self.writers.values_in(tensor)
                covers = len(results) == 1 and results[0].count == tensor.numel()
                least, greatest = (results[0].least, results[0].greatest) if covers else extremes(tensor)
                found.append((results, least, greatest))
        return (found,)

    def after(self, token, result, returned):
        recorder.hooked(False)
        if returned and token and not recorder.failed():
            self.budget.guarded(self.keep, token, result)

    def keep(self, token, result):
        facts, args, kwargs, inputs = token
        if facts.uninitialised:
            for tensor in tensors_in(result, tensor_kinds()):
                self.writers.write(tensor, UNKNOWN)
            return
        place = None
        for number, tensor in outputs_of(facts, args, kwargs, result):
            if not has_storage(tensor):
                continue
            place = place or places_here.place()
            kept = Result(facts, place)
            kept.least, kept.greatest = extremes(tensor)
            kept.given = [each for each in (*args, *kwargs.values()) if type(each) in (int, float)]
            kept.count = tensor.numel()
            kept.is_index = number > 0 and facts.own and facts.name in INDEX_RESULTS
            # Beyond this limit, inputs are not kept, so tracing ends at this result.
            kept.inputs = inputs[0] if inputs is not None and self.kept < MOST_RESULTS else None
            self.kept += 1
            self.writers.write(tensor, kept)
            self.writers.limit(tensor, MOST_WRITERS, UNKNOWN)

    def look_for_bad(self, facts, function, args, kwargs):
        if not facts.has_bounds or self.told >= MOST_TOLD:
            return
        pairs = named_arguments(function._schema, args, kwargs)
        for name, bound in bounds_of(facts.operator, dict(pairs)).items():
            tensor = argument_named(pairs, name)
            if type(tensor) in tensor_kinds() and self.may_be_bad(tensor, bound):
                self.tell_bad(facts, name, tensor, bound)

    def may_be_bad(self, tensor, bound):
        results = self.writers.values_in(tensor)
        return not results or any(bound.allows(each.least, each.greatest) is not True for each in results)

    def tell_bad(self, facts, name, tensor, bound):
        with Guard():
            host = values_of(tensor)
            found = bound.check(host) if host is not None else {}
        if not found.get("outside") or len(found["first_outside"]) != tensor.dim():
            return
        self.told += 1
        bad = Bad(found["first_value"], bound)
        steps, grade = origin_of(self.writers, element(tensor, found["first_outside"]), bad)
        tell({"kind": "origin", "operator": facts.full_name(), "argument": name, "index": found["first_outside"],
              "value": found["first_value"], "certain": grade, "stack": frames(places_here.place()[0]),
              "origin": [about(each, bad, last) for each, last in steps]})


def about(step, bad, role):
    told = {"role": role, "operator": step.facts.full_name(), "stack": frames(step.place[0])}
    value = bad.value if step is bad.made_by else None
    if value is not None:
        told["value"] = value
    if step.batch is not None:
        told["batch"], told["sample"] = step.batch.number, step.batch.sample_of(bad)
    return told


def frames(places):
    return frames_of_places(places[:MOST_FRAMES])


def tell(message):
    while not recorder.deliver(to_json(message)) and len(message["origin"]) > 1:
        message["origin"].pop()  # too long for a line


def argument_named(pairs, name):
    """`name` may be an element of a list: indices[1] is the second tensor of `indices`."""
    name, _, number = name.rstrip("]").partition("[")
    value = dict(pairs).get(name)
    return value[int(number)] if number and type(value) in (list, tuple) else value


def element(tensor, index):
    """Returns a view of one element of the tensor."""
    with Guard():
        return tensor[tuple(index)] if index else tensor


def values_of(tensor):
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.dtype.is_complex or tensor.device.type == "meta" or is_capturing():
        return None
    if not 0 < tensor.numel() <= MOST_ELEMENTS:
        return None
    host = tensor.detach().cpu()
    if host.dtype.is_floating_point:
        return host.float() if host.element_size() < 4 else host
    return host.long()


def outputs_of(facts, args, kwargs, result):
    """Yields (number of the result, tensor)."""
    for number in facts.written:
        value = args[number] if number < len(args) else kwargs.get(facts.parameters[number])
        for tensor in tensors_in(value, tensor_kinds()):
            yield 0, tensor
    results = result if facts.results > 1 and type(result) in (tuple, list) else (result,)
    for number in (0,) if facts.lifts else facts.fresh:
        if number < len(results):
            for tensor in tensors_in(results[number], tensor_kinds()):
                yield number, tensor


def extremes(tensor):
    """Returns (least, greatest) of the tensor; (None, None) if unknown."""
    torch = sys.modules["torch"]
    if tensor.dtype is torch.bool:
        return 0, 1
    if not 0 < tensor.numel() <= MOST_ELEMENTS or not has_storage(tensor):
        return None, None
    if tensor.dtype.is_complex or is_capturing():
        return None, None
    with Guard():
        floats = as_floats(tensor)
        if floats is None and str(tensor.dtype).rpartition(".")[2] not in INTEGERS:
            return None, None
        least, greatest = torch.aminmax(tensor if floats is None else floats)
        return least.item(), greatest.item()


listener = Origins()


class Entry:
    """Used in place of an operator's Facts for a tensor that is not the result of an operator."""

    structural = lifts = own = pointwise = False
    enters = True

    def __init__(self, name, role):
        self.operator = self.name = name
        self.role = role

    def full_name(self):
        return self.operator


class Batch:
    """A loader's batch, and the least and greatest element of each sample in it."""

    def __init__(self, number, samples, tensor):
        self.number, self.samples, self.rows = number, samples, []
        if 0 < len(samples) <= MOST_ROWS and tensor.dim() and tensor.shape[0] == len(samples) and tensor.numel():
            with Guard():
                rows = tensor.detach().reshape(len(samples), -1)
                self.rows = list(zip(rows.amin(1).tolist(), rows.amax(1).tolist()))

    def sample_of(self, bad):
        """Returns the sample with the bad element; None if unknown."""
        holders = [sample for sample, (least, greatest) in zip(self.samples, self.rows) if bad.is_in(least, greatest)]
        return holders[0] if len(holders) == 1 and type(holders[0]) is int else None


def note_entry(entry, value, batch=None, depth=MOST_DEPTH):
    """`batch`: the number and the samples of a loader's batch."""
    if type(value) in tensor_kinds():
        value = unwrapped(value)
        if has_storage(value) and (entry.role == "loaded" or not listener.writers.knows(value)):
            kept = Result(entry, places_here.place())
            kept.least, kept.greatest = extremes(value)
            kept.count = value.numel()
            kept.batch = Batch(*batch, value) if batch is not None else None
            listener.writers.write(value, kept)
    elif depth:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for each in list(inner):
            note_entry(entry, each, batch, depth - 1)


def entering(name, role):
    """For replace(): the replacement notes the tensors that the original returns."""
    entry = Entry(name, role)

    def make(original):
        def entered(*args, **kwargs):
            with without_own_frames:
                value = original(*args, **kwargs)
            listener.budget.guarded(note_entry, entry, value)
            return value

        return entered

    return make


def entering_in_batches(original):
    entry = Entry("DataLoader", "loaded")

    def __next__(iterator):
        with without_own_frames:
            value = original(iterator)
        number = getattr(iterator, "_rcvd_idx", 0) - 1
        samples = vars(iterator).get(SAMPLES, {}).pop(number, [])
        listener.budget.guarded(note_entry, entry, value, (number, samples))
        return value

    return __next__


def keep_samples(original):
    def _next_index(iterator):
        with without_own_frames:
            index = original(iterator)
        if type(index) is list:
            vars(iterator).setdefault(SAMPLES, {})[getattr(iterator, "_send_idx", 0)] = index
        return index

    return _next_index


def follow_entries():
    torch = sys.modules["torch"]
    replace(torch, "load", entering("torch.load", "loaded"))
    for name in ("from_numpy", "as_tensor", "asarray", "frombuffer", "from_dlpack"):
        replace(torch, name, entering("torch." + name, "copied"))
    import torch.utils.data.dataloader
    iterator = getattr(sys.modules["torch.utils.data.dataloader"], "_MultiProcessingDataLoaderIter", None)
    replace(iterator, "__next__", entering_in_batches)
    replace(iterator, "_next_index", keep_samples)


def begin():
    torch = sys.modules["torch"]
    recorder.deliver(to_json({"kind": "checking", "arguments": [], "torch": str(torch.__version__)}))
    follow_entries()
    listen(listener)


def start(seconds):
    """Starts to keep results once PyTorch is imported. `seconds` limits the time that tracing may take."""
    listener.budget.seconds = float(seconds)
    when_torch_is_there(lambda: listener.budget.guarded(begin))
