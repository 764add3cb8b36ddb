"""Where threads stand: the suspect lines that they have come to and not left."""
import _thread


class Place:
    """A visit to a suspect line: a frame that stands there."""

    def __init__(self, suspect, frame, variables, hidden):
        self.suspect, self.frame = suspect, frame
        self.variables, self.hidden = variables, hidden


class Visits(_thread._local):
    """Of one thread: the suspect lines that it stands at, innermost last, and the mode that is on for them."""

    def __init__(self):
        self.places = []
        self.mode = None
        self.call = None  # inputs
        self.racing = None  # accesses: of the operator that runs
        self.start = self.start_of = None  # starts: what was told last, and for which line


visits = Visits()


class Here:
    """The place at which some thread stands: for threads that work on its behalf."""

    places = []


here = Here()
