"""Follows tensors that are not results of operators, but come from a file, from NumPy, or from a data loader."""
import sys

from .stacks import without_own_frames
from .tensor_data.lineage import has_storage
from .tensor_data.tensors import Guard, tensor_kinds, unwrapped
from .operator_places import places_here

MOST_DEPTH = 4  # limit for nested containers
MOST_ROWS = 4096
SAMPLES = "_cudadiag_samples"  # attribute of a loader's iterator: indices into the data set, by batch number


class Entry:
    """Used in place of an operator's Facts."""

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


class Entries:
    """`writers`: the known contents of memory. `make_result`, `extremes`: Result and extremes() of origins. `guarded`: of
    its Budget."""

    def __init__(self, writers, make_result, extremes, guarded):
        self.writers, self.make_result, self.extremes, self.guarded = writers, make_result, extremes, guarded

    def note(self, entry, value, batch=None, depth=MOST_DEPTH):
        """`batch`: the number and the samples of a loader's batch."""
        if type(value) in tensor_kinds():
            value = unwrapped(value)
            if has_storage(value) and (entry.role == "loaded" or not self.writers.knows(value)):
                kept = self.make_result(entry, places_here.place())
                kept.least, kept.greatest = self.extremes(value)
                kept.count = value.numel()
                kept.batch = Batch(*batch, value) if batch is not None else None
                self.writers.write(value, kept)
        elif depth:
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
            for each in list(inner):
                self.note(entry, each, batch, depth - 1)

    def of_function(self, entry):
        def make(original):
            def entered(*args, **kwargs):
                with without_own_frames:
                    value = original(*args, **kwargs)
                self.guarded(self.note, entry, value)
                return value

            return entered

        return make

    def of_loader(self, original):
        entry = Entry("DataLoader", "loaded")

        def __next__(iterator):
            with without_own_frames:
                value = original(iterator)
            number = getattr(iterator, "_rcvd_idx", 0) - 1
            self.guarded(self.note, entry, value, (number, vars(iterator).get(SAMPLES, {}).pop(number, [])))
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


def follow_entries(replace, *of_entries):
    torch = sys.modules["torch"]
    entries = Entries(*of_entries)
    replace(torch, "load", entries.of_function(Entry("torch.load", "loaded")))
    for name in ("from_numpy", "as_tensor", "asarray", "frombuffer", "from_dlpack"):
        replace(torch, name, entries.of_function(Entry("torch." + name, "copied")))
    import torch.utils.data.dataloader
    iterator = getattr(sys.modules["torch.utils.data.dataloader"], "_MultiProcessingDataLoaderIter", None)
    replace(iterator, "__next__", entries.of_loader)
    replace(iterator, "_next_index", keep_samples)
