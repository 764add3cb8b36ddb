#!/usr/bin/env python3
"""hangs.py BUILD SEED...: what cudadiag run --hang-after says of the programs of run.py where one of their operations
never ends. The words are those of run.py."""

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
        self.markers = pick.choice((None, None, None, "dense", "sparse", "off"))
        self.program = pick.choice(("work", "work", "work_per_thread"))
        self.options += ["--rerun=never", "--hang-after", "1"]
        if self.markers is not None:
            self.options.append(f"--markers={self.markers}")
        if pick.random() < 0.15:
            self.options.append("--full-log")

    def run(self):
        if not self.size:
            return
        # With fewer markers a hang is noticed only where a thread waits in a call that does nothing else.
        may_go_unnoticed = self.markers in ("sparse", "off")
        run = self.machine.start(*self.machine.command("run", *self.options, "--", *self.command()))
        try:
            out, err = run.communicate(timeout=10 if may_go_unnoticed else 120)
        except subprocess.TimeoutExpired:
            run.terminate()
            _, err = run.communicate()
            wants(may_go_unnoticed, f"it is not ended: {err}")
            self.outcome["not noticed"] += 1
            return
        # It did not wait for the operation.
        if run.returncode == 0:
            self.outcome["ended by itself"] += 1
            return
        wants(run.returncode in (-signal.SIGTERM, -signal.SIGKILL), f"status {run.returncode}, {out} {err}")
        wants(self.machine.sessions(), f"a hang, and no session: {err}")
        findings = self.machine.report()["findings"]
        wants(findings, f"no finding: {err}")
        self.check(findings[0])

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
        wants(finding["kind"] in ("hang", "graph_node"), f"told as {finding['kind']}")
        if grade == "bracketed" and not true.launches:
            wants(finding["launch"]["operation"] == WORDS[true.verb], f"{true} is told as {finding['launch']}")


if __name__ == "__main__":
    sys.exit(main(Hang))
