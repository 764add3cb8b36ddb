"""The values that a rerun reads inside Python. Each function's name says what it tests. The simulated driver cannot run
PyTorch's operators; test/hook tests those."""

import pathlib
import re
import shutil
import sys

from harness import HERE, expect, expect_in, expect_success, expect_true_line, program, true_line
from passes import session_of

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
    expect((idx["origin"], idx["dtype"], idx["shape"]), ("variable", "int64", [step, 512]), "idx")


def variables_of_the_failing_call_are_told(machine):
    machine.plan(FAULT)
    _, report = _rerun(machine, *program("values.py"))
    _expect_taken(report, 2)


def they_are_those_of_the_program_where_a_library_launches(machine):
    machine.plan(FAULT)
    _, report = _rerun(machine, *program("values.py", "library"))
    finding = report["findings"][0]
    expect_in("kernels.apply(", finding["location"]["source"], "true line")
    (rows,) = [each for each in _arguments(report) if each["name"] == "rows"]
    expect(rows["shape"], [2, 512], "rows")


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


def program_that_goes_another_way_while_values_are_taken_is_rerun_without(machine):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    short, passed = "ended before it reached this call", "did not fail"
    for plan, first, outcome, said in (
            (FAULT, 0, short, "ended with status 1 before it reached the failing call"),
            (f"{FAULT} run=1; {FAULT} run=3-", 9, passed, passed)):
        machine.plan(plan)
        machine.runs.unlink(missing_ok=True)
        result = machine.run(*program("composite.py", first), options=["--rerun=always", "--no-device-pass"], timeout=60)
        report = machine.report()
        expect_true_line(report, "composite.py")
        expect([each["outcome"] for each in report["passes"]], ["bracketed", outcome, "proven"], "passes")
        expect_in("confirmed by 2 reruns", result.stderr, "message")
        expect_in({"code": "values-disturb",
                   "text": f"rerun 1: while cudadiag read values, the program {said}; rerun 2 read no values"},
                  report["notes"], "notes")
        expect("status 1" in report["findings"][0]["evidence"]["because"], False, "whether the program is blamed")


def one_rerun_without_values_is_enough_where_they_make_no_difference(machine):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.plan(f"{FAULT} run=1")
    machine.run(*program("composite.py", 9), options=["--rerun=always", "--no-device-pass", "--repeat=2"], timeout=60)
    expect([each["outcome"] for each in machine.report()["passes"]], ["bracketed"] + 3 * ["did not fail"], "passes")
    values = [len(list(folder.glob("*.values"))) for folder in sorted(machine.state.glob("cudadiag/latest/confirm*"))]
    expect(values, [1, 0, 1], "which reruns read values")


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


def saved_call_is_made_again_and_told(machine):
    import tarfile  # imported here, because each case is a process and the import is slow

    machine.plan(FAULT)
    _, report = _rerun(machine, *program("values.py", "saves"), options=["--save-inputs"])
    inputs = report["findings"][0]["inputs"]
    expect((inputs["operator"], inputs["tensors"], inputs["missing"], inputs["replay"]),
           ("aten::embedding", 1, ["a thing"], "reproduces"), "inputs")
    script = pathlib.Path(inputs["folder"], "replay.py")
    expect_in("torch.ops", script.read_text(), "script")
    expect(script.stat().st_mode & 0o777, 0o600, "mode")
    sent = script.read_text()
    script.write_text("raise SystemExit('somebody else wrote this')\n")
    expect_success(machine.cudadiag("report", "--bundle", "it.tar.gz", "--bundle-inputs"))
    with tarfile.open(machine.folder / "it.tar.gz") as archive:
        expect(archive.extractfile("cudadiag-bundle/inputs/replay.py").read().decode(), sent, "script in the bundle")
    text = machine.cudadiag("report").stdout
    expect_in("replay.py in that folder repeats the call: reproduces", text, "text")


def inputs_that_cannot_be_saved_are_said_not_to_be(machine):
    machine.plan(FAULT)
    result, report = _rerun(machine, *program("values.py"), options=["--save-inputs"])
    expect_in("no inputs were saved: cudadiag saves them only for a PyTorch operator", result.stderr, "message")
    expect(report["findings"][0]["inputs"], None, "inputs")


def garbage_that_our_code_finds_ends_for_the_recorder_too(machine):
    machine.plan(FAULT)
    _, report = _rerun(machine, *program("collected.py"))
    expect_true_line(report, "collected.py")
    session = session_of(machine)
    expect_in("garbage was collected", (session / "confirm/output.txt").read_text(), "rerun's output")
    shutil.rmtree(session / "record")
    (session / "confirm").rename(session / "record")
    (garbage,) = [line for line in machine.cudadiag("dump").stdout.splitlines() if " issued=43 " in line]
    expect_in(" state=2 ", garbage, "the stream that ended")


def proven_session_can_still_save_its_inputs(machine):
    machine.plan(FAULT)
    _rerun(machine, *program("values.py", "saves"))
    result = machine.cudadiag("bisect", "--no-device-pass", "--save-inputs", timeout=60)
    expect(result.returncode, 0, "status")
    expect_in("repeats the call: reproduces", result.stdout, "text")


def watched_line_shows_its_latest_values_without_a_rerun(machine):
    file, line = true_line("watched.py")
    machine.plan(FAULT)
    result = machine.run(*program("watched.py"), options=["--watch", f"watched.py:{line}"])
    expect(result.returncode, 3, "status")
    finding = machine.report()["findings"][0]
    latest = [(each["file"], each["line"], each["visit"], [(argument["name"], argument["value"])
                                                           for argument in each["arguments"]])
              for each in finding["watched"]]
    expect(latest, [(file, line, step + 1, [("row", str(100 * step))]) for step in range(10)], "values")
    expect_in(f":{line} visit 10: row = 900", machine.cudadiag("report").stdout, "text")


def of_a_watched_line_a_bounded_number_is_kept(machine):
    machine.plan("fault kernel=smooth nth=300 code=700")
    file, line = true_line("watched.py")
    text = (HERE / "programs/watched.py").read_text().replace("range(10)", "range(300)")
    copy = machine.folder / "watched.py"
    copy.write_text(f"import sys\nsys.path.insert(0, {str(HERE / 'programs')!r})\n" + text)
    machine.run(sys.executable, copy, options=["--watch", f"{copy}:{line + 2}"])
    expect([each["visit"] for each in machine.report()["findings"][0]["watched"]], list(range(285, 301)), "visits")
    (ring,) = machine.state.glob("cudadiag/latest/record/*.watched")
    expect(ring.stat().st_size, 64 * 4096, "bytes")


def a_clean_run_with_a_watched_line_says_nothing(machine):
    _, line = true_line("watched.py")
    result = machine.run(*program("watched.py"), options=["--watch", f"watched.py:{line}"])
    expect((result.returncode, result.stdout, result.stderr), (0, "", ""), "result")
    expect(machine.sessions(), [], "sessions")


def what_a_signal_handler_raises_in_the_hook_reaches_the_program(machine):
    _, line = true_line("interrupted.py")
    for arguments in ([], ["start"]):
        result = machine.run(*program("interrupted.py", *arguments), options=["--watch", f"interrupted.py:{line}"])
        expect(result.returncode, 4, f"status with {arguments}, with stderr {result.stderr}")


def watched_lines_are_counted_each_for_itself(machine):
    file, line = true_line("watched.py")
    machine.plan(FAULT)
    machine.run(*program("watched.py"), options=["--watch", f"watched.py:{line}", "--watch", f"{file}:{line - 1}"])
    visits = [(each["line"], each["visit"]) for each in machine.report()["findings"][0]["watched"]]
    expect(visits, [(at, visit) for visit in range(3, 11) for at in (line - 1, line)], "visits")


def watched_line_that_has_nothing_to_show_is_said(machine):
    _, line = true_line("watched.py")
    machine.plan(FAULT)
    watched = [f"watched.py:{line}", f"watched.py:{line + 1}"]
    said = machine.run(*program("watched.py"), options=["--watch", watched[0], "--watch", watched[1]]).stderr
    expect([each for each in said.splitlines() if "--watch" in each],
           [f"cudadiag: --watch {watched[1]}: the line was reached, but it uses no variable whose value cudadiag "
            "can show"], "lines")


def watched_line_that_cannot_be_reached_is_said(machine):
    file, line = true_line("watched.py")
    reached = f"watched.py:{line}"
    for wrong, at_once, at_last in (
            ("wached.py:3", "found no file wached.py here or next to the command's files; the line is watched if the "
             "program runs such a file anyway", "in a file whose path ends in wached.py"),
            ("/no/watched.py:3", "found no file /no/watched.py; the line is watched if the program runs such "
             "a file anyway", "in a file whose path ends in /no/watched.py"),
            (f"{file}:4000", f"{file} ends at line {len(open(file, encoding='utf-8').readlines())}", file),
            (f"{file}:1", None, "cudadiag watches a line only after CUDA is initialised, only if it contains code")):
        result = machine.run(*program("watched.py"), options=["--watch", reached, "--watch", wrong])
        expect((result.returncode, result.stdout), (0, ""), "result")
        first, *rest = result.stderr.splitlines() if at_once else ["", *result.stderr.splitlines()]
        expect(first, f"cudadiag: --watch {wrong}: {at_once}" if at_once else "", "first message")
        expect(len(rest), 1, "lines of " + result.stderr)
        expect_in(f"cudadiag: --watch {wrong}: no process seems to have reached the line; ", rest[0], "last message")
        expect_in(at_last, rest[0], "why")
    never = machine.run("true", options=["--watch", reached])
    expect_in("CUDA was never initialised, and lines are watched only once it is", never.stderr, "a program without CUDA")
    native = machine.run(machine.build / "targets/healthy", options=["--watch", reached])
    expect_in("no Python code seems to have run after CUDA was initialised", native.stderr, "a program without Python")


def _started(machine, case):
    machine.plan(FAULT)
    result, report = _rerun(machine, *program("library_threads.py", case))
    finding = report["findings"][0]
    related = [(line["role"], line["file"], line["line"]) for line in finding["related"]]
    return result.stderr, finding, (finding["location"]["file"], finding["location"]["line"]), related


def librarys_thread_leads_to_the_line_that_started_it(machine):
    line = true_line("library_threads.py", "TRUE LINE thread")
    name = "site-packages/kernels.py"
    for case in ("thread", "nested"):
        said, finding, location, related = _started(machine, case)
        expect(location, line, "true line, " + case)
        expect(related, [("started", *line)], "related, " + case)
        expect_in("thread.start()", finding["location"]["source"], "source")
        expect(any(frame["user"] for frame in finding["stack"]["python"]), False, "a line of the user's on the stack")
        expect(finding["stack"]["python"][0]["file"].endswith(name), True, "library's line on the stack")
        expect(finding["evidence"]["grade"], "proven", "grade")
        expect_in("the line shown started that thread", finding["evidence"]["because"], "evidence")
        assert re.search(r"confirmed by a rerun \(.*\): proven\n", said), said
        expect_in("on a thread that this line started", " ".join(said.split()), "report")
        text = machine.cudadiag("report", "-v").stdout
        expect_in(f"library_threads.py:{line[1]}", text.splitlines()[0], "headline")
        assert re.search(rf"\nIssued  by \S+/{name}:\d+, apply, on a thread that this line started\n", text), text
        assert re.search(r"\nPython +\S+/kernels.py:\d+ apply\n(?: .*\n)+Started ", text), text
        assert re.search(rf"\n(?:Started|       ) \* \S+/library_threads.py:{line[1]} in_thread\n", text), text
        # this number counts the calls on the library's line
        assert not re.search(r"\n  > .* of this line\n", text), text


def what_a_pool_of_threads_was_given_leads_to_the_line_that_gave_it(machine):
    line = true_line("library_threads.py", "TRUE LINE pool")
    said, finding, location, related = _started(machine, "pool")
    expect(location, line, "true line")
    expect(related, [("started", *line)], "related")
    expect_in(", apply, on a thread that runs none of your code; the line shown submitted this work to the thread's "
              "pool", finding["evidence"]["because"], "evidence")
    expect_in("as work that this line submitted to a thread pool", " ".join(said.split()), "report")


def thread_that_runs_a_line_of_the_users_leads_to_that(machine):
    said, finding, location, related = _started(machine, "own")
    expect(location, true_line("library_threads.py", "TRUE LINE own"), "true line")
    expect(related, [], "related")
    told = "".join(file.read_text() for file in machine.state.glob("cudadiag/latest/confirm/*.values"))
    assert "started" not in told, told


def start_of_another_thread_is_not_taken_for_the_failing_ones(machine):
    _started(machine, "thread")
    (file,) = machine.state.glob("cudadiag/latest/confirm/*.values")
    told = file.read_text()
    for damage in (lambda line: re.sub(r"^\d+", "1", line, flags=re.MULTILINE),
                   lambda line: re.sub(r"^(\d+) \d+", r"\1 18446744073709551615", line, flags=re.MULTILINE),
                   lambda line: re.sub(r'"line":\d+', '"line":7777', line),
                   lambda line: re.sub(r'"stacks":.*', '"stacks":[[],[["site-packages/a.py",3,"f"]],7]}', line)):
        expect(damage(told) != told, True, "damage")
        file.write_text(damage(told))
        finding = machine.report()["findings"][0]
        expect_in("kernels.py", finding["location"]["file"], "line of the library")
        expect(finding["related"], [], "related")
