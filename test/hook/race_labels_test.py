#!/usr/bin/env python3
"""Finds the races between tensors in the labelled programs (test/gpu/operators), and none in corrected and correct
ones. Runs on the CPU, with streams and events that only report their order; skips with a message (77) if PyTorch is
missing. --list prints each."""
import contextlib
import ctypes
import json
import os
import pathlib
import runpy
import sys
import types

from hook import Hook, need_pytorch

need_pytorch()
import torch

CASES = pathlib.Path(__file__).resolve().parents[1] / "gpu/operators"
HOST = -1
M_MMAP_THRESHOLD = -3  # from malloc.h
# In these programs, freed memory is reused, as on a GPU.
REUSING = ("races/freed_for_others.py", "races/freed_for_others_ordered.py")


class Streams:
    """Stands in for the programs' module `streams`."""

    def __init__(self, listener):
        self.listener, self.order = listener, listener.order
        self.current, self.made = 0, 0
        self.pinned_memory = {}  # by address; kept alive, so that nothing else gets the address
        listener.several = True
        listener.stream_of = lambda tensor: HOST if self.is_pinned(tensor) else self.current
        listener.is_pinned = self.is_pinned

    def is_pinned(self, tensor):
        return tensor.untyped_storage().data_ptr() in self.pinned_memory

    def number(self):
        self.made += 1
        return self.made

    def module(self):
        streams = self

        class Stream:
            def __init__(self, number=None):
                self.number = streams.number() if number is None else number

            def wait_stream(self, other):
                event = Event()
                event.record(other)
                self.wait_event(event)

            def wait_event(self, event):
                streams.order.wait(event.number, self.number)

            def record_event(self, event=None):
                event = event or Event()
                event.record(self)
                return event

            def synchronize(self):
                streams.order.host_waits_for_stream(self.number)

        class Event:
            def __init__(self):
                self.number = streams.number()

            def record(self, stream=None):
                streams.order.record(self.number, streams.current if stream is None else stream.number)

            def wait(self, stream=None):
                streams.order.wait(self.number, streams.current if stream is None else stream.number)

            def synchronize(self):
                streams.order.host_waits_for_event(self.number)

        @contextlib.contextmanager
        def stream(chosen):
            before, streams.current = streams.current, chosen.number
            yield
            streams.current = before

        def pinned(tensor):
            copy = tensor.clone()
            self.pinned_memory[copy.untyped_storage().data_ptr()] = copy
            return copy

        made = types.ModuleType("streams")
        made.DEVICE, made.Stream, made.Event, made.stream, made.pinned = "cpu", Stream, Event, stream, pinned
        made.current_stream = lambda: Stream(streams.current)
        made.synchronize, made.keep = streams.order.host_waits_for_all, self.keep
        return made

    def keep(self, tensor, user):
        self.listener.keep_for((tensor, types.SimpleNamespace(cuda_stream=user.number)))


def run(program):
    """Runs a program in a separate process; returns the hook's messages."""
    hook = Hook()
    package = hook.load()
    package.budget.state.seconds = 1e9
    listener = package.tensor_races.listener
    if program.endswith(REUSING):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 16)  # large blocks are mapped, and reuse freed addresses
        listener.is_reused = lambda tensor: True
    sys.modules["streams"] = Streams(listener).module()
    package.whole_program.listen(listener)
    os.environ["DEVICE"] = "cpu"
    sys.argv, sys.path[0] = [program], str(CASES / "races")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    variables, failure = {}, ""
    try:
        variables = runpy.run_path(program, run_name="__main__")
    except Exception as error:
        failure = repr(error)
    return {"races": hook.of_kind("race"), "notes": hook.notes, "failure": failure,
            "bases": {name: value.untyped_storage().data_ptr() for name, value in variables.items()
                      if isinstance(value, torch.Tensor)}}


def run_in_fork(program):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            os.write(writer, json.dumps(run(program)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"races": [], "notes": ["it ended without an answer"], "failure": "", "bases": {}}


def line_of(access, program):
    return next((line for file, line, _ in access["stack"] if file == program), 0)


def judge(label, told):
    """Returns "right", "wrong" or "silent"; and why."""
    program = str(CASES / label["program"])
    if told["notes"] or told["failure"]:
        return "wrong", (told["notes"], told["failure"])
    found = [(line_of(each["first"], program), line_of(each["second"], program), each) for each in told["races"]]
    shown = [(first, second, race["first"]["name"], race["second"]["name"], race["end"] - race["begin"], race["bytes"])
             for first, second, race in found]
    if label.get("corrected", True):
        return ("wrong", shown) if found else ("right", "none")
    wanted = (label["first"]["line"], label["second"]["line"])
    if not found:
        return "silent", wanted
    expected = label["overlap"]
    for first, second, race in found:
        same_bytes = not isinstance(expected, dict) or all(
            expected[name] == value for name, value in (("length", race["end"] - race["begin"]), ("bytes", race["bytes"]))
            if name in expected)
        if (first, second) == wanted and same_bytes:
            return "right", shown
    return "wrong", (shown, "label:", wanted, expected)


def main():
    torch.set_num_threads(1)
    labels = [each for each in json.loads((CASES / "labels.json").read_text())
              if each["set"] == "races" or each.get("against") == "races"]
    wanted = [each for each in sys.argv[1:] if each != "--list"]
    counts = {}
    for label in labels:
        if wanted and not any(each in label["program"] for each in wanted):
            continue
        verdict, about = judge(label, run_in_fork(str(CASES / label["program"])))
        counts[verdict] = counts.get(verdict, 0) + 1
        if verdict != "right" or "--list" in sys.argv:
            print(verdict, label["program"], about)
    print(counts)
    return any(count for verdict, count in counts.items() if verdict != "right")


if __name__ == "__main__":
    sys.exit(main())
