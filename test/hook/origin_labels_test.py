#!/usr/bin/env python3
"""Finds the origins of the bad values in the labelled programs (test/gpu/operators), and none in correct ones, on the
CPU; skips with a message (77) if PyTorch is missing. A wrong origin fails; a limited number may be missing. --list
prints each."""
import json
import os
import pathlib
import runpy
import sys

from hook import Hook, need_pytorch

need_pytorch()
import torch

CASES = pathlib.Path(__file__).resolve().parents[1] / "gpu/operators"
LEAST_RIGHT = 0.85


def run(program):
    """Runs a program in a separate process; returns the hook's messages."""
    hook = Hook()
    package = hook.load()
    package.origins.start("1000")
    sys.argv, sys.path[0] = [program], str(CASES / "origins")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        runpy.run_path(program, run_name="__main__")
    except Exception:
        pass  # the failure that the hook explains
    return {"origins": hook.of_kind("origin"), "notes": hook.notes}


def run_in_fork(program):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            os.write(writer, json.dumps(run(program)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"origins": [], "notes": ["it ended without an answer"]}


def judge(label, told):
    """Returns "right", "wrong" or "silent"; and what was reported."""
    program = str(CASES / label["program"])
    if label["set"] == "correct":
        return "wrong" if told["origins"] or told["notes"] else "right", told
    failing = [each for each in told["origins"] if any(frame[:2] == [program, label["failing"]["line"]]
                                                       for frame in each["stack"])]
    if not failing or not failing[0]["origin"]:
        return "silent", told["notes"] or [each["operator"] for each in told["origins"]]
    origin = failing[0]["origin"][0]
    line = next((line for file, line, _ in origin["stack"] if file == program), 0)
    lines = [label["origin"]["line"]] + [each["line"] for each in label["also_right"]]
    value = label["origin"].get("value", label["value"])
    same_value = "value" not in origin or value == "nan" or abs(origin["value"] - value) < 1e-4
    about = (line, origin["role"], origin["operator"], origin.get("value"), origin.get("batch"), origin.get("sample"),
             "certain" if failing[0]["certain"] else "")
    return "right" if line in lines and same_value else "wrong", about


def main():
    os.environ["DEVICE"] = "cpu"
    torch.set_num_threads(1)
    labels = [each for each in json.loads((CASES / "labels.json").read_text())
              if each["set"] == "origins" or each.get("against") == "origins"]
    wanted = [each for each in sys.argv[1:] if each != "--list"]
    counts = dict.fromkeys(("right", "wrong", "silent"), 0)
    for label in labels:
        if wanted and not any(each in label["program"] for each in wanted):
            continue
        verdict, about = judge(label, run_in_fork(str(CASES / label["program"])))
        counts[verdict] += 1
        if verdict == "wrong" or "--list" in sys.argv:
            print(verdict, label["program"], about, "label:", label.get("origin"), label.get("loader", ""))
    print(counts)
    return counts["wrong"] > 0 or (not wanted and counts["right"] < LEAST_RIGHT * len(labels))


if __name__ == "__main__":
    sys.exit(main())
