"""The program's uses of bad values. A use with a lasting effect is reported as found. Any other use is a candidate,
unless the program later checks whether the value is finite."""
import itertools

from .. import recorder
from ..json_text import to_json
from ..stacks import frames_of_places
from ..tensor_data.finite_checks import CLEAN, reach, slots
from ..tensor_data.lineage import Writers
from ..tensor_data.tensors import is_tensor
from ..whole_run.forward_places import places_here

MOST_CANDIDATES = 16
RECENT = 64  # operators; an exception that comes later has a different reason


class Root:
    """An operator with a bad result, but without a bad input."""

    def __init__(self, ordinal, role, about):
        self.ordinal, self.role, self.about = ordinal, role, about
        self.asked = False  # whether the program checked that its values are finite
        self.told = False

    def is_meant(self):
        return self.role in ("passed", "loaded")


class Value:
    """A result. `grade` is None until the GPU has computed it. The other fields are valid only for bad values."""

    __slots__ = ("call", "grade", "check", "roots", "computed", "source", "uses", "address")

    def __init__(self, call, grade, check=None):
        self.call, self.grade, self.check = call, grade, check
        self.roots, self.computed = (), False
        self.source = None  # if only NaN is bad: (operator, place) that produced the infinite elements
        self.uses = ()  # (use, stack, ordinal of the operator), kept until the grade is known
        self.address = None  # address of the storage to which the value was last written

    def is_clean(self):
        return self.grade == CLEAN

    def settle_source(self):
        """For infinite elements: finds where they first appeared."""
        sources = [value.source for _, values in self.call.inputs for value in values if value.source is not None]
        self.source = sources[0] if sources else (self.call.facts.full_name(), self.call.place or places_here.place())

    def is_bad(self):
        return self.grade is not None and self.grade >= reach.worst


class Watch:
    """The state of the process."""

    def __init__(self):
        self.writers, self.uninitialised = Writers(), Writers()
        self.ordinals = itertools.count(1)  # any thread may take the next one
        self.ordinal = 0  # the latest
        self.on = True
        self.pending = []  # values on a GPU whose grade is unknown, in the order of issue
        self.history = 1 << 16  # limit of `pending`
        self.candidates = []  # (root, message)
        self.parameters = {}  # storages of leaf tensors, by address
        self.leaves = {}  # weak references to leaf tensors, by id()
        self.latest_item = None  # the value from which the program read its latest number
        self.last_asked = self.last_compared = None  # (root, ordinal of the operator, stack)
        self.waits = False  # whether to wait for the GPU and check its results immediately


watch = Watch()


def use_all(name, values, places):
    """Notes a use of values that may be bad. "asked": the program checks whether they are finite, so it handles bad
    values itself."""
    for value in values:
        if value.grade is None:
            value.uses += ((name, places, watch.ordinal),)
        elif value.is_bad():
            use(name, value, places, watch.ordinal)


def use(name, value, places, ordinal):
    """Reports a use with a lasting effect as found. Any other use is a candidate, unless the program later checks the
    value."""
    if not watch.on or not value.roots:
        return
    root = value.roots[0]
    if name == "asked":
        return asked(value, places, ordinal)
    if name == "compared":
        watch.last_compared = (root, ordinal, places)
        return
    if name == "parameter":
        deliver(root, "found", name, places)
        watch.on = False
        return
    if root.asked or root.told or (root.is_meant() and not value.computed) or len(watch.candidates) >= MOST_CANDIDATES:
        return
    root.told = True
    watch.candidates.append(root)
    deliver(root, "candidate", name, places)


def asked(value, places, ordinal):
    for root in value.roots:
        root.asked = True
        if root.told:
            root.told = False
            recorder.deliver(to_json({"kind": "non_finite", "state": "asked", "root": root.ordinal}))
    watch.last_asked = (value.roots[0], ordinal, places)


def deliver(root, state, used, places):
    message = {"kind": "non_finite", "state": state, "root": root.ordinal, "role": root.role, "used": used,
               "used_stack": frames_of_places(places), **root.about}
    while not recorder.deliver(to_json(message)) and any(len(message[key]) > 1 for key in message if "stack" in key):
        for key in message:
            if "stack" in key and len(message[key]) > 1:
                message[key] = message[key][:len(message[key]) // 2]


def finish(error):
    """Runs at the end of the program, when all grades are known. `error` is the exception that ended it."""
    if not watch.on:
        return
    for reference in list(watch.leaves.values()):
        gradient = getattr(reference(), "grad", None)
        if is_tensor(gradient):
            use_all("gradient", watch.writers.values_in(gradient), ())
    finish_failed(error)


def finish_failed(error):
    """The program may have ended because of its last check or comparison of a value."""
    for last in (watch.last_asked, watch.last_compared):
        if last is None or watch.ordinal - last[1] > RECENT:
            continue
        root, _, places = last
        codes, step = set(), getattr(error, "__traceback__", None)
        while step is not None:
            codes.add(step.tb_frame.f_code)
            step = step.tb_next
        if any(code in codes for code, _ in places):
            return deliver(root, "found", "exception", places)
        if last is watch.last_asked:
            # Whether the program failed is known only to the launcher, which gets the exit status.
            deliver(root, "asked last", "exception", places)
