"""Helpers that run reruns and check the passes of a session."""

from harness import expect, expect_true_line

AGAIN = "fault kernel=smooth nth=3 code=700"
KEPT = ["-o", "kept"]


# Omits the device pass, which needs a GPU core dump.
def rerun(machine, *command, options=(), **others):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    mode = [] if "--rerun=always" in options else ["--rerun=auto"]
    return machine.run(*command, options=[*mode, "--no-device-pass", *options], timeout=60, **others)


def bisect(machine, *words, **options):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    return machine.cudadiag("bisect", "--no-device-pass", *words, timeout=60, **options)


def expect_unproven(result):
    """Expects the exit status of a bisect whose reruns did not prove the failure."""
    expect(result.returncode, 1, f"status of {result.args}, with stderr {result.stderr}")
    return result


def session_of(machine, name="latest"):
    return machine.state / "cudadiag" / name


def outcomes(report):
    return [(each["name"], each["outcome"]) for each in report["passes"]]


def evidence(report, number=0):
    found = report["findings"][number]["evidence"]
    return found["grade"], found["because"]


def expect_proven(report, name="probe.py"):
    expect_true_line(report, name)
    expect(evidence(report)[0], "proven", "grade: " + evidence(report)[1])
    expect(outcomes(report), [("record", "bracketed"), ("confirm", "proven")], "passes")
