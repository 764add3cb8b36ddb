"""What an automatic rerun does and adds, and when it ends. Each function's name says what it tests."""

import fcntl
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

from harness import DATA, FAULT, HERE, expect, expect_in, expect_success, expect_true_line, program, skip, true_line
from passes import AGAIN, bisect, evidence, expect_proven, expect_unproven, outcomes, rerun, session_of

ONCE = AGAIN + " run=1"


def _codes(report):
    return [note["code"] for note in report["notes"]]


def _alive(pid):
    """Returns whether the process exists and is not a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _sleeper(text):
    (pid,) = [int(line.split()[1]) for line in text.splitlines() if line.startswith("sleeper ")]
    return pid


# ---- what a rerun adds


def what_was_recorded_without_some_stacks_is_proven_as_well(machine):
    # Without the stacks of its language, a program has no line.
    programs = ((AGAIN, program("ten_launches.py"), ("of this line", "with this stack")),
                ("fault kernel=scale nth=3 code=700", [machine.build / "targets/third_of_ten"], ("of this kernel", "of this line")))
    for plan, command, counted in programs:
        machine.plan(plan)
        for option, what in zip(("--no-native-stacks", "--no-python-stacks"), counted):
            said = rerun(machine, *command, options=[option]).stderr
            expect_in("confirmed by a rerun", said, f"message with {option}")
            report = machine.report()
            expect(outcomes(report), [("record", "bracketed"), ("confirm", "proven")], "passes with " + option)
            grade, because = evidence(report)
            expect(grade, "proven", "grade with " + option)
            expect_in(f" {what} ran alone on the GPU and failed", because, "because")
        machine.run(*command, options=["--no-native-stacks"])
        expect_success(bisect(machine, "--launch", "3"))
        expect(outcomes(machine.report())[1:], [("confirm", "proven")], "passes of bisect")


def line_that_the_rerun_proved_is_the_one_that_is_confirmed(machine):
    machine.plan("fault kernel=scale nth=3 code=700")
    targets_folder = machine.build / "targets"
    said = rerun(machine, "sh", "-c", f"{targets_folder}/invalid_argument; {targets_folder}/third_of_ten; exit 1").stderr
    report = machine.report()
    expect([finding["evidence"]["grade"] for finding in report["findings"]], ["proven", "proven"], "grades")
    refused, failed = (finding["location"] for finding in report["findings"])
    expect(os.path.basename(refused["file"]), "invalid_argument.cc", "what leads")
    expect_in(f"third_of_ten.cc:{failed['line']} is proven", said.partition("confirmed by a rerun")[2], "message")


def failure_that_does_not_come_back_leaves_the_first_answer(machine):
    machine.plan(ONCE)
    result = rerun(machine, *program("probe.py"))
    expect(result.returncode, 3, "status")
    expect_in("did not fail; the first answer remains  [bracketed]", result.stderr, "message")
    report = machine.report()
    expect_true_line(report, "probe.py")
    expect(outcomes(report), [("record", "bracketed"), ("confirm", "did not fail")], "passes")
    grade, because = evidence(report)
    expect(grade, "bracketed", "grade")
    expect_in("a rerun that waited there did not fail: a race, or an intermittent failure", because, "because")


def race_is_concluded_only_where_a_rerun_that_does_not_wait_fails_again(machine):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    kernel = "_Z9far_storePi"
    machine.plan(f"fault kernel={kernel} nth=3 code=700 run=1")
    for dump, cause, because, outcome in (
            (DATA / "gpucore/far.nvcudmp.gz", "missing-wait", "and one that did not wait failed: likely a race",
             "core dump read"),
            ("none", None, "with or without waiting there: the failure is intermittent", "did not fail")):
        machine.runs.unlink(missing_ok=True)
        machine.run(*program("leaves_dump.py", kernel, dump))
        text = expect_unproven(machine.cudadiag("bisect")).stdout
        report = machine.report()
        expect(outcomes(report)[1:], [("confirm", "did not fail"), ("device", outcome)], "reruns")
        expect((report["findings"][0]["cause"] or {"id": None})["id"], cause, "cause")
        expect_in(because, evidence(report)[1], "because")
        expect("--repeat 20" in text, cause is None, "whether repeating is advised in " + text)
        text = machine.cudadiag("report", "-v").stdout
        expect("unknown (the rerun for a core dump did not fail)" in text, cause is None, "Device in " + text)


def _copied(machine, *names):
    """Copies programs, so that they can be edited. Returns the path of the last one."""
    for name in names:
        shutil.copy(HERE / "programs" / name, machine.folder)
    return machine.folder / names[-1]


def source_that_was_edited_since_is_not_shown(machine):
    machine.plan(AGAIN)
    script = _copied(machine, "cuda.py", "ten_launches.py")
    _, line = true_line("ten_launches.py")
    first = machine.run(sys.executable, script)
    expect_in("# TRUE LINE", first.stderr, "the first report, which has the source")
    script.write_text("# one line more\n" + script.read_text())
    bisected = expect_unproven(bisect(machine))
    expect_in("ten_launches.py changed after the first run, so a rerun cannot prove what failed in that run\n", bisected.stderr,
              "what is said before the rerun")
    again = bisected.stdout
    expect_in("ten_launches.py was edited after the run: line numbers are those of the run",
              " ".join(again.split()), "report")
    expect(" | " in again, False, "whether source is shown")
    report = machine.report()
    finding, other = report["findings"]
    expect((finding["location"]["line"], finding["location"]["source"]), (line, None), "the line during the first run")
    expect((other["location"]["line"], other["evidence"]["grade"]), (line + 1, "proven"), "where the rerun failed")
    expect_in("source-changed", _codes(report), "notes")


ANOTHER_TEXT = "ten_launches.py was edited before the rerun, so the rerun says nothing about this answer; "


def rerun_of_an_edited_source_neither_proves_nor_refutes(machine):
    machine.plan(AGAIN)
    # The code of the second program has a different layout, so that no call of the rerun matches one of the first run.
    for text in ("# one line more\n", "print(1 + len(__name__))\n"):
        script = _copied(machine, "cuda.py", "ten_launches.py")
        machine.run(sys.executable, script)
        before = evidence(machine.report())
        script.write_text(text + script.read_text())
        bisect(machine)
        expect(evidence(machine.report()), ("bracketed", ANOTHER_TEXT + before[1]), "evidence")
        expect(evidence(machine.report(), 1)[1].startswith("in a rerun of an edited source, "), True, "the rerun's line")
        script.unlink()
        expect(evidence(machine.report()), ("bracketed", ANOTHER_TEXT + before[1]), "evidence without the file")


def source_that_was_mended_is_no_race(machine):
    machine.plan(AGAIN)
    script = _copied(machine, "cuda.py", "ten_launches.py")
    machine.run(sys.executable, script)
    before = evidence(machine.report())
    script.write_text(script.read_text().replace("range(10)", "range(2)"))
    bisect(machine)
    expect(evidence(machine.report()), ("bracketed", ANOTHER_TEXT + before[1]), "evidence")


def under_mps_nobody_is_blamed_for_a_fault_that_did_not_come_back(machine):
    machine.plan(f"mps; {ONCE}")
    result = rerun(machine, *program("probe.py"), options=["--rerun=always"])
    report = machine.report()
    expect_true_line(report, "probe.py")
    grade, because = evidence(report)
    expect(grade, "inferred", "grade")
    expect_in("under MPS another process may have caused the fault", because, "because")
    expect_in("a race, or an intermittent failure, or another process's fault", because, "because")
    expect(report["findings"][0]["cause"]["id"], "mps-client", "cause")
    expect_in("under MPS, a fatal error", result.stderr, "what is printed")
    expect(_codes(report), ["mps"], "notes")


def under_mps_waiting_proves_nothing(machine):
    machine.plan(f"mps; {AGAIN}")
    rerun(machine, *program("probe.py"), options=["--rerun=always"])
    report = machine.report()
    expect_true_line(report, "probe.py")
    expect(evidence(report)[0], "inferred", "grade")
    expect(report["findings"][0]["cause"]["id"], "mps-client", "cause")
    machine.run(*program("probe.py"))
    shown = machine.cudadiag("report", "-v").stdout
    expect_in(" files; under MPS, it can end other programs\n", shown, "the row Next")


def rerun_with_an_error_of_the_hardware_proves_nothing_about_another_error(machine):
    machine.plan("fault kernel=smooth nth=3 code=700 run=1; fault kernel=smooth nth=3 code=214 run=2-")
    rerun(machine, *program("probe.py"), options=["--rerun=always"])
    report = machine.report()
    expect_true_line(report, "probe.py")
    grade, because = evidence(report)
    expect((grade, len(report["findings"])), ("bracketed", 1), "grade, and findings")
    expect_in("failed with another kind of error (214), which proves nothing about this one", because, "because")
    expect(set(outcomes(report)[1:]), {("confirm", "failed again, but did not prove this answer")}, "reruns")


def under_mps_a_correct_program_is_left_in_peace(machine):
    machine.plan("mps")
    result = rerun(machine, *program("probe.py"))
    expect((result.returncode, "cudadiag:" in result.stderr), (0, False), "status, and whether anything is said")


def one_of_very_many_calls_is_not_given_the_place_of_another(machine):
    machine.plan("fault stream=700 nth=2")
    first = rerun(machine, machine.build / "targets/many_streams")
    expect_in("one of 2,992 operations", first.stderr, "what the excerpt says")
    report = machine.report()
    launch = report["findings"][0]["launch"]
    expect((launch["stream"], launch["process_ordinal"], launch["site_ordinal"]), ("0x0", None, None), "the launch")
    grade, because = evidence(report)
    expect(grade, "proven", "grade")
    expect_in("one of 2992 candidates: in a rerun, call 1700 of this line ran alone", because, "because")


def one_of_two_candidates_is_not_proven_after_a_change_of_what_the_program_reads(machine):
    """The rerun may have taken another way than the first run. A log that grows says nothing about that."""
    if "reruns may write up to " not in machine.cudadiag("doctor").stdout:
        skip("mounting overlays is not allowed here")
    for file, grade in (("log", "proven"), ("progress", "inferred")):
        machine.plan("fault stream=700 nth=2")
        (machine.folder / file).write_text("as it was before\n")
        changes = f'echo run {">>" if file == "log" else ">"}{file}; exec "$@"'
        result = rerun(machine, "sh", "-c", changes, "sh", machine.build / "targets/many_streams")
        found, because = evidence(machine.report())
        expect(found, grade, f"grade, with stderr {result.stderr}")
        expect(f"the first run changed {machine.folder / file}" in because, file == "progress", f"whether it is said in {because}")


def call_that_failed_in_the_rerun_alone_is_not_shown_as_that_of_the_first_run(machine):
    machine.plan(AGAIN)
    expect_in("call 3 of this line", machine.run(*program("ten_launches.py")).stderr, "the first report")
    machine.plan("fault kernel=smooth nth=7 code=700")
    excerpt, _, rest = expect_success(bisect(machine)).stdout.partition("\nWhy ")
    expect_in("[proven]", excerpt, "grade")
    expect("of this line" in excerpt, False, "a call beside the line in " + excerpt)
    expect_in("in a rerun, call 7 of this line (call 3 in the first run) ran alone", " ".join(rest.split()), "Known")
    launch = machine.report()["findings"][0]["launch"]
    expect((launch["site_ordinal"], launch["stream_ordinal"]), (None, None), "the call's numbers")


def call_is_counted_from_the_caller_if_its_line_has_several(machine):
    file = machine.folder / "callers.py"
    file.write_text(f"""import sys; sys.path.insert(0, {str(HERE / "programs")!r})
import cuda
cuda.start()
(add, parameters), (scale, _), stream = cuda.kernel("add"), cuda.kernel("scale"), cuda.stream()
def issue(launch):
    launch(stream, parameters, None)
if sys.argv[1] == "callers":
    issue(add)
    for launch in add, scale, add:
        issue(launch)
else:
    for launch in add, scale, add:
        issue(launch)
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
""")
    for shape, nth, words in (("callers", 3, "call 2 of this kernel from callers.py:10"),
                              ("kernels", 2, "call 2 of this kernel on this line")):
        machine.plan(f"fault kernel=add nth={nth} code=700")
        result = rerun(machine, sys.executable, file, shape)
        expect_in(words + "\n", result.stderr, shape)
        expect_in(f"in a rerun, {words} ran alone on the GPU and failed", evidence(machine.report())[1], shape)


def failure_that_comes_now_and_then_is_caught_by_repeating(machine):
    machine.plan(f"{AGAIN} run=1; {AGAIN} run=4")
    result = rerun(machine, *program("probe.py"), options=["--repeat", "4"])
    expect_in("confirmed by 3 reruns", result.stderr, "message")
    report = machine.report()
    expect(outcomes(report)[1:], [("confirm", word) for word in ("did not fail", "did not fail", "proven")], "reruns")
    grade, because = evidence(report)
    expect(grade, "proven", "grade")
    expect_in("it failed in 2 of 4 runs", because, "because")


def repeating_ends_with_the_number_asked_for(machine):
    machine.plan(ONCE)
    rerun(machine, *program("probe.py"), options=["--repeat", "2"])
    report = machine.report()
    expect(len(report["passes"]), 3, "passes")
    expect_in("2 reruns that waited there did not fail", evidence(report)[1], "because")


def call_that_comes_earlier_in_the_rerun_is_caught_by_waiting_at_all_calls(machine):
    machine.plan("fault kernel=two nth=50 run=1; fault kernel=two nth=20 run=2-")
    rerun(machine, *program("three_lines.py"))
    report = machine.report()
    location = report["findings"][0]["location"]
    expect((location["file"], location["line"]), true_line("three_lines.py", "LINE two"), "line")
    expect([outcome for _, outcome in outcomes(report)[1:]], ["failed, but not at an operation that it waited for", "proven"],
           "reruns")
    grade, because = evidence(report)
    expect(grade, "proven", "grade")
    expect_in("in a rerun, call 20 of this line (one of calls 41 to 56 in the first run) ran alone", because, "because")


def failure_elsewhere_is_put_beside_the_first(machine):
    machine.plan("fault kernel=two nth=2 run=1; fault kernel=one nth=2 run=2; fault kernel=three nth=2 run=3-")
    result = rerun(machine, *program("three_lines.py"))
    expect_in("a rerun failed elsewhere:", result.stderr, "message")
    report = machine.report()
    expect([outcome for _, outcome in outcomes(report)],
           ["bracketed", *2 * ["failed, but not at an operation that it waited for"], "a different failure"], "passes")
    found = [(finding["location"]["line"], finding["evidence"]["grade"]) for finding in report["findings"]]
    # The rerun that failed at the first line proves nothing about the second line.
    expect(found, [(true_line("three_lines.py", "LINE two")[1], "inferred"),
                   (true_line("three_lines.py", "LINE three")[1], "proven")], "findings")
    expect_in("the first run did not suspect it", evidence(report, 1)[1], "because")


def operation_that_waits_for_a_later_one_ends_the_waiting(machine):
    machine.plan("hold kernel=waiting until=stream:2:1; fault kernel=bad nth=2")
    result = rerun(machine, *program("waits_for_later.py"), options=["--wait-limit", "0.2"])
    expect(result.returncode, 3, "status")
    report = machine.report()
    given_up = "failed, but waiting for an operation took longer than --wait-limit"
    expect({each["outcome"] for each in report["passes"] if each["name"] == "confirm"}, {given_up}, "reruns")
    expect_in(f"): {given_up}; the first answer remains", result.stderr, "message")
    expect(evidence(report)[0], "bracketed", "grade")
    expect_in("wait-given-up", _codes(report), "notes")
    expect_in("0.2 s", [note["text"] for note in report["notes"] if note["code"] == "wait-given-up"][0], "note")


# ---- when a rerun is ended


def rerun_that_hangs_is_ended_with_its_children(machine):
    machine.plan(AGAIN)
    result = rerun(machine, *program("probe.py", "sleeper", "rerun-hangs"), options=["--time-limit", "4"])
    bystander = _sleeper(result.stdout)
    try:
        expect(_alive(bystander), True, "the process that the first run left still runs")
    finally:
        os.kill(bystander, signal.SIGKILL)
    expect(result.returncode, 3, "status")
    expect_in("time limit; the first answer remains  [bracketed]", result.stderr, "message")
    expect_in("cudadiag: the command ran 2 times in all; cudadiag ended 1 of these runs early\n", result.stderr, "count")
    expect(outcomes(machine.report()), [("record", "bracketed"), ("confirm", "time limit")], "passes")
    shown = (session_of(machine) / "confirm/output.txt").read_text()
    expect_in("hanging", shown, "output")
    expect(_alive(_sleeper(shown)), False, "the rerun's child runs")


def rerun_for_a_dump_that_was_cut_short_is_made_again(machine):
    machine.plan(AGAIN)
    hangs = 'test -z "$HANG" || test -z "$CUDA_ENABLE_COREDUMP_ON_EXCEPTION" || exec sleep 1000; exec "$@"'
    machine.environment["HANG"] = "1"
    machine.run("sh", "-c", hangs, "sh", *program("probe.py"), options=["--rerun=always", "--time-limit", "3"])
    expect(outcomes(machine.report())[-1], ("device", "time limit"), "the pass for a dump")
    passes = len(outcomes(machine.report()))
    machine.environment.pop("HANG")
    said = expect_success(machine.cudadiag("bisect")).stderr
    expect_in("asks the driver for a GPU core dump", said, "message")
    found = outcomes(machine.report())
    expect((len(found), found[-1][0]), (passes + 1, "device"), "passes")
    expect_in("a rerun would add nothing", machine.cudadiag("bisect").stderr, "message once the dump exists")


def interrupt_ends_the_rerun_and_keeps_the_answer(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    target = machine.start(*machine.command("run", "--rerun=always", "--show-rerun", "--",
                                           *program("probe.py", "rerun-hangs")))
    for line in target.stderr:
        if line == "hanging\n":
            break
    target.send_signal(signal.SIGINT)
    rest = target.communicate(timeout=60)[1]
    expect(target.returncode, 3, "status")
    expect("could have been running" in rest, False, "whether Known is told again in " + rest)
    for more in ([], ["-v"]):
        expect_in("Next    cudadiag bisect ", expect_success(machine.cudadiag("report", *more)).stdout, "next commands")
    expect_in("interrupted; the first answer remains  [bracketed]; to prove it: cudadiag bisect --show-rerun"
              "  # not isolated: it can write files\n", rest, "message")
    expect(outcomes(machine.report()), [("record", "bracketed"), ("confirm", "interrupted")], "passes")


def interrupted_run_is_not_repeated(machine):
    machine.plan(FAULT)
    target = machine.start(*machine.command("run", "--", *program("ten_launches.py", "wait")))
    for line in target.stderr:
        if "[bracketed]" in line:
            break
    target.send_signal(signal.SIGTERM)
    rest = target.communicate(timeout=60)[1]
    expect(target.returncode, -signal.SIGTERM, "status")
    expect_in("the command was not rerun, because it was interrupted", rest, "message")
    expect(len(machine.report()["passes"]), 1, "passes")


# ---- what a rerun is like


def output_of_a_rerun_goes_to_a_file_or_is_shown(machine):
    machine.plan(AGAIN)
    result = rerun(machine, *program("probe.py", "tells"))
    expect(result.stdout, "record None\n", "stdout")
    assert "confirm disabled" not in result.stderr, result.stderr
    expect((session_of(machine) / "confirm/output.txt").read_text(), "confirm disabled\n", "stdout of the rerun")
    shown = rerun(machine, *program("probe.py", "tells"), options=["--show-rerun"])
    expect(shown.stdout, "record None\n", "stdout")
    expect_in("confirm disabled\n", shown.stderr, "stderr")
    expect((session_of(machine) / "confirm/output.txt").exists(), False, "a file")


def rerun_that_is_shown_cannot_change_the_users_log(machine):
    machine.plan(AGAIN)
    harms = ('test "$CUDADIAG_PASS" = record || python3 -c "import os; os.truncate(1, 0)" 2>&1; '
             'test "$CUDADIAG_PASS" = record || python3 -c "import os; [os.set_blocking(n, False) for n in (1, 2)]"; exec "$@"')
    with open(machine.folder / "log", "w+") as log:
        log.write("the user's line\n")
        log.flush()
        modes = fcntl.fcntl(log, fcntl.F_GETFL)
        subprocess.run(machine.command("run", "--rerun=auto", "--no-device-pass", "--show-rerun", "--", "sh", "-c", harms, "sh",
                                       *program("probe.py", "tells")),
                       env=machine.environment, cwd=machine.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=60)
        expect(fcntl.fcntl(log, fcntl.F_GETFL), modes, "modes")
    text = (machine.folder / "log").read_text()
    expect(text.startswith("the user's line\nrecord None\n"), True, "the start of " + text)
    expect_in("confirm disabled\n", text, "the output of the rerun")
    expect_proven(machine.report())


def rerun_cannot_join_the_group_that_reads_the_terminal(machine):
    machine.plan(AGAIN)
    joins = ("import os, sys\ntry:\n  os.setpgid(0, int(sys.argv[1]))\n  print('joined', flush=True)\n"
             "except PermissionError:\n  print('refused', flush=True)\nos.execv(sys.argv[2], sys.argv[2:])")
    result = rerun(machine, sys.executable, "-c", joins, os.getpgrp(), *program("probe.py"))
    expect(result.stdout, "joined\n", "the first run, which is in that group")
    expect((session_of(machine) / "confirm/output.txt").read_text(), "refused\n", "the rerun")
    expect_proven(machine.report())


def script_that_raises_the_limit_of_core_files_runs_again(machine):
    """Isolated. Without isolation, it fails, because its core file would replace that of the first run."""
    machine.plan(AGAIN)
    script = 'ulimit -c unlimited || exit 9; echo limit $(ulimit -c); exec "$@"'
    soft = dict(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY)))
    for isolated in True, False:
        machine.runs.unlink(missing_ok=True)
        machine.run("bash", "-c", script, "bash", *program("probe.py"), **soft)
        machine.cudadiag("bisect", "--no-device-pass", *(["--isolated"] if isolated else []), **soft)
        output = (session_of(machine) / "confirm/output.txt").read_text()
        expect(("limit" in output, "cannot modify limit" in output), (True, not isolated), f"the rerun, which said {output}")
        if isolated:
            expect_proven(machine.report())


def of_very_much_output_of_a_rerun_the_start_and_the_end_are_kept(machine):
    machine.plan(AGAIN)
    prints = 'test "$CUDADIAG_PASS" = record || { echo begun; head -c 40000000 /dev/zero; echo >/dev/stderr again; }; exec "$@"'
    rerun(machine, "sh", "-c", prints, "sh", *program("probe.py", "tells"))
    expect_proven(machine.report())
    kept = (session_of(machine) / "confirm/output.txt").read_bytes()
    expect((kept[:6], kept[-23:]), (b"begun\n", b"again\nconfirm disabled\n"), "the start and the end")
    assert b" bytes more were written here and dropped]\n" in kept
    assert len(kept) < 16 * 2 ** 20 + 100, len(kept)


def rerun_that_cannot_be_kept_is_told_all_the_same(machine):
    machine.plan(AGAIN)
    script = 'test "$CUDADIAG_PASS" = record || mkdir "$CUDADIAG_SESSION/$$.area"; exec "$@"'
    result = rerun(machine, "sh", "-c", script, "sh", *program("probe.py"))
    expect_in(".area: Is a directory", result.stderr, "the file that could not be written")
    assert "failed to start" not in result.stderr, result.stderr
    expect_in("proven", result.stderr, "the report after the rerun")


def correct_programs_stay_correct_under_a_full_window(machine):
    for name in ("healthy", "alloc_fails_handled", "capture_beside_launches", "many_threads", "graph_replay",
                 "event_wait", "per_thread_stream", "device_reset", "forked_child"):
        kept = ["-o", name]
        first = expect_success(machine.run(machine.build / "targets" / name, options=kept))
        expect_in("did not fail", expect_success(bisect(machine, "--window", "all", *kept)).stderr, name)
        report = machine.report(*kept)
        expect((report["verdict"], len(report["passes"])), ("no_cuda_failure", 2), name)
        expect((machine.folder / name / "latest/confirm/output.txt").read_text(), first.stdout, name)


def rerun_that_issues_nothing_is_ended_early(machine):
    machine.plan(AGAIN)
    waits = 'test "$CUDADIAG_PASS" = record || exec sleep 1000; exec "$@"'
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.run("sh", "-c", waits, "sh", *program("probe.py"), options=["--rerun=auto", "--wait-limit", "0.1"], timeout=60)
    passes = [("record", "bracketed"), ("confirm", "it issued nothing for too long")]
    expect(outcomes(machine.report()), passes, "passes, without one for a GPU core dump, which would also issue nothing")


def rerun_whose_dump_is_being_written_is_not_ended_early(machine):
    """The driver has printed that it begins a dump, and issues nothing for longer than a rerun otherwise may."""
    machine.plan(AGAIN)
    slowly = ('test "$CUDADIAG_PASS" != confirm || { echo "[09:00:00.000000] coredump: Starting GPU coredump generation"; '
              'sleep 8; }; exec "$@"')
    machine.run("sh", "-c", slowly, "sh", *program("probe.py"), options=["--rerun=auto", "--wait-limit", "0.1"], timeout=60)
    expect(outcomes(machine.report())[1], ("confirm", "proven"), "pass")
