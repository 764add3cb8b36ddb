#!/usr/bin/env python3
"""Runs the suite's cases with each way of watching, and compares: CUPTI, hooks, and one run with a GPU core dump
(--once).

Needs a machine with an NVIDIA GPU and the built tree. Without a GPU, it says so and counts nothing. A difference
between CUPTI and hooks counts if the answer differs in kind, code, line, grade, cause, kernel or ordinals.
"""

import argparse
import concurrent.futures
import functools
import json
import pathlib
import shutil
import tempfile
import time

import run as suite
from cases import CASES
from compare import ASYNCHRONOUS, line_of, marked_lines

WAYS = {"cupti": ["--rerun=never", "--watch-by=cupti"], "hooks": ["--rerun=never", "--watch-by=hooks"], "once": ["--once"]}
LAUNCH = ("process_ordinal", "stream_ordinal", "site_ordinal", "kernel", "grid", "block")


def answer(finding):
    launch = finding.get("launch") or {}
    node = launch.get("graph_node") or {}
    return {"kind": finding["kind"], "code": finding["error"]["code"], "line": line_of(finding["location"]),
            "grade": finding["evidence"]["grade"], "cause": (finding["cause"] or {}).get("id"), "node": node.get("index"),
            **{k: launch.get(k) for k in LAUNCH}}


def links_runtime_in(case, build):
    """Returns whether the program has a statically linked runtime, whose own errors hooks do not see."""
    program = build / "gpu" / case.command[0]
    text = program.read_bytes() if program.is_file() else b""
    return b"cudaErrorLaunchMaxDepthExceeded" in text and b"libcudart.so" not in text


def told(report):
    return [answer(finding) for finding in report.get("findings", [])]


class Ways:
    def __init__(self, tests, ways):
        self.tests, self.ways = tests, ways

    def run(self, case):
        return self.tests.examine(case, functools.partial(self.compared, case))

    def compared(self, case, command, folder, env):
        result = {"case": case.name}
        if "once" in self.ways:
            plain = suite.execute(command, env)
            result["plain"] = {"status": plain.status, "seconds": plain.seconds}
        for way in self.ways:
            result[way] = self.watched(case, command, WAYS[way], folder / way, env)
        return result

    def watched(self, case, command, options, folder, env):
        session, report = folder, folder.with_suffix(".json")
        # What the compiler finds in a cache, it need not try out, so the next way would count fewer launches.
        env = {**env, "TORCHINDUCTOR_CACHE_DIR": f"{folder}.inductor", "TRITON_CACHE_DIR": f"{folder}.triton"}
        start = time.monotonic()
        given = [word for word in case.options if not word.startswith("--rerun")]
        ended = suite.execute([self.tests.cudadiag, "run", "-o", session, *options, *given, "--json", report, "--",
                               *command], env)
        seconds = time.monotonic() - start
        found = json.loads(report.read_text()) if report.exists() else {}
        first = (found.get("findings") or [{}])[0]
        marks = marked_lines(case, suite.HERE)
        right = bool(first) and line_of(first["location"]) in marks.get("TRUE LINE", [])
        device = first.get("device") or {}
        return {"status": ended.status, "seconds": seconds, "told": told(found), "right": right or case.any_line,
                "device_line": device.get("line"), "cause": (first.get("cause") or {}).get("id"),
                "because": (first.get("evidence") or {}).get("because"),
                "notes": [str(note)[:200] for note in found.get("notes", [])],
                "error": "" if found else ended.err[-600:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=suite.HERE.parents[1] / "build")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--shared-runtime", action="store_true", help="omit programs with a statically linked runtime")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if reason := suite.gpu_missing():
        print(f"no GPU here ({reason}): nothing was run")
        return 77
    scratch = pathlib.Path(tempfile.mkdtemp())
    ways = Ways(suite.Suite(options.build.resolve(), scratch), options.way or list(WAYS))
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    if options.shared_runtime:
        chosen = [case for case in chosen if not links_runtime_in(case, options.build)]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(ways.run, case) for case in chosen]):
            if result := done.result():
                results.append(result)
                print(f"{result['case']:32} {result.get('problem') or 'compared'}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(results, indent=1, default=str))
    summarise(results, {case.name: case for case in CASES})
    shutil.rmtree(scratch, ignore_errors=True)
    return 0


def summarise(results, cases):
    run = [r for r in results if "problem" not in r]
    for result in results:
        if "problem" in result:
            print(f"problem {result['case']}: {result['problem'][:200]}")
    both = [r for r in run if "cupti" in r and "hooks" in r]
    same = [r for r in both if r["cupti"]["told"] == r["hooks"]["told"] and
            r["cupti"]["status"] == r["hooks"]["status"]]
    for r in both:
        if r not in same:
            print(f"differs {r['case']}: status {r['cupti']['status']} {r['hooks']['status']}")
            for way in ("cupti", "hooks"):
                print(f"    {way}: {r[way]['told'][:2]} {r[way]['error'][-200:]}")
    print(f"hooks and CUPTI: {len(same)} of {len(both)} answers equal")
    faults = [r for r in run if "once" in r and cases[r["case"]].verdict == "cuda_failure" and
              set(cases[r["case"]].kinds) & set(ASYNCHRONOUS)]
    proven = [r for r in faults if r["once"]["right"] and (r["once"]["told"] or [{}])[0].get("grade") == "proven"]
    for r in faults:
        if r not in proven:
            print(f"once, not proven {r['case']}: right {r['once']['right']}, {r['once']['told'][:1]}, "
                  f"{r['once']['because']} {r['once']['error'][-200:]}")
    ratios = sorted(r["once"]["seconds"] / r["plain"]["seconds"] for r in faults)
    if ratios:
        print(f"once: {len(proven)} of {len(faults)} faults proven at the right line; {sum(r['once']['right'] for r in faults)} "
              f"right; with a device line {sum(bool(r['once']['device_line']) for r in faults)}; time of the answer: median "
              f"×{ratios[len(ratios) // 2]:.2f}, p90 ×{ratios[len(ratios) * 9 // 10]:.2f} of the plain run")


if __name__ == "__main__":
    raise SystemExit(main())
