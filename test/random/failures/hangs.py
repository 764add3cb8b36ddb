#!/usr/bin/env python3
"""hangs.py BUILD SEED...: checks what cudadiag run --hang-after reports for the programs of run.py if one of their
operations never finishes. The options are those of run.py."""

import json
import random
import signal
import subprocess
import sys

from trial import FIRST, WORDS, Trial, listed_of, main, wants


class Hang(Trial):
    def __init__(self, machine, seed):
        super().__init__(machine, seed)
        pick = random.Random(f"hang {seed}")
        self.size, self.nth, self.plan = self.script.plan_of_hang(pick)
        self.program = pick.choice(("work", "work", "work_per_thread"))
        self.options += ["--rerun=never", "--hang-after", "1"]
        if (markers := pick.choice((None, None, None, "dense", "sparse", "off"))) is not None:
            self.options.append(f"--markers={markers}")
        if pick.random() < 0.15:
            self.options.append("--full-log")

    def run(self):
        if not self.size:
            return
        run = self.machine.start(*self.machine.command("run", *self.options, "--", *self.command()))
        try:
            out, err = run.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            run.terminate()
            _, err = run.communicate()
            self.check_unnoticed(err)
            return
        # The program did not wait for the operation.
        if run.returncode == 0:
            self.outcome["ended by itself"] += 1
            return
        wants(run.returncode in (-signal.SIGTERM, -signal.SIGKILL), f"status {run.returncode}, {out} {err}")
        wants(self.machine.sessions(), f"a hang, but no session: {err}")
        findings = self.machine.report()["findings"]
        wants(findings, f"no finding: {err}")
        self.check(findings[0])

    def check_unnoticed(self, err):
        """If no marker follows the operation that hangs, for example because another thread is capturing, only a
        thread that is blocked in a waiting call shows the hang."""
        self.outcome["not noticed"] += 1
        asked = self.machine.cudadiag("status", "--json")
        wants(asked.returncode == 0, f"no status: {asked.stderr}; {err}")
        proven = [stream["name"] for process in json.loads(asked.stdout)["processes"] for stream in process["streams"]
                  if stream["proven_unfinished"]]
        wants(not proven, f"the run was not ended, although {proven} are proven to be unfinished: {err}")

    def check(self, finding):
        grade = finding["evidence"]["grade"]
        self.outcome[grade] += 1
        self.listed = len(finding["candidates"])
        true = self.script.operations[self.size]
        among = self.is_among(finding, true)
        lacks_some = not among and grade == "inferred" and self.lacks_some(finding)
        found = [(where["line"], one["operation"], one["kernel"]) for where, one in listed_of(finding)]
        wants(among or lacks_some, f"{grade}: {true} at {FIRST + true.site} is not among {found}: "
                                   f"{finding['evidence']['because']}")
        wants(finding["kind"] in ("hang", "graph_node"), f"reported as {finding['kind']}")
        if grade == "bracketed" and not true.launches:
            wants(finding["launch"]["operation"] == WORDS[true.verb], f"{true} is reported as {finding['launch']}")


if __name__ == "__main__":
    sys.exit(main(Hang))
