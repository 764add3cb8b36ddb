"""Finds the operator that produced the first bad element, and whether the program used that element (cudadiag nans).

Each result is checked. A bad result keeps its roots: the operators without a bad input from which it descends. If the
program uses the result, its first root is reported (module `use_hooks`).
"""
import sys

from .. import dispatch_mode, recorder
from ..budget import is_from_handler
from ..stacks import places_from
from ..tensor_data.finite_checks import CLEAN, INFINITE, as_floats, grade_at, grade_now, reach, slots
from ..tensor_data.lineage import StorageReference, has_storage
from ..tensor_data.schemas import facts_of, tensors_in
from ..tensor_data.tensors import Guard, a_mode_is_on, is_capturing, is_on_device, tensor_kinds
from ..operator_places import places_here
from ..whole_program import Turn
from .non_finite_elements import about_root, kept_inputs, chosen
from .source_text import checks_nearby, is_check
from .value_uses import Root, Value, use, use_all, watch

MOST_ROOTS = 4  # the earliest roots of each value


class Call:
    """A call of an operator, with the data that is needed if its result is bad."""

    __slots__ = ("ordinal", "facts", "function", "args", "kwargs", "inputs", "stack", "kept", "place", "scalars")

    def __init__(self, ordinal, facts, function, args, kwargs, inputs, stack):
        self.ordinal, self.facts, self.function = ordinal, facts, function
        self.args, self.kwargs, self.inputs = args, kwargs, inputs
        self.stack = stack  # None until it is needed
        self.kept = None
        self.place = None


def scalars_are_non_finite(call):
    for each in (*call.args, *call.kwargs.values()) if call.kwargs else call.args:
        if type(each) is float and (each != each or (reach.worst == INFINITE and each - each != 0)):
            return True
    return False


def inputs_of(args, kwargs):
    """Returns [(tensor, its bad values)]."""
    kinds, values_in, found = tensor_kinds(), watch.writers.values_in, []
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind not in kinds and kind not in (list, tuple):
            continue
        for tensor in tensors_in(value, kinds):
            found.append((tensor, values_in(tensor)))
            if tensor.requires_grad and tensor.is_leaf and id(tensor) not in watch.leaves:
                keep_leaf(tensor)
    return found


turn = Turn()


class NonFinite(dispatch_mode.Listener):
    def before(self, function, args, kwargs):
        if not watch.on:
            return None
        try:
            return before_call(function, args, kwargs)
        except Exception as error:
            fail(error)
            return None

    def after(self, call, result, returned):
        if not watch.on:
            return
        try:
            turn.run(after_call, call, result, returned)
        except Exception as error:
            fail(error)


def fail(error):
    """Switches the checks off after an exception in the hook. An exception from the program's signal handlers is raised
    again instead."""
    if is_from_handler(error):
        raise error
    watch.on = False
    watch.pending.clear()
    recorder.note("cudadiag stopped checking values: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))


def before_call(function, args, kwargs):
    """Takes no lock: it only reads the writers of memory, and only adds to the other shared state."""
    facts, stack = facts_of(function), places_here.note_forward()
    if facts.asks is None:
        facts.asks = facts.own and is_check(facts.name)
    if facts.makes_nothing and not (facts.asks or facts.reads_scalar):
        return None
    ordinal = watch.ordinal = next(watch.ordinals)
    call = Call(ordinal, facts, function, args, kwargs, inputs_of(args, kwargs), stack)
    if facts.keeps_inputs:
        call.kept = kept_inputs(call)
    return call


def keep_leaf(tensor):
    key = id(tensor)
    watch.leaves[key] = sys.modules["_weakref"].ref(tensor, lambda _: watch.leaves.pop(key, None))
    if has_storage(tensor):
        storage = tensor.untyped_storage()
        watch.parameters[storage._cdata] = StorageReference(storage)


def after_call(call, result, returned):
    facts = call.facts
    if not returned:
        return use_all("refused", values_of(call), places_from(sys._getframe(3)))
    if facts.reads_scalar:
        return item(call, result)
    if facts.asks or facts.compares:
        compare(call)
    if facts.uninitialised:
        if not facts.adopts:
            return forget(call, result)
        if watch.writers.knows(call.args[0]):
            return
    guard = Guard() if a_mode_is_on() else None
    if guard is not None:
        guard.__enter__()
    try:
        if facts.makes_one and type(result) in tensor_kinds():
            floats = check(call, result, False)
            if floats is not None:
                check_later(call, ((result, False, floats),))
        else:
            later = []
            for tensor, is_written in outputs_of(call, result):
                floats = check(call, tensor, is_written)
                if floats is not None:
                    later.append((tensor, is_written, floats))
            if later:
                check_later(call, later)
    finally:
        if guard is not None:
            guard.__exit__()
    pending = watch.pending
    if pending and (pending[0].check[0].has_arrived() or len(pending) > watch.history):
        settle()


def values_of(call):
    return [value for _, values in call.inputs for value in values]


def compare(call):
    values = values_of(call)
    if values:
        asks = call.facts.asks or (len(call.args) == 2 and call.args[0] is call.args[1])
        # The program may exit because of the comparison's result.
        use_all("asked" if asks else "compared", values, places_from(sys._getframe(3)))


def outputs_of(call, result):
    """Yields (tensor, whether it is an argument that the operator wrote to)."""
    facts, kinds = call.facts, tensor_kinds()
    for number in facts.written:
        value = call.args[number] if number < len(call.args) else call.kwargs.get(facts.parameters[number])
        for tensor in tensors_in(value, kinds):
            yield tensor, True
    results = result if facts.results > 1 and type(result) in (tuple, list) else (result,)
    numbers = (0,) if facts.lifts else facts.fresh
    for number in numbers:
        if number < len(results):
            for tensor in tensors_in(results[number], kinds):
                yield tensor, False


def forget(call, result):
    """Marks the result's memory as uninitialised."""
    place = places_here.place(call.stack)
    for tensor in tensors_in(result, tensor_kinds()):
        watch.writers.write(tensor, None)
        if tensor.is_floating_point() and tensor.numel():
            value = Value(call, reach.worst)
            call.args, call.kwargs, call.inputs, call.place = (), {}, [], place
            watch.uninitialised.write(tensor, value)


def check(call, tensor, is_written):
    """Returns the elements that must be checked later, if the tensor is on a GPU. Otherwise checks the tensor now."""
    if watch.uninitialised.storages:
        watch.uninitialised.write(tensor, None)
    if is_on_device(tensor) and not watch.waits:
        return None if is_capturing() else as_floats(tensor)
    grade = grade_now(tensor)
    if grade == CLEAN:
        watch.writers.write(tensor, None)
    else:
        keep_not_finite(call, tensor, is_written, Value(call, grade))
    return None


def keep_not_finite(call, tensor, is_written, value):
    if not value.is_bad():
        value.settle_source()
        value.call = None
        watch.writers.write(tensor, value)
        return
    if any(each.check is not None for each in values_of(call)):
        # The tensor was copied from a GPU. Only the results of earlier checks show whether it was already bad on the
        # GPU.
        settle_all()
    settle_bad(value, tensor)
    watch.writers.write(tensor, value)
    if is_written and is_parameter(tensor):
        use_all("parameter", [value], places_from(sys._getframe(3)))


def check_later(call, outputs):
    """Queues checks. `outputs`: (tensor, whether it is an argument, the elements to check)."""
    call.place = places_here.place(call.stack)
    call.inputs = [(check_choice(call, each, outputs[0][0]) if call.facts.chooses else None, values)
                   for each, values in call.inputs if values]
    call.scalars = scalars_are_non_finite(call)
    call.args, call.kwargs = (), {}
    # These checks are queued last, so that the results for the chosen elements arrive first.
    checks = (slots.add(outputs[0][2]),) if len(outputs) == 1 else slots.add_all([floats for _, _, floats in outputs])
    for (tensor, is_written, _), check in zip(outputs, checks):
        value = Value(call, None, check)
        value.address = watch.writers.write(tensor, value)
        watch.pending.append(value)
        if is_written and is_parameter(tensor):
            use_all("parameter", [value], call.place[0])


def check_choice(call, each, result):
    """Queues a check of the elements that the operator chose from this argument."""
    floats = as_floats(chosen(call, each, result))
    return None if floats is None else slots.add(floats)


def is_parameter(tensor):
    return (tensor.is_leaf and tensor.requires_grad) or (
        has_storage(tensor) and tensor.untyped_storage()._cdata in watch.parameters)


def settle():
    """Reads the grades that have arrived, in the order of issue."""
    done, forget = 0, watch.writers.forget
    for value in watch.pending:
        page, slot = value.check
        if not page.has_arrived():
            break
        grade = page.grades[slot]
        done += 1
        value.grade, value.check = grade, None
        if grade == CLEAN:
            forget(value.address, value)
        elif value.is_bad():
            settle_bad(value, None)
            for name, places, ordinal in value.uses:
                use(name, value, places, ordinal)
        else:
            value.settle_source()
        value.call, value.uses = None, ()
    if not done and len(watch.pending) > 2 * watch.history:
        done = watch.history
        recorder.note("%d results were not checked: their streams did not reach them in time" % done)
        for value in watch.pending[:done]:
            value.grade, value.call, value.uses = CLEAN, None, ()
    del watch.pending[:done]


def settle_bad(value, tensor):
    """Sets the value's roots: those of its bad inputs or, without bad inputs, its own operator."""
    call = value.call
    bad = non_finite_inputs(call, tensor)
    if bad:
        roots = {root.ordinal: root for each in bad for root in each.roots}
        value.roots = tuple(roots[ordinal] for ordinal in sorted(roots)[:MOST_ROOTS])
        value.computed = not call.facts.structural or any(each.computed for each in bad)
    else:
        value.roots = (root_of(call, tensor),)
        # The program may mark missing data with NaN. NaN is bad only once something is computed from it.
        value.computed = not call.facts.structural
    value.call = None


def non_finite_inputs(call, tensor=None):
    """Returns the bad values of the inputs. If the operator chooses elements, an input counts only if a chosen one is
    bad."""
    bad = []
    for each, values in call.inputs:
        values = [value for value in values if value.is_bad()]
        if type(each) is tuple:
            if grade_at(each) < reach.worst:
                continue
        elif values and each is not None and tensor is not None and not is_bad_now(call, each, tensor):
            continue
        bad += values
    if not bad and watch.latest_item and scalars_are_non_finite(call):
        bad = [watch.latest_item]
    return bad


def is_bad_now(call, each, tensor):
    """Returns whether the argument is bad now. Code other than an operator may have changed its storage, or only other
    parts of the storage are bad."""
    if is_on_device(each) and not watch.waits:
        return True
    with Guard():
        if call.facts.chooses:
            return grade_now(chosen(call, each, tensor)) >= reach.worst
        return each is tensor or any(each is out for number in call.facts.written for out in call.args[number:number + 1]) or \
            grade_now(each) >= reach.worst


def root_of(call, tensor):
    role, source = "made", None
    if call.place is not None:  # the operator ran on a GPU, and the hook has dropped its arguments
        if call.scalars:
            role = "passed"
        elif call.facts.structural:
            role = "loaded"  # a copy produces no bad elements
        return Root(call.ordinal, role, about_root(call, None, call.place))
    if call.facts.lifts or call.facts.adopts:
        role = "loaded"
    elif scalars_are_non_finite(call):
        role = "passed"
    else:
        with Guard():
            # The operator may have written NaN to several arguments.
            written = {id(each) for each, is_written in outputs_of(call, None) if is_written}
            for each, _ in call.inputs:
                if id(each) not in written and not is_on_device(each) and grade_now(each) >= reach.worst:
                    empty = watch.uninitialised.values_in(each)
                    role, source = ("uninitialised", empty[0].call.place) if empty else ("loaded", None)
    with Guard():
        return Root(call.ordinal, role, about_root(call, tensor, source or places_here.place(call.stack)))


def item(call, result):
    """Called when the program reads a number from a tensor."""
    if type(result) is not float or (result == result and (reach.worst == 2 or result - result == 0)):
        return
    values, places = values_of(call), places_from(sys._getframe(3))
    if values:
        watch.latest_item = values[-1]
        use_all("asked" if checks_nearby(places) else "number", values, places)
    if watch.pending:
        slots.send_all()


def settle_all():
    """Waits for the GPU, and settles all pending values."""
    if watch.pending:
        with Guard():  # so that the slots themselves are not checked
            slots.wait()
            for value in watch.pending:
                value.check[0].wait()
            settle()
