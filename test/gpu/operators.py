#!/usr/bin/env python3
"""For which of PyTorch's operators cudadiag finds races: each operator's result is read too early, and in the corrected
twin it is not.

Usage: operators.py BUILD [--json FILE] [-o FOLDER] [NAME...]. Needs a GPU and PyTorch; without them, it says so and
counts nothing (77). A race must be found for every operator, and none in the twin. A race is "possible" if the kernel's
code did not show that it writes. With -o, the sessions are kept.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import run

PROGRAM = pathlib.Path(__file__).resolve().parent / "python/operators.py"
LIMIT_S = 500


def operators():
    """Returns the operator names by line, and the names for which no race exists."""
    source = PROGRAM.read_text()
    names = {number: found[1] for number, text in enumerate(source.splitlines(), 1)
             if (found := re.match(r' {4}"(\w+)": lambda: ', text))}
    quiet = set(re.findall(r'"(\w+)"', re.search(r"^WAITS_ITSELF = \{(.*?)\}", source, re.MULTILINE)[1]))
    return names, quiet


def try_all(build, folder, words):
    """Returns the names that ran, the reasons why others did not, and the races."""
    report = pathlib.Path(folder, "report.json")
    report.unlink(missing_ok=True)
    ours = [str(build / "bin/cudadiag"), "races", "-q", "--json", str(report), "-o", str(pathlib.Path(folder, "sessions"))]
    result = subprocess.run([*ours, "--", sys.executable, str(PROGRAM), *words], capture_output=True, text=True,
                            timeout=LIMIT_S)
    if result.returncode != 0 or not report.exists():
        sys.exit(f"the program failed ({result.returncode}):\n{result.stderr[-2000:]}")
    ran = re.findall(r"^ran (\w+)", result.stdout, re.MULTILINE)
    cannot = dict(re.findall(r"^cannot (\w+) ?(.*)", result.stdout, re.MULTILINE))
    return ran, cannot, json.loads(report.read_text())["findings"]


def operator_of(access, names):
    lines = [frame["line"] for frame in access["stack"]["python"] if frame["file"] == str(PROGRAM)]
    return next((names[number] for number in lines if number in names), None)


def by_operator(findings, names):
    """Returns the best race of each operator, and its kernels. The key None has races at no operator's line."""
    found = {}
    for finding in findings:
        at_operator = [(name, access) for access in finding["accesses"] if (name := operator_of(access, names))]
        says = "possible" if finding["evidence"]["grade"] == "suspected" else "race"
        for name, access in at_operator or [(None, finding["accesses"][0])]:
            kernel = access["kernel"] or access["operation"]
            if found.get(name, ("",))[0] != "race":
                found[name] = (says, f"{access['mode']} by {kernel}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json")
    parser.add_argument("-o", dest="folder")
    options = parser.parse_args()
    names, quiet = operators()
    if unknown := set(options.names) - set(names.values()):
        parser.error(f"no such operator: {', '.join(sorted(unknown))}")
    if reason := run.gpu_missing():
        print(f"no GPU ({reason}): nothing was tried")
        return run.CANNOT_RUN_HERE
    if run.importlib.util.find_spec("torch") is None:
        print("no PyTorch: nothing was tried")
        return run.CANNOT_RUN_HERE
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or scratch
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        ran, cannot, findings = try_all(options.build, folder, options.names)
        _, _, of_twin = try_all(options.build, folder, ["fixed", *options.names])
    found, false = by_operator(findings, names), by_operator(of_twin, names)
    rows = []
    for name in ran:
        says, kernel = found.get(name, ("none", ""))
        wrong = [] if (says != "none") != (name in quiet) else ["missed" if says == "none" else "not expected"]
        if name in false:
            wrong.append(f"false alarm: {false[name][1]}")
        rows.append({"operator": name, "found": says, "kernel": kernel, "wrong": wrong})
        print(f"{name:24} {says:8} {kernel[:70]:70} {'; '.join(wrong)}".rstrip())
    for name, why in cannot.items():
        print(f"{name:24} not tried: {why}")
    elsewhere = [each[None] for each in (found, false) if None in each]
    for says, kernel in elsewhere:
        print(f"{says} of no operator's line: {kernel}")
    racing = [row for row in rows if row["operator"] not in quiet]
    count = {says: sum(row["found"] == says for row in racing) for says in ("race", "possible", "none")}
    print(f"{len(racing)} operators that race: {count['race']} found, {count['possible']} possible, {count['none']} missed; "
          f"{len(false)} false alarms in the twins")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if elsewhere or any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
