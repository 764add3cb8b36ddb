"""What a rerun takes from inside Python; a function each, its name is the claim. PyTorch's operators are beyond the
simulated driver: test/hook has them."""

import sys

from harness import HERE, expect, expect_in, expect_true_line, program

FAULT = "fault kernel=smooth nth=3"


def _rerun(machine, *command, options=()):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    result = machine.run(*command, options=["--rerun=always", "--no-device-pass", *options], timeout=60)
    report = machine.report()
    expect([each["outcome"] for each in report["passes"]], ["bracketed", "proven"], "passes")
    return result, report


def _arguments(report):
    return report["findings"][0]["arguments"]


def _expect_taken(report, step):
    expect_true_line(report, "values.py")
    (idx,) = [each for each in _arguments(report) if each["name"] == "idx"]
    expect((idx["origin"], idx["dtype"], idx["shape"]), ("variable", "<i8", [step, 512]), "idx")


def variables_of_the_failing_call_are_told(machine):
    machine.plan(FAULT)
    _, report = _rerun(machine, *program("values.py"))
    _expect_taken(report, 2)


def they_are_those_of_its_thread(machine):
    machine.plan(FAULT)
    _, report = _rerun(machine, *program("values.py", "thread"))
    _expect_taken(report, 2)


def an_isolated_interpreter_is_no_obstacle(machine):
    machine.plan(FAULT)
    code = f"import sys; sys.path.insert(0, {str(HERE / 'programs')!r}); import values"
    start = machine.folder / "start.py"
    start.write_text(code + "\n")
    _, report = _rerun(machine, sys.executable, "-I", "-S", "-E", "-B", start)
    _expect_taken(report, 2)


def no_values_means_none(machine):
    machine.plan(FAULT)
    _, report = _rerun(machine, *program("values.py"), options=["--no-values"])
    expect(_arguments(report), [], "arguments")
    files = list(machine.state.glob("cudadiag/latest/confirm/*.values"))
    expect(files, [], "files")


def what_it_told_may_be_damaged(machine):
    machine.plan(FAULT)
    _rerun(machine, *program("values.py"))
    (file,) = machine.state.glob("cudadiag/latest/confirm/*.values")
    whole = file.read_bytes()
    for damage in (b"", b"\xff" * 100, whole[:-40], whole.replace(b'"shape"', b'"shape":[[[[],'), b"1 2 {}\n" + whole,
                   whole.replace(b"[", b"[1e999,"), b"99999999999999999999 1 {}\n"):
        file.write_bytes(damage)
        expect_true_line(machine.report(), "values.py")


def the_target_finds_nothing_of_it(machine):
    machine.plan(FAULT)
    result, _ = _rerun(machine, *program("values.py", "again"))
    output = next(machine.state.glob("cudadiag/latest/confirm/output.txt")).read_text()
    expect_in("[]", output, "modules")
    expect(output, result.stdout, "what the rerun printed")
