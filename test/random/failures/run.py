#!/usr/bin/env python3
"""run.py BUILD SEED...: compares what cudadiag reports for randomly generated programs with what the simulated driver
knows to have failed. A seed is N or N-M; --jobs N runs N of them at once; --keep FOLDER keeps the wrong ones; --only
TEXT runs only the seeds whose options contain TEXT, such as rerun=always."""

import random
import re
import subprocess
import sys

from trial import FIRST, WORDS, Trial, Wrong, listed_of, main, wants


class Failure(Trial):
    def __init__(self, machine, seed):
        super().__init__(machine, seed)
        pick = random.Random(f"how {seed}")
        self.plan = self.script.plan(with_fault=pick.random() > 0.1)
        if (markers := pick.choice((None, None, "dense", "sparse", "off"))) is not None:
            self.options.append(f"--markers={markers}")
        if pick.random() < 0.15:
            self.options.append("--full-log")
        self.program = pick.choice(("work", "work", "work_per_thread"))
        self.reruns = pick.random() < 0.2
        self.options.append("--rerun=always" if self.reruns else "--rerun=never")

    def run(self):
        machine, faults = self.machine, self.machine.runs
        faults.write_text("")
        machine.environment["CUDADIAG_SIM_FAULTS"] = str(faults)
        try:
            ran = machine.run(*self.command(), options=self.options, timeout=120)
        except subprocess.TimeoutExpired as late:
            raise Wrong("the program hangs; its stderr: " + str(late.stderr)) from late
        self.faults = [dict(word.partition("=")[::2] for word in line.split()[1:])
                       for line in faults.read_text().splitlines()]
        refused = re.match(r".*: error \d+ at (\d+)\n", ran.stdout)
        if not self.faults and refused:
            self.check_refused(FIRST + int(refused[1]))
            return
        if not self.faults:
            self.outcome["clean"] += 1
            wants((ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", ""),
                  f"a correct run: status {ran.returncode}, {ran.stdout} {ran.stderr}")
            wants(machine.sessions() == [], "a correct run leaves a session")
            return
        # A program that does not wait for its work may end before the fault.
        if self.script.ending == "unasked" and not machine.sessions():
            self.outcome["gone before"] += 1
            return
        wants(machine.sessions(), f"a fault, but no session; status {ran.returncode}, {ran.stdout}, {ran.stderr}")
        self.report = machine.report()
        self.check()
        self.check_shown()

    def check_shown(self):
        """Only a path or a command, which stands alone in its row, may be wider than the terminal. The cause, the fix and
        the blamed line are shown whole."""
        self.machine.environment["NO_COLOR"] = "1"
        shown, _ = self.machine.on_terminal(*self.machine.command("report"), columns=80)
        wide = [row for row in shown.splitlines() if len(row) > 80 and " " in row[8:].strip() and "cudadiag " not in row]
        wants(not wide, f"rows of more than 80 columns: {wide}")
        cut = re.search(r"^(Why|Fix|Blamed) .*(\n .*)* \.\.\.$", shown.replace("\r", ""), re.MULTILINE)
        wants(not cut, f"a row that lost text: {cut}")

    def check(self):
        wants(self.report["verdict"] == "cuda_failure", f"verdict {self.report['verdict']}")
        finding = self.report["findings"][0]
        grade = finding["evidence"]["grade"]
        self.outcome[("rerun " if self.reruns else "") + grade] += 1
        self.listed = len(finding["candidates"])
        # If there are two faults, a rerun may fail at the other one.
        self.check_one(finding, self.faults if self.reruns else self.faults[:1])
        for other in self.report["findings"][1:]:
            self.outcome[f"also {other['kind']} {other['evidence']['grade']}"] += 1
            if other["kind"] in ("async_error", "graph_node"):
                self.check_one(other, self.faults)

    def check_refused(self, line):
        if self.script.ending == "ignore" and not self.machine.sessions():
            self.outcome["refused, kept silent"] += 1
            return
        wants(self.machine.sessions(), "a failed call, but no session")
        findings = self.machine.report()["findings"]
        wants(findings, "a failed call, but no finding")
        for finding in findings:
            self.outcome[f"refused: {finding['kind']} {finding['evidence']['grade']}"] += 1
            wants(finding["location"]["line"] == line, f"{finding['kind']} at {finding['location']}, not {line}")
        self.check_shown()

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
            wants(self.script.floods and " lost" in finding["evidence"]["because"], "suspected, but no record is lost")
            return
        launch, among = finding["launch"], self.is_among(finding, true)
        if grade == "inferred":
            found = [(where["line"], one["kernel"]) for where, one in listed_of(finding)]
            wants(among or self.lacks_some(finding), f"{true} at {line} is not among {found}")
            return
        if true.launches:
            return self.check_graph(finding, true, (size, nth), line, among)
        wants(finding["location"]["line"] == line, f"{true} at {line} leads with {finding['location']['line']}")
        wants(launch["operation"] == WORDS[true.verb], f"{true} is reported as {launch['operation']}")
        if true.verb == "kernel" and any(launch["grid"]):
            wants((launch["grid"][0], launch["kernel"]) == (size, true.kernel), f"{size}, {true}: told as {launch}")
        if launch["site_ordinal"] is not None and self.script.own_lines:
            wants(launch["site_ordinal"] == true.ordinals[nth - 1], f"{nth}, {true}: call {launch['site_ordinal']}")

    # Checks a finding that gives the launch of a graph, and one or more of the graph's nodes.
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
        wants(replayed == [FIRST + site], f"{true}: replayed at {replayed}, not {FIRST + site}")
        if node is not None:
            wants(true.node in (0, node["index"]), f"{true}: node {node['index']}")
            wants(node["replay"] in (None, number), f"{true}: replay {node['replay']}, not {number}")
        if true.verb == "kernel" and any(launch["grid"]):
            wants((launch["grid"][0], launch["kernel"]) == (size, true.kernel), f"{size}, {true}: told as {launch}")


if __name__ == "__main__":
    sys.exit(main(Failure))
