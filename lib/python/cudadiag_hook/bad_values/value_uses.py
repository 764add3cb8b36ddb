"""How the program uses bad values. A use with a lasting effect is reported as found. Any other use is a candidate,
unless the program later checks whether the value is finite. Reading a number or an array is a weak use, since we cannot
see what the program does with it. A weak use is only suspected, and is not reported at all if the program's source
checks for NaN."""
import itertools
import re

from .. import recorder
from ..recorder import to_json
from ..stacks import OWN_FILE, frames_of_places, line_at
from ..tensor_data.finite_checks import CLEAN, grade_now, reach, slots
from ..tensor_data.lineage import Writers
from ..tensor_data.tensors import Guard, is_on_device, is_tensor
from ..operator_places import places_here
from .source_text import checks_somewhere, dependence, prints_number

MOST_CANDIDATES = 16  # of each strength
WEAK, STRONG = 1, 2
WEAK_USES = ("number", "array")
BLAMES = re.compile(r"(?<![\w./])nans?(?![\w./])|finite\b|\binf\b", re.IGNORECASE)  # in an exception's text
REFUSES = re.compile(r"between|positive|singular|converge|probabilit|>=", re.IGNORECASE)  # about values, not shapes
RECENT = 64  # operators; a later exception probably has a different cause


class Root:
    """An operator with a bad result, but without a bad input."""

    def __init__(self, ordinal, role, about):
        self.ordinal, self.role, self.about = ordinal, role, about
        self.asked = False  # whether the program checked that its values are finite
        self.told = 0  # WEAK or STRONG

    def is_meant(self):
        return self.role in ("passed", "loaded")


class Value:
    """A result. `grade` is None until the GPU has computed it. The other fields are valid only for bad values."""

    __slots__ = ("call", "grade", "check", "roots", "computed", "source", "uses", "address")

    def __init__(self, call, grade, check=None):
        self.call, self.grade, self.check = call, grade, check
        self.roots, self.computed = (), False
        self.source = None  # if only NaN counts as bad: (operator, place) that produced the infinite elements
        self.uses = ()  # (use, stack, ordinal of the operator), kept until the grade is known
        self.address = None  # address of the storage to which the value was last written

    def is_clean(self):
        return self.grade == CLEAN

    def settle_source(self):
        """Finds where infinite elements first appeared."""
        sources = [value.source for _, values in self.call.inputs for value in values if value.source is not None]
        self.source = sources[0] if sources else (self.call.facts.full_name(), self.call.place or places_here.place())

    def is_bad(self):
        return self.grade is not None and self.grade >= reach.worst


def merged(pieces):
    """Drops the pieces of a storage that turned out clean, and merges the older half of the bad ones into one piece.
    The merged piece keeps the value of the first one, because cudadiag reports the first NaN."""
    pieces = [piece for piece in pieces if not piece[2].is_clean()]
    old = [piece for piece in pieces[:len(pieces) // 2] if piece[2].is_bad()]
    if len(pieces) <= Writers.MOST_PIECES // 2 or not old:
        return tuple(pieces)
    gone = set(map(id, old))
    span = (min(piece[0] for piece in old), max(piece[1] for piece in old), old[0][2])
    return (span, *[piece for piece in pieces if id(piece) not in gone])


class Watch:
    """Per-process state."""

    def __init__(self):
        self.writers, self.uninitialised = Writers(merged), Writers(merged)
        self.ordinals = itertools.count(1)  # any thread may take the next number
        self.ordinal = 0  # the latest
        self.on = True
        self.pending = []  # values on a GPU whose grade is unknown, in the order of issue
        self.history = 1 << 16  # limit of `pending`
        self.candidates = {WEAK: [], STRONG: []}  # roots
        self.arrays = []  # (weak reference to a bad tensor that shares its memory with an array, root)
        self.parameters = {}  # storages of leaf tensors, by address
        self.leaves = {}  # weak references to leaf tensors, by id()
        self.latest_item = None  # the value from which the program read its latest number
        # The latest use of a bad value, for each kind of use: (root, ordinal of the operator, stack).
        self.last_asked = self.last_compared = self.last_read = self.last_refused = None
        self.last_exit = None  # (ordinal of the operator, stack) of the latest sys.exit() with a failure
        self.waits = False  # whether to wait for the GPU and check its results immediately


watch = Watch()


def use_all(name, values, places):
    """Notes a use of values that may be bad. The use "asked" means that the program checks whether they are finite, so
    it handles bad values itself."""
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
    if name in ("asked", "refused"):
        return asked(value, places, ordinal, name)
    if name == "compared":
        watch.last_compared = (root, ordinal, places)
        return
    if name == "parameter":
        deliver(root, "found", name, places)
        watch.on = False
        return
    if name in WEAK_USES:
        watch.last_read = (root, ordinal, places)
    if root.asked or root.told == STRONG or (root.is_meant() and not value.computed):
        return
    if name in WEAK_USES and prints_number(places):
        name = "printed"
    strength = WEAK if name in WEAK_USES else STRONG
    candidates = watch.candidates[strength]
    if root.told >= strength or len(candidates) >= MOST_CANDIDATES or \
            (strength == WEAK and checks_somewhere(places)):
        return
    root.told = strength
    candidates.append(root)
    deliver(root, "candidate", name, places)


def asked(value, places, ordinal, name):
    """Withdraws the value's roots. `name` is "asked" if the program checked the value, or "refused" if an operator
    raised an exception, perhaps because of the value."""
    for root in value.roots:
        root.asked = True
        withdraw(root)
    last = (value.roots[0], ordinal, places)
    if name == "refused":
        watch.last_refused = last
    else:
        watch.last_asked = last


def withdraw(root):
    if root.told:
        root.told = 0
        recorder.deliver(to_json({"kind": "non_finite", "state": "asked", "root": root.ordinal}))


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
    withdraw_rewritten()
    finish_failed(error)


def withdraw_rewritten():
    """Withdraws roots whose bad elements the program replaced through a NumPy array. Such writes call no operator, so
    the tensors are checked again."""
    with Guard():
        for reference, root in watch.arrays:
            tensor = reference()
            if root.told == WEAK and tensor is not None and not is_on_device(tensor) and grade_now(tensor) < reach.worst:
                withdraw(root)


def ends_of(error):
    """Returns [(code, line)] of the frames that the exception unwound, innermost first."""
    ends, step = [], getattr(error, "__traceback__", None)
    while step is not None:
        if step.tb_frame.f_code.co_filename != OWN_FILE:
            ends.insert(0, (step.tb_frame.f_code, step.tb_lineno))
        step = step.tb_next
    return ends


def text_of_error(error):
    return "" if isinstance(error, OSError) else "%s %s" % (error, getattr(error, "__cause__", None) or "")


def finish_failed(error):
    """Reports why the program may have ended: the last value that it checked, compared or read, or with which an
    operator failed. Earlier values are ignored, because they are probably unrelated."""
    ends = ends_of(error)
    for last in (watch.last_refused, watch.last_asked, watch.last_compared, watch.last_read):
        if last is None or watch.ordinal - last[1] > RECENT:
            continue
        used = reason(last, error, ends) if ends else ""
        if used:
            return deliver(last[0], "found", used, last[2])
        exit_ordinal, exit_places = watch.last_exit or (None, ())
        if ends or exit_ordinal is None or watch.ordinal - exit_ordinal > RECENT:
            continue
        used = used_by(last, [(code, line_at(code, at)) for code, at in exit_places], True)
        if used:
            # Only the launcher, which gets the exit status, knows whether the program failed.
            return deliver(last[0], "asked last", used, last[2])


def reason(last, error, ends):
    """Returns "exception" if the program ended because of the value; "compared" or "refused" if that is likely;
    otherwise ""."""
    places, text = last[2], text_of_error(error)
    codes = {code for code, _ in places}
    if BLAMES.search(text) and any(code in codes for code, _ in ends):
        return "exception"
    if last is watch.last_refused:
        same = places and ends[0] == (places[0][0], line_at(*places[0]))
        return "refused" if same and REFUSES.search(text) else ""
    return used_by(last, ends, False)


def used_by(last, ends, exits):
    depends = dependence(last[2], ends, exits)
    if depends and last is watch.last_asked:
        return "exception"
    return {"asked": "exception", "compared": "compared"}.get(depends, "")
