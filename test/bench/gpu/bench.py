#!/usr/bin/env python3
"""Measures the cost of watching on a real GPU.

Every workload runs on its own, under cudadiag, under empty CUPTI callbacks (the minimum for every tool that watches
launches), and under the alternatives. Also measured: the cost of finding a failure at launch 1,000,000, and how much
memory and disk space a recording takes.

Each run is a new process that measures itself, or that is timed as a whole if it fails. The ways of running alternate,
so that drift affects all of them equally. PyTorch's cases run in long-lived processes that take turns of a few steps,
in random order. Two such processes of the same way differ by a few per cent throughout. Each way to compare therefore
has several processes; every other tool or option has one. The value of a turn is the median of its processes, and a
ratio is the median of the turns' ratios. Tools that are ten times slower or more run once.

The cost of callbacks and wrappers is also measured within one process, which switches them off and on between steps
(switched_cupti.cc, switched_hooks.cc). That ratio varies by one per cent, and the ratio of two processes by ten.
"""

import argparse
import importlib.util
import json
import os
import platform
import random
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import rows as bench_rows  # noqa: E402

LIMIT_S = 60
TURNS = 4  # turns that a long-lived process takes per round of the other processes
MAIN = ["plain", "cudadiag run", "empty CUPTI callbacks", "CUDA_LAUNCH_BLOCKING=1"]
OTHERS = ["cudadiag run --markers off", "cudadiag run --markers dense", "cudadiag races", "core dumps enabled",
          "torch.profiler", "Nsight Systems"]
OPERATORS = ["cudadiag nans", "cudadiag races --tensors", "anomaly mode"]  # these observe PyTorch's operators
SLOW = ["compute-sanitizer", "CUDA Stream Sanitizer"]
CASES = {  # name -> unit, command ("@x" is a file of the build's gpu/ folder), long-lived processes per way (0: none)
    "empty kernel launch": ("ns", ["@launches", "empty"], 0),
    "launches from 8 threads": ("ns", ["@launches", "threads"], 0),
    "graph of 100, queued": ("ns", ["@launches", "graph"], 0),
    "graph of 100, until done": ("ns", ["@launches", "replay"], 0),
    "launch-bound training step": ("ms", ["training_step.py", "launch_bound"], 3),
    "compute-bound training step": ("ms", ["training_step.py", "compute_bound"], 1),  # each process takes 11 GB of the GPU
    "graph of a training step": ("ms", ["training_step.py", "graphed"], 3),
    "inference, batch of 1": ("ms", ["training_step.py", "inference"], 3),
}
SWITCHED = {  # name -> command
    "launch-bound, one process": ["training_step.py", "launch_bound"],
    "compute-bound, one process": ["training_step.py", "compute_bound"],
    "inference, one process": ["training_step.py", "inference"],
    "empty launch, one process": ["@launches", "empty"],
    "8 threads, one process": ["@launches", "threads"],
    "graph of 100 until done, one process": ["@launches", "replay"],
}
FAILING = "failure at launch 1,000,000"
MEMORY = "memory"


class Server:
    """A program that reports when it is ready, and then performs one measurement for each line of input."""

    def __init__(self, command, env):
        self.process = subprocess.Popen([*command, "serve"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def line(self):
        """Returns the next line that the program prints. Empty if the program failed, or was killed because it took too
        long."""
        if select.select([self.process.stdout], [], [], LIMIT_S)[0]:
            return self.process.stdout.readline()
        self.process.terminate()
        return ""

    def ready(self):
        return self.line() == "ready\n"

    def measure(self):
        """Returns the measured number, or None if the program failed."""
        try:
            self.process.stdin.write("again\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        median = re.match(r"median ([\d.]+)$", self.line())
        return float(median[1]) if median else None

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Bench:
    def __init__(self, build, state):
        self.build, self.state = build, state
        self.cudadiag = str(build / "bin/cudadiag")
        shown = subprocess.run([self.cudadiag, "env"], env=self.environment(), capture_output=True, text=True).stdout
        cupti = re.search(r"^export CUDADIAG_CUPTI='(.*)'$", shown, re.M)
        self.cupti = cupti[1] if cupti else ""

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("CUDADIAG_", "CUDA_LAUNCH_BLOCKING", "CUDA_INJECTION64", "CUDA_ENABLE_CORE"))}
        return {**env, "XDG_STATE_HOME": self.state, **more}

    def command(self, words):
        first, *rest = words
        if first.endswith(".py"):
            return [sys.executable, str(HERE / first), *rest]
        return [str(self.build / "gpu" / first[1:]), *rest]

    def cannot_run(self, words):
        if words[0].endswith(".py"):
            return None if importlib.util.find_spec("torch") else "no PyTorch"
        return None if Path(self.command(words)[0]).exists() else "not built (no nvcc at build time)"

    def way(self, way, words):
        """Returns the command and environment; None if the tool is not installed or does not apply to the case."""
        command, env = self.command(words), self.environment()
        if way in OPERATORS and not words[0].endswith(".py"):
            return None
        if way.startswith("cudadiag"):
            return [self.cudadiag, *way.split()[1:], "--", *command], env
        if way == "CUDA_LAUNCH_BLOCKING=1":
            env["CUDA_LAUNCH_BLOCKING"] = "1"
        elif way == "empty CUPTI callbacks":
            floor = self.build / "gpu/libcallbacks.so"
            env |= {"CUDA_INJECTION64_PATH": str(floor), "CUDADIAG_CUPTI": self.cupti,
                    "CUDADIAG_BENCH_CALLBACKS": "launches"}
            return (command, env) if floor.exists() else None
        elif way == "core dumps enabled":
            env |= {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1", "CUDA_COREDUMP_FILE": f"{self.state}/dump.%p"}
        elif way == "anomaly mode":
            return [*command, "anomaly"], env
        elif way == "torch.profiler":
            return ([*command, "profiler"], env) if words[0].endswith(".py") else None
        elif way == "CUDA Stream Sanitizer":
            env["TORCH_CUDA_SANITIZER"] = "1"
            return (command, env) if words[0].endswith(".py") else None
        elif way == "Nsight Systems":
            out = ["-t", "cuda", "-s", "none", "--force-overwrite", "true", "-o", f"{self.state}/nsys"]
            return (["nsys", "profile", *out, *command], env) if shutil.which("nsys") else None
        elif way == "compute-sanitizer":
            if words[0].endswith(".py"):
                env["CUDADIAG_BENCH_STEPS"] = "3"
            return (["compute-sanitizer", *command], env) if shutil.which("compute-sanitizer") else None
        return command, env

    def output(self, way, words, more=None):
        """Returns the command's output. If it fails, returns None and prints the reason on stderr."""
        found = self.way(way, words)
        if found is None:
            return None
        command, env = found
        try:
            ended = subprocess.run(command, env={**env, **(more or {})}, stdin=subprocess.DEVNULL, capture_output=True,
                                   text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            print(f"  {way}: no end after {LIMIT_S} s", file=sys.stderr)
            return None
        if ended.returncode:
            print(f"  {way}: exit {ended.returncode}: {ended.stderr.strip()[-300:]}", file=sys.stderr)
            return None
        return ended.stdout

    def measure(self, way, words):
        """Returns the median that the workload printed, or None."""
        median = re.search(r"^median ([\d.]+)$", self.output(way, words) or "", re.M)
        return float(median[1]) if median else None

    def case(self, case, rounds, quick):
        unit, words, processes = CASES[case]
        reason = self.cannot_run(words)
        if reason:
            print(f"{case}: skipped: {reason}", flush=True)
            return []
        ways = MAIN if quick else MAIN + OTHERS + OPERATORS
        values = self.turns(words, ways, rounds * TURNS, processes) if processes else self.rounds(words, ways, rounds)
        for way in [] if quick else SLOW:
            value = self.measure(way, words)
            if value is not None:
                values[way] = [value]
        return rows_of(case, unit, values)

    def rounds(self, words, ways, count):
        """Returns the medians of the runs for each way, without the ways that failed."""
        values = {way: [] for way in ways}
        for _ in range(count):
            for way in random.sample(list(values), len(values)):
                value = self.measure(way, words)
                if value is None:
                    del values[way]
                else:
                    values[way].append(value)
        return values

    def turns(self, words, ways, count, processes):
        """Returns for each way the median of its processes in each turn, without the ways that failed."""
        started = [(way, Server(*found)) for way in ways for _ in range(processes if way in MAIN else 1)
                   if (found := self.way(way, words))]
        # Wait until all servers are ready before measuring any.
        failed = {way for way, server in started if not server.ready()}
        values = {way: [] for way, _ in started}
        for _ in range(count):
            turn = {way: [] for way in values}
            for way, server in random.sample(started, len(started)):
                if way not in failed:
                    turn[way].append(server.measure())
            failed |= {way for way, seen in turn.items() if None in seen}
            for way in values.keys() - failed:
                values[way].append(statistics.median(turn[way]))
        for _, server in started:
            server.end()
        for way in failed:
            print(f"  {way}: failed, or no answer within {LIMIT_S} s", file=sys.stderr)
        return {way: seen for way, seen in values.items() if way not in failed}

    def switched(self, case, count):
        """Runs several processes of each way, one after the other. Returns the median ratio of each process, and the
        median over all processes."""
        words = SWITCHED[case]
        reason = self.cannot_run(words)
        if reason:
            print(f"{case}: skipped: {reason}", flush=True)
            return []
        of_cupti = {"LD_PRELOAD": str(self.build / "gpu/libswitched_cupti.so"),
                    "CUDADIAG_BENCH_CUPTI": self.cupti.split(":")[0]}
        of_hooks = {"LD_PRELOAD": str(self.build / "gpu/libswitched_hooks.so")}
        ways = {"cudadiag run --watch-by=cupti": of_cupti, "empty CUPTI callbacks": of_cupti,
                "cudadiag run --watch-by=hooks": of_hooks, "cudadiag run --once": of_hooks}
        rows = []
        for way, switch in ways.items():
            said = [self.output(way, [*words, "switch"], switch) or "" for _ in range(count)]
            found = [match for text in said if (match := re.search(r"^ratio ([\d.]+) ([\d.]+) ([\d.]+)$", text, re.M))]
            for ratio, low, high in (match.groups() for match in found):
                print(f"  {way}: {ratio} ({low} to {high})", flush=True)
            if found:
                rows.append(bench_rows.row(case, way, [float(match[1]) for match in found], bench_rows.TIMES))
        return rows

    def timed(self, command, env):
        """Returns the seconds that the command takes, or None if it takes too long."""
        start = time.monotonic()
        try:
            subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        return time.monotonic() - start

    def failure(self, rounds, quick):
        """Measures the whole program up to its failure: the first run, and the rerun that waits for the suspect
        alone."""
        target = str(self.build / "gpu" / "million")
        if not Path(target).exists():
            print(f"{FAILING}: skipped: not built (no nvcc at build time)", flush=True)
            return []
        values = {}
        report = Path(self.state) / "report.json"

        def add(way, seconds):
            if seconds is not None:
                values.setdefault(way, []).append(seconds)

        for index in range(max(1, rounds // 3)):
            add("plain", self.timed([target], self.environment()))
            self.timed([self.cudadiag, "run", "--rerun=always", "--no-device-pass", "--json", str(report), "--",
                        target], self.environment())
            passes = {each["name"]: each["seconds"] for each in json.loads(report.read_text())["passes"]}
            add("first run", passes["record"])
            add("confirming rerun", passes.get("confirm"))
            add("CUDA_LAUNCH_BLOCKING=1", self.timed([target], self.environment(CUDA_LAUNCH_BLOCKING="1")))
            if index == 0 and not quick and shutil.which("compute-sanitizer"):
                add("compute-sanitizer", self.timed(["compute-sanitizer", target], self.environment()))
        return rows_of(FAILING, "s", values)

    def memory(self):
        """Measures the peak memory with and without the recorder, and what the recording takes on disk."""
        words = CASES["launch-bound training step"][1]
        if self.cannot_run(words):
            words = CASES["empty kernel launch"][1]
        if self.cannot_run(words):
            return []
        session = Path(self.state) / "memory"
        plain = peak_mib(self.command(words), self.environment())
        watched = peak_mib([self.cudadiag, "run", "-o", str(session), "--", *self.command(words)], self.environment())
        blocks = sum(file.stat().st_blocks * 512 for file in session.glob("*/record/*.area"))
        dump = subprocess.run([self.cudadiag, "dump", str(session)], capture_output=True, text=True).stdout
        issued = sum(int(n) for n in re.findall(r"^thread .*\bpublished=(\d+)", dump, re.M))
        found = [bench_rows.row(MEMORY, "plain", [plain], "MiB"),
                 bench_rows.row(MEMORY, "cudadiag run", [watched], "MiB", [plain]),
                 bench_rows.row(MEMORY, "recording", [blocks / 2**20], "MiB")]
        if issued:
            found.append(bench_rows.row(MEMORY, "recording, per launch", [blocks / issued], "bytes"))
        return found


def peak_mib(command, env):
    """Returns the peak memory of the command, and of the processes that it waits for."""
    with open(os.devnull, "r+b") as null:
        child = subprocess.Popen(command, env=env, stdin=null, stdout=null, stderr=null)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return usage.ru_maxrss / 1024


def rows_of(case, unit, values):
    return [bench_rows.row(case, way, seen, unit, values.get("plain")) for way, seen in values.items()]


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
    parser.add_argument("--quick", action="store_true", help="omit other tools and other options")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here, not into the built tree")
    parser.add_argument("--man", type=Path, metavar="PAGE", help="only write the table of a manual page from the rows")
    options = parser.parse_args()
    file = options.json or options.build / "bench.json"
    if options.man:
        bench_rows.write_man_table(options.man, json.loads(file.read_text()))
        return 0
    here, found = machine(), []
    print(here, flush=True)
    with tempfile.TemporaryDirectory(prefix="cudadiag-bench-") as state:
        bench = Bench(options.build.resolve(), state)
        for case in [*CASES, *SWITCHED, FAILING, MEMORY]:
            if options.only and not any(text in case for text in options.only):
                continue
            if case in SWITCHED:
                rows = bench.switched(case, options.rounds)
            elif case == FAILING:
                rows = bench.failure(options.rounds, options.quick)
            else:
                rows = bench.memory() if case == MEMORY else bench.case(case, options.rounds, options.quick)
            for each in rows:
                print(bench_rows.line(each), flush=True)
            found += rows
            bench_rows.merge(file, found, here)  # after each case, so that an interruption loses only one case
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
