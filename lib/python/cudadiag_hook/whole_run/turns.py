"""A lock for the hook's own data."""
import _thread


class Turn:
    """Lets only one thread at a time change the shared state. No thread waits for long, because that could deadlock: a
    finalizer that runs inside a turn may wait for another thread's operator."""

    PATIENCE = 1.0  # seconds

    def __init__(self):
        self.lock = _thread.RLock()

    def run(self, function, *arguments):
        lock = self.lock
        if not (lock.acquire(False) or lock.acquire(True, self.PATIENCE)):
            self.lock = _thread.RLock()
            return function(*arguments)
        try:
            return function(*arguments)
        finally:
            lock.release()
