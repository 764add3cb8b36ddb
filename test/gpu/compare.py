"""Compares a report ("cudadiag.report/1") with what a case expects. Every difference is one sentence."""

import re
from collections import namedtuple
from pathlib import Path

GRADES = ["suspected", "inferred", "bracketed", "proven"]
MARK = re.compile(r"(?://|#) (TRUE LINE|BLAMED|CANDIDATE|CALLER)(?: (\w+))?$")

Line = namedtuple("Line", "file number")


def marked_lines(case, folder):
    """Mark -> lines of the case's sources that carry it."""
    marks = {}
    for source in case.sources:
        for number, text in enumerate((Path(folder) / source).read_text().splitlines(), 1):
            found = MARK.search(text)
            if found and found[2] in (None, case.mark):
                marks.setdefault(found[1], []).append(Line(Path(source).name, number))
    return marks


def line_of(location):
    """The tree may have been built elsewhere, so files are compared by name."""
    if not location or not location.get("file"):
        return None
    return Line(Path(location["file"]).name, location["line"])


def name_of(line):
    return f"{line.file}:{line.number}" if line else "nowhere"


def differences(case, report, marks):
    """Sentences; an empty list when the report is what the case expects."""
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
    return wrong + _differences_of_finding(case, findings[0], marks)


def _differences_of_finding(case, finding, marks):
    wrong = []
    code = (finding.get("error") or {}).get("code")
    if finding["kind"] not in case.kinds:
        wrong.append(f"kind {finding['kind']}, not {' or '.join(case.kinds)}")
    if case.codes and code not in case.codes:
        wrong.append(f"code {code}, not {' or '.join(map(str, case.codes))}")
    grade = finding["evidence"]["grade"]
    if GRADES.index(grade) < GRADES.index(case.grade):
        wrong.append(f"only {grade}, not {case.grade}")
    if not case.any_line:
        wrong += _wrong_lines(case, finding, marks)
    kernel = (finding.get("launch") or {}).get("kernel") or ""
    if case.kernel not in kernel:
        wrong.append(f"kernel {kernel!r}, not {case.kernel}")
    return wrong


def _wrong_lines(case, finding, marks):
    wrong = []
    leading = line_of(finding["location"])
    listed = [leading] + [line_of(c["location"]) for c in finding["candidates"]]
    expected = marks["TRUE LINE"]
    if not any(line in expected for line in (listed[:1] if case.first else listed)):
        wrong.append(f"names {name_of(leading)}, not {' or '.join(map(name_of, expected))}")
    for line in marks.get("CANDIDATE", []):
        if line not in listed:
            wrong.append(f"does not list {name_of(line)}")
    blamed = marks.get("BLAMED", [])
    noticed = line_of(finding["reported_at"])
    if finding["kind"] in ("async_error", "graph_node") and blamed and noticed not in blamed:
        wrong.append(f"noticed at {name_of(noticed)}, not {' or '.join(map(name_of, blamed))}")
    callers = [line_of(r) for r in finding["related"] if r["role"] == "caller"]
    for line in marks.get("CALLER", []):
        if line not in callers:
            wrong.append(f"does not name the caller {name_of(line)}")
    return wrong
