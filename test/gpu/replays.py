#!/usr/bin/env python3
"""Saves the failing launch of every failing kernel in cases.py, replays it alone, and compares it with the program.

Needs a machine with an NVIDIA GPU and the built tree, and compute-sanitizer for --memcheck. Without a GPU, it says so
and counts nothing. The kernels are those of launches and of graph nodes. For each case it reports whether the launch
was saved, and how many times it reproduces alone with the same error and instruction. With --memcheck, it also reports
whether memcheck says the same about the first access of the replay as about that of the whole program, and how long
both took. Cases that the hardware decides, and races, are counted separately.
"""

import argparse
import concurrent.futures
import functools
import json
import pathlib
import re
import shutil
import tempfile
import time

import run as suite
from cases import CASES
from compare import ASYNCHRONOUS

# Failing nodes that cannot be saved.
NOT_SAVED = {"graph_conditional": "the node is in a conditional node, which cannot be switched off",
             "graph_branches": "two of its nodes ran at the same time, and either can have failed"}
FIRST = re.compile(r"Invalid \S+ (\S+) of size (\d+)")
SPACE = re.compile(r"[\d,]+ bytes (after|before) the nearest allocation at \S+ of size ([\d,]+)")
ALONE = re.compile(r"(\d+)-byte (read|write|atomic)")
SPACE_ALONE = re.compile(r"bytes (past|before) the ([\d,]+)-byte allocation")


def first_access(log):
    """The access (kind, size) and the nearest allocation (side, size); None if memcheck reports nothing."""
    access, space = FIRST.search(log), SPACE.search(log)
    return (access.groups(), space.groups() if space else None) if access else None


def agreement(found):
    """Returns whether the first accesses of the program and its replay have the same kind and size, and whether the
    nearest allocations have the same side and size. None: memcheck does not report it for the program."""
    whole, alone = found["whole"], (found["alone"] or [""])[0]
    if whole is None:
        return None, None
    access, space = ALONE.search(alone), SPACE_ALONE.search(alone)
    same = access is not None and (access[2], access[1]) == tuple(whole[0])
    if whole[1] is None:
        return same, None
    side, size = whole[1]
    return same, space is not None and (space[1].replace("past", "after"), space[2]) == (side, size)


class Replays:
    def __init__(self, tests, options):
        self.tests, self.options = tests, options

    def run(self, case):
        return self.tests.examine(case, functools.partial(self.watched, case))

    def watched(self, case, command, folder, env):
        given = [word for word in case.options if not word.startswith("--rerun")]
        ended = suite.execute([self.tests.cudadiag, "run", "-o", folder / "session", "--rerun=always", "--save-launch",
                               *given, "--", *command], env)
        shown = suite.execute([self.tests.cudadiag, "report", folder / "session", "--json"], env)
        report = json.loads(shown.out) if shown.out.strip() else {}
        finding = next((each for each in report.get("findings", []) if each["kind"] in ASYNCHRONOUS), None)
        if finding is None:
            return {"case": case.name, "problem": "it did not fail"}
        operation = (finding["launch"] or {}).get("operation")
        result = {"case": case.name, "operation": operation, "code": finding["error"]["code"], "decided": case.hardware_decides,
                  "node": (finding["launch"] or {}).get("graph_node"),
                  "notes": [note for note in map(str, report.get("notes", [])) if "graph" in note or "launch" in note],
                  "saved": bool(finding["alone"]), "alone": finding["alone"], "said": ended.err[-1500:]}
        if not finding["alone"]:
            return result
        launch_folder = pathlib.Path(finding["alone"]["folder"])
        launch = json.loads((launch_folder / "launch.json").read_text())
        result["image"], result["missing"] = launch["image"], launch["missing"]
        result["bytes"] = sum((block["contents"] or {"bytes": 0})["bytes"] for block in launch["memory"])
        result["unsaved"] = sum(bool(block["missing"]) for block in launch["memory"])
        start = time.monotonic()
        again = suite.execute([self.tests.cudadiag, "replay", "--json", launch_folder], env)
        result["seconds"] = time.monotonic() - start
        result["replay"] = json.loads(again.out) if again.out.strip() else {"outcome": again.err[-300:]}
        if self.options.memcheck:
            result["memcheck"] = self.memcheck(command, launch_folder, folder, env)
        if self.options.keep:
            shutil.copytree(launch_folder, self.options.keep / case.name, dirs_exist_ok=True)
        return result

    def memcheck(self, command, launch_folder, folder, env):
        log = folder / "whole.log"
        start = time.monotonic()
        suite.execute(["compute-sanitizer", "--show-backtrace", "no", "--log-file", str(log), "--print-limit", "100", *command],
                      {**env, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
        whole = time.monotonic() - start
        start = time.monotonic()
        replayed = suite.execute([self.tests.cudadiag, "replay", "--sanitize", "--json", launch_folder], env)
        alone = time.monotonic() - start
        texts = [each["text"] for each in (json.loads(replayed.out)["sanitizer"] or {"accesses": []})["accesses"]]
        return {"whole": first_access(log.read_text() if log.exists() else ""), "alone": texts[:1],
                "seconds_whole": whole, "seconds_alone": alone}


def outcome(result):
    if "problem" in result:
        return result["problem"][:100]
    if not result["saved"]:
        return f"not saved, {result['operation']}{' of a graph' if result['node'] else ''}; {result['notes']}"
    return f"{result['alone']['text']}, {result['seconds']:.1f} s"


def summarise(results):
    run = [result for result in results if "problem" not in result]
    for result in results:
        if "problem" in result:
            print(f"problem {result['case']}: {result['problem'][:200]}")
    kernels = [result for result in run if result["operation"] == "kernel"]
    saved = [result for result in kernels if result["saved"]]
    for result in kernels:
        if not result["saved"]:
            print(f"not saved {result['case']}: {result['said'][-300:]}")
    steady = [result for result in saved if not result["decided"]]
    alone = [result for result in steady if result["alone"]["as_it_did"] > 0]
    for result in steady:
        if result not in alone:
            print(f"not alone {result['case']}: {result['alone']['text']}; missing {result['missing']}; {result['replay']}")
    other = [result for result in saved if result["alone"]["otherwise"] > 0]
    for result in other:
        print(f"otherwise {result['case']}: {result['replay']}")
    placed = [result for result in saved if result["replay"].get("memory", {}).get("placed") ==
              result["replay"].get("memory", {}).get("blocks")]
    print(f"saved: {len(saved)} of {len(kernels)} failing kernels ({len(run) - len(kernels)} failures of other operations)")
    nodes = [result for result in kernels if result["node"]]
    wanted = [result for result in nodes if result["case"] not in NOT_SAVED]
    got = [result for result in wanted if result["saved"]]
    alone_nodes = [result for result in got if result["alone"]["as_it_did"] > 0]
    print(f"nodes of graphs: saved {len(got)} of {len(wanted)} that can be, {len(alone_nodes)} reproduce alone; "
          f"{len(nodes) - len(wanted)} cannot be saved")
    for result in nodes:
        if result["saved"] == (result["case"] in NOT_SAVED):
            print(f"not as expected {result['case']}: node {result['node']}, {outcome(result)}")
    print(f"reproduces alone: {len(alone)} of {len(steady)} that fail every time; with another error or instruction: {len(other)}")
    print(f"all blocks at their original addresses: {len(placed)} of {len(saved)}")
    times = sorted(result["seconds"] for result in saved)
    if times:
        print(f"one replay: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s")
    checked = [result for result in saved if "memcheck" in result]
    for result in checked:
        found = result["memcheck"]
        print(f"memcheck {result['case']}: {found['seconds_whole']:.1f} s {found['whole']}; alone {found['seconds_alone']:.1f} s "
              f"{found['alone']}")
    agreements = [agreement(result["memcheck"]) for result in checked]
    for index, words in enumerate(("kind and size of the access", "nearest allocation")):
        known = [each[index] for each in agreements if each[index] is not None]
        print(f"memcheck: {words} as in the program: {sum(known)} of {len(known)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=suite.HERE.parents[1] / "build")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1, help="run this many cases at a time")
    parser.add_argument("--memcheck", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="copy the saved launches to this folder")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if reason := suite.gpu_missing():
        print(f"no GPU here ({reason}): nothing was run")
        return 77
    scratch = pathlib.Path(tempfile.mkdtemp())
    replays = Replays(suite.Suite(options.build.resolve(), scratch), options)
    failing = [case for case in CASES if case.verdict == "cuda_failure" and set(case.kinds) & set(ASYNCHRONOUS)]
    chosen = [case for case in failing if not options.only or case.name in options.only]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(replays.run, case) for case in chosen]):
            if result := done.result():
                results.append(result)
                print(f"{result['case']:32} {outcome(result)}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(results, indent=1, default=str))
    summarise(results)
    shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
