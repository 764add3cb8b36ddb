"""Python stacks as lists of [file, line, function], innermost first."""
import sys

OWN_FILE = "<cudadiag>"  # co_filename of the hook's own code
MOST_FRAMES = 48
MOST_LOOKED_AT = 64  # frames, including the hook's own


def name_of_code(code):
    return getattr(code, "co_qualname", code.co_name)  # 3.11 and later


def frames_from(frame):
    frames = []
    while frame is not None and len(frames) < MOST_FRAMES:
        code = frame.f_code
        if code.co_filename != OWN_FILE:
            frames.append([code.co_filename, frame.f_lineno or 0, name_of_code(code)])
        frame = frame.f_back
    return frames


def drop_own_frames(error):
    """Removes the hook's frames from the beginning of a caught exception's traceback. The caller must raise it again with
    a `raise` without arguments, which adds no frame. Before Python 3.11, that `raise` restores the frames."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename == OWN_FILE:
        step = step.tb_next
    error.__traceback__ = step


class WithoutOwnFrames:
    """Surrounds the call of a function that the hook has replaced, so that the hook's frame is not in the traceback of
    that function's exceptions."""

    def __enter__(self):
        pass

    def __exit__(self, kind, error, traceback):
        if error is not None:
            drop_own_frames(error)


without_own_frames = WithoutOwnFrames()

kept_places = {}  # results of places_from(), by (id() of the code, instruction) of all frames
MOST_STACKS = 4096


def places_from(frame):
    """Returns the stack as (code, instruction) pairs, innermost first. Does not look up lines, because this runs for
    each operator. Equal stacks share one object, because many small objects make the target's garbage collector run
    more often."""
    numbers, innermost, left = [], frame, MOST_LOOKED_AT
    add = numbers.append
    while frame is not None and left:
        add(id(frame.f_code))
        add(frame.f_lasti)
        frame = frame.f_back
        left -= 1
    key = tuple(numbers)
    places = kept_places.get(key)
    if places is None:
        if len(kept_places) >= MOST_STACKS:
            kept_places.clear()
        places = kept_places[key] = tuple(places_of(innermost, len(key) // 2))
    return places


def places_of(frame, count):
    """Returns (code, instruction) of the target's own frames among the innermost `count` frames."""
    places = []
    for _ in range(count):
        if frame.f_code.co_filename != OWN_FILE and len(places) < MOST_FRAMES:
            places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return places


def line_at(code, instruction):
    if not hasattr(code, "co_lines"):  # before 3.10
        line, at, table = code.co_firstlineno, 0, code.co_lnotab
        for step, lines in zip(table[::2], table[1::2]):
            at += step
            if at > instruction:
                break
            line += lines - 256 if lines > 127 else lines
        return line
    for begin, end, line in code.co_lines():
        if begin <= instruction < end:
            return line or 0
    return code.co_firstlineno


def frames_of_places(places):
    return [[code.co_filename, line_at(code, instruction), name_of_code(code)] for code, instruction in places]


def is_in_library(code):
    """Returns whether the code belongs to a library, judging only by its path."""
    file = code.co_filename
    return file.startswith("<") or "site-packages" in file or "dist-packages" in file or file.startswith(STANDARD)


STANDARD = sys.modules["os"].__file__.rpartition("/")[0] + "/" if "os" in sys.modules else "/usr/lib/python3"
