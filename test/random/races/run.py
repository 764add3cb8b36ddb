#!/usr/bin/env python3
"""run.py BUILD SEED...: compares the races that cudadiag reports for random programs with what CUDA's documentation
leaves unordered in them. A seed is N or N-M; --jobs N runs N of them at once. --shorten turns each failing program into
one that is as short as possible and fails in the same way."""

import json
import multiprocessing
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "e2e"), str(HERE.parent)]
sys.pycache_prefix = str(pathlib.Path(sys.argv[1]).resolve() / "pycache")

import harness
import seeds
from happens_before import DOUBTED, EITHER, ORDERED, POSSIBLE, RACE, Story, disturb
from programs import PART, Maker

FIRST = next(number for number, line in enumerate((HERE / "script.cc").read_text().splitlines(), 1) if "PLACE(1)" in line)
CUBIN = harness.DATA / "sass/simulated.sm90.cubin"
GRADES = {RACE: {"proven", "inferred"}, POSSIBLE: {"suspected"}, DOUBTED: {"proven", "inferred", "suspected"}}
GRADES[EITHER] = GRADES[DOUBTED]


class Outcome:
    def __init__(self, machine, steps):
        script, report = machine.folder / "script", machine.folder / "races.json"
        script.write_text("".join(" ".join(map(str, step)) + "\n" for step in steps))
        report.unlink(missing_ok=True)
        command = [machine.build / "random/races", script, CUBIN]
        result = machine.cudadiag("races", "--rerun=never", "--json", report, "--", *command, timeout=20)
        lines = result.stdout.splitlines()
        self.failed = (result.returncode, lines[-1:]) != (0, ["done"]) and (result.returncode, result.stdout[-200:])
        told = [line.split() for line in lines]
        self.addresses = {int(words[1]): int(words[2]) for words in told if words[0] == "memory"}
        self.answers = {int(words[1]): words[2] == "1" for words in told if words[0] == "asked"}
        self.report = {} if self.failed else json.loads(report.read_text())


class Check:
    """Checks the report on these steps. `wrong` lists what is wrong with it."""

    def __init__(self, steps, outcome):
        self.story, self.outcome, self.wrong = Story(), outcome, []
        for number, step in enumerate(steps):
            self.story.tell(step, outcome.answers.get(number, True))
        self.pairs = list(self.story.pairs())
        self.by_places = {}
        for pair in self.pairs:
            self.by_places.setdefault(frozenset(self.places(pair)), []).append(pair)
        notes = {note["code"] for note in outcome.report["notes"]}
        if "races-gap" in notes:
            self.wrong.append("a gap")
        self.told = {}  # the reported grades, by places
        for finding in outcome.report["findings"]:
            self.look_at(finding)
        # The report lists a limited number of races, and says so if it omits some or if some accesses were forgotten.
        if not notes & {"races-unlisted", "races-forgotten"}:
            for pair in self.pairs:
                self.look_for(pair)

    def places(self, pair):
        return [self.story.happenings[number].step.place for number in (pair.first, pair.second)]

    def look_at(self, finding):
        places = [access["location"]["line"] - FIRST + 1 for access in finding["accesses"]]
        grade = finding["evidence"]["grade"]
        self.told.setdefault(frozenset(places), set()).add(grade)
        pairs = self.by_places.get(frozenset(places), [])
        verdicts = {pair.verdict for pair in pairs}
        if not any(grade in GRADES.get(verdict, ()) for verdict in verdicts):
            self.wrong.append(f"reported as {grade}: places {places}, where {sorted(verdicts) or 'nothing'} is known")
        elif not any(self.is_of(finding, pair) for pair in pairs if pair.verdict != ORDERED):
            self.wrong.append(f"places {places}: different memory, or different uses: {finding['accesses']}")

    def is_of(self, finding, pair):
        """Returns whether the pair's accesses match the places and the kinds of access in the finding, in order of
        issue."""
        def fits(told, access):
            begin = self.outcome.addresses[access.buffer] + access.begin
            end = begin + (access.end - access.begin)
            first, last = (int(each, 16) for each in told["range"])
            if (told["mode"], first) != (access.mode, begin):
                return False
            # A kernel's one thread uses at most one part.
            return (told["exact"], last) == (True, end) if access.exact else last <= begin + PART
        first, second = (self.story.happenings[number].accesses for number in (pair.first, pair.second))
        x, y = finding["accesses"]
        in_graph = x["graph_node"] is not None and y["graph_node"] is not None  # there is no order of issue
        return any(disturb(a, b) and (fits(x, a) and fits(y, b) or (in_graph and fits(x, b) and fits(y, a)))
                   for a in first for b in second)

    def look_for(self, pair):
        if pair.verdict in (ORDERED, EITHER) or self.is_told(pair):
            return
        # A later access of the same stream or launch may be reported instead.
        for other in self.pairs:
            if other.verdict in (pair.verdict, RACE) and self.covers(other.first, pair.first) and \
                    self.is_same(other.second, pair.second) and self.is_told(other):
                return
        self.wrong.append(f"not reported: places {self.places(pair)}, {pair.verdict}")

    def is_told(self, pair):
        """Returns whether a pair was reported. If other pairs of the same lines are races or may be reported, their
        grades count, too."""
        places = frozenset(self.places(pair))
        verdicts = {pair.verdict} | {each.verdict for each in self.by_places[places]} & {RACE, EITHER}
        return any(self.told.get(places, set()) & GRADES[verdict] for verdict in verdicts)

    def is_same(self, a, b):
        launches = [self.story.happenings[each].launch for each in (a, b)]
        return a == b or (launches[0] is not None and launches[0] == launches[1])

    def covers(self, later, earlier):
        return self.is_same(later, earlier) or any(
            bits >> earlier & 1 for bits in self.story.happenings[later].before.values())


def wrong_with(machine, steps):
    outcome = Outcome(machine, steps)
    if outcome.failed:
        return [f"the program fails: {outcome.failed}"]
    return Check(steps, outcome).wrong


def kind(wrong):
    return wrong.split(":")[0] if wrong.startswith("not reported") else " ".join(wrong.split()[:3])


def shortened(machine, steps, wanted):
    """Returns the steps without those that the failure does not need."""
    part = len(steps) // 2
    while part:
        at = len(steps) - part
        while at >= 0:
            fewer = steps[:at] + steps[at + part:]
            try:
                for step in (story := Story()) and fewer:
                    story.tell(step)
                if wanted in map(kind, wrong_with(machine, fewer)):
                    steps = fewer
            except Exception:  # the shortened program is not valid
                pass
            at -= part
        part //= 2
    return steps


def look(arguments):
    build, seed, shorten = arguments
    machine = harness.Machine(build)
    machine.environment["PATH"] = f"{harness.HERE / 'programs/toolkit'}:{machine.environment['PATH']}"
    try:
        steps = Maker(seed).make()
        wrong = wrong_with(machine, steps)
        if wrong and shorten:
            steps = shortened(machine, steps, kind(wrong[0]))
            wrong += [*map(str, steps), *wrong_with(machine, steps)]
        return [f"seed {seed}: {line}" for line in wrong]
    except Exception as error:
        return [f"seed {seed}: {error!r}"]
    finally:
        machine.close()


def main():
    arguments = seeds.parser()
    arguments.add_argument("--shorten", action="store_true")
    given = arguments.parse_args()
    numbers = seeds.each_of(given.seeds)
    wrong = 0
    with multiprocessing.Pool(given.jobs) as pool:
        for lines in pool.imap_unordered(look, [(given.build, seed, given.shorten) for seed in numbers]):
            wrong += bool(lines)
            print(*lines, sep="\n", end="\n" if lines else "", flush=True)
    print(f"{len(numbers)} seeds, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
