"""The first NaN that a PyTorch program uses. Each function's name says what it tests. CUDADIAG_TORCH_PYTHON is the path
of an interpreter that has PyTorch; the default is python3. Without PyTorch, the tests skip and say so."""

import json
import os
import shutil
import subprocess
import sys

from harness import HERE, expect, expect_in, skip, true_line

TRAINING = HERE / "programs/nan_training.py"


def _python(machine):
    python = os.environ.get("CUDADIAG_TORCH_PYTHON") or shutil.which("python3")
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        skip(f"{python} has no PyTorch; set CUDADIAG_TORCH_PYTHON to one that has it")
    machine.environment["PYTHONWARNINGS"] = "ignore"
    return python


def _nans(machine, *command, options=()):
    report = machine.folder / "report.json"
    result = machine.cudadiag("nans", "--json", report, *options, "--", *command, timeout=110)
    return result, json.loads(report.read_text())


def nan_in_a_parameter_leads_to_the_line_that_made_it(machine):
    python = _python(machine)
    result, report = _nans(machine, python, TRAINING, "divide")
    expect(result.returncode, 3, "status of the program")
    (finding,) = report["findings"]
    location = finding["location"]
    expect((location["file"], location["line"]), true_line("nan_training.py", "DIVIDE"), "true line")
    expect((finding["kind"], finding["evidence"]["grade"]), ("non_finite", "proven"), "kind and grade")
    facts = finding["cause"]["facts"]
    expect({name: facts.get(name) for name in ("operator", "pass", "index", "input self", "input other", "step", "used")},
           {"operator": "aten::div.Tensor", "pass": "forward", "index": "[2]", "input self": "0.0", "input other": "0.0",
            "step": "2", "used": "parameter"}, "facts")
    expect_in("0 / 0 is NaN: element [2] of a float32[4] result", result.stderr, "why")
    expect(machine.report()["findings"], report["findings"], "what the session says later")


def nan_of_a_backward_pass_leads_to_the_forward_line(machine):
    python = _python(machine)
    _, report = _nans(machine, python, TRAINING, "root")
    (finding,) = report["findings"]
    expect(finding["location"]["line"], true_line("nan_training.py", "ROOT")[1], "true line")
    expect([related["role"] for related in finding["related"]], ["forward", "backward", "used"], "related lines")
    expect(finding["cause"]["facts"]["node"], "MulBackward0", "node")
    expect(finding["cause"]["facts"]["module"], "", "path of the module")


def nan_that_the_program_asks_for_is_no_finding(machine):
    python = _python(machine)
    result, report = _nans(machine, python, TRAINING, "guarded")
    expect(report["findings"], [], "findings")
    expect_in("found no NaN that the program used", result.stderr, "message")
    expect(machine.sessions(), [], "sessions")


def program_that_ends_for_nan_is_told_which(machine):
    python = _python(machine)
    result, report = _nans(machine, python, TRAINING, "exits")
    expect(result.returncode, 1, "status of the program")
    (finding,) = report["findings"]
    expect(finding["location"]["line"], true_line("nan_training.py", "DIVIDE")[1], "true line")


def the_program_prints_what_it_prints_without(machine):
    python = _python(machine)
    plain = machine.plain(python, TRAINING, "guarded")
    result, _ = _nans(machine, python, TRAINING, "guarded")
    expect((result.returncode, result.stdout), (plain.returncode, plain.stdout), "status and output")


def cuda_error_that_ends_the_program_is_named(machine):
    """A stand-in for PyTorch is enough, because the exception is all that is known."""
    file = machine.folder / "fails.py"
    file.write_text("import torch\ntry:\n    raise RuntimeError('CUDA error: an illegal memory access was encountered\\nmore')\n"
                    "except RuntimeError as error:\n    raise ValueError('the step failed') from error\n")
    (machine.folder / "torch.py").write_text("__version__ = '2.11.0'\n")
    result, report = _nans(machine, sys.executable, file)
    said = ("the program ended with a CUDA error, and only cudadiag run looks for its cause: CUDA error: an illegal memory "
            "access was encountered")
    expect(result.returncode, 1, "status")
    expect_in(f"cudadiag: {said}\n", result.stderr, "message")
    expect([each["text"] for each in report["notes"] if each["code"] == "checks-ended"][-1], said, "note")


def program_without_pytorch_is_not_said_to_be_checked(machine):
    result, report = _nans(machine, sys.executable, "-c", "print(1)")
    expect((result.returncode, result.stdout, report["findings"]), (0, "1\n", []), "result")
    expect_in("nothing was checked: no process of the command imported PyTorch", result.stderr, "message")
    gate, _ = _nans(machine, sys.executable, "-c", "print(1)", options=["--error-exitcode", "9"])
    expect(gate.returncode, 9, "status of a gate")


def sitecustomize_of_the_program_still_runs(machine):
    own = machine.folder / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.own = 'own'\n")
    machine.environment["PYTHONPATH"] = str(own)
    code = "import sys, sitecustomize; print(own, sitecustomize.__file__, [p for p in sys.path if 'record/python' in p])"
    result, _ = _nans(machine, sys.executable, "-c", code)
    expect(result.stdout, f"own {own / 'sitecustomize.py'} []\n", "output")
