"""Reports where a thread was started, or where its thread pool received the current work. This is needed for threads
that run no user code. The stacks are kept as text, as long as the thread or the work exists."""
import _weakref
import sys

from .. import recorder
from ..budget import guarded, tell
from ..stacks import frames_from, without_own_frames
from .visits import visits

MOST_STARTS = 4  # stacks per start, following the chain of starts
MOST_KEPT = 4096


class Starts:
    def __init__(self):
        self.wanted = False
        self.kept = {}  # by id() of the thread or the work
        self.carriers = []  # code of methods whose `self` is a thread or the work of a pool


starts = Starts()


class Start:
    def __init__(self, begun, stacks, pool):
        key = id(begun)
        self.reference = _weakref.ref(begun, lambda _: starts.kept.pop(key, None))  # removed before the id() is reused
        self.stacks, self.pool = stacks, pool


def start_behind(frame):
    """Returns the start of the thread, or of the pool's work, in which this frame runs; None if unknown."""
    while frame is not None:
        if any(frame.f_code is code for code in starts.carriers):
            start = starts.kept.get(id(frame.f_locals.get("self")))
            if start is not None:
                return start
        frame = frame.f_back
    return None


def keep_start(begun, caller, pool):
    if len(starts.kept) >= MOST_KEPT:
        return
    behind = start_behind(caller)
    stacks = [frames_from(caller)] + (behind.stacks if behind is not None else [])
    starts.kept[id(begun)] = Start(begun, stacks[:MOST_STARTS], pool)


def tell_start(suspect, frame):
    start = start_behind(frame)
    if start is None or (visits.start is start and visits.start_of is suspect):
        return
    about = {"kind": "started", "line": suspect.line, "file": suspect.file, "pool": start.pool,
             "stacks": list(start.stacks)}
    while not tell(about) and len(about["stacks"]) > 1:
        about["stacks"].pop()  # too long for a line
    visits.start, visits.start_of = start, suspect


def look_for_starts():
    threading = sys.modules.get("threading")
    if threading is None:
        return recorder.note("cannot tell where threads started: the threading module was imported after CUDA was initialised")
    original = threading.Thread.start

    def start(self):
        guarded(look_for_pools)
        guarded(keep_start, self, sys._getframe(1), False)
        with without_own_frames:
            return original(self)

    starts.carriers.append(threading.Thread._bootstrap.__code__)
    threading.Thread.start = start
    look_for_pools()


def look_for_pools():
    """Called at the start of each thread, since pools may be imported late. A pool's first work is created before its
    first thread starts, so only the start of that thread is known."""
    work = getattr(sys.modules.get("concurrent.futures.thread"), "_WorkItem", None)
    if not hasattr(work, "__weakref__") or any(work.run.__code__ is code for code in starts.carriers):
        return
    original = work.__init__

    def __init__(self, *arguments, **named):
        guarded(keep_start, self, sys._getframe(1), True)
        with without_own_frames:
            original(self, *arguments, **named)

    starts.carriers.append(work.run.__code__)
    work.__init__ = __init__

