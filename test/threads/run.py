#!/usr/bin/env python3
"""run.py BUILD: the recorder under the thread sanitizer, in programs that launch from many threads. BUILD was compiled
with -fsanitize=thread throughout, as ./dev threads does."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
sys.dont_write_bytecode = True

import targets

PROGRAMS = ("capture_beside_launches", "capture_on_two_threads", "contexts_come_and_go", "device_reset", "graph_updated",
            "healthy", "libraries_come_and_go", "many_allocations", "many_streams", "many_threads", "per_thread_stream",
            "signals", "third_of_ten", "tiny_stacks", "two_threads")


def main(build):
    bad = 0
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="cudadiag-threads-") as folder:
            session = pathlib.Path(folder, "session")
            environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "sim"), "CUDADIAG_SIM_PLAN": targets.plan(name),
                           "CUDA_INJECTION64_PATH": str(build / "lib/libcudadiag_record.so"),
                           "CUDADIAG_SESSION": str(session),
                           # A handler of a program's own may change errno.
                           "TSAN_OPTIONS": "report_signal_unsafe=0"}
            ended = subprocess.run([build / "targets" / name], env=environment, capture_output=True, text=True,
                                   timeout=300)
            found = ended.stderr.count("WARNING: ThreadSanitizer: data race")
            recorded = len(list(session.glob("*.area"))) == 1
            print(f"{'ok  ' if recorded and not found else 'FAIL'}  {name}"
                  + (f": {found} data races" if found else "") + ("" if recorded else ": nothing was recorded"), flush=True)
            if found or not recorded:
                print(ended.stderr[:20000])
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
