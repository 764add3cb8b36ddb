"""Python stacks as lists of [file, line, function], innermost first."""

OWN_FILE = "<cudadiag>"  # of the hook's own code
MOST_FRAMES = 48


def name_of_code(code):
    return getattr(code, "co_qualname", code.co_name)  # 3.11


def frames_from(frame):
    frames = []
    while frame is not None and len(frames) < MOST_FRAMES:
        code = frame.f_code
        if code.co_filename != OWN_FILE:
            frames.append([code.co_filename, frame.f_lineno or 0, name_of_code(code)])
        frame = frame.f_back
    return frames
