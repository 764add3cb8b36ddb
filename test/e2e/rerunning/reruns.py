"""What is rerun, automatically or by `cudadiag bisect`, and what a rerun adds. Each function's name is its claim."""

import os
import pathlib
import shutil
import signal
import sys

import targets
from harness import DATA, FAULT, HERE, expect, expect_in, expect_success, expect_true_line, program, true_line
from passes import AGAIN, KEPT, bisect, evidence, expect_proven, outcomes, rerun, session_of

ONCE = AGAIN + " run=1"


def _codes(report):
    return [note["code"] for note in report["notes"]]


def _alive(pid):
    """Whether the process exists and is not a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _sleeper(text):
    (pid,) = [int(line.split()[1]) for line in text.splitlines() if line.startswith("sleeper ")]
    return pid


# ---- what a rerun adds


def what_was_recorded_without_some_stacks_is_proven_as_well(machine):
    programs = ((AGAIN, program("ten_launches.py")),
                ("fault kernel=scale nth=3 code=700", [machine.build / "targets/third_of_ten"]))
    for plan, command in programs:
        machine.plan(plan)
        for option in ("--no-native-stacks", "--no-python-stacks"):
            said = rerun(machine, *command, options=[option]).stderr
            expect_in("confirmed by a rerun", said, f"message with {option}")
            report = machine.report()
            expect(outcomes(report), [("record", "bracketed"), ("confirm", "proven")], "passes with " + option)
            grade, because = evidence(report)
            expect(grade, "proven", "grade with " + option)
            expect_in(" of this line ran alone on the GPU and failed", because, "because")
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
    expect_in(f"third_of_ten.cc:{failed['line']}  [proven]", said.partition("confirmed by a rerun")[2], "message")


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
            (DATA / "gpucore/far.nvcudmp.gz", "missing-wait", "and one that did not wait did: likely a race",
             "core dump read"),
            ("none", None, "with or without waiting there: the failure is intermittent", "did not fail")):
        machine.runs.unlink(missing_ok=True)
        machine.run(*program("leaves_dump.py", kernel, dump))
        text = expect_success(machine.cudadiag("bisect")).stdout
        report = machine.report()
        expect(outcomes(report)[1:], [("confirm", "did not fail"), ("device", outcome)], "reruns")
        expect((report["findings"][0]["cause"] or {"id": None})["id"], cause, "cause")
        expect_in(because, evidence(report)[1], "because")
        expect("--repeat 20" in text, cause is None, "whether repeating is advised in " + text)
        expect("unknown (the rerun for a core dump did not fail)" in text, cause is None, "Device in " + text)


def _copied(machine, *names):
    """Copies of programs, for editing."""
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
    again = expect_success(bisect(machine)).stdout
    expect_in("ten_launches.py was edited after the run: line numbers are those of the run",
              " ".join(again.split()), "report")
    expect(" | " in again, False, "whether source is shown")
    report = machine.report()
    finding, other = report["findings"]
    expect((finding["location"]["line"], finding["location"]["source"]), (line, None), "the line during the first run")
    expect((other["location"]["line"], other["evidence"]["grade"]), (line + 1, "proven"), "where the rerun failed")
    expect_in("source-changed", _codes(report), "notes")


ANOTHER_TEXT = "; ten_launches.py was edited before the rerun, so the rerun says nothing about this answer"


def rerun_of_an_edited_source_neither_proves_nor_refutes(machine):
    machine.plan(AGAIN)
    # The code of the second program has a different layout, so that no call of the rerun matches one of the first run.
    for text in ("# one line more\n", "print(1 + len(__name__))\n"):
        script = _copied(machine, "cuda.py", "ten_launches.py")
        machine.run(sys.executable, script)
        before = evidence(machine.report())
        script.write_text(text + script.read_text())
        bisect(machine)
        expect(evidence(machine.report()), ("bracketed", before[1] + ANOTHER_TEXT), "evidence")
        expect_in("; the rerun ran a different version of the source", evidence(machine.report(), 1)[1], "the rerun's line")
        script.unlink()
        expect(evidence(machine.report()), ("bracketed", before[1] + ANOTHER_TEXT), "evidence without the file")


def source_that_was_mended_is_no_race(machine):
    machine.plan(AGAIN)
    script = _copied(machine, "cuda.py", "ten_launches.py")
    machine.run(sys.executable, script)
    before = evidence(machine.report())
    script.write_text(script.read_text().replace("range(10)", "range(2)"))
    bisect(machine)
    expect(evidence(machine.report()), ("bracketed", before[1] + ANOTHER_TEXT), "evidence")


def under_mps_nobody_is_blamed_for_a_fault_that_did_not_come_back(machine):
    machine.plan(f"mps; {ONCE}")
    result = rerun(machine, *program("probe.py"))
    report = machine.report()
    expect_true_line(report, "probe.py")
    grade, because = evidence(report)
    expect(grade, "inferred", "grade")
    expect_in("under MPS another process may have caused the fault", because, "because")
    expect_in("a race, or an intermittent failure, or another process's fault", because, "because")
    expect(report["findings"][0]["cause"]["id"], "mps-client", "cause")
    expect_in("shared under MPS", result.stderr, "what is printed")
    expect(_codes(report), ["mps"], "notes")


def under_mps_waiting_proves_nothing(machine):
    machine.plan(f"mps; {AGAIN}")
    rerun(machine, *program("probe.py"))
    report = machine.report()
    expect_true_line(report, "probe.py")
    expect(evidence(report)[0], "inferred", "grade")
    expect(report["findings"][0]["cause"]["id"], "mps-client", "cause")


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
    # A rerun that failed at the first line leaves the second line in doubt.
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
    result = rerun(machine, *program("probe.py", "sleeper", "rerun-hangs"), options=["--time-limit", "1"])
    bystander = _sleeper(result.stdout)
    try:
        expect(_alive(bystander), True, "the process that the first run left still runs")
    finally:
        os.kill(bystander, signal.SIGKILL)
    expect(result.returncode, 3, "status")
    expect_in("time limit; the first answer remains  [bracketed]", result.stderr, "message")
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
    expect_in("gets a GPU core dump", said, "message")
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
    expect_in("interrupted; the first answer remains  [bracketed]; to prove it: cudadiag bisect"
              "  # not isolated: it can write files\n", rest, "message")
    expect(outcomes(machine.report()), [("record", "bracketed"), ("confirm", "interrupted")], "passes")


def interrupted_search_exits_as_an_interrupted_command_does(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.run(*program("probe.py", "rerun-hangs"), options=["--rerun=never"])
    search = machine.start(*machine.command("bisect", "--show-rerun"))
    for line in search.stderr:
        if line == "hanging\n":
            break
    search.send_signal(signal.SIGINT)
    shown, _ = search.communicate(timeout=60)
    expect(search.returncode, 128 + signal.SIGINT, "status")
    expect_in("[bracketed]", shown, "report")
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


# ---- cudadiag bisect


def bisect_proves_what_was_recorded(machine):
    machine.plan(AGAIN)
    result = machine.run(*program("probe.py"))
    folder = session_of(machine).resolve()
    done = expect_success(bisect(machine, cwd="/"))
    expect_in("rerun 1: waits for the only candidate", done.stderr, "stderr")
    expect_in("[proven]", done.stdout, "report")
    expect(result.returncode, 3, "status of the run")
    expect_proven(machine.report())
    again = expect_success(bisect(machine, folder))
    expect_in("a rerun would add nothing: the failure is already proven; for more evidence, use: --sanitize, --save-launch, --save-inputs, --origin\n",
              again.stderr, "stderr of a second run")
    asked = expect_success(bisect(machine, folder, "--cross-check"))
    expect_in("already proven; the session has no GPU core dump for cuda-gdb to read;", asked.stderr,
              "stderr of one that requests the debugger")
    expect_in("[proven]", again.stdout, "report of a second run")


def bisect_adds_to_what_is_there(machine):
    machine.plan(ONCE)
    machine.run(*program("probe.py"))
    machine.runs.write_bytes(b"")
    machine.plan("")
    for number in (1, 2):
        expect_success(bisect(machine, "-q"))
        expect(len(machine.report()["passes"]), 1 + number, "passes")
    expect(sorted(path.name for path in session_of(machine).iterdir()),
           ["confirm", "confirm-2", "manifest.json", "record"], "session")


def bisect_waits_for_what_is_named(machine):
    machine.plan("fault kernel=two nth=30 run=1-")
    machine.run(*program("three_lines.py"))
    line = true_line("three_lines.py", "LINE two")[1]
    for words in (["--site", f"three_lines.py:{line}"], ["--kernel", "^tw"], ["--launch", "90"], ["--window", "sites"],
                  ["--window", "calls"]):
        machine.run(*program("three_lines.py"))
        expect_success(bisect(machine, *words))
        expect([outcome for _, outcome in outcomes(machine.report())][1:], ["proven"], "reruns with " + str(words))
    machine.run(*program("three_lines.py"))
    expect_success(bisect(machine, "--kernel", "one"))
    expect(outcomes(machine.report())[1:], [("confirm", "failed, but not at an operation that it waited for")], "other kernel")


def bisect_of_what_does_not_start_any_more_says_where_it_says_why(machine):
    machine.plan(AGAIN)
    machine.environment["WANTED"] = "1"
    needs = ["sh", "-c", 'exec 2>&1; echo ${WANTED:?is not set}; exec "$@"', "sh", *program("probe.py")]
    machine.run(*needs)
    del machine.environment["WANTED"]
    done = expect_success(bisect(machine))
    printed = session_of(machine).resolve() / "confirm/output.txt"
    expect_in(f"the rerun exited before it used CUDA; its output is in {printed}. It", done.stderr, "stderr")
    expect_in("WANTED: is not set", printed.read_text(), "its output")
    expect(outcomes(machine.report())[1], ("confirm", "ended before it reached this call"), "first rerun")


def bisect_says_what_it_cannot_do(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    for words, why in ((["nowhere"], "session nowhere does not exist"),
                       (["--launch", "11"], "operation 11 does not exist: the run issued only 10"),
                       (["--kernel", "("], "is not a regular expression"),
                       (["--kernel", "nothing"],
                        "no recorded operation matches; the recorded kernels are: smooth\n"),
                       (["--site", "ten_launches.py"], "is not FILE:LINE"),
                       (["--site", "ten_launches.py:1"],
                        "no recorded operation matches; the recorded lines are: "),
                       (["--window", "all", "--launch", "3"], "")):
        result = machine.cudadiag("bisect", *words)
        expect(result.returncode, 125, "status of " + str(words))
        expect_in(why, result.stderr, "message")
    expect(len(machine.report()["passes"]), 1, "passes")
    # Any of the lines that the message suggests can be used.
    named = machine.cudadiag("bisect", "--site", "ten_launches.py:1").stderr.rpartition("lines are: ")[2].split(", ")
    expect(len(set(named)), len(named), "the listed lines, each once")
    file, line = true_line("ten_launches.py")
    expect([name.strip() for name in named if name.strip().endswith(f":{line}")], [f"{file}:{line}"], "the true line")
    expect_success(bisect(machine, "--site", f"{file}:{line}"))
    machine.run(machine.build / "targets/healthy", options=KEPT)
    expect_in("a rerun would add nothing", expect_success(machine.cudadiag("bisect", *KEPT)).stderr, "healthy program")


def bisect_of_a_run_that_was_killed(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py", "kill"))
    expect_success(bisect(machine))
    expect_proven(machine.report(), "ten_launches.py")


def bisect_of_a_run_whose_launcher_was_killed(machine):
    machine.plan(FAULT)
    target = machine.start(*machine.command("run", "--", *program("ten_launches.py", "wait")))
    for line in target.stderr:
        if "[bracketed]" in line:
            break
    target.kill()
    target.communicate(timeout=60)
    (name,) = machine.sessions()
    expect_success(bisect(machine, name.removesuffix(".incomplete")))
    expect_proven(machine.report(name), "ten_launches.py")


def bisect_finds_the_program_from_another_folder(machine):
    machine.plan(AGAIN)
    (machine.folder / "probe").write_text("#!/bin/sh\nexec " + " ".join(map(str, program("probe.py"))) + "\n")
    (machine.folder / "probe").chmod(0o700)
    machine.run("./probe")
    expect_success(bisect(machine, cwd="/"))
    expect_proven(machine.report())


def armed_run_proves_in_its_first_pass(machine):
    machine.plan(AGAIN)
    machine.run(*program("probe.py"))
    result = rerun(machine, *program("probe.py"), options=["--arm", "latest"])
    expect(result.returncode, 3, "status")
    report = machine.report()
    expect_true_line(report, "probe.py")
    expect(outcomes(report), [("record", "proven")], "passes")
    expect(machine.run("true", options=["--arm", "nowhere"]).returncode, 125, "status with an unknown session")


def shell_that_records_by_env_is_no_other_launcher(machine):
    machine.plan(FAULT)
    exports = expect_success(machine.cudadiag("env")).stdout
    inner = machine.command("run", "--rerun=auto", "-o", "kept", "--", *program("ten_launches.py"))
    result = machine.plain("sh", "-c", exports + 'exec "$@"', "sh", *inner)
    expect(result.returncode, 3, "status, with " + result.stderr)
    passes = [each["name"] for each in machine.report("-o", "kept")["passes"]]
    expect(passes, ["record", "confirm", "device"], "passes, with " + result.stderr)
    said = machine.run(*machine.command("run", "-o", "nested", "--", *program("ten_launches.py"))).stderr
    expect_in("the command was not rerun, because it ran under another cudadiag", said, "what a nested launcher says")


def which_of_the_kernels_of_a_line_it_is_a_rerun_says(machine):
    machine.plan("fault kernel=worker_40 nth=50 code=700")
    result = machine.cudadiag("run", "--rerun=auto", "--", machine.build / "targets/many_threads")
    expect_in("the likeliest of 64 or more kernels", result.stderr, "the first answer")
    expect_in("Kernel  worker_40  grid", result.stderr, "the whole report after the rerun")
    launch = machine.report()["findings"][0]["launch"]
    # The failing call is not among the few calls that are listed for the first run.
    expect((launch["kernel"], launch["site_ordinal"]), ("worker_40", None), "kernel and call")


def the_launch_of_a_graph_is_no_kernel_of_several(machine):
    machine.plan(targets.plan("graph_replay"))
    result = machine.cudadiag("run", "--rerun=never", "--", machine.build / "targets/graph_replay")
    expect_in("What    graph", result.stderr, "what failed")
    assert "likeliest of" not in result.stderr, result.stderr


def of_several_candidates_the_one_leads_whose_kernel_the_core_dump_names(machine):
    kernel, dump = "_Z9far_storePi", DATA / "gpucore/far.nvcudmp.gz"
    machine.plan(f"fault kernel={kernel} nth=3 code=700 after=stream:2:2")
    said = machine.run(*program("leaves_dump.py", kernel, dump, "smooth"), options=["--rerun=always"], timeout=60).stderr
    expect_in("may have been running, the likeliest first", said, "the first answer")
    report = machine.report()
    expect_true_line(report, "leaves_dump.py")
    expect(outcomes(report), [("record", "inferred"), ("confirm", "ended before it reached this call"),
                              ("device", "core dump read")], "passes")
    grade, because = evidence(report)
    expect(grade, "proven", "grade")
    expect_in("; in a rerun without waits, Warp Illegal Address came from the kernel of this line, and no other "
              "line launches that kernel", because, "because")
    finding = report["findings"][0]
    expect((finding["launch"]["kernel"], finding["device"]["line"]), ("far_store(int*)", 15), "kernel and device line")
    expect("device-disagrees" in _codes(report), False, "whether the report says that the dump disagrees")
    # In the opposite order, the line is the headline from the start.
    machine.plan(f"fault kernel={kernel} nth=3 code=700 after=stream:1:2")
    said = machine.run(*program("leaves_dump.py", "smooth", dump, kernel), options=["--rerun=always"], timeout=60).stderr
    _, line = true_line("leaves_dump.py")
    expect_in(f"cudadiag: confirmed by the GPU core dump of a rerun: leaves_dump.py:{line - 1}  [proven]", said, "message")


def bisect_runs_words_that_are_no_text(machine):
    folder = os.fsencode(machine.folder) + b"/caf\xe9"
    os.mkdir(folder)
    machine.plan(FAULT)
    command = machine.command("run", "--rerun=never", "-o", machine.folder / "kept", "--")
    command += ["sh", "-c", "printf '<%s>' \"$1\"; shift; exec \"$@\"", "sh", b"caf\xe9", *program("ten_launches.py")]
    machine.plain(*command, cwd=folder, text=False)
    result = machine.cudadiag("bisect", "-o", "kept", "--show-rerun", text=False)
    expect_in(b"<caf\xe9>", result.stderr, "what the rerun shows")
    (finding,) = machine.report("-o", "kept")["findings"]
    expect(finding["evidence"]["grade"], "proven", "grade")
    expect_success(machine.cudadiag("status", "--json", "-o", "kept"))
    os.rmdir(folder)
    gone = machine.cudadiag("bisect", "-o", "kept", "--kernel", "smooth").stderr
    expect_in("the working folder of the program has been removed: ", gone, "what is said without isolation")


def bisect_that_cannot_be_done_is_not_advised_again(machine):
    (machine.folder / "gone").mkdir()
    machine.plan(FAULT)
    command = machine.command("run", "--rerun=never", "-o", machine.folder / "kept", "--", *program("ten_launches.py"))
    machine.plain(*command, cwd=machine.folder / "gone")
    expect_in("\nNext    cudadiag bisect ", machine.cudadiag("report", "-o", "kept").stdout, "report's suggestion")
    os.rmdir(machine.folder / "gone")
    result = machine.cudadiag("bisect", "-o", "kept")
    expect_in("the working folder of the program has been removed: ", result.stderr, "what is said without isolation")
    expect_in("\nNext    cudadiag report ", result.stdout, "the suggestion then")


def code_in_a_file_of_another_name_in_each_run_is_the_same(machine):
    machine.plan(AGAIN)
    # The program writes to a folder that an isolated rerun may not write to.
    rerun(machine, *program("generated.py"), options=["--rerun=always"])
    report = machine.report()
    expect_proven(report, "generated.py")
    expect(len(report["findings"]), 1, "findings")


def line_that_a_library_was_called_from_is_proven_by_another_way_through_it(machine):
    fault = "fault kernel=faulty nth=3 code=700"
    machine.plan(f"{fault} after=stream:1:2 run=1; {fault} run=2-")
    rerun(machine, *program("compiled.py"))
    report = machine.report()
    expect_true_line(report, "compiled.py")
    expect(len(report["findings"]), 1, "findings")
    grade, because = evidence(report)
    expect(grade, "proven", "grade: " + because)
    expect(outcomes(report)[0], ("record", "inferred"), "the first run")
    expect(outcomes(report)[-1], ("confirm", "proven"), "the last rerun")
    launch = report["findings"][0]["launch"]
    expect((launch["kernel"], launch["site_ordinal"]), ("faulty", None), "kernel and call")
