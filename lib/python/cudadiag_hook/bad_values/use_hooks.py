"""Watches functions of PyTorch that use a tensor: they print it, save it, or convert it to an array."""
import sys

from ..stacks import places_from, without_own_frames
from ..tensor_data.tensors import hidden, is_tensor, unwrapped
from ..plain_arguments import is_of_subclass, plain
from ..whole_program import replace
from .value_uses import use_all, watch
from .non_finite import fail, turn

MOST_ARRAYS = 64


def guarded(function, *arguments):
    """Runs a function of the hook. Its exceptions do not reach the target."""
    if not watch.on:
        return
    try:
        turn.run(function, *arguments)
    except Exception as error:
        fail(error)


@hidden
def use_tensor(name, tensor):
    tensor = plain(tensor)
    if is_tensor(tensor):
        values = watch.writers.values_in(unwrapped(tensor))
        use_all(name, values, places_from(sys._getframe(1)))
        if name == "array":
            hand_over(tensor, [value for value in values if value.is_bad()])


def hand_over(tensor, bad):
    """Notes that NumPy or other code may now write the tensor's memory, without calling an operator."""
    escapes(tensor)
    if bad:
        watch.latest_item = bad[-1]
        if len(watch.arrays) < MOST_ARRAYS:
            reference = sys.modules["_weakref"].ref(tensor)
            watch.arrays += [(reference, root) for root in bad[-1].roots]


@hidden
def escapes(tensor):
    if is_tensor(tensor) and watch.uninitialised.storages:
        watch.uninitialised.forget_all(unwrapped(tensor))


def use_each(name, value, depth=4):
    """Notes a use of each tensor in the value, which may be a container such as a checkpoint."""
    if is_tensor(value) or is_of_subclass(value):
        use_tensor(name, value)
    elif depth and isinstance(value, dict):
        for each in list(value.values()):
            use_each(name, each, depth - 1)
    elif depth and type(value) in (list, tuple):
        for each in value:
            use_each(name, each, depth - 1)


def before_first(use_name, depth=0):
    """For replace(): the replacement notes a use of its first argument, then calls the original."""

    def make(original):
        def replaced(*args, **kwargs):
            if args:
                guarded(use_each, use_name, args[0], depth)
            with without_own_frames:
                return original(*args, **kwargs)

        return replaced

    return make


def before_escape(original):
    def replaced(*args, **kwargs):
        if watch.uninitialised.storages and args:
            guarded(escapes, args[0])
        with without_own_frames:
            return original(*args, **kwargs)

    return replaced


def copied(original):
    """copy.deepcopy() copies the storages of tensors, without an operator."""

    def clone(storage):
        with without_own_frames:
            made = original(storage)
        guarded(watch.writers.copy, storage, made)
        return made

    return clone


def note_exit(args):
    if args and args[0] not in (None, 0):
        watch.last_exit = (watch.ordinal, places_from(sys._getframe(1)))


def follow_exit():
    def make(original):
        def exit(*args, **kwargs):
            guarded(note_exit, args)
            with without_own_frames:
                return original(*args, **kwargs)

        return exit

    replace(sys, "exit", make)


def follow_uses(torch):
    replace(sys.modules["torch._tensor_str"], "_str", before_first("printed"))
    replace(torch, "save", before_first("saved", 4))
    for name in ("numpy", "tolist"):
        replace(torch.Tensor, name, before_first("array"))
    replace(torch.storage._StorageBase, "clone", copied)
    for name in ("data_ptr", "__dlpack__"):
        replace(torch.Tensor, name, before_escape)
