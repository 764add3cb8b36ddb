"""Lines inside a function that torch.compile turned into kernels, found by a rerun without it. Each function's name
says what it tests."""

from harness import expect, expect_in, program, true_line
from passes import evidence, outcomes, rerun

NAME = "compiled_function.py"
FUSED = "fault kernel=fused nth=3 code=710"


def _found(machine, fault):
    """Returns what the terminal shows, the report, and the lines that the rerun without the compiler found."""
    machine.plan(f"{FUSED}; {fault}" if fault else FUSED)
    said = rerun(machine, *program(NAME)).stderr
    report = machine.report()
    (finding,) = report["findings"]
    expect(finding["launch"]["kernel"], "fused", "kernel")
    lines = [each for each in finding["related"] if each["role"] == "eager"]
    expect(finding["location"]["line"], lines[0]["line"] if lines else true_line(NAME, "CALL LINE")[1], "line")
    expect(evidence(report)[0], "proven", "grade")
    expect([each for each in report["notes"] if each["code"] == "python-hook-off"], [], "notes of values not taken")
    return said, report, lines


def line_of_a_compiled_function_is_told_by_a_rerun_without_the_compiler(machine):
    said, report, lines = _found(machine, "fault kernel=gather nth=3 code=710")
    expect([(each["file"], each["line"], each["grade"]) for each in lines], [(*true_line(NAME), "inferred")], "lines")
    expect(outcomes(report), [("record", "bracketed"), ("confirm", "proven"), *[("eager", "failed")] * 2], "passes")
    path, line = true_line(NAME)
    expect_in(f"\nEager   {path}:{line}, ", said, "what the terminal shows")
    expect_in(f"start with {path}:{line}, ", report["findings"][0]["fix"][0], "what to do")
    shown = machine.cudadiag("report", "-v").stdout.partition("\nEager   ")[2].splitlines()
    expect_in(f"{path}:{line}, ", shown[0], "the report's row")
    expect_in("gather(stream, parameters, None)", shown[1], "its second line")


def failure_outside_of_the_compiled_function_tells_nothing_of_its_lines(machine):
    _, report, lines = _found(machine, "fault kernel=other nth=1 code=710 run=3-")
    expect((lines, outcomes(report)[-1]), ([], ("eager", "failed")), "a failure elsewhere")


def rerun_without_the_compiler_that_does_not_fail_tells_nothing(machine):
    _, report, lines = _found(machine, "")
    expect((lines, outcomes(report)[-1]), ([], ("eager", "did not fail")), "no failure")
    passes = machine.cudadiag("report", "-v").stdout.partition("\nPasses  ")[2]
    expect_in("s did not fail\n", passes.partition("; eager ")[2], "the report's row")
    machine.environment["FAILS_EAGERLY"] = "1"
    _, report, lines = _found(machine, "")
    expect((lines, outcomes(report)[-1]), ([], ("eager", "ended with status 5")), "no CUDA failure")
