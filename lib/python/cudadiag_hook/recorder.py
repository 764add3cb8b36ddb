"""The functions of the recorder that the hook calls. ../load.py replaces these with the recorder's own."""

lines = ""  # the value of CUDADIAG_VALUES (lib/wire/rerun/values.h); "" if no values are wanted
inputs_folder = ""  # a folder for saving the failing call; it does not exist yet


def deliver(text):
    """Writes a line for the session, in order with the calling thread's operations. Returns False if it was dropped."""
    return False


def deliver_watched(text):
    """Like deliver(), but writes into a ring of the latest lines."""
    return False


def note(text):
    """Reports a degraded mode."""


def near():
    """Returns whether an operation that the rerun waits for may come soon."""
    return False


def failed():
    """Returns whether an operation has failed, after which the GPU cannot be used."""
    return False


def quiet(on):
    """While on, this thread's CUDA calls are the hook's own, and are not recorded. Switching it on waits while another
    thread's operation runs alone."""


def hooked(on):
    """While on, this thread is inside an operator that the hook calls. The native stack then contains the hook, so it is
    not part of the call site."""
