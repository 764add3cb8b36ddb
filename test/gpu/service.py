#!/usr/bin/env python3
"""A service that fails at one of thousands of requests: what its only run says under --once, by hooks and by CUPTI.

Usage: service.py BUILD. Needs a GPU and PyTorch; without, it says so and counts nothing (77). The line that captured the
failing node must be named, with a GPU core dump also the line of the device; the program must end where it failed.
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
WAYS = {"once": ["--once"], "hooks": ["--watch-by=hooks", "--rerun=never"], "cupti": ["--rerun=never"]}


def true_lines():
    return [number for number, text in enumerate(PROGRAM.read_text().splitlines(), 1) if text.endswith("# TRUE LINE")]


def watched(build, options, folder):
    told = folder / "told.json"
    command = [build / "bin/cudadiag", "run", *options, "--end-on-failure", "--on-failure", f'cp "$CUDADIAG_REPORT" {told}',
               "-o", folder / "session", "--", sys.executable, PROGRAM]
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
        first = findings[0] if findings else {"location": {}, "evidence": {}, "launch": None, "device": None}
        place, device = first["location"], first["device"] or {}
        node = ((first["launch"] or {}).get("graph_node") or {}).get("index")
        right = place.get("line") in true_lines() and "requests failed" not in ended.out
        wrong += not right
        print(f"{'pass' if right else 'FAIL'} {way}: status {ended.status}, {seconds:.1f} s, {first.get('kind')} at line "
              f"{place.get('line')} [{first['evidence'].get('grade')}], node {node}, device {device.get('file')}:"
              f"{device.get('line')}\n    {ended.err[-400:]!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
