#!/usr/bin/env python3
"""What is found of the labelled programs in test/gpu/operators on a real GPU: origins, races of tensors, NaNs, and
nothing of correct ones.

Usage: values.py BUILD [--only TEXT] [--json FILE]. Needs a GPU and PyTorch; without, it says so and counts nothing (77).
A wrong answer fails; a silent one is counted.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import run

CASES = pathlib.Path(__file__).resolve().parent / "operators"
LIMIT_S = 300
COMMANDS = {"origins": ["run", "--rerun=always", "--no-device-pass"], "races": ["races", "--tensors"], "nans": ["nans"]}


def report_of(build, words, program):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "report.json")
        command = [str(build / "bin/cudadiag"), words[0], "-q", "--json", str(file), "-o", folder, *words[1:]]
        subprocess.run([*command, "--", sys.executable, str(program)], capture_output=True, timeout=LIMIT_S)
        return json.loads(file.read_text()) if file.exists() else {"findings": []}



def judge_origin(label, report):
    found = [each["origin"][0] for each in report["findings"] if each["origin"]]
    if not found:
        kinds = [each["kind"] for each in report["findings"]]
        return "silent", f"findings: {kinds}, passes: {[each['name'] for each in report.get('passes', ())]}"
    lines = [label["origin"]["line"]] + [each["line"] for each in label["also_right"]]
    right = found[0]["line"] in lines
    return "right" if right else "wrong", f"{found[0]['line']} {found[0]['role']} {found[0]['operator']} {found[0]['grade']}"


def judge_race(label, report):
    pairs = [tuple(access["location"]["line"] for access in each["accesses"]) for each in report["findings"] if each["accesses"]]
    if label["corrected"]:
        return ("wrong" if pairs else "right"), str(pairs)
    wanted = (label["first"]["line"], label["second"]["line"])
    return "right" if wanted in pairs else "wrong" if pairs else "silent", f"{pairs}, label {wanted}"


def judge_nan(label, report):
    found = [each for each in report["findings"] if each["kind"] == "non_finite"]
    if not found:
        return "silent", ""
    wanted = {label["nan"]["line"], label["nan"].get("forward", {}).get("line")}
    lines = {found[0]["location"]["line"]} | {each["line"] for each in found[0]["related"] if each["role"] == "forward"}
    return "right" if wanted & lines else "wrong", f"{sorted(lines)}, label {sorted(each for each in wanted if each)}"


JUDGES = {"origins": judge_origin, "races": judge_race, "nans": judge_nan}


def answers(build, label):
    """(set, verdict, about) of each command that concerns the program."""
    program = CASES / label["program"]
    if label["set"] != "correct":
        report = report_of(build, COMMANDS[label["set"]], program)
        yield label["set"], *JUDGES[label["set"]](label, report)
        return
    for rules in label["against"] if isinstance(label["against"], list) else [label["against"]]:
        found = report_of(build, COMMANDS[rules], program)["findings"]
        yield "correct", "wrong" if found else "right", f"{rules}: {[each['kind'] for each in found]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    if reason := run.gpu_missing():
        print(f"no GPU ({reason}): nothing was tried")
        return run.CANNOT_RUN_HERE
    if run.importlib.util.find_spec("torch") is None:
        print("no PyTorch: nothing was tried")
        return run.CANNOT_RUN_HERE
    counts, rows = {}, []
    for label in json.loads((CASES / "labels.json").read_text()):
        if options.only not in label["program"]:
            continue
        for which, verdict, about in answers(options.build, label):
            counts.setdefault(which, {}).setdefault(verdict, 0)
            counts[which][verdict] += 1
            rows.append({"program": label["program"], "set": which, "verdict": verdict, "about": about})
            print(f"{verdict:6} {label['program']:44} {about}", flush=True)
    for which, verdicts in counts.items():
        print(f"{which}: {verdicts}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return any("wrong" in verdicts for verdicts in counts.values())


if __name__ == "__main__":
    sys.exit(main())
