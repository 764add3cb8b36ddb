#!/usr/bin/env python3
"""Failing programs and their right answers: builds them, runs them under cudadiag, and compares.

labels.json in the folder of the programs gives the right answers for each program; README.md explains its fields.
Without an option, only the labels are checked. A field that a report does not have counts as "not known". A program
that exits with 77 could not run here.
"""

import argparse
import collections
import concurrent.futures
import contextlib
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

BUILD = HERE.parents[2] / "build"
LIMIT_S = 180
MARKS = re.compile(r"(?://|#) ((?:LAUNCH|ACCESS|ALLOC|FREED|REFUSED)(?:, (?:LAUNCH|ACCESS))*)$")
LINES = ("line", "device_line", "allocated", "freed", "refused")
FIELDS = {"id", "source", "files", "run", "build", "needs", "gpus", "error", "may_pass", *LINES, "parameter",
          "parameter_name", "mode", "bytes", "space", "relation", "distance_bytes", "allocation", "not_known_ok",
          "first_run", "trap"}
FIELDS_OF_CAUSE = {"cause", "must_contain", "must_not"}
RELATIONS = {"past_end", "before", "inside", "freed", "null", "never_allocated", "other_device", "host", "misaligned",
             "unknown"}
KINDS = {"driver", "stream_ordered", "pool", "torch", "cupy"}
FROM_MEMORY = "memory"  # the address comes from memory: no parameter may be named
RIGHT, UNKNOWN, WRONG, NOT_JUDGED = "right", "not known", "wrong", "-"
OTHER_WORDS = "other words"  # a cause that a person must read
PASSES = {"first": "--rerun=never", "dump": "--rerun=always"}


def one_of(label):
    return label if isinstance(label, list) else [label]


def labels_of(folder):
    """Returns the labels of a folder of programs, with absolute paths."""
    labels = json.loads((folder / "labels.json").read_text())
    for label in labels:
        label["files"] = [folder / file for file in label["files"]]
        label["run"] = [str(folder / word) if word.startswith("python/") else word for word in label["run"]]
    return labels


def marked(label):
    """Returns {mark: [(file name, line)]}, from the program's own files."""
    lines = {}
    for file in label["files"]:
        for number, text in enumerate(file.read_text().splitlines(), 1):
            found = MARKS.search(text)
            for mark in found[1].split(", ") if found else []:
                lines.setdefault(mark, []).append((file.name, number))
    return lines


def shortfalls(label):
    """Returns what is missing or impossible in a label."""
    if label.keys() not in (FIELDS, FIELDS | FIELDS_OF_CAUSE):
        return [f"fields {sorted(label.keys() ^ FIELDS)}"]
    wrong = shortfalls_of_cause(label) if "cause" in label else []
    lines = marked(label)
    wrong += [f"{label[each]} is not marked" for each in LINES if label[each] and label[each] not in lines]
    if unused := lines.keys() - {label[each] for each in LINES} - {"ACCESS"}:  # a build may have no device lines
        wrong.append(f"{sorted(unused)} are marked and not used")
    if label["error"] != [0] and not label["line"]:
        wrong.append("no line")
    no_access = label["mode"] is None and label["relation"] is None  # a refused call, or a failed check
    if label["error"] != [0] and not no_access and not set(one_of(label["relation"])) <= RELATIONS:
        wrong.append(f"relation {label['relation']}")
    if label["allocation"] and label["allocation"]["kind"] not in KINDS:
        wrong.append(f"kind {label['allocation']['kind']}")
    if label["relation"] in ("past_end", "before", "freed") and not label["allocation"] and label["space"] == "global":
        wrong.append("no allocation")
    parameter = label["parameter"]
    if isinstance(parameter, dict) != (parameter not in (None, FROM_MEMORY)):
        wrong.append(f"parameter {parameter}")
    if isinstance(label["distance_bytes"], list) and not label["distance_bytes"][0] <= label["distance_bytes"][1]:
        wrong.append("an empty range of distances")
    return wrong


def shortfalls_of_cause(label):
    """The cause of the label itself must pass the judgement."""
    if not label["cause"]:
        return [] if is_correct(label) and not label["must_contain"] else ["no cause"]
    answer = judged_words(label["cause"], label["cause"], label)
    return [] if label["must_contain"] and answer == RIGHT else [f"its own cause is judged: {answer}"]


def is_correct(label):
    """Returns whether nothing may be reported about a program. Others may be wrong without a CUDA error."""
    return label["error"] == [0] and not label.get("cause")


def list_programs(labels):
    for label in labels:
        lines = (f"{mark} {' '.join(str(number) for _, number in found)}" for mark, found in marked(label).items())
        error, relation = ("/".join(map(str, one_of(label[each]))) for each in ("error", "relation"))
        print(f"{label['id']:28} {error:16} {relation:28} {', '.join(lines)}")


def build(label, folder):
    """Compiles one program unless it is newer than its sources. Returns the compiler's output if it fails."""
    target = folder / next(word[1:] for word in label["run"] if word.startswith("@"))
    sources = [file for file in (*label["files"], HERE / "cuda/needs.cuh") if file.suffix != ".py"]
    if target.exists() and target.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return ""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    done = subprocess.run(["nice", nvcc, *label["build"], "-o", target, sources[0]], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode else ""


def build_all(labels, folder, jobs):
    folder.mkdir(parents=True, exist_ok=True)
    native = [label for label in labels if label["build"]]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        words = list(pool.map(lambda label: build(label, folder), native))
    print("".join(f"{label['id']} does not compile:\n{text}" for label, text in zip(native, words) if text), end="")
    print(f"{len(native) - sum(map(bool, words))} of {len(native)} programs are in {folder}")
    return not any(words)


def command(label, folder):
    """Replaces a leading `@` by the folder of built programs."""
    built = (str(folder / word[1:]) if word.startswith("@") else word for word in label["run"])
    return [sys.executable if word == "python3" else word for word in built]


def execute(words, env):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env=env, timeout=LIMIT_S)
    return done.returncode, done.stdout + done.stderr


def judged(found, expected):
    if expected is None or found is None:
        return NOT_JUDGED if expected is None else UNKNOWN
    if found == "unknown" and found not in one_of(expected):
        return UNKNOWN
    return RIGHT if found in one_of(expected) else WRONG


def judged_line(location, mark, lines):
    if not mark or not location or not location.get("line"):
        return UNKNOWN if mark else NOT_JUDGED
    return RIGHT if (Path(location.get("file") or "").name, location["line"]) in lines[mark] else WRONG


def judged_parameter(found, expected):
    """The report counts parameters from 1."""
    if expected == FROM_MEMORY:
        return NOT_JUDGED if found is None else WRONG
    return judged(found, expected and expected["index"] + 1)


def judged_distance(found, expected):
    if expected is None or found is None:
        return NOT_JUDGED if expected is None else UNKNOWN
    low, high = expected if isinstance(expected, list) else (expected, expected)
    return RIGHT if low <= abs(found) <= high else WRONG


def judged_words(claims, words, label):
    """Judges the text of a cause. Claims are the part that may not name a wrong cause; words also have hints."""
    if not words.strip():
        return UNKNOWN
    if any(re.search(pattern, claims.lower()) for pattern in label["must_not"]):
        return WRONG
    return RIGHT if all(re.search(pattern, words.lower()) for pattern in label["must_contain"]) else OTHER_WORDS


def judged_cause(finding, label):
    cause, access = finding.get("cause") or {}, finding.get("access") or {}
    claims = [cause.get("text") or "", (finding.get("memory") or {}).get("text") or ""]
    relation = (access.get("relation") or "").replace("_", " ").replace("unknown", "")
    facts = [f"{name} {value}" for name, value in (cause.get("facts") or {}).items()]
    return judged_words(" ".join(claims), " ".join([*claims, relation, *facts, *(finding.get("fix") or [])]), label)


def related(finding, role):
    return next((each for each in finding.get("related") or [] if each.get("role") == role), None)


def compare(label, finding):
    """Returns {field: "right", "not known", "wrong" or "not judged"} for the leading finding of a report."""
    lines = marked(label)
    access = finding.get("access") or {}
    allocation = access.get("allocation") or {}
    cause = {"cause": judged_cause(finding, label)} if label.get("cause") else {}
    return {
        **cause,
        "error": judged((finding.get("error") or {}).get("code"), label["error"]),
        "line": judged_line(finding.get("location"), label["line"], lines),
        "device_line": judged_line(finding.get("device"), label["device_line"], lines),
        "mode": judged(access.get("kind"), label["mode"]),
        "bytes": judged(access.get("bytes"), label["bytes"]),
        "space": judged(access.get("space"), label["space"]),
        "parameter": judged_parameter(access.get("parameter"), label["parameter"]),
        "parameter_name": judged(access.get("parameter_name"), label["parameter_name"]),
        "relation": judged(access.get("relation"), label["relation"]),
        "distance": judged_distance(access.get("distance"), label["distance_bytes"]),
        "allocation": judged(allocation.get("bytes"), label["allocation"] and label["allocation"]["bytes"]),
        "allocated": judged_line(related(finding, "allocated"), label["allocated"], lines),
        "freed": judged_line(related(finding, "freed"), label["freed"], lines),
    }


def report_of(cudadiag, words, rerun, kept):
    """Keeps the report and the session in the folder `kept`, unless it is None."""
    with tempfile.TemporaryDirectory() if kept is None else contextlib.nullcontext(kept) as folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        json_file = Path(folder) / "report.json"
        status, text = execute([cudadiag, "run", rerun, "--json", json_file, "-o", f"{folder}/session", "--", *words],
                               environment(folder))
        return status, text, json.loads(json_file.read_text()) if json_file.exists() else {}


def run(cudadiag, label, folder, sanitizer, keep):
    words = command(label, folder)
    result = {"id": label["id"], "passes": {}}
    for name, rerun in PASSES.items():
        status, text, report = report_of(cudadiag, words, rerun, keep and keep / label["id"] / name)
        finding = next(iter(report.get("findings") or []), None)
        if status == CANNOT_RUN_HERE or label["may_pass"] and not finding:
            return {**result, "skipped": label["may_pass"] or text[-300:]}
        if is_correct(label):
            result["passes"][name] = {"fields": {"error": WRONG if finding else RIGHT}}
        else:
            fields = compare(label, finding) if finding else {"error": UNKNOWN}
            result["passes"][name] = {"status": status, "fields": fields, "access": (finding or {}).get("access"),
                                      "cause": (finding or {}).get("cause")}
    if sanitizer:
        memcheck = ["compute-sanitizer", "--tool", "memcheck", "--print-limit", "1"]
        result["sanitizer"] = sanitizers_words(execute([*memcheck, *words], environment(folder))[1])
    return result


def sanitizers_words(text):
    patterns = {"kind": r"Invalid (.*?) of size", "bytes": r"of size (\d+) bytes?$",
                "address": r"(?:Address|Access at) (0x\w+)", "state": r"(?:Address|Access at) 0x\w+ (is .*)$",
                "allocation": r"and is (.*nearest allocation.*)$"}
    found = {name: re.search(pattern, text, re.MULTILINE) for name, pattern in patterns.items()}
    return {name: match and match[1] for name, match in found.items()}


def missing(label, gpus):
    if label["gpus"] > gpus:
        return f"needs {label['gpus']} GPUs"
    lacking = [module for module in label["needs"] if importlib.util.find_spec(module.split(".")[0]) is None]
    return f"no Python module {lacking[0]}" if lacking else ""


def run_one(cudadiag, label, folder, gpus, sanitizer, keep):
    if reason := missing(label, gpus):
        return {"id": label["id"], "skipped": reason}
    try:
        return run(cudadiag, label, folder, sanitizer, keep)
    except (subprocess.TimeoutExpired, OSError, ValueError) as e:
        return {"id": label["id"], "failed": str(e)}


def wrong_fields(fields):
    return [name for name, answer in fields.items() if answer == WRONG]


def summary(fields):
    """Returns a cell of the table: the counts, and the names of the fields that are wrong."""
    right, unknown = (sum(answer == each for answer in fields.values()) for each in (RIGHT, UNKNOWN))
    others = ", cause in other words" if OTHER_WORDS in fields.values() else ""
    return f"{right:2} right, {unknown:2} not known, wrong: {', '.join(wrong_fields(fields)) or 'none':20}{others}"


def totals(results, labels):
    by_id, ran = {label["id"]: label for label in labels}, [result for result in results if result.get("passes")]
    both = {name: [(by_id[result["id"]], result["passes"][name]["fields"]) for result in ran] for name in PASSES}
    named = [(label, fields) for label, fields in both["first"] if label["first_run"]]
    explained = [(label, fields) for label, fields in both["dump"] if label["error"] != [0] and label["relation"]]
    causes = collections.Counter(fields["cause"] for _, fields in both["dump"] if "cause" in fields)
    print(f"\nprograms: {len(labels)}; run: {len(ran)}; skipped: {sum('skipped' in r for r in results)}; "
          f"without an answer: {sum('failed' in r for r in results)}")
    print(f"first run: parameter and memory named in {count(named, 'parameter', 'relation')} of {len(named)}; "
          f"wrong: {sum(bool(wrong_fields(fields)) for _, fields in both['first'])}")
    print(f"with dump: allocation and relation right in {count(explained, 'allocation', 'relation')} of "
          f"{len(explained)}; \"not known\" where it is not enough: "
          f"{sum(not label['not_known_ok'] and fields.get('relation') == UNKNOWN for label, fields in explained)}; "
          f"wrong: {sum(bool(wrong_fields(fields)) for _, fields in both['dump'])}")
    if causes:
        print("causes:", ", ".join(f"{answer}: {number}" for answer, number in causes.most_common()))


def count(pairs, *names):
    """Returns the number of answers in which these fields are right or not judged, and the relation is right."""
    return sum(fields.get("relation") == RIGHT and all(fields[name] in (RIGHT, NOT_JUDGED) for name in names)
               for _, fields in pairs)


def run_all(labels, options):
    if reason := gpu_missing():
        print(f"{reason}: nothing was run")
        return CANNOT_RUN_HERE
    gpus = gpus_here()
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_one, options.run, label, options.build, gpus, options.sanitizer, options.keep)
                   for label in labels]
        for each in concurrent.futures.as_completed(running):
            results.append(result := each.result())
            cells = (summary(each["fields"]) for each in result.get("passes", {}).values())
            print(f"{result['id']:28} {' | '.join(cells) or result.get('skipped') or result.get('failed')}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
    totals(results, labels)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=HERE, help="the programs and their labels (addresses)")
    parser.add_argument("--list", action="store_true", help="print every program with its marked lines")
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="compile into FOLDER; --run does too (build/NAME)")
    parser.add_argument("--run", type=Path, metavar="CUDADIAG", help="run each program without and with reruns")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results of --run to this file")
    parser.add_argument("--only", action="append", metavar="ID", help="only this program; may be repeated")
    parser.add_argument("--sanitizer", action="store_true", help="with --run: keep compute-sanitizer's output too")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="with --run: keep each report and session here")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    labels = [each for each in labels_of(options.folder) if not options.only or each["id"] in options.only]
    wrong = [f"{label['id']}: {each}" for label in labels for each in shortfalls(label)]
    print("\n".join(wrong) or f"{len(labels)} labels are complete")
    if options.list:
        list_programs(labels)
    if wrong:
        return 1
    options.build = options.build or (BUILD / options.folder.name if options.run else None)
    if options.build and not build_all(labels, options.build, options.jobs):
        return 1
    return run_all(labels, options) if options.run else 0


if __name__ == "__main__":
    sys.exit(main())
