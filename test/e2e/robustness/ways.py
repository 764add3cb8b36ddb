"""Runs that use hooks, and single runs that write a core dump."""

import calendar
import json
import os
import pathlib
import shutil
import signal
import socket
import sys
import time

from harness import DATA, expect, expect_in, expect_success, in_namespace, program, true_line

FAULT = "fault kernel=scale nth=3 code=700"


def _answer(machine, target, *options):
    machine.run(machine.build / "targets" / target, options=["-o", "here", "--rerun=never", *options])
    report = machine.report("-o", "here")
    return [(f["kind"], f["error"]["code"], f["location"]["line"], f["evidence"]["grade"], f["launch"]["kernel"],
             f["launch"]["stream_ordinal"], f["launch"]["process_ordinal"], f["launch"]["graph_node"])
            for f in report["findings"]]


def hooks_give_the_answers_of_cupti(machine):
    machine.plan(FAULT)
    for target in ("third_of_ten", "two_streams", "event_wait", "graph_replay", "graph_added", "graph_conditional",
                   "graph_updated", "device_reset", "per_thread_stream"):
        by_cupti, by_hooks = (_answer(machine, target, f"--watch-by={way}") for way in ("cupti", "hooks"))
        expect(by_hooks, by_cupti, target)


def captured_node_has_the_line_of_its_launch_although_a_stream_joins(machine):
    machine.plan("fault kernel=scale nth=1 code=700")
    for way in "cupti", "hooks":
        machine.run(*program("joins_capture.py"), options=["-o", "here", "--rerun=never", f"--watch-by={way}"])
        (finding,) = machine.report("-o", "here")["findings"]
        lines = {(each["location"]["line"], each["launch"]["kernel"]) for each in finding["candidates"]}
        expect_in((true_line("joins_capture.py")[1], "scale"), lines, way)


def rerun_by_cupti_proves_what_hooks_could_not_see(machine):
    machine.plan(FAULT)
    machine.run(*program("looks_up_early.py"), options=["-o", "here", "--rerun=never"])
    (finding,) = machine.report("-o", "here")["findings"]
    expect_in("hooks saw no operation", finding["evidence"]["because"], "what the first run says")
    machine.run(*program("looks_up_early.py"), options=["--rerun=always"])
    report = machine.report()
    (finding,) = report["findings"]
    expect((finding["location"]["line"], finding["evidence"]["grade"]), (true_line("looks_up_early.py")[1], "proven"), "answer")
    expect(report["passes"][1]["outcome"], "proven", "rerun")


def hooks_name_the_kernels_of_a_driver_that_does_not(machine):
    """The driver has no function that returns a kernel's name, like drivers before CUDA 12.3."""
    driver = (machine.build / "sim/libcuda.so.1").read_bytes()
    for name in b"\0cuFuncGetName\0", b"\0cuKernelGetName\0":
        expect_in(name, driver, "the function")
        driver = driver.replace(name, name.replace(b"Name", b"None"))
    (machine.folder / "libcuda.so.1").write_bytes(driver)
    machine.environment["LD_LIBRARY_PATH"] = f"{machine.folder}:{machine.build / 'sim'}"
    machine.plan(FAULT)
    for target, kernel in (("third_of_ten", "scale"), ("freed_launched_by_kernel", "sim_store_u32")):
        by_cupti, by_hooks = (_answer(machine, target, f"--watch-by={way}") for way in ("cupti", "hooks"))
        expect(by_hooks, by_cupti, target)
        expect([answer[4] for answer in by_hooks], [kernel], f"{target}: kernel")


def _notes_about_runtimes(machine, *command, options=("--watch-by=hooks",)):
    """Returns the failed calls that the program handled, and the notes about runtimes whose calls are not seen."""
    machine.run(*command, options=["-o", "here", *options])
    notes = machine.report("-o", "here")["notes"]
    return [[note["text"] for note in notes if note["code"] == code] for code in ("error-handled", "runtime-not-seen")]


def hooks_see_runtimes_that_are_opened_later(machine):
    sim = machine.build / "sim"
    elsewhere = machine.folder / "elsewhere/libcudart.so.13"
    elsewhere.parent.mkdir()
    shutil.copy(sim / "libcudart.so.13", elsewhere)
    for others in ([sim / "libcudart.so.13"], [sim / "libcudart.so.13", sim / "12/libcudart.so.12"],
                   [elsewhere, sim / "libcudart.so.13"]):
        command = program("late_runtimes.py", *others)
        by_cupti = _notes_about_runtimes(machine, *command, options=["--watch-by=cupti"])
        by_hooks = _notes_about_runtimes(machine, *command)
        expect(by_hooks, by_cupti, f"{others}")
        assert by_hooks[0], f"{others}: no call is handled"
    third = program("late_runtimes.py", sim / "libcudart.so.13", sim / "12/libcudart.so.12", elsewhere)
    expect(_notes_about_runtimes(machine, *third)[1],
           [f"errors that the CUDA runtime in {elsewhere} does not pass on were not recorded: use --watch-by=cupti, without "
            "--once"], "a third runtime")


def runtimes_that_hooks_do_not_see_are_named(machine):
    sim, installed = machine.build / "sim", machine.folder / "lib/python3/site-packages/libsolver.so.1"
    installed.parent.mkdir(parents=True)
    shutil.copy(sim / "libsolver.so.1", installed)
    shutil.copy(sim / "libcudart.so.13", older := machine.folder / "libcudart.so.11")
    linked = machine.build / "targets/linked_runtime"
    for command, named in ((program("late_runtimes.py", sim / "libsolver.so.1"), sim / "libsolver.so.1"),
                           (program("late_runtimes.py", older), older),
                           (program("late_runtimes.py", installed), None), ([linked], linked),
                           ([machine.build / "targets/third_of_ten"], None)):
        told = _notes_about_runtimes(machine, *command)[1]
        expect([f"CUDA runtime in {named} " in text for text in told], [True] if named else [], f"{command}: {told}")
        by_cupti = _notes_about_runtimes(machine, *command, options=["--watch-by=cupti"])
        expect(by_cupti[1], [], f"{command}, by CUPTI")
    result = machine.run(*program("late_runtimes.py", sim / "libsolver.so.1"), options=["--watch-by=hooks"])
    expect(result.stderr, "", "a program that ends well")


def program_that_is_watched_by_hooks_prints_and_ends_as_before(machine):
    for target in ("healthy", "many_threads", "thread_destructor", "many_streams", "signals"):
        plain = machine.plain(machine.build / "targets" / target)
        watched = machine.run(machine.build / "targets" / target, options=["--watch-by=hooks"])
        expect((watched.stdout, watched.stderr, watched.returncode), (plain.stdout, plain.stderr, plain.returncode),
               target)


def hooks_watch_where_cupti_cannot(machine):
    """A runtime is linked into the program, so CUPTI would be better."""
    linked = machine.build / "targets/linked_runtime"
    for plan, note in (("cupti=held", "cupti-held"), ("cupti=too-new", "cupti-refused")):
        machine.plan(f"fault kernel=scale code=700; {plan}")
        result = machine.run(linked, options=["-o", note, "--rerun=never"])
        expect_in("linked_runtime.cc:", result.stderr, plan)
        report = machine.report("-o", note)
        told = [each["text"] for each in report["notes"] if each["code"] == note]
        expect([text.startswith("calls were watched by hooks, not by CUPTI (") for text in told], [True], f"{told}")
        named = [each["text"] for each in report["notes"] if each["code"] == "runtime-not-seen"]
        expect([f"CUDA runtime in {linked} " in text for text in named], [True], f"{named}")
        expect(report["findings"][0]["launch"]["watched_by"], "hooks", "watched by")
        innermost = next(frame for frame in report["findings"][0]["stack"]["native"] if frame["user"])["function"]
        expect(innermost.split("(")[0], "main", "innermost frame of the user's")  # Clang also names the parameters
        machine.plan(plan)
        well = machine.run(machine.build / "targets/healthy")
        expect((well.stdout, well.stderr, well.returncode), ("value 42\n", "", 0), "a healthy program")


def cheapest_way_that_loses_nothing_is_chosen(machine):
    solver = machine.build / "sim/libsolver.so.1"  # contains a runtime
    installed = machine.folder / "lib/python3/site-packages/libsolver.so.1"
    installed.parent.mkdir(parents=True)
    shutil.copy(solver, installed)
    shutil.copy(machine.build / "sim/libcudart.so.13", older := machine.folder / "libcudart.so.11")
    targets = machine.build / "targets"

    def opens(library):
        return [sys.executable, "-c", f"import ctypes; ctypes.CDLL('{library}'); ctypes.CDLL('libcuda.so.1').cuInit(0)"]

    for what, command, options, way in (
            ("no runtime", [targets / "third_of_ten"], [], "hooks"),
            ("a shared runtime that the executable calls", [targets / "unchecked_launch"], [], "cupti"),
            ("a shared runtime", opens(machine.build / "sim/libcudart.so.13"), [], "hooks"),
            ("a runtime in the executable", [targets / "linked_runtime"], [], "cupti"),
            ("a runtime in a library of the user's", opens(solver), [], "cupti"),
            ("a runtime in an installed library", opens(installed), [], "hooks"),
            ("a shared runtime of an unknown version", opens(older), [], "cupti"),
            ("races", [targets / "third_of_ten"], ["--races"], "cupti"),
            ("the user's choice", [targets / "linked_runtime"], ["--watch-by=hooks"], "hooks")):
        machine.run(*command, options=["-o", "here", *options])
        expect("cupti" if machine.report("-o", "here")["environment"]["cupti"] else "hooks", way, what)
    late = [sys.executable, "-c", f"import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0); "
            f"ctypes.CDLL('{solver}').cudaFree(None)"]
    expect([f"CUDA runtime in {solver} " in text for text in _notes_about_runtimes(machine, *late, options=[])[1]], [True],
           "a library that is opened later")
    expect(_notes_about_runtimes(machine, *opens(solver), options=[])[1], [], "a library that CUPTI sees")


def library_that_was_to_be_injected_still_is(machine):
    show = ("import ctypes; tool = ctypes.CDLL(None).getenv; tool.restype = ctypes.c_char_p; "
            "print(ctypes.CDLL('libcuda.so.1').cuInit(0), tool(b'INJECTED_TOOL_SAW'))")
    command = (sys.executable, "-c", show)
    machine.environment["CUDA_INJECTION64_PATH"] = str(machine.build / "lib/libsim_injected.so")
    for options in (), ("--watch-by=hooks",), ("--watch-by=cupti",), ("--once",):
        result = machine.run(*command, options=options)
        expect((result.stdout, result.stderr), ("0 b'one device'\n", ""), f"{options}")
    nested = machine.run(*machine.command("run", "--", *command))
    expect((nested.stdout, nested.stderr), ("0 b'one device'\n", ""), "a launcher in a launcher")
    machine.environment["INJECTED_TOOL_HOLDS_CUPTI"] = "1"
    machine.plan(FAULT)
    machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", "--rerun=never"])
    finding = machine.report("-o", "here")["findings"][0]
    expect((finding["launch"]["watched_by"], finding["evidence"]["grade"]), ("hooks", "bracketed"), "with a profiler")


def injection_library_of_the_user_costs_no_dump(machine):
    tool = str(machine.build / "lib/libsim_injected.so")
    machine.environment["CUDA_INJECTION64_PATH"] = tool
    machine.plan(_dumping(machine))
    machine.run(machine.build / "targets/dumped", options=["-o", "here", "--once"])
    expect(machine.report("-o", "here")["findings"][0]["evidence"]["grade"], "proven", "grade")
    printed = machine.cudadiag("env", "--once", "-o", "there").stdout
    expect_in("unset CUDA_INJECTION64_PATH\n", printed, "for a service")
    expect_in(f"export CUDADIAG_EARLIER_INJECTION='{tool}'\n", printed, "for a service")


def injection_library_that_uses_cupti_costs_the_dump_of_a_single_run(machine):
    machine.environment.update(CUDA_INJECTION64_PATH=str(machine.build / "lib/libsim_injected.so"),
                               INJECTED_TOOL_HOLDS_CUPTI="1")
    machine.plan(_dumping(machine))
    result = machine.run(machine.build / "targets/dumped", options=["-o", "here", "--once"])
    finding = machine.report("-o", "here")["findings"][0]
    expect((finding["location"]["line"], finding["device"], result.returncode), (11, None, 1), "the answer without a dump")
    reason = ("unknown (the library in CUDA_INJECTION64_PATH has loaded CUPTI, and the driver writes no GPU core dump "
              "while a tool uses CUPTI)")
    expect_in(reason, " ".join(machine.cudadiag("report", "-v", "-o", "here").stdout.split()), "reason")


def rerun_is_watched_as_the_user_chose(machine):
    machine.plan(FAULT)
    machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", "--rerun=always", "--watch-by=hooks"])
    report = machine.report("-o", "here")
    expect(report["findings"][0]["evidence"]["grade"], "proven", "grade")
    manifest = json.loads((machine.folder / "here/latest/manifest.json").read_text())
    expect(manifest["watch_by"], "hooks", "the choice")


def _dumping(machine):
    return f"fault kernel=_Z15assert_positivePKi code=710; dump={DATA}/gpucore/assert.nvcudmp"


def single_run_proves_the_line_by_its_own_dump(machine):
    machine.plan(_dumping(machine))
    result = machine.run(machine.build / "targets/dumped", options=["-o", "here", "--once"])
    expect((result.stdout, result.returncode), ("", -6), "what remains of the program")
    expect_in("cudadiag: device-side assert (710) in ", result.stderr, "first line")
    expect_in("dumped.cc:11 ", result.stderr, "the line")
    finding = machine.report("-o", "here")["findings"][0]
    expect(finding["evidence"]["grade"], "proven", "grade")
    expect((finding["device"]["file"].rpartition("/")[2], finding["device"]["line"]), ("cases.cu", 17), "device line")
    expect(finding["reported_at"]["line"], 13, "the call that waits")
    manifest = json.loads((machine.folder / "here/latest/manifest.json").read_text())
    expect([each["name"] for each in manifest["passes"]], ["record"], "runs")


def rerun_adds_nothing_to_the_dump_of_a_single_run(machine):
    machine.plan(_dumping(machine))
    machine.run(machine.build / "targets/dumped", options=["--once"])
    finding = machine.report()["findings"][0]
    text = machine.cudadiag("report").stdout
    assert "cudadiag bisect" not in text, text
    result = machine.cudadiag("bisect")
    expect_in("nothing", result.stdout + result.stderr, "what is said")
    machine.cudadiag("bisect", "--sanitize")
    report = machine.report()
    expect(report["findings"][0], finding, "finding")


def _dumped_node(machine, *words, options=()):
    machine.run(machine.build / "targets/dumped_node", *words, options=["-o", "here", "--once", *options])
    return machine.report("-o", "here")["findings"][0]


def dump_names_the_node_of_a_graph(machine):
    machine.plan(_dumping(machine))
    finding = _dumped_node(machine)
    expect((finding["kind"], finding["location"]["line"], finding["evidence"]["grade"]), ("graph_node", 14, "proven"),
           "the node")
    expect(finding["launch"]["graph_node"]["index"], 2, "its index")


def dump_names_the_node_of_a_graph_behind_other_work(machine):
    machine.plan(_dumping(machine))
    finding = _dumped_node(machine, "behind", options=["--markers=off"])
    expect((finding["kind"], finding["location"]["line"], finding["evidence"]["grade"]), ("graph_node", 14, "proven"),
           "the node")
    expect_in("in a kernel that only this graph could have run", finding["evidence"]["because"], "why")


def single_run_without_a_dump_says_so(machine):
    machine.plan(FAULT)
    result = machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", "--once"])
    reason = "Device  line, block, thread: unknown (this run left no core dump)\n"
    expect_in(reason, machine.cudadiag("report", "-v", "-o", "here").stdout, "reason")
    expect("\nDevice" in result.stderr, False, "whether there is a row without facts in " + result.stderr)


def driver_that_crashes_at_its_dump_costs_no_line(machine):
    machine.plan(FAULT + "; dump=crash")
    result = machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", "--once"])
    expect(result.returncode, -signal.SIGSEGV, "status")
    expect_in("the driver may have crashed when it began a GPU core dump", result.stderr, "reason")
    expect_in("third_of_ten.cc:10, work had not finished when the program ended", result.stderr, "line")
    report = machine.report("-o", "here")
    expect((report["verdict"], report["findings"]), ("inconclusive", []), "verdict")
    machine.plan("hang kernel=scale")
    for options in ([], ["--once"]):
        result = machine.run(machine.build / "targets/exit_without_sync", options=["--hang-after", "100", *options])
        expect((result.returncode, result.stderr), (0, ""), f"end of a program with unfinished work, with {options}")


def error_that_hides_the_exception_after_a_lost_dump_is_explained(machine):
    machine.plan("fault kernel=scale nth=3 code=719")
    for options, cause in ((["--once"], "core-dump-lost"), ([], None)):
        machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", *options])
        (finding,) = machine.report("-o", "here")["findings"]
        expect((finding["location"]["line"], (finding["cause"] or {}).get("id")), (10, cause), f"answer with {options}")
    # The graph's pointer to freed memory is the cause, whatever the exception was.
    answers = []
    for code, options in (700, []), (719, ["--once"]):
        machine.plan(f"fault kernel=sim_store_u32 nth=2 code={code}")
        machine.run(machine.build / "targets/graph_stale", "freed", options=["-o", "here", *options])
        (finding,) = machine.report("-o", "here")["findings"]
        answers.append((finding["kind"], finding["location"]["line"], finding["evidence"]["grade"], finding["cause"]["id"]))
    expect(answers[1], answers[0], "answer about a stale graph")


def single_run_without_a_session_folder_says_why_it_has_no_dump(machine):
    machine.plan(_dumping(machine))
    machine.environment.update(XDG_STATE_HOME="/proc/none", TMPDIR="/proc/none")
    result = machine.run(machine.build / "targets/dumped", options=["--once", "-v"])
    expect_in("cudadiag: --once gets no GPU core dump: the driver can write it only to a session\n", result.stderr, "warning")
    expect_in("Device  line, block, thread: unknown (no GPU core dump was possible without a session folder)\n",
              result.stderr, "reason")


def dump_that_cannot_be_read_is_named_by_its_final_path(machine):
    damaged = machine.folder / "damaged"
    damaged.write_text("no dump")
    machine.plan(f"fault kernel=_Z15assert_positivePKi code=710; dump={damaged}")
    machine.run(machine.build / "targets/dumped", options=["-o", "here", "--once"])
    (dump,) = (machine.folder / "here").glob("2*/record/*.gpucore")
    shown = machine.cudadiag("report", "-o", "here", "-v").stdout
    expect_in(f"unknown ({dump} is not a GPU core dump)", " ".join(shown.split()), "the path")


def dump_of_another_kernel_proves_nothing(machine):
    machine.plan(_dumping(machine).replace("_Z15assert_positivePKi", "scale"))
    machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", "--once"])
    finding = machine.report("-o", "here")["findings"][0]
    assert finding["evidence"]["grade"] != "proven" and finding["device"] is None, finding


def rerun_of_a_single_run_has_the_same_call_sites(machine):
    machine.plan(FAULT)
    machine.run(machine.build / "targets/third_of_ten", options=["--once"])
    expect_success(machine.cudadiag("bisect"))
    report = machine.report()
    expect([(finding["location"]["line"], finding["evidence"]["grade"]) for finding in report["findings"]], [(10, "proven")],
           "findings")


def single_run_says_before_the_start_what_it_cannot_see(machine):
    words = "--once does not see errors that the CUDA runtime in"
    for target, expected in (("linked_runtime", True), ("healthy", False)):
        for option in ("--once", "--watch-by=hooks"):
            result = machine.run(machine.build / "targets" / target, options=[option])
            expect(words in result.stderr, expected and option == "--once", f"{target} with {option}")


def single_run_of_a_program_that_is_well_changes_nothing(machine):
    machine.environment["LD_PRELOAD"] = "/no/library.so"
    plain = machine.plain(machine.build / "targets/healthy")
    result = machine.run(machine.build / "targets/healthy", options=["--once"])
    expect((result.stdout, result.returncode), (plain.stdout, 0), "result")
    expect_in("/no/library.so", result.stderr, "the user's own preloaded library stays")
    expect(machine.sessions(), [], "sessions")


def library_that_the_program_opens_is_looked_for_where_the_program_says(machine):
    for options in ([], ["--once"]):
        result = machine.run(machine.build / "targets/opens_by_runpath", options=options)
        expect((result.stdout, result.returncode), ("found\n", 0), f"with {options}")


def driver_that_only_the_program_s_own_path_leads_to_is_found(machine):
    for file in ("targets/opens_by_runpath", "sim/libcuda.so.1"):
        shutil.copy(machine.build / file, machine.folder)
    machine.environment["LD_LIBRARY_PATH"] = ""
    result = machine.run(machine.folder / "opens_by_runpath", "libcuda.so.1", options=["--once"])
    expect((result.stdout, result.returncode), ("found\n", 0), "result")


def single_run_is_not_repeated_because_of_the_environment(machine):
    machine.plan(FAULT)
    machine.environment["CUDADIAG_RERUN"] = "always"
    for options, runs in (["--once"], 1), (["--once", "--keep-core"], 1), (["--once", "--rerun=always"], 2):
        folder = "_".join(options)
        machine.cudadiag("run", "-o", folder, *options, "--", machine.build / "targets/third_of_ten")
        passes = json.loads((machine.folder / folder / "latest/manifest.json").read_text())["passes"]
        expect(min(len(passes), 2), runs, f"runs with {options}: {[each['name'] for each in passes]}")


def single_run_excludes_what_it_cannot_do(machine):
    result = machine.cudadiag("run", "--once", "--sanitize", "--", "true")
    expect_in("--sanitize needs a rerun; with --once, add --rerun=auto", result.stderr, "what is said")
    for other in ("--races", "--watch-by=hooks"):
        expect(machine.cudadiag("run", "--once", other, "--", "true").returncode, 125, f"status with {other}")
    expect_success(machine.cudadiag("run", "--once", "--", "true"))


def failure_is_told_to_those_who_want_to_hear_of_it(machine):
    machine.plan(FAULT)
    torchrun = machine.folder / "error.json"
    machine.environment["TORCHELASTIC_ERROR_FILE"] = str(torchrun)
    result = machine.run(machine.build / "targets/third_of_ten", options=[
        "--on-failure", 'cp "$CUDADIAG_REPORT" got.json; echo "$CUDADIAG_REPORT" >where', "--termination-log", "log"])
    expect(result.returncode, 1, "status")
    line = json.loads((machine.folder / "got.json").read_text())["findings"][0]["location"]["line"]
    expect(line, 10, "line in the report that the command was given")
    expect(pathlib.Path((machine.folder / "where").read_text().strip()).exists(), False, "the report remains")
    expect_in("third_of_ten.cc:10, ", (machine.folder / "log").read_text(), "termination log")
    told = json.loads(torchrun.read_text())["message"]
    expect_in("third_of_ten.cc:10", told["message"], "message for torchrun")
    assert told["extraInfo"]["timestamp"].isdigit(), told
    torchrun.write_text("the program's own")
    machine.run(machine.build / "targets/third_of_ten")
    expect(torchrun.read_text(), "the program's own", "error file that the program wrote")


# For --on-failure: stores the pid of cudadiag in $c, and waits until it is in wait4() for the parent of this shell.
UNTIL_AWAITED = ("c=$(cut -d' ' -f4 /proc/$PPID/stat); "
                 "until grep -qE \"^(61|260) 0x$(printf %x $PPID) \" /proc/$c/syscall; do :; done; ")


def command_for_a_failure_finishes_before_its_container_ends(machine):
    machine.plan(FAULT)
    for first in ([], ["sh", "-c", '"$@"; exit $?', "sh"]):  # process 1: cudadiag itself, or a script that starts it
        in_namespace(machine, ["--pid", "--fork", "--mount-proc", "--kill-child"], "", *first, *machine.command(
            "run", "--rerun=never", "--on-failure", f"echo begun >told; {UNTIL_AWAITED} echo finished >>told", "--",
            machine.build / "targets/third_of_ten"))
        expect((machine.folder / "told").read_text(), "begun\nfinished\n", f"what the command wrote, after {first}")
        left = [each.name for each in machine.folder.rglob("cudadiag-report-*")]
        expect(left, [], "reports that remain")


def signal_ends_the_wait_for_the_command_for_a_failure(machine):
    machine.plan(FAULT)
    answer = machine.folder / "answer"
    os.mkfifo(answer)
    for name in ("INT", "TERM", "HUP"):
        run = machine.start(*machine.command(
            "run", "--rerun=never", "--on-failure", f"{UNTIL_AWAITED} kill -{name} $c; read -r line <answer", "--",
            machine.build / "targets/third_of_ten"))
        expect(run.wait(), -getattr(signal, "SIG" + name), "status")
        answer.write_text("end\n")  # waits for the command, which cudadiag has left
        run.communicate()
    ended = in_namespace(machine, ["--pid", "--fork", "--mount-proc", "--kill-child"], "", *machine.command(
        "run", "--rerun=never", "--on-failure", f"{UNTIL_AWAITED} kill -TERM 1; exec tail -f /dev/null", "--",
        machine.build / "targets/third_of_ten"))
    expect(ended.returncode, 128 + signal.SIGTERM, "status of process 1")


def command_for_a_failure_starts_with_usual_signals(machine):
    machine.plan(FAULT)
    machine.run(machine.build / "targets/third_of_ten", options=["--on-failure", "exec grep ^Sig /proc/self/status >signals"])
    masks = dict(line.split(":") for line in (machine.folder / "signals").read_text().splitlines())
    expect(int(masks["SigBlk"], 16), 0, "blocked signals")
    ignored = [each.name for each in (signal.SIGPIPE, signal.SIGXFSZ) if int(masks["SigIgn"], 16) >> (each - 1) & 1]
    expect(ignored, [], "ignored signals")


def command_for_a_failure_inherits_standard_descriptors_only(machine):
    machine.plan(FAULT)
    result = machine.run(machine.build / "targets/third_of_ten", options=["--on-failure", "ls /proc/$$/fd /proc/$PPID/fd; :"])
    listed = [line for line in result.stdout.splitlines() if line.isdigit()]
    expect(listed, ["0", "1", "2"] * 2, "descriptors of the shell, and of the process that waits for it")


def failure_of_the_command_for_a_failure_is_reported(machine):
    machine.plan(FAULT)
    for command, said in (("exit 3", "the command exited with status 3"), ("no-such-command", "exited with status 127"),
                          ("kill -KILL $$", "the command was killed, as cudadiag does after 60 seconds")):
        result = machine.run(machine.build / "targets/third_of_ten", options=["--on-failure", command])
        expect_in(f"{said}\n", result.stderr.partition("cudadiag: --on-failure: ")[2], f"message for {command}")
        expect(result.returncode, 1, "status")


def once_is_refused_if_the_library_cannot_be_preloaded(machine):
    installed = machine.folder / "an installation"
    (installed / "bin").mkdir(parents=True)
    (installed / "lib").mkdir()
    for file in ("bin/cudadiag", "lib/libcudadiag_record.so", "lib/libcudadiag_preload.so"):
        shutil.copy(machine.build / file, installed / file)
    for command in (["run", "--once", "--", "touch", "started"], ["env", "--once"]):
        refused = machine.plain(installed / "bin/cudadiag", *command)
        expect((refused.returncode, refused.stdout), (125, ""), f"status and output of {command[0]}")
        expect_in(f"--once cannot use the cudadiag in {installed}/lib: the dynamic linker accepts no blank", refused.stderr,
                  "message")
    expect((machine.folder / "started").exists(), False, "whether the command was started")


def report_has_the_time_of_the_error(machine):
    machine.plan(FAULT)
    before = int(time.time())
    machine.run(machine.build / "targets/third_of_ten")
    (finding,) = machine.report()["findings"]
    when = calendar.timegm(time.strptime(finding["noticed"]["time"], "%Y-%m-%dT%H:%M:%SZ"))
    assert before <= when <= time.time(), (before, when)
    assert 0 <= finding["noticed"]["seconds_since_cuda"] <= time.time() - before, finding["noticed"]
    expect_in(f"Time    {finding['noticed']['time']}, ", machine.cudadiag("report", "-v").stdout, "report with -v")


def file_that_cannot_take_the_report_is_named_and_not_waited_for(machine):
    machine.plan(FAULT)
    pipe = machine.folder / "pipe"
    os.mkfifo(pipe)
    machine.environment["TORCHELASTIC_ERROR_FILE"] = str(pipe)
    result = machine.run(machine.build / "targets/third_of_ten", options=["--termination-log", pipe, "--json", pipe])
    expect(result.returncode, 1, "status")
    expect_in(f"cudadiag: cannot write the report to {pipe}: no process reads it; choose a writable file, or run: cudadiag "
              f"report {machine.state}/cudadiag/{machine.sessions()[0]} --json\n", result.stderr, "--json")
    for name in ("--termination-log", "TORCHELASTIC_ERROR_FILE"):
        expect_in(f"cudadiag: {name}: the report was not written to {pipe}: no process reads it; choose a regular "
                  "file\n", result.stderr, name)
    machine.environment["TORCHELASTIC_ERROR_FILE"] = str(machine.folder / "gone/error.json")
    result = machine.run(machine.build / "targets/third_of_ten", options=["--termination-log", "/dev/full"])
    expect_in("was not written to /dev/full: No space left on device; free some space\n", result.stderr, "a full device")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(machine.folder / "socket"))
        result = machine.run(machine.build / "targets/third_of_ten", options=["--json", "socket"])
    expect_in("cannot write the report to socket: it is not a regular file; choose", result.stderr, "a socket")
    expect_in("gone/error.json: No such file or directory", result.stderr, "a folder that does not exist")
    machine.environment["TORCHELASTIC_ERROR_FILE"] = str(machine.folder)
    result = machine.run(machine.build / "targets/third_of_ten")
    expect_in(f"TORCHELASTIC_ERROR_FILE: the report was not written to {machine.folder}: Is a directory; choose a regular "
              "file\n", result.stderr, "a folder")


def report_does_not_replace_the_output_of_the_program(machine):
    machine.plan(FAULT)
    log = machine.folder / "log"
    for descriptor, redirection in (("stdout", ">>"), ("stderr", "2>>")):
        log.write_text("earlier\n")
        command = machine.command("run", "--json", f"/dev/{descriptor}", "--", machine.build / "targets/third_of_ten")
        result = machine.plain("sh", "-c", f'"$@" {redirection} log', "sh", *command)
        expect((result.returncode, log.read_text().splitlines()[0]), (125, "earlier"), f"status, and the log for {descriptor}")
        expect_in(f"/dev/{descriptor} receives the output of the command: choose another file",
                  log.read_text() + result.stderr, "message")


def pipe_whose_reader_takes_nothing_is_given_up(machine):
    machine.plan(FAULT)
    pipe = machine.folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    while True:
        try:
            os.write(reader, bytes(4096))
        except BlockingIOError:
            break
    result = machine.run(machine.build / "targets/third_of_ten", options=["--json", pipe])
    expect(result.returncode, 1, "status")
    expect_in(f"cannot write the report to {pipe}: its reader takes nothing", result.stderr, "message")


def termination_log_that_cannot_be_written_is_refused_before_the_command_starts(machine):
    log = machine.folder / "gone/log"
    for path, why in ((log, f"the folder {log.parent} does not exist: create it, or choose another file"),
                      (machine.folder, f"{machine.folder} is a folder: choose another file")):
        result = machine.run("touch", "started", options=["--termination-log", path])
        expect((result.returncode, result.stderr), (125, f"cudadiag: --termination-log: {why}\n"), f"{path}")
    expect([name for name in ("started", "gone") if (machine.folder / name).exists()], [], "files")


def termination_log_can_be_standard_error(machine):
    machine.plan(FAULT)
    result = machine.run(machine.build / "targets/third_of_ten", options=["--termination-log", "/dev/stderr"])
    expect(result.stderr.count("[bracketed]"), 2, "reports")


def nobody_is_told_of_a_run_that_is_well(machine):
    machine.environment["TORCHELASTIC_ERROR_FILE"] = str(machine.folder / "error.json")
    machine.run(machine.build / "targets/healthy", options=["--on-failure", "touch told", "--termination-log", "log"])
    expect([name for name in ("told", "log", "error.json") if (machine.folder / name).exists()], [], "files")


def program_that_continues_after_its_failure_is_ended_where_the_user_asks(machine):
    machine.plan("fault kernel=scale nth=3 code=700")
    script = machine.folder / "service.sh"
    script.write_text(f"{machine.build}/targets/caught_and_goes_on; exec tail -f /dev/null\n")
    result = machine.cudadiag("run", "--rerun=auto", "--end-on-failure", "-o", "here", "--", "sh", script)
    expect_in("ending the program because of --end-on-failure", result.stderr, "what is said")
    expect(result.returncode, -15, "status")
    expect_in("not rerun, because cudadiag ended it at its first failure", result.stderr, "why there is no rerun")
    expect(len(machine.report("-o", "here")["findings"]), 1, "findings")


def command_that_outlives_the_dump_of_its_worker_is_ended_where_the_user_asks(machine):
    machine.plan(_dumping(machine))
    script = f"{machine.build}/targets/dumped; exec tail -f /dev/null"
    result = machine.run("sh", "-c", script, options=["--once", "--end-on-failure", "-o", "here"])
    expect_in("ending the program because of --end-on-failure", result.stderr, "what is said")
    expect(result.returncode, -15, "status")
    finding = machine.report("-o", "here")["findings"][0]
    expect((finding["error"]["code"], finding["evidence"]["grade"]), (710, "proven"), "finding")


def each_process_is_judged_by_its_own_dump(machine):
    machine.plan(_dumping(machine))
    targets = machine.build / "targets"
    machine.run("sh", "-c", f"{targets}/dumped; {targets}/dumped_node; {targets}/healthy",
                options=["-o", "here", "--once"])
    findings = machine.report("-o", "here")["findings"]
    expect(sorted((f["error"]["code"], f["location"]["line"], f["evidence"]["grade"]) for f in findings),
           [(710, 11, "proven"), (710, 14, "proven")], "findings")
    expect([f["device"]["line"] for f in findings], [17, 17], "device lines")
