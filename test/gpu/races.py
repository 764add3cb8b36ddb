#!/usr/bin/env python3
"""Runs every racing program and its corrected twin under cudadiag and, if it uses PyTorch, under CSAN. Prints a table.

Usage: races.py BUILD [--only PATTERN] [--jobs N] [--json FILE]. Needs a GPU; without one, it says so and counts nothing
(77). A race must be found in each program and none in its twin; the table also gives CSAN's results.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import run

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 120

NATIVE = ("write_read", "read_write", "write_write", "copy_in", "copy_out", "memset", "event_too_early", "structure",
          "managed", "graph_and_kernel", "branches", "columns", "double_buffer", "ring", "used_before_allocated",
          "freed_in_use", "default_stream", "two_threads")
NATIVE_CORRECT = ("atomics", "slices", "readers")


def python_scenarios():
    source = (HERE / "python/races.py").read_text()
    names = [name for name in re.findall(r"^def (\w+)\(default", source, re.MULTILINE)]
    correct = set(re.findall(r'"(\w+)"', re.search(r"CORRECT = \{(.*?)\}", source, re.DOTALL).group(1)))
    return [name for name in names if name not in correct], [name for name in names if name in correct]


def programs(build):
    """Yields (name, command, whether there is a race, whether it uses PyTorch)."""
    native = str(build / "gpu/races")
    for name in NATIVE:
        yield name, [native, name], True, False
        yield name + " fixed", [native, name, "fixed"], False, False
    for name in NATIVE_CORRECT:
        yield name, [native, name], False, False
    if run.importlib.util.find_spec("torch") is None:
        return
    script = [sys.executable, str(HERE / "python/races.py")]
    racing, correct = python_scenarios()
    for name in racing:
        yield "torch " + name, script + [name], True, True
        yield f"torch {name} fixed", script + [name, "fixed"], False, True
    for name in correct:
        yield "torch " + name, script + [name], False, True


def cudadiag_says(build, command, folder):
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    ours = [str(build / "bin/cudadiag"), "races", "--json", str(report), "-o", str(folder / "sessions"), "--"]
    result = subprocess.run(ours + command, capture_output=True, text=True, timeout=LIMIT_S)
    if not report.exists():
        return "no report", [result.stderr[-300:]]
    findings = json.loads(report.read_text())["findings"]
    races = [finding for finding in findings if finding["kind"] == "stream_race"]
    certain = [finding for finding in races if finding["evidence"]["grade"] != "suspected"]
    lines = [" / ".join(f"{pathlib.Path(a['location']['file'] or '?').name}:{a['location']['line']} {a['mode']}"
                        for a in finding["accesses"]) for finding in races]
    if result.returncode != 0 or len(races) != len(findings):
        return "failed", [result.stderr[-300:]]
    return ("race" if certain else "possible" if races else "none"), lines


def csan_says(command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S,
                            env={**os.environ, "TORCH_CUDA_SANITIZER": "1"})
    return "race" if "data race" in result.stderr else "none" if result.returncode == 0 else "failed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--only", default="*")
    parser.add_argument("--no-csan", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--json")
    options = parser.parse_args()
    if reason := run.gpu_missing():
        print(f"no GPU ({reason}): nothing was tried")
        return run.CANNOT_RUN_HERE
    rows, wrong = [], 0
    print(f"{'program':44} {'race':5} {'cudadiag':9} {'CSAN':7}")
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        def try_one(program):
            name, command, _, of_torch = program
            folder = pathlib.Path(scratch, name.replace(" ", "-"))
            folder.mkdir()
            csan = csan_says(command) if of_torch and not options.no_csan else "-"
            try:
                return *cudadiag_says(options.build, command, folder), csan
            except subprocess.TimeoutExpired:
                return "too long", [], csan

        wanted = [program for program in programs(options.build) if fnmatch.fnmatch(program[0], options.only)]
        for (name, _, racing, of_torch), (says, lines, csan) in zip(wanted, pool.map(try_one, wanted)):
            bad = says != ("race" if racing else "none")
            wrong += bad
            rows.append({"program": name, "race": racing, "cudadiag": says, "csan": csan, "lines": lines})
            print(f"{name:44} {'yes' if racing else 'no':5} {says:9} {csan:7}{' WRONG' if bad else ''}", flush=True)
            if bad:
                for line in lines:
                    print(f"    {line}")
    csan_wrong = sum(row["csan"] not in ("-", "race" if row["race"] else "none") for row in rows)
    print(f"{len(rows)} programs; cudadiag is wrong about {wrong}, CSAN about {csan_wrong} of "
          f"{sum(row['csan'] != '-' for row in rows)}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
