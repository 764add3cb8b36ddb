#!/usr/bin/env python3
"""Programs with bad values, NaNs and races in PyTorch, and their right answers: compares labels and programs.

labels.json gives the right answers for each program; README.md explains its fields. Without an option, the labels are
compared with the lines of the programs. --verify also runs every program on the CPU, each in a fork of one process.
"""

import argparse
import json
import math
import os
import runpy
import signal
import sys
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
CANNOT_RUN_HERE = 77
LIMIT_S = 60
SHARED = {"races/streams.py"}  # not a program
FIELDS = {
    "origins": {"origin", "also_right", "through", "holder", "valid", "bad", "value", "failing", "error"},
    "nans": {"nan", "inf", "index", "module", "step", "used", "note"},
    "races": {"twin", "corrected", "remedy", "first", "second", "overlap", "ordered_by", "note"},
    "correct": {"against", "trap"},
}
OPTIONAL = {"loader"}
ROLES = {"made", "copied", "loaded", "passed"}
PASSES = {"forward", "backward", "update"}
REMEDIES = {"order", "bytes"}


def places(value):
    """Yields every {"line": ..., "text": ...} in a label, at any depth."""
    if isinstance(value, dict):
        if "line" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from places(each)


def words_outside(label):
    """Returns the words that README.md does not list."""
    found = []
    if label["set"] == "origins" and label["origin"]["role"] not in ROLES:
        found.append(f"role {label['origin']['role']}")
    if label["set"] == "nans" and not {each["pass"] for each in (label["nan"], label["inf"]) if each} <= PASSES:
        found.append("an unknown pass")
    if label["set"] == "races" and label["remedy"] not in REMEDIES:
        found.append(f"remedy {label['remedy']}")
    return found


def shortfalls(label):
    """Returns what a label lacks, and where it differs from its program's text."""
    fields = FIELDS[label["set"]] | {"program", "set", "report"}
    if difference := (label.keys() ^ fields) - OPTIONAL:
        return [f"fields {sorted(difference)}"]
    file = HERE / label["program"]
    if not file.exists():
        return ["the program is missing"]
    lines = file.read_text().splitlines()
    wrong = [f"line {place['line']} is not: {place['text']}" for place in places(label)
             if not 0 < place["line"] <= len(lines) or lines[place["line"] - 1].strip() != place["text"]]
    if not lines[0].startswith(f'"""{label["report"]}'):
        wrong.append("the docstring differs from the label's report")
    return wrong + words_outside(label)


def without_label(labels):
    named = {label["program"] for label in labels} | SHARED
    return sorted({str(file.relative_to(HERE)) for file in HERE.glob("*/*.py")} - named)


def list_programs(labels):
    for label in labels:
        print(f"{label['program']:40} {label['report']}")
        for name in ("origin", "failing", "nan", "inf", "used", "first", "second", "ordered_by"):
            if place := label.get(name):
                print(f"    {name:10} {place['line']:4} {place['text']}")


def bytes_of(tensor):
    """Returns the addresses of a tensor's bytes."""
    starts = {tensor.data_ptr()} if tensor.numel() else set()
    size = tensor.element_size()
    for length, stride in zip(tensor.shape, tensor.stride()):
        starts = {start + index * stride * size for start in starts for index in range(length if stride else 1)}
    return {start + offset for start in starts for offset in range(size)}


def frame_of_program(error, path):
    """Returns the line and the variables of the innermost frame in the program."""
    frames = [(line, frame) for frame, line in traceback.walk_tb(error.__traceback__)
              if frame.f_code.co_filename == path]
    line, frame = frames[-1]
    return line, {**frame.f_globals, **frame.f_locals}


def bad_elements(tensor, low, high):
    values = tensor.double()
    outside = ~((values >= low) & (values <= high))  # NaN is outside as well
    return [(index, tensor[tuple(index)].item()) for index in outside.nonzero().tolist()]


def same(found, expected):
    if isinstance(expected, str):
        return math.isnan(found) and expected == "nan"
    return math.isclose(found, expected, rel_tol=1e-5)


def judge_origin(label, path, variables, error):
    if error is None:
        return ["it did not fail"]
    wrong = []
    if type(error).__name__ not in label["error"]:
        wrong.append(f"it raised {type(error).__name__}: {error}")
    line, variables = frame_of_program(error, path)
    if line != label["failing"]["line"]:
        wrong.append(f"it failed at line {line}")
        return wrong
    bad = bad_elements(eval(label["holder"], variables), *label["valid"])
    expected = [(each["index"], each["value"]) for each in label["bad"]]
    if [index for index, _ in bad] != [index for index, _ in expected] or not all(
            same(found, right) for (_, found), (_, right) in zip(bad, expected)):
        wrong.append(f"the bad elements of {label['holder']} are {bad[:8]}")
    return wrong


def judge_nan(label, path, variables, error):
    if error is not None:
        return [f"it raised {type(error).__name__}: {error}"]
    holder = label["used"]["holder"]
    return [] if eval(holder, variables).isnan().any() else [f"{holder} has no NaN"]


def judge_race(label, path, variables, error):
    if error is not None:
        return [f"it raised {type(error).__name__}: {error}"]
    if not label["first"]["tensor"]:
        return []  # on a GPU, the allocator determines which addresses are reused
    first, second = (bytes_of(eval(label[each]["tensor"], variables)) for each in ("first", "second"))
    common = first & second
    if label["corrected"]:
        return ["the bytes overlap"] if common and label["remedy"] == "bytes" else []
    expected = label["overlap"]
    if not common:
        return ["the bytes do not overlap"]
    offset = min(common) - eval(expected["tensor"], variables).data_ptr()
    found = {"offset": offset, "length": max(common) - min(common) + 1, "bytes": len(common)}
    return [] if expected.items() >= found.items() else [f"the overlap is {found}"]


def judge_correct(label, path, variables, error):
    return [] if error is None else [f"it raised {type(error).__name__}: {error}"]


JUDGES = {"origins": judge_origin, "nans": judge_nan, "races": judge_race, "correct": judge_correct}


def execute(path):
    """Returns the global variables of a program after its end, and the error that ended it."""
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path]
    try:
        return runpy.run_path(path, run_name="__main__"), None
    except SystemExit as exit:
        return {}, exit if exit.code else None
    except Exception as error:
        return {}, error


def judged_in_fork(label):
    """Checks a program in a fork; PyTorch is imported once, in the parent."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        path = str(HERE / label["program"])
        try:
            wrong = JUDGES[label["set"]](label, path, *execute(path))
        except Exception as error:
            wrong = [f"it cannot be judged: {error!r}"]
        os.write(writer, json.dumps(wrong).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as answers:
        text = answers.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else [f"it ended without an answer, or ran for {LIMIT_S} s"]


def verify(labels):
    """Runs the programs on the CPU. Returns 1 if one does not behave as its label says."""
    os.environ["DEVICE"] = "cpu"
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: no program was run")
        return CANNOT_RUN_HERE
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    failed = 0
    for label in labels:
        if wrong := judged_in_fork(label):
            failed += 1
            print(f"{label['program']}: {'; '.join(wrong)}")
    print(f"{len(labels) - failed} of {len(labels)} programs behave as their labels say")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every program with its lines")
    parser.add_argument("--verify", action="store_true", help="run every program on the CPU; needs PyTorch")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only programs whose path contains this text")
    options = parser.parse_args()
    labels = json.loads((HERE / "labels.json").read_text())
    wrong = [f"{file}: it has no label" for file in without_label(labels)]
    labels = [each for each in labels if not options.only or any(text in each["program"] for text in options.only)]
    wrong += [f"{label['program']}: {each}" for label in labels for each in shortfalls(label)]
    print("\n".join(wrong) or f"{len(labels)} labels agree with their programs")
    if options.list:
        list_programs(labels)
    if wrong:
        return 1
    return verify(labels) if options.verify else 0


if __name__ == "__main__":
    sys.exit(main())
