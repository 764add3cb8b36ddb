#!/usr/bin/env python3
"""A service that fails at one of thousands of requests: what its only run reports under --once, with hooks and with
CUPTI.

Usage: service.py BUILD. Needs a GPU and PyTorch; without them, it says so and counts nothing (77). The report must give
the line that captured the failing node, and the program must end where it failed. With a GPU core dump, the answer is
proven. Without a dump, a kernel that was launched just before the graph may have failed, too. Then the answer is
inferred from the node's pointer, and includes the line that freed its memory.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import run

PROGRAM = run.HERE / "python/service.py"
LIMIT_S = 120
FAILS_AT, REQUESTS = 2000, 100_000  # far more requests than are answered before the report is written
WAYS = {"once": ["--once"], "hooks": ["--watch-by=hooks", "--rerun=never"], "cupti": ["--watch-by=cupti", "--rerun=never"]}


def line_of(mark):
    return next(number for number, text in enumerate(PROGRAM.read_text().splitlines(), 1) if text.endswith("# " + mark))


def is_right(way, finding):
    related = {each["role"]: each["line"] for each in finding["related"]}
    known = (finding["location"].get("line"), (finding["cause"] or {}).get("id"), finding["evidence"]["grade"])
    wanted = (line_of("TRUE LINE"), "stale-graph-pointer", "proven" if way == "once" else "inferred")
    if way == "once":
        return known == wanted
    return known == wanted and (finding["kind"], related.get("freed")) == ("graph_stale_pointer", line_of("FREED LINE"))


def watched(build, options, folder):
    told = folder / "told.json"
    command = [build / "bin/cudadiag", "run", *options, "--end-on-failure", "--on-failure", f'cp "$CUDADIAG_REPORT" {told}',
               "-o", folder / "session", "--", sys.executable, PROGRAM, FAILS_AT, REQUESTS]
    start = time.monotonic()
    ended = run.execute([str(word) for word in command], run.environment(folder / "state"))
    return ended, json.loads(told.read_text())["findings"] if told.exists() else [], time.monotonic() - start


def main():
    if reason := run.gpu_missing():
        print(f"no GPU ({reason}): nothing was tried")
        return run.CANNOT_RUN_HERE
    if run.importlib.util.find_spec("torch") is None:
        print("no PyTorch: nothing was tried")
        return run.CANNOT_RUN_HERE
    build, wrong = pathlib.Path(sys.argv[1]).resolve(), 0
    start = time.monotonic()
    plain = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=LIMIT_S)
    print(f"plain: status {plain.returncode}, {time.monotonic() - start:.1f} s, {plain.stdout.strip()}")
    for way, options in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            ended, findings, seconds = watched(build, options, pathlib.Path(folder))
        nothing = {"location": {}, "evidence": {"grade": None}, "launch": None, "device": None, "cause": None, "related": []}
        first = findings[0] if findings else nothing
        place, device = first["location"], first["device"] or {}
        node = ((first["launch"] or {}).get("graph_node") or {}).get("index")
        right = is_right(way, first) and "requests failed" not in ended.out
        wrong += not right
        print(f"{'pass' if right else 'FAIL'} {way}: status {ended.status}, {seconds:.1f} s, {first.get('kind')} at line "
              f"{place.get('line')} [{first['evidence']['grade']}], cause {(first['cause'] or {}).get('id')}, node {node}, "
              f"device {device.get('file')}:{device.get('line')}\n    {ended.err[-400:]!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
