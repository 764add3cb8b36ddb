#!/usr/bin/env python3
"""Runs real failing and correct CUDA programs, plain and under cudadiag, and compares with cases.py.

Needs only a machine with an NVIDIA GPU and the built tree. Without a GPU, it says so and counts nothing.
"""

import argparse
import concurrent.futures
import ctypes
import dataclasses
import fnmatch
import glob
import importlib.util
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases import CASES
from compare import (ASYNCHRONOUS, cause_of, differences, explained_shortfalls, explained_summary, first_answer,
                     first_answers_shortfalls, first_answers_summary, framework_shortfalls, framework_summary,
                     is_explained, line_of, line_of_headline, line_of_traceback,
                     marked_lines, name_of, outcome_of_cause)

HERE = Path(__file__).resolve().parent
LIMIT_S = 240
REPORT_LINES = 22
MORE_PLAIN_RUNS = 3  # if the outcome depends on the hardware, to find one that ends like the watched run
CANNOT_RUN_HERE = 77  # exit status of a script that lacks a requirement
NOT_STARTED = 127


@dataclasses.dataclass
class Ended:
    status: int  # negative if a signal ended it
    out: str
    err: str
    seconds: float


@dataclasses.dataclass
class Result:
    case: str
    outcome: str  # "pass" | "fail" | "skip"
    why: list
    expected: str = ""
    found: str = ""
    grade: str = ""
    seconds: float = 0.0
    framework: bool = False
    unseen: bool = False
    found_first: str = ""  # the line of the report before the reruns
    line_first: str = ""  # "right" | "wrong"
    line: str = ""  # line of the leading finding after the reruns: "right" | "wrong"
    cause: str = ""  # "right" | "none" | "wrong"
    cause_found: str = ""
    first_answer: tuple = ()  # for an asynchronous failure: the grade, and the number of candidates
    times: float = 0.0  # for an asynchronous failure: seconds until the last answer, as a multiple of the plain run's
    is_explained: bool | None = None  # only for an illegal address
    report: str = ""  # for a case that failed: the report as a user reads it


def gpu_missing():
    """Returns the reason why CUDA does not work here, or None."""
    if not glob.glob("/dev/nvidia[0-9]*"):
        return "no /dev/nvidia*"
    try:
        code = ctypes.CDLL("libcuda.so.1").cuInit(0)
    except OSError as e:
        return str(e)
    return f"cuInit gives {code}" if code else None


def gpus_here():
    """Returns how many GPUs there are, if CUDA works."""
    count = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count))
    return count.value


def environment(state):
    """Returns the user's environment, without anything that would change a run or leave traces in the home folder.
    Keeps $CUDADIAG_CUPTI, which selects the CUPTI library."""
    ours = ("CUDADIAG_", "CUDA_LAUNCH_BLOCKING", "CUDA_INJECTION64_PATH", "CUDA_ENABLE_", "CUDA_COREDUMP_", "NVTX_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours) or k == "CUDADIAG_CUPTI"}
    return {**kept, "XDG_STATE_HOME": str(state), "PYTHONDONTWRITEBYTECODE": "1"}


def execute(command, env):
    """Runs a command in a separate process group, and kills the whole group after at most LIMIT_S."""
    start = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                          text=True, errors="replace", start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise TimeoutError(f"no end after {LIMIT_S} s: {' '.join(map(str, command))}") from None
    return Ended(process.returncode, out, err, time.monotonic() - start)


class Suite:
    def __init__(self, build, scratch):
        self.cudadiag = build / "bin" / "cudadiag"
        self.targets = build / "gpu"
        self.scratch = scratch
        self.gpus = gpus_here()
        self.turns = itertools.count()

    def visible_gpus(self):
        """Makes another GPU the first one for each case, so that cases run on all GPUs at a time."""
        if self.gpus < 2:
            return {}
        ids = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(self.gpus)))).split(",")
        first = next(self.turns) % len(ids)
        return {"CUDA_VISIBLE_DEVICES": ",".join(ids[first:] + ids[:first])}

    def command(self, case):
        first, *rest = case.command
        if first.endswith(".py"):
            start = [sys.executable, str(HERE / "python" / first)]
        else:
            start = [str(self.targets / first)]
        return start + [self.file(word, case) for word in rest]

    def file(self, word, case):
        if not word.startswith("@"):
            return word
        built = self.targets / word[1:]
        return str(built if built.exists() or "." in word else self.scratch / (case.name + "." + word[1:]))

    def missing(self, case, command):
        if case.gpus > self.gpus:
            return f"needs {case.gpus} GPUs, {self.gpus} here"
        for module in case.needs:
            if importlib.util.find_spec(module) is None:
                return f"no Python module {module}"
        for word in command:
            if word.startswith(str(self.targets)) and not Path(word).exists():
                return f"{Path(word).name} is not built (no nvcc at build time)"
        return None

    def examine(self, case, examined):
        """Returns what `examined(command, folder, env)` returns, or a dictionary that says what went wrong. The folder
        is removed afterwards. None: the case cannot run here."""
        command = self.command(case)
        if self.missing(case, command):
            return None
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            return examined(command, folder, environment(folder / "state"))
        except (TimeoutError, ValueError, KeyError, OSError) as e:
            return {"case": case.name, "problem": f"{type(e).__name__}: {e}"}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, case):
        command = self.command(case)
        lacking = self.missing(case, command)
        if lacking:
            return Result(case.name, "skip", [lacking])
        folder = self.scratch / case.name
        folder.mkdir()
        env = environment(folder / "state") | self.visible_gpus()
        try:
            return self.judge(case, command, folder, env)
        except (TimeoutError, ValueError, KeyError, TypeError, OSError) as e:
            return failed(case, f"{type(e).__name__}: {e}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judge(self, case, command, folder, env):
        plain = execute(command, env)
        if plain.status in (CANNOT_RUN_HERE, NOT_STARTED):
            return Result(case.name, "skip", [(plain.err.strip().splitlines() or ["cannot run here"])[-1]])
        session = folder / "session"
        for word in command:
            if word.startswith(str(self.scratch)):
                Path(word).unlink(missing_ok=True)  # left by the plain run
        watched = execute([self.cudadiag, "run", "-o", session, *case.options, "--", *command], env)
        if case.hardware_decides:
            for _ in range(MORE_PLAIN_RUNS):
                if plain.status != watched.status:
                    plain = execute(command, env)
            if watched.status == 0:
                case = dataclasses.replace(case, verdict="no_cuda_failure")
        shown = execute([self.cudadiag, "report", session, "--json"], env)
        report = json.loads(shown.out) if shown.out.strip() else {}
        if not report:
            return failed(case, f"report says nothing: {shown.err.strip()[-300:]}")
        marks = marked_lines(case, HERE)
        noticed = line_of_traceback(watched.err, HERE / "python")
        why = unchanged(plain, watched, case.endings) + differences(case, report, marks, noticed)
        if case.verdict == "no_cuda_failure":
            why += self.traces_of_a_clean_run(case, command, plain, watched, folder, env)
        else:
            why += self.paper(report, session, watched, env)
        if case.session_mib and occupied_mib(session) > case.session_mib:
            why.append(f"session takes {occupied_mib(session):.0f} MiB, more than {case.session_mib}")
        first = line_of_headline(watched.err)
        result = result_of(case, report, marks, first, why, plain.seconds + watched.seconds)
        if report["findings"] and report["findings"][0]["kind"] in ASYNCHRONOUS:
            result.first_answer = first_answer(watched.err) or ()
            result.times = watched.seconds / plain.seconds
        if why:
            unasked = [line for line in watched.err.splitlines(keepends=True) if "was not rerun" in line]
            result.report = "".join(unasked) + execute([self.cudadiag, "report", session], env).out
        return result

    def paper(self, report, session, watched, env):
        """Checks the report that a user sees: printed during the run, short, with the line at the top."""
        wrong = []
        if not any(line.startswith("cudadiag:") for line in watched.err.splitlines()):
            wrong.append("the run itself reported nothing")
        lines = execute([self.cudadiag, "report", session], env).out.splitlines()
        if len(lines) > REPORT_LINES * max(1, len(report["findings"])):
            wrong.append(f"the report has {len(lines)} lines")
        place = line_of(report["findings"][0]["location"]) if report["findings"] else None
        if place and lines and name_of(place) not in lines[0]:
            wrong.append(f"the report opens with {lines[0]!r}")
        return wrong

    def traces_of_a_clean_run(self, case, command, plain, watched, folder, env):
        """Expects nothing on the terminal and, without -o, no session. A failure that CUDA did not cause may be
        mentioned."""
        if plain.status != 0:
            return []
        is_native = not case.command[0].endswith(".py")
        before = set(plain.err.splitlines())
        added = [x for x in watched.err.splitlines() if x not in before and (is_native or "cudadiag" in x)]
        wrong = [f"stderr has {added[0]!r}"] if added else []
        if is_native and not case.hardware_decides:  # otherwise, the next run may fail
            wrong += unchanged(plain, execute([self.cudadiag, "run", "--", *command], env))
            wrong += self.waited_for_throughout(case, plain, folder / "session", env)
            left = [str(p) for p in (folder / "state").rglob("*") if p.is_dir() and p.name != "cudadiag"]
            wrong += [f"leaves {left[0]}"] if left else []
        return wrong

    def waited_for_throughout(self, case, plain, session, env):
        """Reruns the program with a wait after every operation. This is slower, but the program must not notice."""
        bisected = execute([self.cudadiag, "bisect", session, "--window=all", "--time-limit=60"], env)
        manifest = json.loads((session / "latest" / "manifest.json").read_text())
        rerun = manifest["passes"][-1]
        wrong = []
        if bisected.status != 0 or rerun["name"] != "confirm" or rerun["end"]["code"] != plain.status:
            wrong.append(f"waited for throughout: {rerun}, {bisected.err[-200:]!r}")
        if (session / "latest" / rerun["folder"] / "output.txt").read_text() != plain.out + plain.err:
            wrong.append("waited for throughout, its output differs")
        return wrong


def of_host(output):
    """Removes what kernels printed before they failed, because the amount of that differs in each run."""
    return [line for line in output.splitlines() if "ssertion failed: `" not in line and line.strip()]


def unchanged(plain, watched, endings=()):
    wrong = []
    if watched.status != plain.status and not {plain.status, watched.status} <= set(endings):
        wrong.append(f"exit {watched.status}, plain {plain.status}")
    if of_host(watched.out) != of_host(plain.out):
        wrong.append(f"stdout {watched.out[-200:]!r}, plain {plain.out[-200:]!r}")
    return wrong


def occupied_mib(folder):
    return sum(f.stat().st_blocks for f in folder.rglob("*") if f.is_file()) * 512 / 2**20


def result_of(case, report, marks, first, why, seconds):
    found = report["findings"][0] if report["findings"] else None
    expected = " or ".join(map(name_of, marks.get("TRUE LINE", []))) if case.verdict == "cuda_failure" else "nothing"
    return Result(
        case.name,
        "fail" if why else "pass",
        why,
        expected or "any line",
        f"{name_of(line_of(found['location']))} {found['error']['code']}" if found else "nothing",
        found["evidence"]["grade"] if found else "",
        seconds,
        is_explained=is_explained(found) if found else None,
        **(outcomes(case, found, marks, first) if case.is_framework_failure else {}),
    )


def failed(case, sentence):
    nothing = outcomes(case, None, {"TRUE LINE": []}, None) if case.is_framework_failure else {}
    return Result(case.name, "fail", [sentence], **nothing)


def outcomes(case, found, marks, first):
    def judged(line):
        return "right" if line in marks["TRUE LINE"] else "wrong"
    return dict(
        framework=True,
        unseen=case.unseen,
        found_first=name_of(first),
        line_first=judged(first),
        line=judged(line_of(found["location"]) if found else None),
        cause=outcome_of_cause(case, found or {}),
        cause_found=cause_of(found or {}),
    )


def show(result):
    grade = f"{result.grade:<10}"
    print(f"{result.outcome:<4} {result.case:<25} | {result.expected:<22} | {result.found:<26} | {grade} | "
          f"{result.seconds:5.1f} s", flush=True)
    if result.line_first == "wrong" or result.cause in ("none", "wrong"):
        print(f"       first: {result.found_first}; cause: {result.cause_found or 'none'}", flush=True)
    for line in [*result.why, *result.report.splitlines()]:
        print(f"       {line}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build", help="the built tree")
    parser.add_argument("--only", action="append", metavar="NAME", help="only cases of this name or pattern; may be repeated")
    parser.add_argument("--unseen", action="store_true", help="only cases without which the causes were written")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run this many cases at a time (default 1)")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    return parser.parse_args()


def main():
    options = parse_arguments()
    chosen = [c for c in CASES if not options.only or any(fnmatch.fnmatch(c.name, p) for p in options.only)]
    chosen = [c for c in chosen if c.unseen or not options.unseen]
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if not chosen:
        print(f"no case is named {', '.join(options.only or ['so'])}; --list prints the names", file=sys.stderr)
        return 2
    lacking = gpu_missing()
    if lacking:
        print(f"skipped: no GPU ({lacking})")
        return 0
    build = options.build.resolve()
    if not (build / "bin" / "cudadiag").exists():
        print(f"{build}/bin/cudadiag is not built: ./dev build", file=sys.stderr)
        return 2
    results = []
    with tempfile.TemporaryDirectory(prefix="cudadiag-gpu-") as scratch:
        suite = Suite(build, Path(scratch))
        print(f"     {'case':<25} | {'expected':<22} | {'found':<26} | {'grade':<10} | seconds")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for finished in concurrent.futures.as_completed([pool.submit(suite.run, case) for case in chosen]):
                results.append(finished.result())
                show(results[-1])
                if options.json:
                    options.json.write_text(json.dumps([dataclasses.asdict(r) for r in results], indent=1) + "\n")
    count = {outcome: sum(r.outcome == outcome for r in results) for outcome in ("pass", "fail", "skip")}
    judged = [r for r in results if r.framework]
    if judged:
        print(framework_summary(judged))
    answers = [r.first_answer for r in results if r.first_answer]
    if answers:
        print(first_answers_summary(answers))
    explained = [r.is_explained for r in results if r.is_explained is not None]
    if explained:
        print(explained_summary(explained))
    times = sorted(r.times for r in results if r.times)
    if times:
        print(f"until the last answer: {times[len(times) // 2]:.1f} times the plain run (median of {len(times)}), "
              f"9 of 10 within {times[len(times) * 9 // 10]:.1f} times, with {options.jobs} at a time")
    shortfalls = framework_shortfalls(judged) + first_answers_shortfalls(answers) + explained_shortfalls(explained)
    for sentence in shortfalls:
        print(sentence)
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped")
    return 1 if count["fail"] or shortfalls else 0


if __name__ == "__main__":
    sys.exit(main())
