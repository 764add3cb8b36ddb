"""The suspect lines that threads have reached and not yet left."""
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
        self.telling = self.told = False  # whether the running operator was reported, and whether the latest one was
        self.start = self.start_of = None  # used by starts: the start that was reported last, and for which line


visits = Visits()


class Here:
    """The places of the thread that reached a suspect line last, for threads that work on its behalf."""

    places = []


here = Here()
