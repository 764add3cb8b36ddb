#!/usr/bin/env python3
"""Programs that hang on a real GPU, and correct ones that look like it for a while, under --hang-after.

Usage: hangs.py BUILD. Needs a GPU; without one, it says so and counts nothing (77). Each line of output gives a
program, the expected result and the actual one. The programs run at the same time, because they mostly wait.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import run

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 240
STANDING = {  # program -> the rule that must give the cause
    "kernel": "kernel-does-not-end",
    "value": "value-never-written",
    "other_stream": "kernel-does-not-end",
    "host_copy": "kernel-does-not-end",
}
# How and where the ranks diverge, the number of the all-reduce, the marks of the ranks' lines, and the rule that must
# give the cause. Only NCCL 2.24 and later reports groups.
PARTED = {
    "missing": ("absence", "none", 4, "AVERAGE", None, "rank-has-not-come"),
    "other": ("mismatch", "function", 1, "AVERAGE", "EVALUATE", "ranks-call-different-collectives"),
    "left_out": ("mismatch", "line", 5, "AVERAGE", "BARRIER", "ranks-call-different-collectives"),
    "size": ("mismatch", "count", 4, "AVERAGE", "AVERAGE", "ranks-give-different-data"),
    "well": None,
}
CORRECT = ("kernel_well", "value_well", "idle_well")


def marked(source, mark):
    """Returns the lines of the source that end in the mark."""
    lines = (HERE / source).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if re.search(rf"[/#] {mark}$", line)]


class Hangs:
    def __init__(self, build, folder):
        self.build, self.folder = build, pathlib.Path(folder)

    def run(self, name, options, command):
        """Runs the command. Returns the process after its end, and its report."""
        report = self.folder / f"{name}.json"
        words = [self.build / "bin/cudadiag", "run", *options, "--json", report, "-o", self.folder / name, "--", *command]
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S)
        return result, json.loads(report.read_text()) if report.exists() else {"findings": []}

    def standing(self, name, command, source, mark, cause, dump):
        options = ["--hang-after", "3", "--rerun=never", *(["--hang-dump"] if dump else [])]
        result, report = self.run(name, options, command)
        findings = report["findings"]
        if [finding["kind"] for finding in findings] != ["hang"]:
            return f"findings: {[finding['kind'] for finding in findings]}; {result.stderr[-300:]}"
        finding = findings[0]
        wrong = []
        if finding["location"]["line"] not in marked(source, "TRUE LINE" + mark):
            wrong.append(f"line {finding['location']['line']}")
        waits = marked(source, "BLAMED" + mark) + marked(source, "BLAMED by a tail call")
        if finding["reported_at"] is None or finding["reported_at"]["line"] not in waits:
            wrong.append(f"waits at {finding['reported_at']}")
        if finding["evidence"]["grade"] != "bracketed":
            wrong.append(finding["evidence"]["grade"])
        if (finding["cause"] or {}).get("id") != cause:
            wrong.append(f"cause {finding['cause']}")
        device = finding["device"]
        if dump and (device is None or (pathlib.Path(device["file"]).name, device["line"]) not in dump):
            wrong.append(f"on the GPU: {device}")
        return "; ".join(wrong)

    def correct(self, name, command):
        result, report = self.run(name, ["--hang-after", "1.5"], command)
        found = (result.returncode, result.stdout, result.stderr, report["findings"])
        return "" if found == (0, "done\n", "", []) else str(found)[:300]

    def parted(self, what, options, patience):
        """Runs a job of two ranks. With a short limit, its library gives up by itself."""
        script = HERE / "python/collectives.py"
        command = ["torchrun", "--standalone", "--nproc-per-node", 2, script, what, patience]
        result, report = self.run(f"{what}-{patience}", ["--nccl", "--rerun=never", *options], command)
        found = report.get("groups")
        if PARTED[what] is None:
            return "" if (result.returncode, report["findings"], found) == (0, [], None) else str((result, report))[:300]
        if found is None:
            return f"no groups; findings {[finding['kind'] for finding in report['findings']]}"
        wrong = []
        kind, difference, number, *marks, cause = PARTED[what]
        if (found["kind"], found["difference"], found["number"]) != (kind, difference, number):
            wrong.append(found["sentence"])
        for rank, mark in zip(found["ranks"], marks):
            if rank["has_come"] != bool(mark) or (mark and rank["location"]["line"] not in marked(script, mark)):
                wrong.append(f"rank {rank['rank']} at {rank['location']}")
        if options and [(finding["cause"] or {}).get("id") for finding in report["findings"]][:1] != [cause]:
            wrong.append(f"cause {[finding['cause'] for finding in report['findings']]}")
        return "; ".join(wrong)

    def cases(self):
        """Yields (name, a function that returns what was wrong)."""
        native, source = str(self.build / "gpu/hangs"), "cuda/hangs.cu"
        for name, cause in STANDING.items():
            yield name, lambda name=name, cause=cause: self.standing(
                name, [native, name, "15"], source, " " + name, cause, None)
        spin = marked_line("cuda/spin.cuh", "while (now - start < nanoseconds);")
        yield "dump", lambda: self.standing(
            "dump", [native, "kernel", "15"], source, " kernel", STANDING["kernel"],
            [("spin.cuh", line) for line in (spin - 1, spin)])  # the lines of the loop
        for name in CORRECT:
            yield name, lambda name=name: self.correct(name, [native, name, "6"])
        if run.importlib.util.find_spec("torch"):
            script = HERE / "python/stuck.py"
            yield "torch", lambda: self.standing(
                "torch", [sys.executable, script], "python/stuck.py", "", STANDING["kernel"], None)
        if run.importlib.util.find_spec("torch") and run.gpus_here() > 1:
            for what in PARTED:
                yield "ranks_" + what, lambda what=what: self.parted(what, ["--hang-after", "10"], 600)
            yield "ranks_give_up", lambda: self.parted("left_out", [], 15)


def marked_line(source, text):
    lines = (HERE / source).read_text().splitlines()
    return 1 + next(at for at, line in enumerate(lines) if text in line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args()
    if reason := run.gpu_missing():
        print(f"no GPU ({reason}): nothing was tried")
        return run.CANNOT_RUN_HERE
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        cases = list(Hangs(options.build, folder).cases())
        for (name, _), wrong in zip(cases, pool.map(lambda case: case[1](), cases)):
            print(f"{'FAIL' if wrong else 'pass'} {name:14} {wrong}", flush=True)
            failed += bool(wrong)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
