"""Compares a report ("cudadiag.report/1") with what a case expects. Every difference is one sentence."""

import re
from collections import namedtuple
from pathlib import Path

GRADES = ["suspected", "inferred", "bracketed", "proven"]
ROLES = ["caller", "capture", "allocated", "freed", "forward", "backward", "eager"]  # related lines that have marks
_ONE_MARK = rf"(TRUE LINE|BLAMED|CANDIDATE|HOLDER|{'|'.join(ROLES).upper()})(?: (\w+))?"
MARKS = re.compile(rf"(?://|#) ({_ONE_MARK}(?:, {_ONE_MARK})*)$")
TRACEBACK = "Traceback (most recent call last):"

ASYNCHRONOUS = ("async_error", "graph_node", "graph_stale_pointer")
ENOUGH_TO_JUDGE = 30
LEAST_BRACKETED = 0.8  # minimum share among the first answers to asynchronous failures
ILLEGAL_ADDRESS = 700
WITHOUT_ALLOCATION = ("null", "never_allocated", "host")  # relations of an address that is in no allocation
LEAST_EXPLAINED = 0.75  # minimum share among illegal addresses
LEAST_RIGHT = {"line_first": 0.9, "line": 1.0, "cause": 0.8}  # minimum shares; a wrong cause also fails its own case

Line = namedtuple("Line", "file number")


def marked_lines(case, folder):
    """Returns {mark: lines of the case's sources that carry it}."""
    marks = {}
    for source in case.sources:
        for number, text in enumerate((Path(folder) / source).read_text().splitlines(), 1):
            found = MARKS.search(text)
            for mark, word in re.findall(_ONE_MARK, found[1]) if found else []:
                if word in ("", case.mark):
                    marks.setdefault(mark, []).append(Line(Path(source).name, number))
    return marks


def line_of_traceback(stderr, folder):
    """Returns the innermost line of `folder`'s scripts in the last traceback, or None without a traceback. Any later
    call may return an asynchronous error, so the line may differ between runs."""
    if TRACEBACK not in stderr:
        return None
    frames = re.findall(r'^\s*File "([^"]+)", line (\d+)', stderr.rsplit(TRACEBACK, 1)[1], re.MULTILINE)
    own = [Line(Path(file).name, int(number)) for file, number in frames if Path(file).parent == Path(folder)]
    return own[-1] if own else None


def may_notice_at(line, marks):
    """Returns whether `line` is a BLAMED line, or between a true line and a BLAMED one."""
    blamed = marks["BLAMED"]
    return line in blamed or any(
        line and true.file == last.file == line.file and true.number < line.number < last.number
        for true in marks["TRUE LINE"] for last in blamed)


def line_of_headline(stderr):
    """Returns the line that the first report of a run gives; it is printed before any rerun."""
    found = re.search(r"^cudadiag: .*? \(\d+\) in ([^\n]+?):(\d+)", stderr, re.MULTILINE)
    return Line(Path(found[1]).name, int(found[2])) if found else None


def first_answer(stderr):
    """Returns the grade of the first report of a run, and how many operations may have failed according to it. None:
    there is no report."""
    headline = re.search(r"^cudadiag: .*\[(\w+)\]$", stderr, re.MULTILINE)
    if not headline:
        return None
    several = re.search(r" ([\d,]+) operations(?: on [\d,]+ streams)? may have been running", " ".join(stderr.split()))
    return headline[1], int(several[1].replace(",", "")) if several else 1


def line_of(location):
    """Compares files by name, because the tree may have been built elsewhere."""
    if not location or not location.get("file"):
        return None
    return Line(Path(location["file"]).name, location["line"])


def name_of(line):
    return f"{line.file}:{line.number}" if line else "nowhere"


def differences(case, report, marks, traceback=None):
    """Returns the differences as sentences; an empty list if there are none. `traceback`: the line that
    line_of_traceback() found in the same run."""
    if report.get("schema") != "cudadiag.report/1":
        return [f"schema {report.get('schema')!r}"]
    findings = report["findings"]
    wrong = []
    if report["verdict"] != case.verdict:
        wrong.append(f"verdict {report['verdict']}, not {case.verdict}")
    if case.verdict == "no_cuda_failure":
        return wrong + [f"reports {f['kind']} at {name_of(line_of(f['location']))}" for f in findings]
    if not findings:
        return wrong + ["no finding"]
    first_run = report["passes"][0]["outcome"]
    # A rerun that also leaves a core dump says so after its outcome.
    reruns = [each["outcome"].removesuffix(", core dump read") for each in report["passes"] if each["name"] == "confirm"]
    if GRADES.index(first_run) < GRADES.index(case.grade):
        wrong.append(f"the first run is only {first_run}, not {case.grade}")
    asynchronous = findings[0]["kind"] in ASYNCHRONOUS
    if asynchronous and "".join(reruns[-1:]) != case.rerun:
        wrong.append(f"reruns: {reruns}, not {case.rerun}")
    return wrong + _differences_of_finding(case, findings[0], marks, traceback)


def _differences_of_finding(case, finding, marks, traceback):
    wrong = []
    code = (finding.get("error") or {}).get("code")
    if finding["kind"] not in case.kinds:
        wrong.append(f"kind {finding['kind']}, not {' or '.join(case.kinds)}")
    if case.codes and code not in case.codes:
        wrong.append(f"code {code}, not {' or '.join(map(str, case.codes))}")
    if not case.any_line:
        wrong += _wrong_lines(case, finding, marks, traceback)
    kernel = (finding.get("launch") or {}).get("kernel") or ""
    if case.kernel not in kernel:
        wrong.append(f"kernel {kernel!r}, not {case.kernel}")
    replay = (finding.get("inputs") or {}).get("replay", "")
    if replay != case.replay:
        wrong.append(f"the replay {replay or 'was not made'}, not {case.replay}")
    latest = [each["name"] for each in (finding.get("watched") or [{"arguments": []}])[-1]["arguments"]]
    if not set(case.watched) <= set(latest):
        wrong.append(f"the watched line has {latest}, not {case.watched}")
    wanted = dict(case.argument)
    found = [{name: each.get(name) for name in wanted} for each in finding.get("arguments", [])]
    if wanted and wanted not in found:
        wrong.append(f"arguments {found}, none is {wanted}")
    return wrong + _differences_of_cause(case, finding)


def cause_of(finding):
    return (finding.get("cause") or {}).get("id") or ""


def outcome_of_cause(case, finding):
    """Returns "right" | "none" | "wrong"; empty if the case does not expect one."""
    if not case.cause:
        return ""
    found = cause_of(finding)
    if found in case.cause:
        return "right"
    return "wrong" if found else "none"


def _differences_of_cause(case, finding):
    outcome, wanted = outcome_of_cause(case, finding), " or ".join(each or "none" for each in case.cause)
    if outcome == "wrong" or (outcome == "none" and not case.unseen):
        return [f"the cause is {cause_of(finding) or 'not told'}, not {wanted}"]
    return []


def framework_summary(results):
    """Returns a one-line summary of the framework cases: how many lines and causes are right."""
    def count(**wanted):
        return sum(all(getattr(result, name) == value for name, value in wanted.items()) for result in results)
    silent = count(cause="right", cause_found="")
    return (f"framework cases: {len(results)}; line right first {count(line_first='right')}, "
            f"after reruns {count(line='right')}; cause right {count(cause='right')} ({silent} of them rightly not "
            f"told), none {count(cause='none')}, wrong {count(cause='wrong')}; unseen: {count(unseen=True)}, "
            f"cause right {count(unseen=True, cause='right')}")


def first_answers_summary(answers):
    """Returns a one-line summary of what first_answer() returned for asynchronous failures."""
    others = [operations for grade, operations in answers if grade not in ("bracketed", "proven")]
    within = sum(operations <= 16 for operations in others)
    return (f"first answers to asynchronous failures: {len(answers)}; bracketed {len(answers) - len(others)}; "
            f"one of 16 operations at most {within}, of {max(others, default=0)} at most {len(others) - within}")


def is_explained(finding):
    """Returns whether a finding relates an address to some memory, or has a more specific cause; None if its error is
    not an illegal address."""
    if (finding.get("error") or {}).get("code") != ILLEGAL_ADDRESS:
        return None
    access = finding.get("access") or {}
    relation = access.get("relation") or "unknown"
    is_related = relation in WITHOUT_ALLOCATION or (relation != "unknown" and access.get("allocation") is not None)
    return is_related or bool(cause_of(finding))


def explained_summary(explained):
    """Returns a one-line summary of what is_explained() returned for the findings."""
    return f"illegal addresses: {len(explained)}; with memory and relation, or a more specific cause: {sum(explained)}"


def explained_shortfalls(explained):
    if len(explained) < ENOUGH_TO_JUDGE or sum(explained) >= LEAST_EXPLAINED * len(explained):
        return []
    return [f"illegal addresses: explained in {sum(explained)} of {len(explained)}, less than {LEAST_EXPLAINED:.0%}"]


def first_answers_shortfalls(answers):
    bracketed = sum(grade in ("bracketed", "proven") for grade, _ in answers)
    if len(answers) < ENOUGH_TO_JUDGE or bracketed >= LEAST_BRACKETED * len(answers):
        return []
    return [f"first answers: bracketed in {bracketed} of {len(answers)}, less than {LEAST_BRACKETED:.0%}"]


def framework_shortfalls(results):
    """Returns, as sentences, which minimums the framework cases miss; nothing if there are too few cases to judge."""
    if len(results) < ENOUGH_TO_JUDGE:
        return []
    right = {name: sum(getattr(result, name) == "right" for result in results) for name in LEAST_RIGHT}
    return [f"framework cases: {name} right in {right[name]} of {len(results)}, less than {least:.0%}"
            for name, least in LEAST_RIGHT.items() if right[name] < least * len(results)]


def _wrong_lines(case, finding, marks, traceback):
    wrong = []
    leading = line_of(finding["location"])
    listed = [leading] + [line_of(c["location"]) for c in finding["candidates"]]
    expected = marks["TRUE LINE"]
    if not any(line in expected for line in (listed[:1] if case.first else listed)):
        wrong.append(f"names {name_of(leading)}, not {' or '.join(map(name_of, expected))}")
    for line in marks.get("CANDIDATE", []):
        if line not in listed:
            wrong.append(f"does not list {name_of(line)}")
    noticed = line_of(finding["reported_at"])
    later = (*ASYNCHRONOUS, "capture_violation")
    if finding["kind"] in later and "BLAMED" in marks:
        # The first call to return the error may be on a library's own thread, which has no Python stack.
        if traceback and noticed is not None and noticed != traceback:
            wrong.append(f"noticed at {name_of(noticed)}, the traceback says {name_of(traceback)}")
        if not traceback and not may_notice_at(noticed, marks):
            wrong.append(f"noticed at {name_of(noticed)}, not {' or '.join(map(name_of, marks['BLAMED']))}")
    for role in ROLES:
        related = [line_of(r) for r in finding["related"] if r["role"] == role]
        for line in marks.get(role.upper(), []):
            if line not in related:
                wrong.append(f"does not name the {role} {name_of(line)}")
    grades = [r.get("grade") for r in finding["related"] if r["role"] == "forward"]
    if "FORWARD" in marks and case.rerun and grades != ["proven"]:
        wrong.append(f"the forward line is {grades}, not proven")
    holders = [line_of(each["location"]) for each in (finding.get("memory_use") or {}).get("holders", [])]
    for line in marks.get("HOLDER", []):
        if line not in holders:
            wrong.append(f"does not list {name_of(line)} among the lines that hold memory")
    return wrong
