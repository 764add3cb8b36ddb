#!/usr/bin/env python3
"""Jobs with several groups under real NCCL: which rank has not reached which call of which group, and what the plugin
costs.

Usage: groups.py BUILD [--gpus N] [--jobs N] [--json FILE]

Needs two or four GPUs, and PyTorch; without them, it says so and counts nothing (77). Each shape (one group, tensor by
pipeline, experts) runs well, with a slow rank, with a missing rank, with a different size, and in a different order.
Four GPUs run all shapes, two run only the first. The last lines give the cost of an all-reduce loop without and with
the plugin, the best of five each, measured alternately.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from hangs import marked
from run import CANNOT_RUN_HERE, gpu_missing, gpus_here

HERE = pathlib.Path(__file__).resolve().parent
JOB = HERE / "python/groups.py"
LIMIT_S = 240
# shape, fault -> kind, group, difference, absent ranks
EXPECTED = {
    ("ddp", "missing"): ("absence", "world", "none", [1]),
    ("ddp", "size"): ("mismatch", "world", "count", []),
    ("ddp", "order"): ("mismatch", "world", "function", []),
    ("pipeline", "missing"): ("absence", "tp1", "none", [3]),
    ("pipeline", "size"): ("mismatch", "pp1", "count", []),
    ("pipeline", "order"): ("circle", "pp1", "none", []),
    ("experts", "missing"): ("absence", "ep1", "none", [3]),
    ("experts", "size"): ("mismatch", "ep1", "count", []),
    ("experts", "order"): ("mismatch", "dp1", "function", []),
}


def run(build, folder, shape, fault, ranks):
    report = folder / f"{shape}-{fault}.json"
    command = [build / "bin/cudadiag", "run", "--nccl", "--rerun=never", "--hang-after", "8", "--json", report, "-o", folder, "--",
               "torchrun", "--standalone", "--nproc-per-node", ranks, JOB, shape, fault]
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT_S)
    return ended, json.loads(report.read_text()) if report.exists() else {"groups": None, "findings": []}


def judge(shape, fault, ended, report):
    """Returns what is wrong; empty if nothing is."""
    if fault in ("none", "slow"):
        found = (ended.returncode, report["groups"], report["findings"])
        return "" if found == (0, None, []) else f"{found}; {ended.stderr[-500:]}"
    found = report["groups"]
    if found is None:
        return f"no answer; {ended.stderr[-500:]}"
    absent = [rank["rank"] for rank in found["ranks"] if not rank["has_come"] and found["kind"] == "absence"]
    # PyTorch passes a group's name to NCCL only if NCCL's options have a field for it.
    answer = (found["kind"], found["group"] or EXPECTED[shape, fault][1], found["difference"], absent)
    away = [rank["location"]["line"] for rank in found["ranks"] if rank["rank"] in absent]
    if away != marked("python/groups.py", "AWAY")[:len(away)]:
        return f"the missing rank is at {away}: {found['sentence']}"
    lines = [rank["location"]["line"] for rank in found["ranks"] if rank["has_come"]]
    lines += [wait["location"]["line"] for wait in found["circle"]]
    wrong = "" if answer == EXPECTED[shape, fault] else f"{answer}: {found['sentence']}"
    return wrong or ("" if all(lines) else f"lines {lines}")


def cost(build, folder, ranks):
    """Returns (off, on): the seconds of an all-reduce loop, the best of five."""
    best = {"none": 1e9, "plugin": 1e9}
    for _ in range(5):
        for way in best:
            asked = ["--nccl"] if way == "plugin" else []
            ended = subprocess.run(
                [str(word) for word in (build / "bin/cudadiag", "run", *asked, "--rerun=never", "-o", folder, "--", "torchrun",
                                        "--standalone", "--nproc-per-node", ranks, JOB, "loop", "none")],
                capture_output=True, text=True, timeout=LIMIT_S)
            seconds = [float(line.split()[1]) for line in ended.stdout.splitlines() if line.startswith("seconds ")]
            best[way] = min([best[way], *seconds])
    return best["none"], best["plugin"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--gpus", type=int, help="number of GPUs to use; default: all")
    parser.add_argument("--jobs", type=int, default=1, help="run this many cases at a time")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    reason = gpu_missing()
    gpus = 0 if reason else options.gpus or gpus_here()
    if gpus < 2:
        print(f"cannot run here ({reason or 'one GPU'}): nothing was tried")
        return CANNOT_RUN_HERE
    build, results, cases = options.build.resolve(), {}, []
    for shape, ranks in (("ddp", 2), ("pipeline", 4), ("experts", 4)):
        if ranks > gpus:
            print(f"skipped: {shape} takes {ranks} GPUs")
            continue
        cases += [(shape, fault, ranks) for fault in ("none", "slow", "missing", "size", "order")]

    def one(case):
        shape, fault, ranks = case
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            wrong = judge(shape, fault, *run(build, pathlib.Path(folder), shape, fault, ranks))
        results[f"{shape} {fault}"] = wrong
        print(f"{shape} {fault}: {wrong or 'right'} ({time.monotonic() - start:.0f} s)", flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, cases))
        off, on = cost(build, pathlib.Path(scratch), 2)
        results["cost"] = on / off - 1
        print(f"all-reduce loop: {off:.4f} s without the plugin, {on:.4f} s with it: {100 * (on / off - 1):+.2f} %")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 1 if any(wrong for name, wrong in results.items() if name != "cost") else 0


if __name__ == "__main__":
    sys.exit(main())
