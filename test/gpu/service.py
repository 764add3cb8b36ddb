#!/usr/bin/env python3
"""A service with continuous batching, a paged cache and CUDA graphs (python/service.py): what watching it costs, and what
its only run reports when it fails after thousands of requests.

Usage: service.py BUILD                           the failure, with --once, env --once, hooks and CUPTI
       service.py BUILD --rounds 6 --seconds 20   the cost: plain, run, --once and env in turn, in each round
       service.py BUILD --switched --seconds 40   the cost in one process each, with the wrappers and without in turn
Needs a GPU, PyTorch and Triton; without them, it says so and counts nothing (77).

For the cost, four services are started once and stay warm; only one of them has requests at a time. Tokens per second and
the 99th percentile of the time per token are compared with plain in the same round, and given with the 95 % interval of
the mean over the rounds. The test fails if an interval lies above 1 %. Two processes of the same way differ by a few per
cent throughout. With --switched, one process therefore removes and restores the recorder's wrappers every 20 steps.

The report of the failure must give the line that captured the failing node, the node and the line of the replay. With a
GPU core dump, it must also give the device line, and is proven. Without a dump, a kernel that was launched just before the
graph may have failed, too. Then the answer is inferred from the node's pointer, and includes the line that freed its memory.
"""

import argparse
import contextlib
import http.client
import json
import math
import os
import pathlib
import random
import select
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import run

PROGRAM = run.HERE / "python/service.py"
START_S, END_S = 180, 120
FAILS_AT, TOKENS, CLIENTS = 3000, 64, 32
MOST_PERCENT = 1
COST_WAYS = {"plain": None, "run": ["run", "--rerun=never"], "once": ["run", "--once"], "env": ["env"]}
FAILURE_WAYS = {"once": ["run", "--once"], "env": ["env", "--once", "--end-on-failure"],
                "hooks": ["run", "--watch-by=hooks", "--rerun=never"], "cupti": ["run", "--watch-by=cupti", "--rerun=never"]}
# The 97.5 % quantiles of Student's t distribution, for 1 to 15 degrees of freedom.
T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def line_of(mark):
    return next(number for number, text in enumerate(PROGRAM.read_text().splitlines(), 1) if text.endswith("# " + mark))


def interval(values, plain):
    """Returns mean, lower and upper end of the 95 % interval of the relative difference, in percent. The values are
    compared in pairs, because the speed of the GPU drifts."""
    logs = [math.log(value / base) for value, base in zip(values, plain)]
    mean = statistics.mean(logs)
    half = T[min(len(logs) - 2, len(T) - 1)] * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    return tuple(100 * math.expm1(min(each, 700)) for each in (mean, mean - half, mean + half))


def interval_of_median(values):
    """Returns median, lower and upper end of its 95 % interval, from the ranks between which a sample's median may lie."""
    ranked, half = sorted(values), 0.98 * len(values) ** 0.5
    middle = len(ranked) / 2
    return statistics.median(ranked), ranked[max(0, int(middle - half))], ranked[min(len(ranked) - 1, int(middle + half))]


class Service:
    """A service in a process group of its own. `preload`: a library for the program, but not for cudadiag."""

    def __init__(self, cudadiag, way, folder, *arguments, preload=None):
        program = [sys.executable, str(PROGRAM), *map(str, arguments)]
        if preload:
            program = ["sh", "-c", 'LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$0 exec "$@"', str(preload), *program]
        self.cudadiag, self.folder = str(cudadiag), folder
        self.err = folder / "stderr"
        folder.mkdir(parents=True)
        options = ["-o", str(folder / "session")]
        if way is None:
            command = program
        elif way[0] == "env":
            exports = shlex.join([self.cudadiag, *way, *options])
            command = ["sh", "-c", f'variables=$({exports}) && eval "$variables" && exec "$@"', "sh", *program]
        else:
            command = [self.cudadiag, way[0], *way[1:], *options, "--", *program]
        self.watched, self.by_env = way is not None, way is not None and way[0] == "env"
        with self.err.open("w") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True,
                                            env=run.environment(folder / "state"), start_new_session=True)

    def await_start(self):
        ready = select.select([self.process.stdout], [], [], START_S)[0]
        line = self.process.stdout.readline() if ready else ""
        if not line.strip().isdigit():
            raise OSError(f"the service did not start: {self.err.read_text()[-1000:]}")
        self.port = int(line)

    def ask(self, method, path, content=None):
        """Returns status and content of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=END_S)
        connection.request(method, path, None if content is None else json.dumps(content))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def status_of_probe(self):
        return subprocess.run([self.cudadiag, "status", "--check", "10", "-o", str(self.folder / "session")],
                              env=run.environment(self.folder / "state"), capture_output=True, timeout=60).returncode

    def report(self):
        done = subprocess.run([self.cudadiag, "report", "--json", "-o", str(self.folder / "session")], text=True,
                              env=run.environment(self.folder / "state"), capture_output=True, timeout=END_S)
        return json.loads(done.stdout)["findings"] if done.stdout else []

    def wait(self):
        return self.process.wait(END_S)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


class Load:
    """Clients that each send a request after the other, until stop() or the first failure."""

    def __init__(self, service, clients=CLIENTS):
        self.service, self.ends, self.failed, self.answered = service, False, False, 0
        self.threads = [threading.Thread(target=self.send, args=[number], daemon=True) for number in range(clients)]
        for thread in self.threads:
            thread.start()

    def send(self, number):
        numbers = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=END_S)
        while not self.ends and not self.failed:
            prompt = [numbers.randrange(4096) for _ in range(numbers.randrange(4, 12))]
            try:
                connection.request("POST", "/generate", json.dumps({"prompt": prompt, "length": TOKENS}))
                answer = connection.getresponse()
                content = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                self.failed = True
                return
            if answer.status != 200 or len(content["tokens"]) != TOKENS:
                self.failed = True
                return
            self.answered += 1

    def join(self):
        for thread in self.threads:
            thread.join(END_S)

    def stop(self):
        self.ends = True
        self.join()


def measured(service, seconds):
    """Returns the service's statistics under load."""
    load = Load(service)
    time.sleep(1)  # until all clients are served
    service.ask("GET", "/statistics")
    time.sleep(seconds)
    probe = service.status_of_probe() if service.watched else 0
    _, result = service.ask("GET", "/statistics")
    load.stop()
    if load.failed or probe != 0 or result["tokens"] == 0:
        raise OSError(f"failed requests: {load.failed}; probe: {probe}; {result}; {service.err.read_text()[-500:]}")
    return {**result, "rate": result["tokens"] / result["seconds"]}


def summary(way, rounds):
    """Returns the lines about a way, and whether it is worse than plain by more than the limit."""
    lines, worse = [], False
    for what, title, sign in (("rate", "tokens per second", -1), ("p99", "99th percentile of the time per token", 1)):
        mean, low, high = interval([each[way][what] for each in rounds], [each["plain"][what] for each in rounds])
        lower_cost = min(sign * low, sign * high)
        worse = worse or lower_cost > MOST_PERCENT
        lies = "above" if lower_cost > MOST_PERCENT else "within" if max(abs(low), abs(high)) <= MOST_PERCENT else "across"
        lines.append(f"{way}: {title} {mean:+.2f} % ({low:+.2f} to {high:+.2f}), {lies} {MOST_PERCENT} %")
    return lines, worse


def memory_summary(way, rounds):
    first, last = rounds[1 if len(rounds) > 2 else 0][way], rounds[-1][way]
    grown = {what: (last[what] - first[what]) / 2**20 for what in ("resident_bytes", "reserved_bytes", "gpu_bytes")}
    return (f"{way}: memory from round {2 if len(rounds) > 2 else 1} to the last: {grown['resident_bytes']:+.1f} MiB resident, "
            f"{grown['reserved_bytes']:+.1f} MiB reserved on the GPU, {grown['gpu_bytes']:+.1f} MiB in use on the GPU")


def cost(cudadiag, folder, options):
    with contextlib.ExitStack() as stack:
        services = {way: Service(cudadiag, words, folder / way) for way, words in COST_WAYS.items()}
        for service in services.values():
            stack.callback(service.close)
        for service in services.values():
            service.await_start()
        rounds, ways = [], list(services)
        for number in range(options.rounds):
            order = ways[number % len(ways):] + ways[:number % len(ways)]
            rounds.append({way: measured(services[way], options.seconds) for way in order})
            print(f"round {number + 1}: " + ", ".join(
                f"{way} {each['rate']:.0f} tokens/s, p99 {1000 * each['p99']:.3f} ms" for way, each in rounds[-1].items()), flush=True)
            if options.json:
                options.json.write_text(json.dumps(rounds, indent=1) + "\n")
    failed = False
    for way in ways[1:]:
        lines, worse = summary(way, rounds)
        failed = failed or worse
        print("\n".join(lines))
    print("\n".join(memory_summary(way, rounds) for way in ways))
    return 1 if failed else 0


def switched(cudadiag, way, folder, options):
    """Prints what the recorder's wrappers cost within one process. Returns whether an interval lies above the limit."""
    service = Service(cudadiag, COST_WAYS[way], folder, "switched", preload=options.build / "gpu/libswitched_hooks.so")
    try:
        service.await_start()
        load = Load(service)
        time.sleep(options.seconds)
        _, slices = service.ask("GET", "/slices")
        load.stop()
    finally:
        service.close()
    pairs = [dict(slices[i:i + 2]) for i in range(0, len(slices), 2)]
    blocks = [pairs[i:i + 20] for i in range(0, len(pairs) - 19, 20)]

    def slow_step(block, on):
        seconds = sorted(each for pair in block for each in pair[on])
        return seconds[len(seconds) * 99 // 100]
    median, low, high = (100 * (each - 1) for each in interval_of_median([sum(each[1]) / sum(each[0]) for each in pairs]))
    of_slow = interval([slow_step(block, 1) for block in blocks], [slow_step(block, 0) for block in blocks])
    step = 1000 * statistics.median(each for pair in pairs for each in pair[0])
    print(f"{way}: {len(pairs)} pairs of slices; median step without the wrappers {step:.2f} ms\n"
          f"{way}: time per step {median:+.2f} % ({low:+.2f} to {high:+.2f}); "
          f"99th percentile {of_slow[0]:+.2f} % ({of_slow[1]:+.2f} to {of_slow[2]:+.2f})", flush=True)
    return low > MOST_PERCENT or of_slow[1] > MOST_PERCENT


def shortfalls(way, finding):
    """Returns what is wrong with the answer."""
    related = {each["role"]: each["line"] for each in finding["related"]}
    launch, device = finding["launch"] or {}, finding["device"] or {}
    dumped = way in ("once", "env")
    found = {"line": finding["location"]["line"], "cause": (finding["cause"] or {}).get("id"), "replay": related.get("replay"),
             "grade": finding["evidence"]["grade"]}
    wanted = {"line": line_of("TRUE LINE"), "cause": "stale-graph-pointer", "replay": line_of("REPLAY LINE"),
              "grade": "proven" if dumped else "inferred"}
    if dumped:
        found["device line"], wanted["device line"] = device.get("line"), line_of("DEVICE LINE")
    else:
        found["freed"], wanted["freed"] = related.get("freed"), line_of("FREED LINE")
    wrong = [f"{what} {found[what]}, not {right}" for what, right in wanted.items() if found[what] != right]
    return wrong + ([] if (launch.get("graph_node") or {}).get("index") else ["no node"])


def failure(cudadiag, way, folder):
    """Returns what is wrong, and a description of the run."""
    start = time.monotonic()
    service = Service(cudadiag, FAILURE_WAYS[way] + ([] if way == "env" else ["--end-on-failure"]), folder, FAILS_AT)
    try:
        service.await_start()
        load = Load(service)
        load.join()
        status = service.wait()
        findings = service.report()
    finally:
        service.close()
    wrong = [] if load.answered >= FAILS_AT - 2 * CLIENTS else [f"failed after {load.answered} requests"]
    wrong += shortfalls(way, findings[0]) if findings else ["no finding"]
    return wrong, f"status {status}, {load.answered} requests, {time.monotonic() - start:.0f} s; {service.err.read_text()[-600:]!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=0, help="measure the cost in so many rounds")
    parser.add_argument("--switched", action="store_true", help="measure the cost within one process")
    parser.add_argument("--seconds", type=float, default=20, help="how long each way runs, in a round or switched (default 20)")
    parser.add_argument("--way", action="append", choices=FAILURE_WAYS, help="only these ways, for the failure")
    parser.add_argument("--json", type=pathlib.Path, help="write the measurements to this file")
    options = parser.parse_args()
    missing = [module for module in ("torch", "triton") if run.importlib.util.find_spec(module) is None]
    if reason := run.gpu_missing() or (missing and f"no {missing[0]}"):
        print(f"no GPU or PyTorch ({reason}): nothing was tried")
        return run.CANNOT_RUN_HERE
    cudadiag, failed = options.build / "bin/cudadiag", 0
    with tempfile.TemporaryDirectory() as folder:
        if options.switched:
            return max(switched(cudadiag, way, pathlib.Path(folder) / way, options) for way in ("run", "once"))
        if options.rounds:
            return cost(cudadiag, pathlib.Path(folder), options)
        for way in options.way or FAILURE_WAYS:
            wrong, text = failure(cudadiag, way, pathlib.Path(folder) / way)
            failed += bool(wrong)
            print(f"{'FAIL' if wrong else 'pass'} {way}: {'; '.join(wrong)}\n    {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
