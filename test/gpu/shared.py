#!/usr/bin/env python3
"""Programs that share a GPU under MPS, where a fault in one ends all of them: the report must say whose fault it was.

Usage: shared.py BUILD. Starts an MPS daemon for its own programs only. Needs a GPU and nvidia-cuda-mps-control; without
them, it says so and counts nothing (77).
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run
from hangs import marked

LIMIT_S = 120
CONTROL = "nvidia-cuda-mps-control"


class Shared:
    def __init__(self, build, folder):
        self.build, self.folder = build, pathlib.Path(folder)
        self.neighbour = build / "gpu/neighbour"
        self.stop = self.folder / "stop"

    def start(self, name, *command):
        words = [self.build / "bin/cudadiag", "run", "--rerun=always", "--json", self.folder / f"{name}.json",
                 "-o", self.folder / name, "--", *command]
        return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def finding(self, name):
        (finding,) = json.loads((self.folder / f"{name}.json").read_text())["findings"]
        return finding

    def expect(self, name, grade, cause, text):
        """Returns what is wrong with the only finding; empty if nothing is."""
        finding = self.finding(name)
        evidence, why = finding["evidence"], finding["cause"] or {"id": None, "text": ""}
        found = evidence["grade"], why["id"]
        said = f"{evidence['because']}; {why['text']}"
        return "" if found == (grade, cause) and text in said else f"{found}: {said}"

    def fault_of_its_own(self):
        self.start("own", self.build / "gpu/third_of_ten").communicate(timeout=LIMIT_S)
        lines = marked("cuda/third_of_ten.cu", "TRUE LINE")
        line = self.finding("own")["location"]["line"]
        return self.expect("own", "proven", "address-past-end", "this operation's kernel") if [line] == lines else f"line {line}"

    def fault_of_another(self):
        """Causes one fault in another program, and none during the reruns."""
        process = self.start("another", self.neighbour, "works", self.stop)
        process.stdout.readline()
        subprocess.run([self.neighbour, "fails"], timeout=LIMIT_S)
        self.stop.touch()
        process.communicate(timeout=LIMIT_S)
        self.stop.unlink()
        return self.expect("another", "inferred", "mps-client", "nothing shows")

    def nobody_fails(self):
        self.stop.touch()
        process = self.start("well", self.neighbour, "works", self.stop)
        found = (*process.communicate(timeout=LIMIT_S), process.returncode)
        self.stop.unlink()
        return "" if found == ("working\n", "", 0) else str(found)


@contextlib.contextmanager
def service(folder):
    os.environ["CUDA_MPS_PIPE_DIRECTORY"] = os.environ["CUDA_MPS_LOG_DIRECTORY"] = str(folder)
    subprocess.run([CONTROL, "-d"], check=True, timeout=LIMIT_S)
    try:
        yield
    finally:
        subprocess.run([CONTROL], input="quit\n", text=True, timeout=LIMIT_S)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    build = parser.parse_args().build
    if reason := run.gpu_missing() or (not shutil.which(CONTROL) and f"no {CONTROL}"):
        print(f"{reason}: nothing was tried")
        return run.CANNOT_RUN_HERE
    failed = 0
    with tempfile.TemporaryDirectory() as folder, service(folder):
        shared = Shared(build, folder)
        cases = (shared.nobody_fails, shared.fault_of_its_own, shared.fault_of_another)
        for case in cases:
            wrong = case()
            print(f"{'FAIL' if wrong else 'pass'} {case.__name__:16} {wrong}", flush=True)
            failed += bool(wrong)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
