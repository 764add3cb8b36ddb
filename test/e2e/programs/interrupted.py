"""A signal arrives while the hook's code runs, and its handler raises. With "start", this happens while the hook's
sources are loaded; otherwise, while the hook reads the watched line."""

import signal
import sys
import threading

import cuda


class Late(Exception):
    pass


def late(number, frame):
    raise Late


class Torch:
    """The hook asks this class what a tensor is."""

    armed = False

    @property
    def Tensor(self):
        if Torch.armed:
            Torch.armed = False
            signal.raise_signal(signal.SIGALRM)
        return None


def interrupt(*_):
    signal.raise_signal(signal.SIGALRM)


def work():
    row = Torch()
    for step in range(3):
        Torch.armed = step == 1
        name = (row, step)  # TRUE LINE
    return name


signal.signal(signal.SIGALRM, late)
if sys.argv[1:] == ["start"]:
    if hasattr(sys, "monitoring"):
        sys.monitoring.register_callback = interrupt
    else:
        threading.settrace = interrupt
else:
    sys.modules["torch"] = Torch()
try:
    cuda.start()
    for _ in range(100):
        pass
    work()
except Late:
    sys.exit(4)
