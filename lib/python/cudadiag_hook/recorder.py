"""The functions of the recorder that the hook calls. ../load.py replaces these by the recorder's own."""

lines = ""  # what CUDADIAG_VALUES says (lib/wire/rerun/values.h); "": no values are wanted
inputs_folder = ""  # where the failing call may be saved; a folder that does not exist yet


def deliver(text):
    """A line for the session, on one thread in order with its operations. False: it was not kept."""
    return False


def deliver_watched(text):
    """The same into a ring of the latest lines."""
    return False


def note(text):
    """A degraded mode, for the report."""


def near():
    """Whether an operation that is waited for can come now."""
    return False


def failed():
    """Whether an operation has failed: nothing on the GPU works any more."""
    return False


def quiet(on):
    """This thread's calls into CUDA are the hook's own: they are not recorded from here on."""


def hooked(on):
    """This thread is inside an operator that was delivered: its native stack, which leads through the hook, is left out
    of its call sites."""
