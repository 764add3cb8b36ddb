#!/usr/bin/env python3
"""What watching costs on a real GPU: every workload plain, under cudadiag and with CUDA_LAUNCH_BLOCKING=1; and what it
costs to find a failure at launch 1,000,000, beside the alternatives.

Each run is a fresh process that times itself, or is timed as a whole where it fails; the ways of running it alternate,
so that drift meets all alike.
"""

import argparse
import importlib.util
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT_S = 60
WAYS = ["plain", "cudadiag run", "cudadiag run --markers off", "cudadiag run --markers dense", "CUDA_LAUNCH_BLOCKING=1"]
CASES = {  # name -> unit, command; "@x" is a file of the build's gpu/ folder
    "empty kernel launch": ("ns", ["@launches", "empty"]),
    "graph replay, 100 nodes": ("ns", ["@launches", "graph"]),
    "launches from 8 threads": ("ns", ["@launches", "threads"]),
    "launch-bound training step": ("ms", ["training_step.py", "launch_bound"]),
    "compute-bound training step": ("ms", ["training_step.py", "compute_bound"]),
}


FAILING = "failure at launch 1,000,000"


def command_of(words, build):
    first, *rest = words
    if first.endswith(".py"):
        return [sys.executable, str(HERE / first), *rest]
    return [str(build / "gpu" / first[1:]), *rest]


def cannot_run(words, build):
    if words[0].endswith(".py"):
        return None if importlib.util.find_spec("torch") else "no PyTorch"
    return None if Path(command_of(words, build)[0]).exists() else "not built (no nvcc at build time)"


def measure(way, command, build, state):
    """The workload's own median, or None with the reason on stderr."""
    env = clean_environment(state)
    if way.startswith("cudadiag"):
        command = [str(build / "bin" / "cudadiag"), *way.split()[1:], "--", *command]
    elif way != "plain":
        env["CUDA_LAUNCH_BLOCKING"] = "1"
    try:
        ended = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"  {way}: no end after {LIMIT_S} s", file=sys.stderr)
        return None
    median = re.search(r"^median ([\d.]+)$", ended.stdout, re.M)
    if ended.returncode or not median:
        print(f"  {way}: exit {ended.returncode}: {ended.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    return float(median[1])


def clean_environment(state, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDADIAG_", "CUDA_LAUNCH_BLOCKING"))}
    return {**env, "XDG_STATE_HOME": state, **more}


def timed(command, env):
    """Seconds, or None where it takes too long."""
    start = time.monotonic()
    try:
        subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    return time.monotonic() - start


def bench_failure(build, rounds, state):
    """The whole program up to its failure: the first run, and the rerun that waits for the suspect alone."""
    target = str(build / "gpu" / "million")
    if not Path(target).exists():
        print(f"{FAILING}: skipped: not built (no nvcc at build time)", flush=True)
        return []
    values = {"plain": [], "first run": [], "confirming rerun": [], "CUDA_LAUNCH_BLOCKING=1": [],
              "compute-sanitizer": []}
    report = Path(state) / "report.json"
    for index in range(rounds):
        values["plain"].append(timed([target], clean_environment(state)))
        timed([str(build / "bin/cudadiag"), "run", "--rerun=always", "--no-device-pass", "--json",
               str(report), "--", target],
              clean_environment(state))
        passes = {each["name"]: each["seconds"] for each in json.loads(report.read_text())["passes"]}
        values["first run"].append(passes["record"])
        values["confirming rerun"].append(passes["confirm"])
        values["CUDA_LAUNCH_BLOCKING=1"].append(timed([target], clean_environment(state, CUDA_LAUNCH_BLOCKING="1")))
        if index == 0 and shutil.which("compute-sanitizer"):
            values["compute-sanitizer"].append(timed(["compute-sanitizer", target], clean_environment(state)))
    return list(rows_of(FAILING, "s", {way: [v for v in seen if v is not None] for way, seen in values.items()}))


def print_rows(rows):
    for row in rows:
        ratio = f"x{row['ratio_to_plain']:.3f}" if row["ratio_to_plain"] else "-"
        print(f"{row['case']:<28} {row['what']:<29} {row['median']:>10.2f} {row['unit']}  "
              f"[{row['min']:.2f}, {row['max']:.2f}]  {ratio}", flush=True)


def rows_of(case, unit, values):
    plain = statistics.median(values["plain"]) if values["plain"] else None
    for way, seen in values.items():
        if seen:
            median = statistics.median(seen)
            yield {"case": case, "what": way, "median": median, "min": min(seen), "max": max(seen), "unit": unit,
                   "ratio_to_plain": round(median / plain, 4) if plain else None}


def bench_case(case, build, rounds, state):
    unit, words = CASES[case]
    reason = cannot_run(words, build)
    if reason:
        print(f"{case}: skipped: {reason}", flush=True)
        return []
    values = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            value = measure(way, command_of(words, build), build, state)
            if value is not None:
                values[way].append(value)
    rows = list(rows_of(case, unit, values))
    print_rows(rows)
    return rows


def machine():
    try:
        query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                               capture_output=True, text=True, timeout=20)
        gpu = (query.stdout.splitlines() or [""])[0]
    except (OSError, subprocess.TimeoutExpired):
        gpu = ""
    return {"gpu": gpu, "system": platform.platform(), "cores": os.cpu_count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parents[2] / "build", help="the built tree")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    result = {"machine": machine(), "rows": []}
    print(result["machine"], flush=True)
    with tempfile.TemporaryDirectory(prefix="cudadiag-bench-") as state:
        for case in CASES:
            if not options.only or any(text in case for text in options.only):
                result["rows"] += bench_case(case, options.build.resolve(), options.rounds, state)
        if not options.only or any(text in FAILING for text in options.only):
            rows = bench_failure(options.build.resolve(), options.rounds, state)
            print_rows(rows)
            result["rows"] += rows
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["rows"] else 1


if __name__ == "__main__":
    sys.exit(main())
