"""The suspect lines that threads have reached and not left."""
import _thread


class Place:
    """A visit to a suspect line: a frame that is at that line."""

    def __init__(self, suspect, frame, variables, hidden):
        self.suspect, self.frame = suspect, frame
        self.variables, self.hidden = variables, hidden


class Visits(_thread._local):
    """The state of one thread: the suspect lines that it is at, innermost last, and the mode that is on for them."""

    def __init__(self):
        self.places = []
        self.mode = None
        self.call = None  # used by inputs
        self.racing = None  # used by accesses, for the running operator
        self.start = self.start_of = None  # used by starts: what was reported last, and for which line


visits = Visits()


class Here:
    """The place of some thread, used by threads that work for it."""

    places = []


here = Here()
