#!/usr/bin/env python3
"""Instructions that the recorder spends on a launch, its own calls into the (simulated) driver included, counted by
callgrind: what two runs of different length differ in. Steady where times are not."""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHORT, LONG = 512, 4608  # launches; a line's first ones are recorded more closely
CALLBACK = "cudadiag::record::(anonymous namespace)::callback*"


def profile(build, count, program, options):
    """Function -> instructions inside the recorder's callback."""
    with tempfile.TemporaryDirectory(prefix="cudadiag-bench-") as folder:
        out = Path(folder) / "out"
        subprocess.run(
            [build / "bin/cudadiag", "run", "--rerun=never", *options, "--", "valgrind", "--tool=callgrind",
             f"--callgrind-out-file={out}", f"--toggle-collect={CALLBACK}", *map(str, program(count))],
            env={"PATH": "/usr/bin:/bin", "HOME": folder, "LD_LIBRARY_PATH": str(build / "sim"),
                 "CUDADIAG_CUPTI": str(build / "sim/libcupti.so.13")},
            check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        text = subprocess.run(["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", "--tree=none", out],
                              check=True, capture_output=True, text=True).stdout
    counts = {}
    for number, file_and_name in re.findall(r"^ *([\d,]+)  (\S.*)$", text, re.M):
        name = re.sub(r"^\S*?:(?!:)|\s*\[.*\]$", "", file_and_name)
        counts[name] = counts.get(name, 0) + int(number.replace(",", ""))
    return counts


def per_launch(build, program, options=()):
    short, long = profile(build, SHORT, program, options), profile(build, LONG, program, options)
    return {name: (long[name] - short.get(name, 0)) / (LONG - SHORT) for name in long}


def total(counts):
    return next(count for name, count in counts.items() if name.startswith("PROGRAM TOTALS"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--functions", action="store_true", help="by function")
    parser.add_argument("what", nargs="?", default="runtime", choices=["driver", "runtime"])
    parser.add_argument("options", nargs="*", help="of cudadiag run, after --")
    options = parser.parse_args()
    build = options.build.resolve()
    counts = per_launch(build, lambda count: [build / "bin/launch_loop", count, options.what], options.options)
    print(f"{total(counts):.1f} instructions per launch")
    if options.functions:
        for name, count in sorted(counts.items(), key=lambda each: -each[1]):
            if count >= 0.5:
                print(f"{count:9.1f}  {name[:120]}")


if __name__ == "__main__":
    sys.exit(main())
