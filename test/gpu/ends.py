#!/usr/bin/env python3
"""Programs that end in every possible way, on a GPU, plain and under cudadiag; counts the outcomes of each way.

If threads end a program together, the driver and libc decide the outcome, so each way is tried many times. Every
outcome under cudadiag must also occur without it. Needs a GPU; without one, it says so and counts nothing (77).
"""

import argparse
import collections
import fnmatch
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import run
from hangs import marked

LIMIT_S = 30
MORE_PLAIN_RUNS = 4  # this many times more, if an outcome occurred only under cudadiag
ENDS = [
    *itertools.product(["together"], ["exit", "_exit", "quick_exit", "abort", "terminate", "signal", "pthread_exit"],
                       ["well", "fails", "fails_apart"]),
    *itertools.product(["at_work"], ["exit", "_exit", "quick_exit", "abort", "terminate", "signal", "pthread_exit", "handler",
                                     "worker", "host_function", "storm"], ["launch", "wait", "callback", "allocate"]),
    *itertools.product(["with_cuda"], ["destructor", "handler", "reset", "again", "thread_local", "quick_handler", "library",
                                       "unloaded"]),
]


def name_of(end):
    return " ".join(end)


def said_by_program(text):
    """Returns the output without cudadiag's lines, and without those that depend on which thread is first in
    std::terminate()."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(("cudadiag: ", "terminate called ")))[-400:]


class Ends:
    def __init__(self, build, scratch):
        self.build, self.scratch = build, pathlib.Path(scratch)
        self.true_line = marked("cuda/ends/together.cu", "TRUE LINE")

    def command(self, end):
        program, *words = end
        library = [str(self.build / "gpu/libends.so")] if program == "with_cuda" else []
        return [str(self.build / f"gpu/ends_{program}"), *words, *library]

    def outcome(self, command, env):
        """Returns how the program ended (a status, a signal's name or "no end"), and its output."""
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                              text=True, errors="replace", start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=LIMIT_S)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                status = "no end"
        if isinstance(status, int) and status < 0:
            status = signal.Signals(-status).name
        return str(status), out[-400:], said_by_program(err)

    def plain(self, end):
        return self.outcome(self.command(end), run.environment(self.scratch)), None

    def watched(self, end):
        """Returns the outcome under cudadiag, and whether the report gives the line, if the program fails."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        report = folder / "report.json"
        words = [str(self.build / "bin/cudadiag"), "run", "-q", "--rerun=never", "--json", str(report), "--"]
        try:
            ended = self.outcome([*words, *self.command(end)], run.environment(folder))
            return ended, self.names_the_line(report) if end[-1].startswith("fails") else None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def names_the_line(self, report):
        try:
            findings = json.loads(report.read_text())["findings"]
        except (OSError, ValueError):
            return False
        return bool(findings) and findings[0]["location"]["line"] in self.true_line


def by_status(outcomes):
    counted = collections.Counter()
    for (status, _, _), count in outcomes.items():
        counted[status] += count
    return ", ".join(f"{status} x{count}" for status, count in counted.most_common())


def rows_of(outcomes):
    return [{"status": status, "out": out, "err": err, "count": count}
            for (status, out, err), count in outcomes.most_common()]


def try_end(ends, end, runs, plain_runs, pool):
    """Tries one way to end; returns a row of the results."""
    plain = collections.Counter(outcome for outcome, _ in pool.map(ends.plain, [end] * plain_runs))
    tried = list(pool.map(ends.watched, [end] * runs))
    watched = collections.Counter(outcome for outcome, _ in tried)
    if watched.keys() - plain.keys():
        plain.update(outcome for outcome, _ in pool.map(ends.plain, [end] * runs * MORE_PLAIN_RUNS))
    named = [named for _, named in tried if named is not None]
    return {"end": name_of(end), "plain": rows_of(plain), "watched": rows_of(watched),
            "only_watched": rows_of(collections.Counter({each: watched[each] for each in watched.keys() - plain.keys()})),
            "named": f"{sum(named)} of {len(named)}" if named else "", "columns": [by_status(plain), by_status(watched)]}


def show(row):
    plain, watched = row["columns"]
    print(f"{'FAIL' if row['only_watched'] else 'pass'} {row['end']:<32} | {plain:<36} | {watched:<36} | {row['named']}", flush=True)
    for only in row["only_watched"]:
        print(f"       only under cudadiag, x{only['count']}: {only['status']}, {only['out']!r}, {only['err']!r}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), default=run.HERE.parents[1] / "build",
                        help="the built tree")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="watched runs of each end")
    parser.add_argument("--plain", type=int, metavar="N", help="plain runs of each end; as many as watched runs by default")
    parser.add_argument("--jobs", type=int, default=8, metavar="N", help="run this many programs at a time")
    parser.add_argument("--only", action="append", metavar="NAME", help="ends of this name or pattern; may be repeated")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results to this file")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if reason := run.gpu_missing():
        print(f"{reason}: nothing was tried")
        return run.CANNOT_RUN_HERE
    chosen = [end for end in ENDS if not options.only or any(fnmatch.fnmatch(name_of(end), only) for only in options.only)]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rows = []
    print(f"     {'end':<32} | {'plain':<36} | {'watched':<36} | line named")
    with tempfile.TemporaryDirectory(prefix="cudadiag-ends-") as scratch, ThreadPoolExecutor(options.jobs) as pool:
        ends = Ends(options.build, scratch)
        for end in chosen:
            rows.append(try_end(ends, end, options.runs, options.plain or options.runs, pool))
            show(rows[-1])
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")
    failed = sum(bool(row["only_watched"]) for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
