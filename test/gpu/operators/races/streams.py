"""Streams and events for the programs in this folder. On the CPU they do nothing."""

import contextlib
import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")

if DEVICE.startswith("cuda"):
    from torch.cuda import Event, Stream, current_stream, stream, synchronize  # noqa: F401
else:
    class Stream:
        def wait_stream(self, other):
            pass

        def wait_event(self, event):
            pass

        def synchronize(self):
            pass

    class Event:
        def record(self):
            pass

        def synchronize(self):
            pass

    def current_stream():
        return Stream()

    def stream(chosen):
        return contextlib.nullcontext()

    def synchronize():
        pass


def pinned(tensor):
    """A copy in pinned memory, or the tensor itself on the CPU."""
    return tensor.pin_memory() if DEVICE.startswith("cuda") else tensor


def keep(tensor, user):
    """Keeps the allocator from reusing the tensor's memory before the stream `user` has used it."""
    if DEVICE.startswith("cuda"):
        tensor.record_stream(user)
