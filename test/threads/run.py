#!/usr/bin/env python3
"""run.py BUILD thread-sanitizer|helgrind: runs the recorder under a detector of data races, in programs that launch
from many threads. Under the sanitizer, it also runs the launcher with all its threads, in end-to-end cases that need
them. BUILD was compiled for that tool, as ./dev threads does; `run.py programs` lists what it needs of test/targets."""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

END_TO_END = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path[:0] = [str(END_TO_END / folder) for folder in (".", "answers", "robustness")]
sys.dont_write_bytecode = True

import full_log
import hangs
import harness
import races as race_cases
import survival
import targets

PROGRAMS = ("capture_beside_launches", "capture_on_two_threads", "contexts_come_and_go", "device_reset", "graph_updated",
            "healthy", "libraries_come_and_go", "many_allocations", "many_streams", "many_threads", "per_thread_stream",
            "signals", "third_of_ten", "tiny_stacks", "two_threads")
PROGRAMS_OF_CASES = ("ends_abruptly", "race_kernels", "race_streams", "stuck")


def all_at_once(machine):
    """A program with many threads fails while everything that can watch it is switched on."""
    machine.plan(targets.plan("many_threads"))
    machine.run(machine.build / "targets/many_threads",
                options=["--full-log", "--races", "--hang-after=60", "--rerun=always"])
    harness.expect(machine.report()["verdict"], "cuda_failure", "verdict")


def failure_is_reported_while_the_command_goes_on(machine):
    machine.plan(targets.plan("many_threads"))
    run = machine.start(*machine.command("run", "--full-log", "--races", "--rerun=never", "--", "sh", "-c", '"$0"; cat',
                                         machine.build / "targets/many_threads"))
    first = run.stderr.readline()
    run.communicate("")
    harness.expect_in("(700)", first, "first line of the report")


def hang_is_reported_with_a_log(machine):
    machine.plan("hang kernel=_Z4spinPiy")
    machine.run(machine.build / "targets/stuck", "kernel", options=["--full-log", "--races", "--hang-after=0.3"])
    (finding,) = machine.report()["findings"]
    harness.expect(finding["kind"], "hang", "kind")


CASES = (all_at_once, failure_is_reported_while_the_command_goes_on, hang_is_reported_with_a_log,
         full_log.log_and_races_go_together, full_log.log_of_a_clean_run_goes_with_it,
         full_log.log_of_a_killed_program_is_whole, hangs.hang_is_ended_and_reported,
         hangs.hang_that_ignores_being_asked_is_killed, hangs.status_of_what_has_ended, race_cases.branches_of_a_graph_race,
         race_cases.kernels_are_judged_by_their_code, race_cases.the_first_race_can_end_the_program,
         survival.every_way_to_end_leaves_the_answer)


class ThreadSanitizer:
    def __init__(self, folder):
        # A test program's signal handler may change errno.
        self.environment = {"TSAN_OPTIONS": "report_signal_unsafe=0"}
        self.command = []

    @staticmethod
    def races(said, kinds="data race"):
        return re.findall(rf"WARNING: ThreadSanitizer: {kinds}.*?^=+$", said, re.DOTALL | re.MULTILINE)


class Helgrind:
    def __init__(self, folder):
        self.log = folder / "helgrind.xml"
        self.environment = {}
        self.command = ["valgrind", "--tool=helgrind", "--xml=yes", f"--xml-file={self.log}"]

    def races(self, _):
        errors = ElementTree.parse(self.log).getroot().iter("error")
        return [self.text(error) for error in errors if not self.excused(error)]

    # Helgrind knows pthread's locks, but not atomics, so it also reports accesses that do not race. These are ignored:
    # - to an atomic, in a header of the standard library
    # - to an id that a later store to its table's atomic key publishes
    # - to the unwinder's tables, which are the same whichever thread creates them
    # - in the simulator
    # - after a timed wait, because Helgrind does not see that the wait releases the lock
    @staticmethod
    def excused(error):
        frames = [{part.tag: part.text for part in frame} for frame in error.iter("frame")]
        innermost = frames[0]
        function = innermost.get("fn", "")
        called = itertools.takewhile(lambda name: not name.startswith("cudadiag::"), (f.get("fn", "") for f in frames))
        return (innermost.get("file", "").startswith("atomic")
                or any(name.startswith(("uw_", "_Unwind_")) for name in called)
                or re.search(r"\bIdTable<\d+ul>::find\(|^find$", function) is not None
                or not any("libcudadiag_record" in frame.get("obj", "") for frame in frames[:1]))

    @staticmethod
    def text(error):
        frames = [{part.tag: part.text for part in frame} for frame in error.iter("frame")]
        places = "\n".join(f"    {frame.get('fn')} {frame.get('file')}:{frame.get('line')}" for frame in frames)
        return f"{error.findtext('kind')}\n{places}"


TOOLS = {"thread-sanitizer": ThreadSanitizer, "helgrind": Helgrind}


def run(build, name, tool, folder):
    """Returns the races that the tool reports, and how many operations were recorded."""
    session = folder / "session"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "sim"), "CUDADIAG_SIM_PLAN": targets.plan(name),
                   "CUDA_INJECTION64_PATH": str(build / "lib/libcudadiag_record.so"),
                   "CUDADIAG_CUPTI": str(build / "sim/libcupti.so.13"), "CUDADIAG_SESSION": str(session),
                   **tool.environment}
    ended = subprocess.run([*tool.command, build / "targets" / name], env=environment, capture_output=True, text=True,
                           timeout=300)
    dump = subprocess.run([build / "bin/cudadiag", "dump", session], env=environment, capture_output=True, text=True)
    issued = re.search(r"^process .*\bissued=(\d+)", dump.stdout, re.MULTILINE)
    return tool.races(ended.stderr), int(issued[1]) if issued else 0


def run_case(build, case):
    """Returns everything that the sanitizer reports about the launcher and what it starts, and why the case failed, or
    None."""
    machine = harness.Machine(build)
    logs = machine.folder.with_suffix(".logs")
    logs.mkdir()
    machine.environment["TSAN_OPTIONS"] = f"report_signal_unsafe=0 exitcode=0 log_path={logs}/log"
    try:
        case(machine)
        failure = None
    except AssertionError as error:
        failure = error
    finally:
        machine.close()
    races = [race for log in sorted(logs.iterdir()) for race in ThreadSanitizer.races(log.read_text(), "")]
    shutil.rmtree(logs)
    return races, failure


def tell(name, what, races, failed):
    print(f"{'FAIL' if failed else 'ok  '}  {name}: {what}, {len(races)} data races", flush=True)
    print("\n".join(races)[:20000], end="\n" if races else "")


def main(build, tool):
    bad = 0
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="cudadiag-threads-") as folder:
            races, operations = run(build, name, TOOLS[tool](pathlib.Path(folder)), pathlib.Path(folder))
        failed = bool(races) or operations == 0
        tell(name, f"{operations} operations", races, failed)
        bad += failed
    for case in CASES if tool == "thread-sanitizer" else ():
        races, failure = run_case(build, case)
        failed = bool(races) or failure is not None
        tell(case.__name__, f"launched, {failure}" if failure else "launched", races, failed)
        bad += failed
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["programs"]:
        print(*sorted({*PROGRAMS, *PROGRAMS_OF_CASES}), sep="\n")
    else:
        sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
