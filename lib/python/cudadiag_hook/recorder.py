"""The functions of the recorder that the hook calls, and the text that they take. ../load.py replaces the functions with the
recorder's own."""

lines = ""  # the value of CUDADIAG_VALUES (lib/wire/rerun.h); "" if no values are wanted
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


def to_json(value):
    """Converts values to JSON without the json module, because the target may have a different module with that name."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return repr(value) if value - value == 0 else "null"
    if type(value) is str:
        return '"%s"' % "".join(c if c.isprintable() and c not in '"\\' and ord(c) < 127 else escaped(c) for c in value)
    if type(value) is dict:
        return "{%s}" % ",".join("%s:%s" % (to_json(str(k)), to_json(v)) for k, v in value.items())
    return "[%s]" % ",".join(to_json(each) for each in value)


def escaped(character):
    code = ord(character)
    if code > 0xffff:
        code -= 0x10000
        return "\\u%04x\\u%04x" % (0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff))
    return "\\u%04x" % code
