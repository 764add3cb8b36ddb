"""The functions of the recorder that the hook calls. ../load.py replaces these with the recorder's own."""

lines = ""  # the value of CUDADIAG_VALUES (lib/wire/rerun/values.h); "" if no values are wanted
inputs_folder = ""  # a folder for saving the failing call; it does not exist yet


def deliver(text):
    """Writes a line for the session; on one thread, in order with its operations. Returns False if it was not kept."""
    return False


def deliver_watched(text):
    """The same, into a ring of the latest lines."""
    return False


def note(text):
    """Reports a degraded mode."""


def near():
    """Whether an awaited operation can come now."""
    return False


def failed():
    """Whether an operation has failed, so that nothing on the GPU works any more."""
    return False


def quiet(on):
    """From here on, this thread's CUDA calls are the hook's own and not recorded."""


def hooked(on):
    """This thread is inside a delivered operator: its native stack leads through the hook, and is left out of its call
    sites."""
