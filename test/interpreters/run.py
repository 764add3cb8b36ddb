#!/usr/bin/env python3
"""run.py BUILD MINOR: every shape of Python code under a real CPython 3.MINOR and the simulated driver.

For each shape in turn, the plan makes its kernel fail. The whole Python stack of the finding must be what the
interpreter itself reported, and the true line must be the marked one. Without such an interpreter, the test is skipped.
"""

import glob
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.dont_write_bytecode = True

from harness import Machine, expect, expect_in, true_line

PROGRAM = HERE / "every_shape.py"
STATEMENTS = HERE.parent / "e2e/programs/statements.py"
POOLS = HERE.parent / "e2e/programs/pools.py"
SKIPPED = 77
KNOWN = range(9, 15)
MOST_FRAMES = 128  # the number of frames that the recorder keeps


def interpreters(build, minor):
    """Returns the commands that start such an interpreter, each once: those fetched, those of pyenv, those on PATH."""
    name = f"python3.{minor}"
    places = glob.glob(f"{build}/interpreters/*/{name}")
    places += glob.glob(f"{pathlib.Path.home()}/.pyenv/versions/3.{minor}.*/bin/{name}")
    places += [os.path.join(folder, name) for folder in os.get_exec_path()]
    found = {}
    for place in places:
        if (is_one := executable(place, minor)) is not None:
            found.setdefault(is_one, place)
    return list(found.values())


def executable(place, minor):
    show = "import os, sys, ctypes, asyncio; print(sys.version_info[1], os.path.realpath(sys.executable))"
    try:
        answer = subprocess.run([place, "-c", show], capture_output=True, text=True).stdout.partition(" ")
    except OSError:
        return None
    return answer[2] if answer[0] == str(minor) else None


def marked_lines():
    lines = enumerate(PROGRAM.read_text().splitlines(), 1)
    return {line.rpartition("# LINE ")[2]: number for number, line in lines if "  # LINE " in line}


def check_shape(machine, interpreter, shape, marked):
    machine.plan(f"fault kernel={shape} code=700")
    told = machine.folder / "report.json"
    result = machine.run(interpreter, PROGRAM, options=["-q", "--json", told])
    expect(result.returncode, 3, f"status with {shape}, with stderr {result.stderr}")
    wanted = [tuple(frame) for frame in json.loads(result.stdout)[shape]]
    finding = json.loads(told.read_text())["findings"][0]
    stack = [(f["file"], f["line"], f["function"].rpartition(".")[2]) for f in finding["stack"]["python"]]
    expect(stack, wanted[:MOST_FRAMES], f"stack of {shape}")
    expect(finding["location"]["line"], marked.get(shape, wanted[0][1]), f"true line of {shape}")


def check_statements(machine, interpreter):
    """Code that got the memory of earlier code must not be mistaken for that earlier code."""
    machine.plan("fault kernel=smooth nth=7 code=700")
    told = machine.folder / "report.json"
    for kind, wanted in (("lines", ("/statements", 7, "<module>")), ("files", ("/statement/7", 1, "<module>")),
                         ("names", ("<string>", 2, "f_7"))):
        result = machine.run(interpreter, STATEMENTS, kind, options=["-q", "--json", told])
        expect(result.returncode, 3, f"status with {kind}, with stderr {result.stderr}")
        innermost = json.loads(told.read_text())["findings"][0]["stack"]["python"][0]
        expect((innermost["file"], innermost["line"], innermost["function"]), wanted, f"innermost frame with {kind}")


def check_second_interpreter(machine, interpreter, minor):
    """The stack must be that of the interpreter that runs, or empty."""
    machine.plan("fault kernel=smooth code=700")
    told = machine.folder / "report.json"
    result = machine.run(interpreter, HERE / "second_interpreter.py", options=["-q", "--json", told])
    expect_in("failed", result.stdout, f"what a second interpreter prints, with stderr {result.stderr}")
    report = json.loads(told.read_text())
    stack = [(f["file"], f["line"], f["function"]) for f in report["findings"][0]["stack"]["python"]]
    if minor >= 12:
        file = "<string>" if minor < 14 else "<script>"
        expect(stack[0], (file, 6, "inner"), "innermost frame of a second interpreter")
    else:
        expect(stack, [], "stack of a second interpreter")
        expect_in("the stacks of several interpreters", str(report["notes"]), "notes")


def check_refused_memory(machine, interpreter):
    """The true line must be the one in the traceback of an exception that ended the interpreter."""
    told = machine.folder / "report.json"
    machine.plan("")
    for library in ("cupy", "jax"):
        for how in ("first", "fails", "chained"):
            result = machine.run(interpreter, POOLS, library, how, options=["-q", "--json", told])
            expect(result.returncode, 1, f"status of {library} {how}, with stderr {result.stderr}")
            finding = json.loads(told.read_text())["findings"][0]
            expect((finding["kind"], finding["location"]["line"]),
                   ("out_of_memory", true_line("pools.py", f"{library.upper()} LINE")[1]), f"{library} {how}")


def check_other_layout(machine, interpreter, minor):
    """The interpreter claims to be a different release: there are no Python stacks, and nothing else changes."""
    unknown = ["3.8.0 (main)", "3.15.0 (main)", f"3.{minor}.0 experimental free-threading build (main)"]
    wrong = [f"3.{other}.0 (main)" for other in KNOWN if other != minor]
    machine.plan("fault kernel=plain code=700")
    machine.environment["LD_PRELOAD"] = str(machine.build / "interpreters/libclaims.so")
    told = machine.folder / "report.json"
    for claim in unknown + wrong:
        machine.environment["CLAIMED_PYTHON"] = claim
        result = machine.run(interpreter, PROGRAM, options=["-q", "--json", told])
        expect(result.returncode, 3, f"status where it claims {claim} and prints {result.stderr}")
        report = json.loads(told.read_text())
        if report["environment"]["python"] != claim.split()[0]:
            return print("  other layouts not tried: the interpreter is not a shared library and cannot be replaced")
        finding = report["findings"][0]
        expect(finding["stack"]["python"], [], f"Python stack where it claims {claim}")
        expect(finding["launch"]["kernel"], "plain", "kernel")
        if claim in unknown:
            expect_in("Python stacks are off: ", str(report["notes"]), f"notes where it claims {claim}")


def main(build, minor):
    found = interpreters(pathlib.Path(build).resolve(), int(minor))
    if not found:
        print(f"skipped: no CPython 3.{minor} here; ./dev interpreters fetches some")
        sys.exit(SKIPPED)
    for interpreter in found:
        print(interpreter, flush=True)
        machine = Machine(build)
        try:
            marked = marked_lines()
            for shape in json.loads(machine.plain(interpreter, PROGRAM).stdout):
                check_shape(machine, interpreter, shape, marked)
            check_statements(machine, interpreter)
            check_refused_memory(machine, interpreter)
            check_second_interpreter(machine, interpreter, int(minor))
            check_other_layout(machine, interpreter, int(minor))
        finally:
            machine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
