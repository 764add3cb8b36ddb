"""Continuous batching with a paged cache, as serving engines do it, without any GPU code (service.py has that)."""
import collections
import threading

PAGE = 16  # tokens


class Request:
    """Reads the prompt, a token in each step, and then produces `length` tokens. `finished` is set with the last token, or
    with `error`."""

    def __init__(self, prompt, length):
        self.prompt, self.length = prompt, length
        self.position, self.tokens, self.pages = 0, [], []
        self.latest = None  # when the latest token was produced
        self.error = None
        self.finished = threading.Event()

    def positions_needed(self):
        return len(self.prompt) + self.length


class Batcher:
    """Decides which requests run in the next step. Pages belong to a request from its admission to its end. Page 0 belongs
    to none: rows that only fill up a batch use it."""

    def __init__(self, pages, most_running):
        self.free = list(range(pages - 1, 0, -1))
        self.most_running = most_running
        self.waiting, self.running = collections.deque(), []
        self.changed = threading.Condition()

    def submit(self, request):
        with self.changed:
            self.waiting.append(request)
            self.changed.notify()

    def admit(self, patience=None):
        """Waits for work. Returns the requests that start now."""
        started = []
        with self.changed:
            if not self.running:
                self.changed.wait_for(lambda: self.waiting, patience)
            while self.waiting and len(self.running) < self.most_running:
                pages = -(-self.waiting[0].positions_needed() // PAGE)
                if pages > len(self.free):
                    break
                request = self.waiting.popleft()
                request.pages = [self.free.pop() for _ in range(pages)]
                self.running.append(request)
                started.append(request)
        return started

    def rows(self):
        """Returns (token, position, pages) of each running request: the token that the step reads."""
        return [((request.prompt + request.tokens)[request.position], request.position, request.pages)
                for request in self.running]

    def advance(self, tokens, now):
        """Takes the tokens of the step, in the order of rows(). Ends requests that are complete. Returns the times
        between tokens of the same request."""
        gaps = []
        for request, token in zip(list(self.running), tokens):
            request.position += 1
            if request.position < len(request.prompt):
                continue
            if request.latest is not None:
                gaps.append(now - request.latest)
            request.latest = now
            request.tokens.append(token)
            if len(request.tokens) == request.length:
                self.end(request)
        return gaps

    def end(self, request, error=None):
        self.running.remove(request)
        self.free += request.pages
        request.pages = []
        request.error = error
        request.finished.set()

    def fail_all(self, error):
        with self.changed:
            self.running += self.waiting
            self.waiting.clear()
        for request in list(self.running):
            self.end(request, error)


def chosen_size(sizes, rows):
    """Returns the smallest captured batch size that has room for the rows."""
    return min(size for size in sizes if size >= rows)
