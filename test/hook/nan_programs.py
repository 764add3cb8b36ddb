"""Runs a program under the hook of `cudadiag nans`, in a fork, and says which NaN would be reported."""
import json
import os
import pathlib
import runpy
import sys

from hook import Hook

CASES = pathlib.Path(__file__).resolve().parents[1] / "gpu/operators"
WEAK = ("number", "array", "compared", "refused")  # kinds that only make a finding suspected


def reported(messages, failed):
    """Returns the message that lib/diagnose/unreported/non_finite.cc reports, or None."""
    messages = [each for each in messages if each["kind"] == "non_finite"]
    asked = {each["root"] for each in messages if each["state"] == "asked"}
    told = {}
    for each in messages:
        state = each["state"]
        if state == "asked" or (state == "asked last" and not failed) or (state == "candidate" and each["root"] in asked):
            continue
        told.setdefault((each["used"] in WEAK, ("found", "candidate", "asked last").index(state)), each)
    return told[min(told)] if told else None


def run(program):
    """Runs a program in this process; returns (the hook's messages, its notes, whether the program failed)."""
    hook = Hook()
    package = hook.load()
    package.nans.start("")
    sys.argv, sys.path[0] = [program], os.path.dirname(program)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    error, failed = None, False
    try:
        names = runpy.run_path(program, run_name="__main__")  # noqa: F841, they live until the end
    except SystemExit as ended:
        failed = ended.code not in (None, 0)
    except BaseException as raised:
        error, failed = raised, True
    sys.last_exc = sys.last_value = error  # as the interpreter does for an uncaught exception
    package.nans.at_exit()
    return hook.messages, hook.notes, failed


def run_in_fork(program):
    """Returns (the message that is reported or None, the notes)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            messages, notes, failed = run(program)
            with open(writer, "w") as answer:
                json.dump([reported(messages, failed), notes], answer)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else [None, ["it ended without an answer"]]


def line_in(program, message, stack="stack"):
    return next((line for file, line, _ in message.get(stack, ()) if file == program), None)
