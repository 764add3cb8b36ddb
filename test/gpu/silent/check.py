#!/usr/bin/env python3
"""Programs that are wrong without an error, and correct ones that look like them: compares reports with labels.

labels.json gives the right answers for each program; README.md explains its fields. Without an option, the labels are
compared with the programs. --run BUILD runs every program under cudadiag, on a machine with GPUs, and prints a table.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from run import CANNOT_RUN_HERE, environment, gpu_missing, gpus_here  # noqa: E402

LIMIT_S = 180
PATIENCE_S = 3  # for --hang-report; in correct programs, the first kernel never takes as long
MARK = re.compile(r"(?://|#) ([A-Z]+(?:_[0-9])?)$")
ALWAYS = {"program", "kind", "source", "needs", "gpus"}
FIELDS = {
    "stream_race": {"item", "pairs", "accesses", "overlap", "remedy", "why"},
    "out_of_bounds": {"item", "launch", "device_line", "allocated", "access", "allocation_bytes", "past_bytes", "why"},
    "host_memory": {"item", "lines", "overlap", "variable", "remedy", "may_pass", "may_fail", "why"},
    "kernel_race": {"kernel", "launch", "pairs", "accesses", "between", "shared", "blocks", "threads", "remedy", "why"},
    "hang": {"stuck", "also", "waits", "seconds", "may_pass", "may_fail", "ranks", "device", "why"},
    "recycled": {"node", "access", "block", "remedy", "why"},
    None: {"against", "trap"},
}
ISSUED = ["COPY", "CAPTURE", "LAUNCH"]  # in host_memory, the line that issued what reads or writes the memory
# findings of these kinds are judged, too
ALSO = {"host_memory": ("stream_race", "graph_stale_pointer"), "kernel_race": ("stream_race",)}
RECYCLED = ["CAPTURE", "REPLAY", "ALLOC", "FREED", "OWNER"]
ROLES = {"capture": ["CAPTURE"], "replay": ["REPLAY"], "allocated": ["ALLOC", "OWNER"], "freed": ["FREED"], "taken": ["OWNER"]}
RIGHT, MISSED, LINES, EXTRA, FALSE_ALARM = "right", "missed", "other lines", "and more", "false alarm"
NO_DEVICE = "no device line"
BROKEN, SKIPPED = "no answer", "skipped"
GOOD = {RIGHT, SKIPPED}
SPINS = "SPINS"  # where the threads of a kernel are that does not end
DUMPED = "dumped"
SAMPLED, SAMPLED_TWIN = "sampled", "sampled twin"  # run only on request
SPIN_FACTOR = "4"  # in `dumped`, kernels give up later, because other programs and their dumps share the GPU
WAYS = ["racing", "recycled", "twin", "races", "hang", "memory", DUMPED]  # without --way
JOB = "ranks"  # the folder of programs that torchrun starts
NOT_A_PROGRAM = {"ranks/ranks.py"}


def marked(program):
    """Returns {mark: the numbers of its lines}."""
    lines = collections.defaultdict(set)
    for number, text in enumerate((HERE / program).read_text().splitlines(), 1):
        if found := MARK.search(text):
            lines[found[1]].add(number)
    return lines


def marks_of(label):
    """Returns the marks that a label mentions."""
    if label["kind"] == "stream_race":
        return {mark for pair in label["pairs"] for mark in pair}
    if label["kind"] == "out_of_bounds":
        return {label["launch"], label["device_line"], label["allocated"]} - {None}
    if label["kind"] == "host_memory":
        return set(label["lines"])
    if label["kind"] == "kernel_race":
        return {label["launch"], *(mark for pair in label["pairs"] for mark in pair)}
    if label["kind"] == "recycled":
        return set(RECYCLED)
    if label["kind"] == "hang":
        of_ranks = {each["line"] for each in label["ranks"]["ranks"]} if label["ranks"] else set()
        of_device = {SPINS} if label["device"] and "blocks" in label["device"] else set()
        return ({label["stuck"], label["waits"], *label["also"]} | of_ranks | of_device) - {None}
    return set()


def shortfalls(label):
    """Returns what is missing or impossible in a label or its program."""
    if difference := label.keys() ^ (ALWAYS | FIELDS[label["kind"]]):
        return [f"fields {sorted(difference)}"]
    file = HERE / label["program"]
    if not file.exists():
        return ["the program is missing"]
    text, lines, marks = file.read_text(), marked(label["program"]), marks_of(label)
    wrong = [f"{mark} is not marked" for mark in sorted(marks - lines.keys())]
    wrong += [f"{mark} is marked and not used" for mark in sorted(lines.keys() - marks)]
    urls = re.findall(r"https://[^ ,)]+", label["source"] or "")
    wrong += [f"the program does not name {url}" for url in urls if url not in text]
    if not urls and "No public report." not in text:
        wrong.append("neither a source nor the words that there is none")
    if label["kind"] == "hang" and not PATIENCE_S + 2 < label["seconds"] <= 10:
        wrong.append(f"{label['seconds']} s")
    if label["kind"] in ("stream_race", "out_of_bounds", "recycled", *ALSO) and "corrected" not in text:
        wrong.append("no corrected twin")
    if label["kind"] == "host_memory":
        if len(set(ISSUED) & marks) != 1 or ("CAPTURE" in marks) != ("REPLAY" in marks):
            wrong.append("neither a copy nor a launch nor a capture with its replay")
        if label["item"] == 2 and label["variable"] is None or label["item"] != 2 and "HOST" not in marks:
            wrong.append(f"item {label['item']} needs {'a variable' if label['item'] == 2 else 'HOST'}")
    return wrong


def without_label(labels):
    programs = {str(file.relative_to(HERE)) for ending in ("cu", "py") for file in HERE.glob(f"*/*.{ending}")}
    return sorted(programs - NOT_A_PROGRAM - {label["program"] for label in labels})


def list_programs(labels):
    for label in labels:
        marks = (f"{mark} {' '.join(map(str, sorted(numbers)))}" for mark, numbers in marked(label["program"]).items())
        print(f"{label['program']:36} {label['kind'] or 'correct':14} {', '.join(marks)}")


def command(label, build, twin):
    file = HERE / label["program"]
    arguments = ["corrected"] if twin else []
    if file.parent.name == JOB:
        return ["torchrun", "--standalone", "--nproc-per-node", str(label["gpus"]), file, *arguments]
    if file.suffix == ".py":
        return [sys.executable, file, *arguments]
    return [build / "gpu/silent" / file.parent.name / file.stem, *arguments]


def report_of(build, options, words, folder):
    """Returns the exit status, the report, and the output."""
    report = Path(folder, "report.json")
    ours = [build / "bin/cudadiag", *options, "--json", report, "-o", Path(folder, "sessions"), "--", *words]
    variables = environment(folder) | ({"SPIN_FACTOR": SPIN_FACTOR} if "--once" in options else {})
    done = subprocess.run([str(word) for word in ours], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env=variables, timeout=LIMIT_S)
    Path(folder, "output").write_text(done.stdout + done.stderr)
    return done.returncode, json.loads(report.read_text()) if report.exists() else None, done.stdout + done.stderr


def line_of(location):
    """Returns (file name, line). If the location has no line, the line is that of its caller in the user's code."""
    if location and not location.get("line"):
        location = location.get("called_from")
    return (Path(location["file"] or "").name, location["line"]) if location else (None, None)


def at_mark(label, location, *marks):
    name, line = line_of(location)
    return name == Path(label["program"]).name and any(line in marked(label["program"])[mark] for mark in marks if mark)


def judge_race(label, findings):
    """Returns the judgement on a race. A line on the host may be missing, but if it is given, it must be right."""
    def agrees(finding):
        ends = [access.get("location") for access in finding["accesses"]]
        for first, second in label["pairs"]:
            for one, other in (ends, ends[::-1]) if len(ends) == 2 else ():
                known = line_of(other)[1] is not None
                if at_mark(label, one, first) and (at_mark(label, other, second) or second == "HOST" and not known):
                    return True
        return label["pairs"] == [["FIRST", "HOST"]] and len(ends) == 1 and at_mark(label, ends[0], "FIRST")
    return judged(findings, agrees)


def judge_past(label, findings):
    return judged(findings, lambda finding: at_mark(label, finding["location"], label["launch"]))


def judge_lines(label, findings):
    """Returns the judgement on host memory or a race in a kernel. The finding has the operation's line, or both device
    lines, and all lines that it has are the label's."""
    needed = label["pairs"] if label["kind"] == "kernel_race" else [[mark] for mark in ISSUED]

    def agrees(finding):
        places = [finding["location"], finding.get("device"), *(each.get("location") for each in finding["accesses"])]
        known = [place for place in places if line_of(place)[1] is not None]
        found = any(all(any(at_mark(label, place, mark) for place in known) for mark in pair) for pair in needed)
        return found and all(at_mark(label, place, *marks_of(label)) for place in known)
    return judged(findings, agrees)


def judge_recycled(label, findings):
    """Returns the judgement on a block with a new owner. The finding has the line of the capture, and all lines that it
    has are the label's marks for their roles."""
    def agrees(finding):
        places = [(finding["location"], ["CAPTURE", "REPLAY"])]
        places += [(each, ROLES.get(each["role"], RECYCLED)) for each in finding.get("related", ())]
        places += [(each.get("location"), RECYCLED) for each in finding["accesses"]]
        block = (finding.get("access") or {}).get("allocation") or {}
        places += [(block.get(role), ROLES[role]) for role in ("allocated", "freed")]
        known = [(place, marks) for place, marks in places if line_of(place)[1] is not None]
        found = any(at_mark(label, place, "CAPTURE") for place, _ in known)
        return found and all(at_mark(label, place, *marks) for place, marks in known)
    return judged(findings, agrees)


def compared_ranks(report):
    """Returns the ranks of a job, from NCCL's groups if the report has them, else from their kernels. In a circle, each
    rank has reached a different call."""
    groups = report.get("groups")
    if groups and groups["circle"]:
        return [{**wait, "has_come": True} for wait in groups["circle"]]
    return (groups or report.get("ranks") or {"ranks": []})["ranks"]


def judge_hang(label, findings, ranks):
    marks = [label["stuck"], *label["also"]]
    said = judged(findings, lambda finding: at_mark(label, finding["location"], *marks))
    if said != RIGHT or not label["ranks"]:
        return said
    if not ranks:
        return f"{RIGHT}, no ranks"
    expected = {each["rank"]: each for each in label["ranks"]["ranks"]}
    for rank in ranks:
        each = expected.get(rank["rank"], {"came": None, "line": None})
        elsewhere = each["line"] and not at_mark(label, rank["location"], each["line"])
        if elsewhere or each["came"] not in (None, rank["has_come"]):
            return f"rank {rank['rank']} at {line_of(rank['location'])[1]}"
    return RIGHT


def judge_dumped(label, findings):
    """Judges the device line, block and thread in the run that hung or, if no kernel runs, what it waits for instead."""
    device = label["device"]
    said = judged(findings, lambda finding: at_mark(label, finding["location"], label["stuck"], *label["also"]))
    if said != RIGHT:
        return said
    if "cause" in device:
        causes = {(finding["cause"] or {}).get("id") for finding in findings}
        return RIGHT if causes == {device["cause"]} else f"causes {causes}"
    for finding in findings:
        found = finding["device"]
        if not found or not found["line"]:
            return NO_DEVICE
        programs = [label["program"], "bounded.cuh"]
        if not any(found["line"] in marked(each)[SPINS] for each in programs if Path(each).name == Path(found["file"]).name):
            return f"device line {Path(found['file']).name}:{found['line']}"
        for what in ("block", "thread"):
            if device[what + "s"] is not None and found[what] not in device[what + "s"]:
                return f"{what} {found[what]}"
    return RIGHT


def judged(findings, agrees):
    if not findings:
        return MISSED
    right = [agrees(finding) for finding in findings]
    return RIGHT if all(right) else EXTRA if any(right) else LINES


def said_of(finding):
    """Returns kind, lines and grade, for the table."""
    places = finding["accesses"] or [{"location": finding["location"]}]
    lines = " / ".join(":".join(map(str, line_of(place.get("location")))) for place in places)
    device = finding.get("device") or {}
    place = f" on the GPU {Path(device['file'] or '').name}:{device['line']} {device['block']} {device['thread']}" if device else ""
    return f"{finding['kind']} {lines} ({finding['evidence']['grade']}){place}"


def judge(label, report, way):
    findings, twin = report["findings"], way in ("twin", SAMPLED_TWIN)
    if twin or label["kind"] is None:
        return FALSE_ALARM if findings else RIGHT
    if label["kind"] == "recycled":  # whatever the finding's kind
        return judge_recycled(label, findings)
    ours = [finding for finding in findings if finding["kind"] in (label["kind"], *ALSO.get(label["kind"], ()))]
    if label["kind"] == "stream_race":
        said = judge_race(label, ours)
    elif label["kind"] == "out_of_bounds":
        said = judge_past(label, ours)
    elif label["kind"] in ALSO:
        if label.get("may_fail") and not ours:
            return judged(findings, lambda finding: at_mark(label, finding["location"], *marks_of(label)))
        said = judge_lines(label, ours)
    else:
        if label["may_fail"] and not ours:
            ours = [finding for finding in findings if finding["kind"] == "async_error"]
            return judged(ours, lambda finding: at_mark(label, finding["location"], label["stuck"]))
        said = judge_dumped(label, ours) if way == DUMPED else judge_hang(label, ours, compared_ranks(report))
    return EXTRA if said == RIGHT and len(ours) < len(findings) else said


def ways(label):
    """Returns (name, cudadiag's options, whether it is the twin) of each run."""
    races, hangs = ["races"], ["run", "--hang-report", str(PATIENCE_S), "--rerun=never"]
    hangs += ["--nccl"] if label["program"].startswith(JOB + "/") else []
    if label["kind"] == "hang":
        dumped = ["run", "--once", "--hang-after", str(PATIENCE_S), "--on-hang=end"]
        return [("hang", hangs, False), *([(DUMPED, dumped, False)] if label["device"] else [])]
    recycled, sampled = ["run", "--graph-memory", "--rerun=never"], ["run", "--check-copies", "1", "--rerun=never"]
    if label["kind"] == "recycled":
        return [("recycled", recycled, False), ("twin", recycled, True)]
    if label["kind"]:
        of_host = label["kind"] == "host_memory" or any("HOST" in pair for pair in label.get("pairs", ()))
        also = [(SAMPLED, sampled, False), (SAMPLED_TWIN, sampled, True)] if of_host else []
        return [("racing", races, False), ("twin", races, True), *also]
    if label["against"] == [SAMPLED]:
        return [(SAMPLED, sampled, False)]
    has_graphs = "recycled" in label["against"]
    memory = [("memory", recycled, False)] if has_graphs else []
    return [("races", races, False), ("hang", hangs, False), (SAMPLED, sampled, False), *memory]


def run_one(label, options, gpus):
    """Returns {way: (judgement, what the report said)}."""
    lacking = [module for module in label["needs"] if importlib.util.find_spec(module) is None]
    if lacking or label["gpus"] > gpus:
        return {"all": (SKIPPED, f"needs {lacking[0] if lacking else label['gpus']}")}
    results = {}
    for name, ours, twin in ways(label):
        if name not in (options.way or WAYS) and name.split()[0] not in (options.way or ()):
            continue
        words = command(label, options.run, twin)
        if Path(words[0]).is_absolute() and not Path(words[0]).exists():
            return {"all": (BROKEN, "not built: cmake --build BUILD --target silent_programs")}
        folder = tempfile.mkdtemp()
        results[name] = judge_way(label, (options.run, ours, words, folder), name)
        if options.keep and results[name][0] not in GOOD:
            kept = options.keep / name / label["program"]
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, symlinks=True)
        shutil.rmtree(folder, ignore_errors=True)
    return results


def judge_way(label, arguments, way):
    """Returns (judgement, what the report said) for one run."""
    try:
        status, report, text = report_of(*arguments)
    except (subprocess.TimeoutExpired, ValueError) as e:
        return BROKEN, str(e)[:200]
    if status == CANNOT_RUN_HERE:
        return SKIPPED, "cannot run here"
    if report is None:
        return BROKEN, text[-300:]
    said = judge(label, report, way)
    if said == MISSED and label.get("may_pass"):
        return SKIPPED, label["may_pass"]
    return said, "; ".join(map(said_of, report["findings"]))


def run_all(labels, options):
    if reason := gpu_missing():
        print(f"no GPU ({reason}): nothing was run")
        return CANNOT_RUN_HERE
    gpus, counts, kernels, rows, wrong = gpus_here(), collections.Counter(), collections.Counter(), [], False
    host_lines = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for label, results in zip(labels, pool.map(lambda label: run_one(label, options, gpus), labels)):
            rows.append({"program": label["program"], "kind": label["kind"], "results": results})
            for way, (said, text) in results.items():
                counts[label["kind"] if not way.endswith("twin") else "twin of " + label["kind"], said] += 1
                wrong |= said not in GOOD and (said, way) != (MISSED, SAMPLED)
                if way == DUMPED and "blocks" in label["device"]:
                    kernels[said == RIGHT] += 1
                name = Path(label["program"]).name
                host_lines += way == "racing" and any(f" / {name}:{line} " in text for line in marked(label["program"])["HOST"])
                print(f"{label['program']:36} {way:7} {said:12} {text}".rstrip(), flush=True)
    print()
    for kind in sorted({kind or "" for kind, _ in counts}):
        of_kind = {said: count for (each, said), count in counts.items() if (each or "") == kind}
        print(f"{kind or 'correct':24} " + ", ".join(f"{count} {said}" for said, count in sorted(of_kind.items())))
    if kernels:
        print(f"kernels that do not end: {kernels[True]} of {kernels.total()} with device line, block and thread")
    if host_lines:
        print(f"findings with the host's line: {host_lines}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print every program with its marked lines")
    parser.add_argument("--run", type=lambda text: Path(text).resolve(), metavar="BUILD", help="run the programs under BUILD/bin/cudadiag; needs a GPU")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results of --run to this file")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only programs whose path contains this text")
    parser.add_argument("--way", action="append", choices=[*WAYS, SAMPLED], help="only these runs")
    parser.add_argument("--jobs", type=int, default=1, help="run this many programs at a time")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the sessions of wrong answers here")
    options = parser.parse_args()
    labels = json.loads((HERE / "labels.json").read_text())
    wrong = [f"{file}: it has no label" for file in without_label(labels)]
    labels = [each for each in labels if not options.only or any(text in each["program"] for text in options.only)]
    wrong += [f"{label['program']}: {each}" for label in labels for each in shortfalls(label)]
    print("\n".join(wrong) or f"{len(labels)} labels agree with their programs")
    if options.list:
        list_programs(labels)
    if wrong:
        return 1
    return run_all(labels, options) if options.run else 0


if __name__ == "__main__":
    sys.exit(main())
