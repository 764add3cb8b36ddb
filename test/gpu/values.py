#!/usr/bin/env python3
"""What cudadiag finds in the labelled programs of test/gpu/operators on a real GPU: origins, races between tensors,
NaNs, and nothing in correct ones.

Usage: values.py BUILD [--only TEXT] [--jobs N] [--json FILE] [--keep FOLDER]. Needs a GPU and PyTorch; without them, it
says so and counts nothing (77). A wrong answer fails; a missing one is only counted.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run

CASES = pathlib.Path(__file__).resolve().parent / "operators"
LIMIT_S = 300
COMMANDS = {"origins": ["run", "--rerun=always", "--no-device-pass"], "races": ["races", "--tensors"], "nans": ["nans"]}


def report_of(build, words, program, folder):
    file = folder / "report.json"
    command = [str(build / "bin/cudadiag"), words[0], "--json", str(file), "-o", str(folder), *words[1:]]
    with open(folder / "output", "w") as output:
        subprocess.run([*command, "--", sys.executable, str(program)], stdout=output, stderr=output, timeout=LIMIT_S)
    if not file.exists():
        raise ValueError((folder / "output").read_text()[-300:])
    return json.loads(file.read_text())



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


def answers(options, label):
    """Returns (program, set, verdict, about) of each command that concerns the program."""
    against = label.get("against") if label["set"] == "correct" else label["set"]
    return [answer(options, label, rules) for rules in (against if isinstance(against, list) else [against])]


def answer(options, label, rules):
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        report = report_of(options.build, COMMANDS[rules], CASES / label["program"], folder)
        if label["set"] == "correct":
            verdict, about = "wrong" if report["findings"] else "right", f"{rules}: {[each['kind'] for each in report['findings']]}"
        else:
            verdict, about = JUDGES[rules](label, report)
    except (ValueError, subprocess.TimeoutExpired) as e:
        verdict, about = "broken", str(e)
    if options.keep and verdict != "right":
        kept = options.keep / rules / label["program"]
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, symlinks=True)
    shutil.rmtree(folder, ignore_errors=True)
    return label["program"], label["set"], verdict, about


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1, help="run this many programs at a time")
    parser.add_argument("--json")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the sessions of wrong answers here")
    options = parser.parse_args()
    if reason := run.gpu_missing():
        print(f"no GPU ({reason}): nothing was tried")
        return run.CANNOT_RUN_HERE
    if run.importlib.util.find_spec("torch") is None:
        print("no PyTorch: nothing was tried")
        return run.CANNOT_RUN_HERE
    counts, rows = {}, []
    labels = [each for each in json.loads((CASES / "labels.json").read_text()) if options.only in each["program"]]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for results in pool.map(lambda label: answers(options, label), labels):
            for program, which, verdict, about in results:
                counts.setdefault(which, {}).setdefault(verdict, 0)
                counts[which][verdict] += 1
                rows.append({"program": program, "set": which, "verdict": verdict, "about": about})
                print(f"{verdict:6} {program:44} {about}", flush=True)
    for which, verdicts in counts.items():
        print(f"{which}: {verdicts}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return any(bad in verdicts for verdicts in counts.values() for bad in ("wrong", "broken"))


if __name__ == "__main__":
    sys.exit(main())
