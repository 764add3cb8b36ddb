"""What `cudadiag bisect` does. Each function's name says what it tests."""

import gzip
import os
import pathlib
import shlex
import signal
import sys

import targets
from counted_changes import Place, lines_of
from harness import (DATA, FAULT, HERE, SANITIZER_IS_HERE, expect, expect_in, expect_success, expect_true_line, program,
                     true_line)
from isolation import _needs_overlays
from passes import AGAIN, KEPT, bisect, evidence, expect_proven, expect_unproven, outcomes, rerun, session_of

ONCE = AGAIN + " run=1"


def _codes(report):
    return [note["code"] for note in report["notes"]]


def bisect_proves_what_was_recorded(machine):
    machine.plan(AGAIN)
    result = machine.run(*program("probe.py"))
    folder = session_of(machine).resolve()
    done = expect_success(bisect(machine, cwd="/"))
    expect_in("rerun 1: waits for the only candidate and the calls around it", done.stderr, "stderr")
    expect_in("[proven]", done.stdout, "report")
    expect(result.returncode, 3, "status of the run")
    expect_proven(machine.report())
    again = expect_success(bisect(machine, folder))
    expect_in("a rerun would add nothing: the failure is already proven; for more evidence, use: "
              f"{'--sanitize, ' * SANITIZER_IS_HERE}--save-launch, --save-inputs, --origin\n",
              again.stderr, "stderr of a second run")
    asked = expect_success(bisect(machine, folder, "--cross-check"))
    expect_in("cudadiag: the session has no GPU core dump for cuda-gdb to read\n", asked.stderr,
              "stderr of one that requests the debugger")
    expect_in("[proven]", again.stdout, "report of a second run")


def bisect_adds_to_what_is_there(machine):
    machine.plan(ONCE)
    machine.run(*program("probe.py"))
    machine.runs.write_bytes(b"")
    machine.plan("")
    for number in (1, 2):
        expect_unproven(bisect(machine, "-q"))
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
    expect_unproven(bisect(machine, "--kernel", "one"))
    expect(outcomes(machine.report())[1:], [("confirm", "failed, but not at an operation that it waited for")], "other kernel")


def number_of_a_launch_means_that_of_every_process(machine):
    machine.plan(AGAIN)
    first, second = (shlex.join(map(str, program(name))) for name in ("three_lines.py", "ten_launches.py"))
    machine.run("sh", "-c", f"{first}; {second}")
    done = expect_success(bisect(machine, "--launch", "3"))
    expect_in("rerun 1: waits for launch 3 of 2 processes", done.stderr, "message")


def bisect_of_what_does_not_start_any_more_says_where_it_says_why(machine):
    machine.plan(AGAIN)
    machine.environment["WANTED"] = "1"
    needs = ["sh", "-c", 'exec 2>&1; echo ${WANTED:?is not set}; exec "$@"', "sh", *program("probe.py")]
    machine.run(*needs)
    del machine.environment["WANTED"]
    done = expect_unproven(bisect(machine))
    printed = session_of(machine).resolve() / "confirm/output.txt"
    expect_in(f"the rerun exited before it used CUDA; its output is in {printed}. The command", done.stderr, "stderr")
    expect_in("WANTED: is not set", printed.read_text(), "its output")
    expect_in("WANTED: is not set\n", done.stderr.partition("cudadiag: the rerun's last line: ")[2], "stderr")
    expect(outcomes(machine.report())[1], ("confirm", "ended before it reached this call"), "first rerun")


def bisect_of_what_ends_before_the_failure_says_where_it_says_why(machine):
    machine.plan(AGAIN)
    machine.environment["WANTED"] = "1"
    machine.run("sh", "-c", '"$0"; echo ${WANTED:?}; exec "$@"', machine.build / "targets/healthy", *program("probe.py"))
    del machine.environment["WANTED"]
    printed = session_of(machine).resolve() / "confirm/output.txt"
    expect_in(f"the rerun failed in another way; its output is in {printed}\n", expect_unproven(bisect(machine)).stderr, "stderr")


def bisect_isolates_its_reruns_if_asked(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        machine.run(*program("changes.py", "appends_here", place.path))
        log = machine.folder / "log.txt"
        expect(lines_of(log), 1, "changes by the run")
        expect_in(" --isolated  # ", machine.cudadiag("report", "-v").stdout, "report of the run")
        done = expect_unproven(bisect(machine, "--isolated", "--write-limit=0"))
        expect_in("running the command again in isolation, so it changes no files: ", done.stderr, "announcement")
        (_, again) = machine.report()["passes"]
        expect((again["isolated"], bool(again["kept_from"])), (True, True), "whether the rerun was isolated, and kept from something")
        expect(lines_of(log), 1, "changes after it")
        expect("--isolated" in machine.cudadiag("report", "-v").stdout, False, "whether the report names it again")
        expect_success(bisect(machine))
        expect(lines_of(log) > 1, True, "whether a plain rerun changes more")


def bisect_says_what_it_cannot_do(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    for words, why in ((["nowhere"], "session nowhere does not exist"),
                       (["--launch", "11"], "operation 11 does not exist: the run issued only 10; cudadiag dump /"),
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
    # Each line that the message suggests is accepted.
    named = machine.cudadiag("bisect", "--site", "ten_launches.py:1").stderr.rpartition("lines are: ")[2].split(", ")
    expect(len(set(named)), len(named), "the listed lines, each once")
    file, line = true_line("ten_launches.py")
    expect([name.strip() for name in named if name.strip().endswith(f":{line}")], [f"{file}:{line}"], "the true line")
    expect_success(bisect(machine, "--site", f"{file}:{line}"))
    machine.run(machine.build / "targets/healthy", options=KEPT)
    expect_in("a rerun would add nothing", expect_success(machine.cudadiag("bisect", *KEPT)).stderr, "healthy program")


def option_that_can_add_nothing_is_answered_before_anything_runs(machine):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    for name, option, why in (("async_copy_bad", "--save-launch", "no launch was saved: "),
                              ("third_of_ten", "--save-inputs", "no inputs were saved: "),
                              ("third_of_ten", "--origin", "no origin to trace: ")):
        machine.plan(targets.plan(name))
        machine.runs.write_bytes(b"")
        machine.run(*targets.command(machine.build, name), options=["--rerun=always", "--no-device-pass"])
        expect(evidence(machine.report())[0], "proven", "grade")
        made = machine.runs.read_bytes()
        advice = expect_success(machine.cudadiag("bisect", "--no-device-pass")).stderr
        expect(option in advice, False, f"advice: {advice}")
        said = expect_success(machine.cudadiag("bisect", "--no-device-pass", option)).stderr
        expect_in(why, said, "message")
        expect(("running the command again" in said, machine.runs.read_bytes()), (False, made), "what ran: " + said)


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
    early = ("confirm", "ended before it reached this call")  # at first with the preloaded library, then without
    expect(outcomes(report), [("record", "inferred"), early, early, ("device", "core dump read")], "passes")
    grade, because = evidence(report)
    expect(grade, "proven", "grade")
    expect_in("; in a rerun without waits, Warp Illegal Address came from the kernel of this line, and no other "
              "line launches that kernel", because, "because")
    finding = report["findings"][0]
    expect((finding["launch"]["kernel"], finding["device"]["line"]), ("far_store(int*)", 15), "kernel and device line")
    expect("device-disagrees" in _codes(report), False, "whether the report says that the dump disagrees")
    # If the kernels fail in the opposite order, this line is already the headline of the first run.
    machine.plan(f"fault kernel={kernel} nth=3 code=700 after=stream:1:2")
    said = machine.run(*program("leaves_dump.py", "smooth", dump, kernel), options=["--rerun=always"], timeout=60).stderr
    expect_in("cudadiag: confirmed by the GPU core dump of a rerun: proven\n", said, "message")


def _dumped_elsewhere(machine, mode, plan, *options):
    """Returns the report on the target, with the dump of its kernel."""
    dump = machine.folder / "load.gpucore"
    dump.write_bytes(gzip.decompress((DATA / "gpucore/load.nvcudmp.gz").read_bytes()))
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.plan(f"{plan}; dump={dump}{'' if '--once' in options else ' run=2-'}")
    machine.run(machine.build / "targets/dumped_elsewhere", mode, options=["-o", "here", *options], timeout=120)
    return machine.report("-o", "here")


def dump_proves_no_line_if_records_of_other_lines_with_its_kernel_are_lost(machine):
    report = _dumped_elsewhere(machine, "lost", "fault kernel=_Z8far_loadPi nth=628", "--once")
    evidence = report["findings"][0]["evidence"]
    expect(evidence["grade"], "inferred", "grade")
    expect_in("the records of others are lost", evidence["because"], "why")
    machine.environment["CUDADIAG_SIM_RUNS"] = ""
    machine.plan("fault kernel=_Z8far_loadPi nth=628")
    machine.run(machine.build / "targets/dumped_elsewhere", "lost", options=["-o", "there"], timeout=120)
    because = machine.report("-o", "there")["findings"][0]["evidence"]["because"]
    expect("the line is known" in because, False, "whether the line is known, according to " + because)


FAILS_ELSEWHERE = "fault kernel={} nth=1 run=1; fault kernel=_Z8far_loadPi nth=2 run=2-"


def dump_of_a_rerun_proves_no_launch_with_another_grid_under_mps(machine):
    plan = "mps; " + FAILS_ELSEWHERE.format("_Z8far_loadPi")
    for finding in _dumped_elsewhere(machine, "grid", plan, "--rerun=always")["findings"]:
        expect(finding["evidence"]["grade"], "inferred", f"grade of line {finding['location']['line']}")


def dump_of_a_rerun_names_no_node_whose_kernel_is_launched_elsewhere_too(machine):
    report = _dumped_elsewhere(machine, "node", FAILS_ELSEWHERE.format("fill"), "--rerun=always")
    graph, launch = report["findings"]
    expect(sorted(each["location"]["line"] for each in graph["candidates"]), [30, 31], "nodes that may have failed")
    expect((graph["device"], launch["location"]["line"]), (None, 36), "the finding without the dump, and the other one")
    expect((launch["evidence"]["grade"], launch["device"]["line"]), ("proven", 16), "the finding with the dump")


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


def crash_while_work_was_pending_is_explained_by_a_rerun_that_waits_for_all(machine):
    file = machine.folder / "crashes.py"
    file.write_text(f"""import os, signal, sys; sys.path.insert(0, {str(HERE / "programs")!r})
import cuda
cuda.start()
(launch, parameters), stream = cuda.kernel("smooth"), cuda.stream()
for _ in range(10):
    launch(stream, parameters, None)
os.kill(os.getpid(), signal.SIGSEGV)
""")
    way = "cudadiag bisect --window all"
    expect_in(f"; to find out: {way}\n", machine.run(sys.executable, file).stderr, "what to do after the run")
    expect_in(f"\nNext    {way}  # ", machine.cudadiag("report").stdout, "what to do after a report")
    expect_in(f"; to wait for all of it: {way}\n", bisect(machine).stderr, "what to do after a plain bisect")
    result = expect_success(bisect(machine, "--window", "all"))
    expect_in("rerun 1: no GPU work failed, but it ended with signal 11, after ", result.stderr, "the rerun")
    expect_in("; waited for 10 operations\n", result.stderr, "the rerun")
    answer = "in a rerun, all operations finished before the same signal: the crash is in host code"
    expect_in(answer, result.stdout, "answer")
    report = machine.cudadiag("report", "-v").stdout
    expect((answer in report, "Passes" in report, way in report), (True, True, False), report)
    expect(machine.report()["verdict"], "no_cuda_failure", "verdict")


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


def later_rerun_sees_only_what_was_there_at_the_beginning(machine):
    _needs_overlays(machine)
    machine.plan(AGAIN)
    (machine.folder / "log").write_text("before\n")
    script = 'mkdir out || exit 5; echo "$CUDADIAG_PASS" >>log; exec "$@"'
    machine.run("sh", "-c", script, "sh", *program("probe.py"), options=["--rerun=never"])
    (machine.folder / "new").write_text("made between the runs\n")
    machine.cudadiag("bisect", "--isolated", "--no-device-pass")
    expect(evidence(machine.report())[0], "proven", "grade")
    expect([each["text"] for each in machine.report()["notes"] if each["code"] == "launcher"],
           ["isolated reruns that could write did not see what was created during the first run: out; they saw files that changed during the first run: log"],
           "notes")
    expect((machine.folder / "log").read_text(), "before\nrecord\n", "the file of the first run")


def rerun_starts_although_more_names_are_new_than_can_be_hidden(machine):
    _needs_overlays(machine)
    machine.plan(AGAIN)
    deep = pathlib.Path(*["x" * 200] * 14)
    (machine.folder / deep).mkdir(parents=True)
    makes = f'for i in $(seq 900); do echo "$CUDADIAG_PASS" >{deep}/$i; done; exec "$@"'
    result = rerun(machine, "sh", "-c", makes, "sh", *program("probe.py"))
    expect(evidence(machine.report())[0], "proven", "grade, with stderr " + result.stderr)
    expect([each["text"] for each in machine.report()["notes"] if each["text"].startswith("reruns")],
           ["reruns saw everything, because the first run created too many files to hide"], "notes")
    expect((machine.folder / deep / "1").read_text(), "record\n", "what the first run wrote")
