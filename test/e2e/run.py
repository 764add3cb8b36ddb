#!/usr/bin/env python3
"""run.py BUILD CASE [SECONDS]: runs one end-to-end case, a function of one of the rooms below, or target:NAME. The
simulated driver takes the place of a GPU. After this many seconds, it prints what it waits for, and ends."""

import contextlib
import importlib
import os
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOMS = [HERE / folder for folder in ("answers", "rerunning", "commands", "robustness")]
sys.path[:0] = map(str, [HERE, *ROOMS])
# Caches bytecode in the build folder, because each case is a process.
sys.pycache_prefix = str(pathlib.Path(sys.argv[1]).resolve() / "pycache")
sys.dont_write_bytecode = False

import targets
from harness import Machine, expect, expect_in


def check_target(machine, name):
    machine.plan(targets.plan(name))
    command = targets.command(machine.build, name)
    plain = machine.plain(*command)
    recorded = machine.run(*command)
    expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    if name in targets.CLEAN:
        ours = [line for line in recorded.stderr.splitlines() if line.startswith("cudadiag: ")]
        handled = any("; " in line for line in ours)
        silence = "no CUDA failure is known to have ended the program" if handled else "no CUDA failure was recorded"
        failed = [silence] if plain.returncode else []
        if plain.returncode < 0:
            failed.append(f"the command was killed by signal {-plain.returncode} ({signal.Signals(-plain.returncode).name})")
        expect([line.removeprefix("cudadiag: ").partition(";")[0] for line in ours], failed, "what cudadiag says")
        expect(machine.sessions(), [], "sessions")
    else:
        check_finding(machine.report(), name, targets.FAILING[name])
        check_rerun(machine, name, recorded)


def check_rerun(machine, name, recorded):
    wanted = targets.FAILING[name].confirmed
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    rerun = machine.run(*targets.command(machine.build, name), options=["--rerun=auto"])
    expect((rerun.returncode, rerun.stdout), (recorded.returncode, recorded.stdout), "status and stdout")
    if wanted and "cannot isolate a rerun" in rerun.stderr:
        return  # for example under qemu-user, which cannot run any rerun
    report = machine.report()
    passes = [each["name"] for each in report["passes"]]
    # On another thread, the fault may occur before the rerun waits for the suspect. A second rerun then confirms it.
    if name == "many_threads" and passes.count("confirm") == 2:
        passes.remove("confirm")
    expect(passes, ["record", "confirm", "device"] if wanted else ["record"], "passes, with stderr " + rerun.stderr)
    if name == "graph_replay":
        expect_in("cudadiag: a rerun narrows the first answer: ", rerun.stderr, "what the rerun does")
    if wanted:
        finding = report["findings"][0]
        expect(finding["evidence"]["grade"], wanted, "grade after the rerun: " + finding["evidence"]["because"])
        expect(place(finding["location"]), targets.marked_line(name, targets.FAILING[name].confirmed_line, targets.FAILING[name].source),
               "true line after the rerun")
        check_memory_lines(finding, name)


def check_memory_lines(finding, name):
    """Checks the lines that allocated and freed the memory that the operation should not have used."""
    for role, mark in (("allocated", "ALLOCATED LINE"), ("freed", "FREED LINE")):
        wanted = targets.marked_line(name, mark)
        if wanted is not None:
            expect([place(line) for line in finding["related"] if line["role"] == role], [wanted], role)


def place(location):
    return location["file"], location["line"]


def check_finding(report, name, wanted):
    expect(report["verdict"], "cuda_failure", "verdict")
    finding = report["findings"][0]
    true_line = targets.marked_line(name, "TRUE LINE", wanted.source)
    if wanted.leads:
        expect(place(finding["location"]), true_line, "true line")
    else:
        expect_in(true_line, [place(candidate["location"]) for candidate in finding["candidates"]], "candidates")
    if finding["evidence"]["grade"] != wanted.by_chance:
        expect(finding["evidence"]["grade"], wanted.grade, "grade: " + finding["evidence"]["because"])
    expect(len(finding["candidates"]) > 1, wanted.candidates, "several candidates")
    expect(finding["kind"], wanted.kind, "kind")
    expect((finding["cause"] or {"id": ""})["id"], wanted.cause, "cause")
    replay = targets.marked_line(name, "REPLAY LINE")
    if replay is not None:
        made = targets.marked_line(name, "MADE LINE")  # where the node that the true line changed was created
        related = {line["role"]: place(line) for line in finding["related"]}
        expect((related["capture"], related["replay"]), (made or true_line, replay), "captured and replayed")
        expect(related.get("update"), true_line if made else None, "changed")
    captured = targets.marked_line(name, "CAPTURE LINE")
    if captured is not None:
        begun = [place(related) for related in finding["related"] if related["role"] == "capture"]
        expect(begun, [captured], "where the capture began")
    reported = targets.marked_line(name, "REPORTED LINE")
    if reported is not None:
        expect(place(finding["reported_at"]), reported, "reported line")


class OutOfTime(BaseException):
    """Raised before ctest's own limit, which ends a test without a message."""


def started_here():
    """Returns the state of this process and of all that it has started, according to the kernel."""
    parents = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        parents[int(folder.name)] = int(fields[1])
    found = [os.getpid()]
    for process in found:
        found += [pid for pid, parent in parents.items() if parent == process]
    return found


def describe(process):
    folder = pathlib.Path("/proc", str(process))
    try:
        words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        threads = [f"{(task / 'stat').read_text().rpartition(')')[2].split()[0]} in {(task / 'wchan').read_text()}"
                   for task in sorted((folder / "task").iterdir())]
    except OSError:
        return f"{process}: gone"
    return f"{process}: {words}: {', '.join(threads)}"


def out_of_time(*_):
    _, *others = started_here()
    told = "\n".join(map(describe, others))
    for process in others:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    raise OutOfTime("still there:\n" + told)


def case_of(name):
    """Returns the function. Imports its file only: that takes a third of the time that all of them would take."""
    for file in (each for room in ROOMS for each in room.glob("*.py")):
        if f"\ndef {name}(machine):" in file.read_text():
            return getattr(importlib.import_module(file.stem), name)
    raise SystemExit(f"no case is named {name}")


def main(build, name, seconds="0"):
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(int(seconds))
    machine = Machine(build)
    try:
        if name.startswith("target:"):
            check_target(machine, name.removeprefix("target:"))
        else:
            case_of(name)(machine)
    except OutOfTime as error:
        import traceback

        print("".join(traceback.TracebackException.from_exception(error, capture_locals=True).format()))
        raise SystemExit(1) from None
    finally:
        machine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
