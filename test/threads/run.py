#!/usr/bin/env python3
"""run.py BUILD thread-sanitizer|helgrind: the recorder under a finder of data races, in programs that launch from many
threads. BUILD was compiled for that tool, as ./dev threads does."""

import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
sys.dont_write_bytecode = True

import targets

PROGRAMS = ("capture_beside_launches", "capture_on_two_threads", "contexts_come_and_go", "device_reset", "graph_updated",
            "healthy", "libraries_come_and_go", "many_allocations", "many_streams", "many_threads", "per_thread_stream",
            "signals", "third_of_ten", "tiny_stacks", "two_threads")


class ThreadSanitizer:
    def __init__(self, folder):
        # A handler of a program's own may change errno.
        self.environment = {"TSAN_OPTIONS": "report_signal_unsafe=0"}
        self.command = []

    def races(self, said):
        return re.findall(r"WARNING: ThreadSanitizer: data race.*?^=+$", said, re.DOTALL | re.MULTILINE)


class Helgrind:
    def __init__(self, folder):
        self.log = folder / "helgrind.xml"
        self.environment = {}
        self.command = ["valgrind", "--tool=helgrind", "--xml=yes", f"--xml-file={self.log}"]

    def races(self, _):
        errors = ElementTree.parse(self.log).getroot().iter("error")
        return [self.text(error) for error in errors if not self.excused(error)]

    # It knows pthread's locks and no atomics. What is excused: an atomic on either side, whose place is a header of the
    # standard library; the id that a table's key, an atomic stored behind it, publishes; the tables of the unwinder,
    # which are the same whoever makes them; the simulator; a wait with a deadline, whose releasing it does not see.
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
    """The races that the tool tells of, and how many operations were recorded."""
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


def main(build, tool):
    bad = 0
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="cudadiag-threads-") as folder:
            races, operations = run(build, name, TOOLS[tool](pathlib.Path(folder)), pathlib.Path(folder))
        failed = bool(races) or operations == 0
        print(f"{'FAIL' if failed else 'ok  '}  {name}: {operations} operations, {len(races)} data races", flush=True)
        print("\n".join(races)[:20000], end="\n" if races else "")
        bad += failed
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
