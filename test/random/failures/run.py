#!/usr/bin/env python3
"""run.py BUILD SEED...: what cudadiag says of programs that are made up by chance, against what the simulated driver
knows to have failed. A seed is N or N-M; --jobs N runs so many at once; --keep FOLDER keeps what was wrong; --only TEXT
takes the seeds alone whose options have it, such as rerun=always."""

import collections
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "e2e"), str(HERE.parent)]
sys.pycache_prefix = str(pathlib.Path(sys.argv[1]).resolve() / "pycache")

import seeds
from harness import Machine
from scripts import Script

SOURCE = HERE / "work.cc"
FIRST = next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if "case 0: return" in line)
WORDS = {"kernel": "kernel", "set": "memset", "copy": "copy"}


class Wrong(Exception):
    pass


def wants(condition, text):
    if not condition:
        raise Wrong(text)


def listed_of(finding):
    """What can be the one: places and launches."""
    return [(each["location"], each["launch"]) for each in finding["candidates"] or [finding]]


class Trial:
    """One seed."""

    def __init__(self, machine, seed):
        self.machine, self.seed = machine, seed
        self.script = Script(seed)
        pick = random.Random(f"how {seed}")
        self.plan = self.script.plan(with_fault=pick.random() > 0.1)
        self.options = []
        if (markers := pick.choice((None, None, "dense", "sparse", "off"))) is not None:
            self.options.append(f"--markers={markers}")
        if pick.random() < 0.15:
            self.options.append("--full-log")
        self.program = pick.choice(("work", "work", "work_per_thread"))
        self.reruns = pick.random() < 0.2
        self.options.append("--rerun=always" if self.reruns else "--rerun=never")
        self.outcome = collections.Counter()
        self.listed = 0

    def run(self):
        machine = self.machine
        script, faults = machine.folder / "script", machine.runs
        script.write_text(self.script.text())
        faults.write_text("")
        machine.plan(self.plan)
        machine.environment["CUDADIAG_SIM_FAULTS"] = str(faults)
        try:
            ran = machine.run(machine.build / "random" / self.program, script, options=self.options, timeout=120)
        except subprocess.TimeoutExpired as late:
            raise Wrong("it hangs; it said " + str(late.stderr)) from late
        self.faults = [dict(word.partition("=")[::2] for word in line.split()[1:])
                       for line in faults.read_text().splitlines()]
        refused = re.match(r".*: error \d+ at (\d+)\n", ran.stdout)
        if not self.faults and refused:
            self.check_refused(FIRST + int(refused[1]))
            return
        if not self.faults:
            self.outcome["clean"] += 1
            wants((ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", ""),
                  f"of a correct run: status {ran.returncode}, {ran.stdout} {ran.stderr}")
            wants(machine.sessions() == [], "a correct run leaves a session")
            return
        # One that does not wait for its work may be gone before the fault.
        if self.script.ending == "unasked" and not machine.sessions():
            self.outcome["gone before"] += 1
            return
        wants(machine.sessions(), f"a fault, and no session; status {ran.returncode}, {ran.stdout}, {ran.stderr}")
        self.report = machine.report()
        self.check()

    def check(self):
        wants(self.report["verdict"] == "cuda_failure", f"verdict {self.report['verdict']}")
        finding = self.report["findings"][0]
        grade = finding["evidence"]["grade"]
        self.outcome[("rerun " if self.reruns else "") + grade] += 1
        self.listed = len(finding["candidates"])
        # A rerun may fail at another of two faults.
        self.check_one(finding, self.faults if self.reruns else self.faults[:1])
        for other in self.report["findings"][1:]:
            self.outcome[f"also {other['kind']} {other['evidence']['grade']}"] += 1
            if other["kind"] in ("async_error", "graph_node"):
                self.check_one(other, self.faults)

    def check_refused(self, line):
        if self.script.ending == "ignore" and not self.machine.sessions():
            self.outcome["refused, kept silent"] += 1
            return
        wants(self.machine.sessions(), "a refused call, and no session")
        findings = self.machine.report()["findings"]
        wants(findings, "a refused call, and no finding")
        for finding in findings:
            self.outcome[f"refused: {finding['kind']} {finding['evidence']['grade']}"] += 1
            wants(finding["location"]["line"] == line, f"{finding['kind']} at {finding['location']}, and not {line}")

    def check_one(self, finding, truths):
        grade = finding["evidence"]["grade"]
        reasons = []
        for truth in truths:
            try:
                self.check_against(finding, grade, int(truth["size"]), int(truth["nth"]))
                return
            except Wrong as wrong:
                reasons.append(str(wrong))
        raise Wrong(f"{grade}: " + "; ".join(dict.fromkeys(reasons)))

    def check_against(self, finding, grade, size, nth):
        true = self.script.operations[size]
        line = FIRST + true.site
        if grade == "suspected":
            self.outcome["suspected: " + finding["evidence"]["because"]] += 1
            wants(self.script.floods and " lost" in finding["evidence"]["because"], "only suspected, and nothing is lost")
            return
        launch, listed = finding["launch"], listed_of(finding)
        among = any(self.is_one(true, line, *each) for each in listed)
        if grade == "inferred":
            if "calls that are not all recorded" in finding["evidence"]["because"]:
                self.outcome["changed by unknown calls"] += 1
                return
            if "more are not listed" in finding["evidence"]["because"]:
                self.outcome["more than 64"] += 1
                return
            wants(among, f"{true} at {line} is not among {[(where['line'], one['kernel']) for where, one in listed]}")
            return
        if true.launches:
            return self.check_graph(finding, true, (size, nth), line, among)
        wants(finding["location"]["line"] == line, f"{true} at {line} leads with {finding['location']['line']}")
        wants(launch["operation"] == WORDS[true.verb], f"{true} is told as {launch['operation']}")
        if true.verb == "kernel" and any(launch["grid"]):
            wants((launch["grid"][0], launch["kernel"]) == (size, true.kernel), f"{size}, {true}: told as {launch}")
        if launch["site_ordinal"] is not None and self.script.own_lines:
            wants(launch["site_ordinal"] == true.ordinals[nth - 1], f"{nth}, {true}: call {launch['site_ordinal']}")

    # The launch is known; of its nodes one or some.
    def check_graph(self, finding, true, which, line, among):
        launch = finding["launch"]
        node = launch["graph_node"]
        size, nth = which
        site, number = true.launches[nth - 1]
        place = finding["location"]["line"]
        replayed = [each["line"] for each in finding["related"] if each["role"] == "replay"]
        if launch["operation"] == "graph":
            wants(place == FIRST + site, f"{true}: leads with {place}")
            wants(among, f"{true} at {line} is not among {[where['line'] for where, _ in listed_of(finding)]}")
            return
        wants(place == line, f"{true} at {line} leads with {place}")
        wants(replayed == [FIRST + site], f"{true}: replayed at {replayed}, and not {FIRST + site}")
        if node is not None:
            wants(true.node in (0, node["index"]), f"{true}: node {node['index']}")
            wants(node["replay"] in (None, number), f"{true}: replay {node['replay']}, and not {number}")
        if true.verb == "kernel" and any(launch["grid"]):
            wants((launch["grid"][0], launch["kernel"]) == (size, true.kernel), f"{size}, {true}: told as {launch}")

    def is_one(self, true, line, location, launch):
        if launch["operation"] == "graph":  # which of its nodes is not said
            return location["line"] in [FIRST + site for site, _ in true.launches] + [line]
        # Of nodes that were given something else the kernel is that of the capture.
        told = launch["kernel"] in (true.kernel, None, "") or true.verb != "kernel" or true.launches
        return location["line"] == line and told

    def tell(self, wrong):
        how = " ".join([self.program, *self.options])
        return f"seed {self.seed} ({how}; {self.plan}; end {self.script.ending}): {wrong}"


def trial(build, seed, only, keep):
    machine = Machine(build)
    try:
        one = Trial(machine, seed)
        if only and only not in " ".join(one.options):
            return one.outcome, 0, ""
        try:
            one.run()
        except (Wrong, AssertionError) as wrong:
            if keep:
                machine.folder.rename(pathlib.Path(keep) / f"{seed}-{os.getpid()}")
            return one.outcome, one.listed, one.tell(wrong)
        return one.outcome, one.listed, ""
    finally:
        machine.close()


def main():
    arguments = seeds.parser()
    arguments.add_argument("--only", default="")
    arguments.add_argument("--keep")
    given = arguments.parse_args()
    numbers = seeds.each_of(given.seeds)
    outcomes, most, wrong = collections.Counter(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for outcome, listed, text in pool.map(lambda seed: trial(given.build, seed, given.only, given.keep), numbers):
            outcomes += outcome
            most = max(most, listed)
            if text:
                wrong += 1
                print(text, flush=True)
    print(f"{len(numbers)} seeds, {wrong} wrong; candidates at most {most};", dict(outcomes))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
