"""Origins of bad values, and races between tensors. Each function's name says what it tests. CUDADIAG_TORCH_PYTHON is
the path of an interpreter that has PyTorch; the default is python3. Without PyTorch, the tests skip and say so."""

import json
import re
import shutil

from harness import HERE, expect, expect_in, expect_true_line, program, true_line
from nans import _python

FAULT = "fault kernel=smooth nth=3 code=710"
BAD_VALUE = HERE / "programs/bad_value.py"
MADE = 511 * 31 % 512


def _add_allocator(machine):
    """Gives the program a library under the name by which the recorder recognises PyTorch's allocator."""
    shutil.copy(machine.build / "targets/torch/lib/libtorch_cpu.so", machine.folder / "libc10_cuda.so")
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)


def _rerun(machine, *arguments, options=()):
    machine.plan(FAULT)
    _add_allocator(machine)
    python = _python(machine)
    return machine.run(python, BAD_VALUE, *arguments, options=["--rerun=always", "--no-device-pass", *options], timeout=110)


def _passes(report):
    return [(each["name"], each["outcome"]) for each in report["passes"]]


def _expect_origin(report, grade="proven"):
    finding = report["findings"][0]
    expect((finding["location"]["file"], finding["location"]["line"]), true_line("bad_value.py"), "true line")
    origin, carried = finding["origin"]
    expect((origin["file"], origin["line"]), true_line("bad_value.py", "MADE"), "line of the origin")
    expect({name: origin[name] for name in ("role", "operator", "value", "index", "batch", "grade")},
           {"role": "made", "operator": "aten::remainder.Scalar", "value": MADE, "index": [1], "batch": None,
            "grade": grade}, "origin")
    expect((carried["role"], carried["operator"]), ("copied", "aten::clone"), "what carried the value")


def bad_value_is_traced_by_the_rerun_that_confirms(machine):
    result = _rerun(machine, "tells")
    report = machine.report()
    expect(_passes(report), [("record", "bracketed"), ("confirm", "proven")], "passes")
    expect(report["findings"][0]["evidence"]["grade"], "proven", "grade")
    _expect_origin(report)
    text = machine.cudadiag("report").stdout
    expect_in(f"Origin  {MADE} was produced at ", text, "text")
    expect_in("hashed: return (raw * 31)", " ".join(text.split()), "text")
    expect_in("was produced at", result.stderr, "what the reruns say")
    page = machine.folder / "report.html"
    machine.cudadiag("report", "--html", page)
    expect_in("Origin", page.read_text(), "page")


def bad_value_is_traced_where_it_is_asked_for(machine):
    _rerun(machine, options=["--no-values"])
    expect(_passes(machine.report()), [("record", "bracketed"), ("confirm", "proven")], "passes")
    result = machine.cudadiag("bisect", "--origin", "--no-device-pass", timeout=110)
    expect(result.returncode, 0, "status")
    expect(_passes(machine.report())[-1], ("origin", "traced"), "passes")
    _expect_origin(machine.report(), "inferred")  # the report names no value of the failure


ASSERTION = "fault kernel=smooth nth=1 code=710"


def _stand_in(machine, plan, *arguments, options=()):
    """Runs a program that takes the place of the hook."""
    machine.plan(plan)
    _add_allocator(machine)
    machine.run(*program("traced.py", *arguments), options=["--rerun=always", "--no-device-pass", *options], timeout=60)
    report = machine.report()
    expect_true_line(report, "traced.py")
    (finding,) = report["findings"]
    expect((finding["evidence"]["grade"], finding["origin"][0]["value"]), ("proven", 511), "grade and origin")
    return report


def one_rerun_confirms_and_traces(machine):
    report = _stand_in(machine, ASSERTION)
    expect(_passes(report), [("record", "bracketed"), ("confirm", "proven")], "passes")
    machine.run(*program("traced.py"), options=["--rerun=never"])
    result = machine.cudadiag("bisect", "--isolated", "--no-device-pass", timeout=60)
    expect_in("rerun 1: waits for the only candidate and the calls around it, and traces the bad value", result.stderr, "progress")
    expect(_passes(machine.report()), [("record", "bracketed"), ("confirm", "proven")], "passes of bisect")


def origin_is_of_the_process_that_failed(machine):
    report = _stand_in(machine, ASSERTION, "child")
    expect(_passes(report), [("record", "bracketed"), ("confirm", "proven")], "passes")
    expect(report["findings"][0]["origin"][0]["grade"], "proven", "grade of the origin")


def one_of_two_origins_is_not_proven(machine):
    report = _stand_in(machine, ASSERTION, "twice")
    expect(report["findings"][0]["origin"][0]["grade"], "inferred", "grade of the origin")


def origin_of_one_of_two_processes_is_not_proven(machine):
    machine.plan(ASSERTION)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    options = ["--rerun=always", "--no-values", "--no-device-pass"]
    for words, grade in ((["names"], "proven"), (["names", "child"], "inferred")):
        machine.runs.unlink(missing_ok=True)
        machine.run(*program("traced.py", *words), options=options, timeout=60)
        machine.cudadiag("bisect", "--isolated", "--origin", "--no-device-pass", timeout=110)
        (origin,) = machine.report()["findings"][0]["origin"]
        expect((origin["value"], origin["grade"]), (511, grade), f"origin of {words}")


def rerun_that_traces_and_fails_in_another_way_proves_nothing(machine):
    for plan, said, outcome in (
            (f"{ASSERTION} run=1; {ASSERTION} run=3-", "did not fail", "did not fail"),
            (f"{ASSERTION} run=1; fault kernel=other nth=1 code=700 run=2; {ASSERTION} run=3-",
             "failed in a different way", "failed, but not at an operation that it waited for")):
        machine.runs.unlink(missing_ok=True)
        report = _stand_in(machine, plan)
        expect(_passes(report), [("record", "bracketed"), ("confirm", outcome), ("confirm", "proven")], "passes")
        expect_in({"code": "values-disturb",
                   "text": f"rerun 1: while cudadiag traced values, the program {said}; rerun 2 traced no values"},
                  report["notes"], "notes")


def no_operation_runs_alone_while_the_hook_reads_values_on_another_thread(machine):
    report = _stand_in(machine, ASSERTION, "quiet", options=["--wait-limit=0.2"])
    expect(_passes(report)[2:], [("confirm", "proven")], "the rerun that traces nothing")
    expect_in("calls on other threads did not return within 0.2 s", str(report["notes"]), "notes")


def rerun_that_traces_ends_when_nothing_more_can_come(machine):
    machine.plan("fault kernel=smooth nth=1 code=710")
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.run(*program("traced.py", "stays"), options=["--rerun=always", "--no-values", "--no-device-pass"], timeout=60)
    machine.cudadiag("bisect", "--isolated", "--origin", "--no-device-pass", timeout=110)
    (finding,) = machine.report()["findings"]
    expect(finding["origin"][0]["value"], 511, "origin")
    manifest = machine.state / "cudadiag" / machine.sessions()[0] / "manifest.json"
    traced = json.loads(manifest.read_text())["passes"][-1]
    expect((traced["name"], traced["cut_short"]), ("origin", ""), "why the pass ended")


OPERATOR = """
import sys
sys.path.insert(0, {programs!r})
import cuda
import torch

cuda.start()
cuda.allocate_as_pytorch_does()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
library = torch.library.Library("demo", "DEF")
library.define("smooth(Tensor x) -> ()")


def smooth(x):
    launch(stream, parameters, None)  # TRUE LINE


library.impl("smooth", smooth, "CPU")
for step in range(30):
    torch.ops.demo.smooth(torch.ones(1))
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
"""


def operators_that_the_hook_calls_are_proven_and_waited_for_only_near_the_failure(machine):
    machine.plan("fault kernel=smooth nth=25 code=710")
    _add_allocator(machine)
    file = machine.folder / "custom_operator.py"
    file.write_text(OPERATOR.format(programs=str(HERE / "programs")))
    machine.run(_python(machine), file, options=["--rerun=never"], timeout=110)
    result = machine.cudadiag("bisect", "--isolated", "--no-device-pass", timeout=110)
    report = machine.report()
    expect(_passes(report)[1], ("confirm", "proven"), "the first rerun")
    expect_in("call 25 of this line", report["findings"][0]["evidence"]["because"], "which call")
    (waits,) = re.findall("rerun 1: .* waited for ([0-9]+) operations", result.stderr)
    expect(int(waits) < 20, True, f"few waits, not {waits}")


def no_origin_is_looked_for_without_values(machine):
    _rerun(machine, "tells", options=["--no-values"])
    expect([name for name, _ in _passes(machine.report())], ["record", "confirm"], "passes")


def _races(machine, *arguments):
    report = machine.folder / "races.json"
    command = [machine.cudadiag("races", "--tensors", "--json", report, "--", *arguments, timeout=110)]
    return command[0], json.loads(report.read_text())


def tensors_that_race_are_told_with_their_bytes(machine):
    result, report = _races(machine, "python3", HERE / "programs/tells_race.py")
    expect(result.returncode, 0, "status of the program")
    (finding,) = report["findings"]
    first, second = finding["accesses"]
    expect(report["verdict"], "cuda_failure", "verdict")
    expect([(each["location"]["file"], each["location"]["line"]) for each in (first, second)],
           [true_line("tells_race.py", "FIRST"), true_line("tells_race.py", "SECOND")], "lines")
    expect([(each["tensor"]["name"], each["tensor"]["view"], each["mode"], each["stream"]) for each in (first, second)],
           [("head", False, "write", "0x1"), ("whole", True, "read", "0x55d0c8")], "tensors")
    expect(finding["overlap"], {"range": ["0x7f0000400000", "0x7f0000c00000"], "bytes": 2 << 22}, "overlap")
    expect(finding["evidence"]["grade"], "inferred", "grade")
    for text in ("head float32[3145728]", "view of whole float32[3145728]", "both use 8,388,608 B",
                 "stream A never waited for the default stream"):
        expect_in(text, result.stderr, "text")
    expect(machine.report()["findings"], report["findings"], "what the session says later")


def operator_of_the_host_that_races_is_told(machine):
    result, report = _races(machine, "python3", HERE / "programs/tells_race.py", "host")
    expect(report["findings"][0]["accesses"][1]["stream"], None, "stream")
    expect_in("is read on the host, and nothing orders the two", result.stderr, "text")


def tensors_that_do_not_race_are_said_to_be_checked(machine):
    python = _python(machine)
    result, report = _races(machine, python, "-c", "import torch; print(torch.ones(3).sum())")
    expect((result.stdout, report["findings"]), ("tensor(3.)\n", []), "result")
    expect_in("cudadiag: no", result.stderr, "message")
    expect(machine.sessions(), [], "sessions")
