"""What both kinds of trials share: the program of a seed, and the check whether the listed candidates contain the
truth."""

import collections
import concurrent.futures
import os
import pathlib
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
    """Returns the locations and launches that may be the failing one."""
    return [(each["location"], each["launch"]) for each in finding["candidates"] or [finding]]


class Trial:
    """The trial of one seed. Derived classes have a plan and options."""

    def __init__(self, machine, seed):
        self.machine, self.seed = machine, seed
        self.script = Script(seed)
        self.options = []
        self.outcome = collections.Counter()
        self.listed = 0

    def command(self):
        """Writes the script into the scratch folder, and returns the program's command."""
        script = self.machine.folder / "script"
        script.write_text(self.script.text())
        self.machine.plan(self.plan)
        return [self.machine.build / "random" / self.program, script]

    def is_among(self, finding, true):
        return any(self.is_one(true, FIRST + true.site, *each) for each in listed_of(finding))

    def is_one(self, true, line, location, launch):
        if launch["operation"] == "graph":  # the report does not say which node failed
            return location["line"] in [FIRST + site for site, _ in true.launches] + [line]
        # A node that got new parameters is reported with the kernel of its capture.
        told = launch["kernel"] in (true.kernel, None, "") or true.verb != "kernel" or true.launches
        return location["line"] == line and told

    def lacks_some(self, finding):
        """Returns whether the report itself says that operations are missing."""
        because = finding["evidence"]["because"]
        if "calls that were not all recorded" in because:
            self.outcome["changed by unknown calls"] += 1
            return True
        if "of them are lost" in because:
            self.outcome["not all recorded"] += 1
            return True
        if "are not listed" in because:
            self.outcome["not all listed"] += 1
            return True
        return False

    def tell(self, wrong):
        how = " ".join([self.program, *self.options])
        return f"seed {self.seed} ({how}; {self.plan}; end {self.script.ending}): {wrong}"


def trial(kind, given, seed):
    machine = Machine(given.build)
    try:
        one = kind(machine, seed)
        if given.only and given.only not in " ".join(one.options):
            return one.outcome, 0, ""
        try:
            one.run()
        except (Wrong, AssertionError) as wrong:
            if given.keep:
                machine.folder.rename(pathlib.Path(given.keep) / f"{seed}-{os.getpid()}")
            return one.outcome, one.listed, one.tell(wrong)
        return one.outcome, one.listed, ""
    finally:
        machine.close()


def main(kind):
    arguments = seeds.parser()
    arguments.add_argument("--only", default="")
    arguments.add_argument("--keep")
    given = arguments.parse_args()
    numbers = seeds.each_of(given.seeds)
    outcomes, most, wrong = collections.Counter(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for outcome, listed, text in pool.map(lambda seed: trial(kind, given, seed), numbers):
            outcomes += outcome
            most = max(most, listed)
            if text:
                wrong += 1
                print(text, flush=True)
    print(f"{len(numbers)} seeds, {wrong} wrong; candidates at most {most};", dict(outcomes))
    return 1 if wrong else 0
