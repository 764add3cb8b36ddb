#!/usr/bin/env python3
"""Uses callgrind to count the instructions that the recorder executes per launch, including its own calls into the
(simulated) driver. With --lines, counts the cache lines that the recorder touches. The result is the difference between
two runs of different lengths, and is stable where times are not."""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import rows as bench_rows  # noqa: E402

# Launches. The difference cancels a line's costly first launches and the repeated search for PyTorch.
SHORT, LONG = 5120, 9216
CALLBACK = "cudadiag::record::(anonymous namespace)::callback*"


def profile(build, count, program, options, events=None):
    """Returns {function: instructions inside the recorder's callback, or counts of the given events}."""
    with tempfile.TemporaryDirectory(prefix="cudadiag-bench-") as folder:
        out = Path(folder) / "out"
        subprocess.run(
            [build / "bin/cudadiag", "run", "--rerun=never", *options, "--", "valgrind", "--tool=callgrind",
             "--cache-sim=yes" if events else "--cache-sim=no", f"--callgrind-out-file={out}", f"--toggle-collect={CALLBACK}", *map(str, program(count))],
            env={"PATH": "/usr/bin:/bin", "HOME": folder, "LD_LIBRARY_PATH": str(build / "sim"),
                 "CUDADIAG_CUPTI": str(build / "sim/libcupti.so.13")},
            check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        text = subprocess.run(["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", "--tree=none",
                               f"--show={events or 'Ir'}", out],
                              check=True, capture_output=True, text=True).stdout
    counts = {}
    for numbers, file_and_name in re.findall(r"^ *((?:[\d,.]+ +)+) (\S.*)$", text, re.M):
        name = re.sub(r"^\S*?:(?!:)|\s*\[.*\]$", "", file_and_name)
        numbers = [int(n.replace(",", "")) for n in numbers.split() if n != "."]
        counts[name] = counts.get(name, 0) + sum(numbers)
    return counts


def per_launch(build, program, options=(), events=None):
    short, long = (profile(build, count, program, options, events) for count in (SHORT, LONG))
    return {name: (long[name] - short.get(name, 0)) / (LONG - SHORT) for name in long}


def total(counts):
    return next(count for name, count in counts.items() if name.startswith("PROGRAM TOTALS"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the row to this file")
    parser.add_argument("--lines", action="store_true", help="count the cache lines that miss a cold first-level cache")
    parser.add_argument("--functions", action="store_true", help="print the result by function")
    parser.add_argument("what", nargs="?", default="runtime", choices=["driver", "runtime"])
    parser.add_argument("options", nargs="*", help="options of cudadiag run, after --")
    options = parser.parse_args()
    build = options.build.resolve()
    unit, cold, events = ("lines", ["cold"], "D1mr,D1mw") if options.lines else ("instructions", [], None)
    counts = per_launch(build, lambda count: [build / "bin/launch_loop", count, options.what, *cold], options.options,
                        events)
    count = total(counts)
    print(f"{count:.1f} {unit} per launch")
    if options.json:
        machine = {"gpu": "simulated", "system": platform.platform(), "cores": os.cpu_count()}
        what = " ".join([f"{unit} per {options.what} launch", *options.options])
        bench_rows.merge(options.json, [bench_rows.row("recorder", what, [count], unit)], machine)
    if options.functions:
        for name, count in sorted(counts.items(), key=lambda each: -each[1]):
            if count >= 0.5:
                print(f"{count:9.1f}  {name[:120]}")


if __name__ == "__main__":
    sys.exit(main())
