#!/usr/bin/env python3
"""Finds the first NaN of the labelled programs (test/gpu/operators), and none in correct ones, on the CPU; skips with a
message (77) if PyTorch is missing. A wrong line fails; a limited number may be missing. --list prints each."""
import json
import os
import sys

from hook import need_pytorch

need_pytorch()
import torch
from nan_programs import CASES, line_in, run_in_fork

LEAST_RIGHT = 0.9


def judge(label):
    """Returns "right", "wrong" or "silent"; and what was reported."""
    program = str(CASES / label["program"])
    found, notes = run_in_fork(program)
    if label["set"] == "correct":
        return "wrong" if found or notes else "right", found or notes
    if not found:
        return "silent", notes
    wanted = {label["nan"]["line"], label["nan"].get("forward", {}).get("line")}
    lines = {line_in(program, found, stack) for stack in ("stack", "forward_stack")}
    return "right" if wanted & lines - {None} else "wrong", (lines, found["used"])


def main():
    os.environ["DEVICE"] = "cpu"
    torch.set_num_threads(1)
    labels = [each for each in json.loads((CASES / "labels.json").read_text())
              if each["set"] == "nans" or (each["set"] == "correct" and "nans" in each["against"])]
    wanted = [each for each in sys.argv[1:] if each != "--list"]
    counts = {(each["set"], verdict): 0 for each in labels for verdict in ("right", "wrong", "silent")}
    for label in labels:
        if wanted and not any(each in label["program"] for each in wanted):
            continue
        verdict, about = judge(label)
        counts[label["set"], verdict] += 1
        if verdict == "wrong" or "--list" in sys.argv:
            print(verdict, label["program"], about, flush=True)
    print(counts)
    programs = sum(each["set"] == "nans" for each in labels)
    return counts["nans", "wrong"] + counts["correct", "wrong"] > 0 or \
        (not wanted and counts["nans", "right"] < LEAST_RIGHT * programs)


if __name__ == "__main__":
    sys.exit(main())
