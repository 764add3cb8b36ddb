"""The launcher's cases. Each function's name says what it tests."""

import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import sys

import targets
from harness import (DATA, FAULT, NO_CALL, expect, expect_in, expect_success, expect_true_line, faulty, program,
                     true_line)
from targets import TARGETS


def clean_run_says_nothing(machine):
    plain = machine.plain(*program("ten_launches.py"))
    recorded = machine.run(*program("ten_launches.py"))
    expect(recorded.stdout, plain.stdout, "stdout")
    expect(recorded.stderr, plain.stderr, "stderr")
    expect(recorded.returncode, 0, "status")
    expect(machine.sessions(), [], "sessions")


def names_drive_no_terminal(machine):
    shown = machine.cudadiag("report", "a\x1b[31m\u009b31m\u202eb")
    expect_in(r"a\x1b[31m\u009b31m\u202eb", shown.stderr, "message")
    machine.run("sh", "-c", "true", "a\nb", options=["-o", "c\x1b[31m\nd"])
    (name,) = [path.name for path in (machine.folder / "c\x1b[31m\nd").iterdir() if path.name != "latest"]
    listed = expect_success(machine.cudadiag("list", "-o", "c\x1b[31m\nd")).stdout
    folder = f"$'{machine.folder}/c\\033[31m\\012d/{name}'"
    expect_in(r"  exit 0  -     -       sh -c true $'a\012b'" + "\n", listed, "list")
    pasted = machine.plain("bash", "-c", "cd /; exec " + " ".join(machine.command("report", folder)))
    expect_in("no process of the program loaded the recorder", expect_success(pasted).stdout, "report of the folder as it is listed")


def handled_error_is_no_finding(machine):
    result = machine.run(*program("handled.py"))
    expect((result.stdout, result.stderr, result.returncode), ("done\n", "", 0), "result")


def bundle_is_the_report_without_names_and_secrets(machine):
    import tarfile  # imported here, because each case is a process and the import is slow

    machine.plan(FAULT)
    machine.environment.update(USER="grace", HOME=str(machine.folder))
    folder = str(program("x")[1].parent)
    (machine.folder / "train.py").write_text(f"import sys\nsys.path.insert(0, {folder!r})\napi_key = 'hidden'\n"
                                             "import ten_launches\n")
    machine.run(sys.executable, "train.py", "--token", "hidden", "--run-of=grace")
    first = machine.cudadiag("report", "--bundle", "one.tar.gz")
    expect(first.returncode, 0, "status, with stderr " + first.stderr)
    listed = [line.split()[1] for line in first.stderr.splitlines() if line.startswith("cudadiag:   ")]
    with tarfile.open(machine.folder / "one.tar.gz") as archive:
        names = [member.name.removeprefix("cudadiag-bundle/") for member in archive]
        contents = {name: archive.extractfile("cudadiag-bundle/" + name).read().decode() for name in names}
    expect(names, ["report.txt", "report.json", "versions.txt", "script/train.py"], "contents")
    expect(listed, names, "what is listed")
    for name, content in contents.items():
        for private in ("hidden", "grace", str(machine.folder), socket.gethostname()):
            assert private not in content, f"{private} in {name}: {content}"
    run = json.loads(contents["report.json"])["run"]
    expect(run["command"][1:], ["train.py", "--token", "REDACTED", "--run-of=USER"], "command")
    expect((run["folder"], run["session"].startswith("~/state/cudadiag/2")), ("~", True), "folder and session")
    expect_in("train.py --token REDACTED --run-of=USER  in ~, " + run["started"], contents["report.txt"], "text")
    finding = json.loads(contents["report.json"])["findings"][0]
    expect(finding["location"]["line"], true_line("ten_launches.py")[1], "line")
    expect_in("[bracketed]", contents["report.txt"], "text")
    expect_in("api_key = 'REDACTED'", contents["script/train.py"], "script")
    expect_success(machine.cudadiag("report", "--bundle", "two.tar.gz"))
    one, two = ((machine.folder / name).read_bytes() for name in ("one.tar.gz", "two.tar.gz"))
    expect(one == two, True, "the same bytes")
    again = machine.cudadiag("report", "--bundle", "two.tar.gz")
    expect(again.returncode, 125, "status")
    expect_in("it already exists", again.stderr, "message")
    assert "packing into" not in again.stderr, again.stderr


def executable_that_is_gone_is_no_library(machine):
    gone = machine.folder / "gone"
    shutil.copy(machine.build / "targets/third_of_ten", gone)
    machine.plan(targets.plan("third_of_ten"))
    machine.run(gone)
    gone.unlink()
    shown = expect_success(machine.cudadiag("report", "-v")).stdout
    expect_in(f"{gone} has been removed since the run: its functions and lines are unknown", " ".join(shown.split()), "note")
    assert "library code" not in shown, shown
    assert re.search(r"Blamed  gone\+0x[0-9a-f]+ \(line unknown\) \(cuMemcpyDtoH", shown), shown


def third_of_ten_launches_is_named(machine):
    machine.plan(FAULT)
    result = machine.run(*program("ten_launches.py"))
    expect(result.stdout, "result 700\n", "stdout")
    expect(result.returncode, 3, "status")
    expect_in("illegal memory access (700)", result.stderr, "report")
    report = machine.report()
    expect_true_line(report, "ten_launches.py")
    finding = report["findings"][0]
    expect(finding["evidence"]["grade"], "bracketed", "grade")
    expect(finding["launch"]["stream_ordinal"], 3, "ordinal")
    expect(finding["reported_at"]["api"], "cuStreamSynchronize", "reported at")
    expect(report["processes"][0]["exit"], {"code": 3, "signal": None}, "exit")


def report_is_short(machine):
    machine.plan(FAULT)
    report = machine.run(*program("ten_launches.py")).stderr.removeprefix("on stderr\n")
    assert 1 < report.count("\n") <= 22, report
    quiet = machine.run(*program("ten_launches.py"), options=["-q"]).stderr.removeprefix("on stderr\n")
    expect(quiet.count("\n"), 1, "lines of " + quiet)


def two_streams_give_two_candidates(machine):
    machine.plan("fault kernel=faulty nth=3 code=700 after=stream:1:2")
    machine.run(*program("two_streams.py"))
    finding = machine.report()["findings"][0]
    expect(finding["evidence"]["grade"], "inferred", "grade")
    bad = true_line("two_streams.py")[1]
    lines = sorted(candidate["location"]["line"] for candidate in finding["candidates"])
    expect(lines, [bad - 1, bad], "lines of the candidates")


def failing_child_is_found(machine):
    machine.plan(FAULT)
    expect(machine.run(*program("child.py")).returncode, 3, "status")
    report = machine.report()
    expect_true_line(report, "ten_launches.py")
    expect(len(report["processes"]), 2, "processes")


def failing_child_of_a_parent_without_cuda_is_found(machine):
    machine.plan(FAULT)
    result = machine.run(machine.build / "targets/exec_child", *program("ten_launches.py"))
    expect((result.stdout, result.returncode), ("result 700\n", 3), "result")
    report = machine.report()
    expect_true_line(report, "ten_launches.py")
    expect(len(report["processes"]), 1, "processes that used CUDA")


def program_that_replaces_itself_is_found(machine):
    machine.plan(FAULT)
    result = machine.run(*program("replaces_itself.py"))
    expect((result.stdout, result.returncode), ("result 700\n", 3), "result")
    expect_true_line(machine.report(), "ten_launches.py")


def report_comes_while_the_program_goes_on(machine):
    machine.plan(FAULT)
    target = machine.start(*machine.command("run", "--", *program("ten_launches.py", "wait")))
    for line in target.stderr:
        if "[bracketed]" in line:
            break
    else:
        raise AssertionError("the report came too late or not at all")
    expect(target.poll(), None, "status while the program waits")
    rest = target.communicate()[1]
    expect(target.returncode, 3, "status")
    assert "[bracketed]" not in rest, "the report came twice: " + rest


def error_exitcode_is_for_findings_only(machine):
    options = ["--error-exitcode", "42"]
    expect(machine.run("sh", "-c", "exit 5", options=options).returncode, 5, "status without a finding")
    machine.plan(FAULT)
    expect(machine.run(*program("ten_launches.py"), options=options).returncode, 42, "status with a finding")


def json_goes_to_a_file(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"), options=["--json", "report.json"])
    expect_true_line(json.loads((machine.folder / "report.json").read_text()), "ten_launches.py")


def statuses_are_handed_on(machine):
    expect(machine.run("sh", "-c", "exit 9").returncode, 9, "exit 9")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        expect(machine.run("sh", "-c", f"kill -{int(number)} $$").returncode, -number, str(number))


def commands_that_cannot_run(machine):
    missing = machine.run("no-such-command")
    expect((missing.returncode, missing.stderr.count("\n")), (127, 1), "missing command")
    empty = machine.run("")
    expect((empty.returncode, empty.stderr.partition(";")[0]), (127, "cudadiag: '': no such command"), "empty command")
    (machine.folder / "plain").write_text("")
    expect(machine.run("./plain").returncode, 126, "plain file")
    folder = machine.run(machine.folder)
    expect((folder.returncode, "is a folder; give the path of a program" in folder.stderr), (126, True), "folder: " + folder.stderr)
    expect(machine.sessions(), [], "sessions")


def arguments_arrive_as_typed(machine):
    words = ["-o", "a b", "--", "", "*", "--version"]
    shown = machine.run("sh", "-c", 'printf "%s|" "$0" "$@"', "zero", *words)
    expect(shown.stdout, "".join(word + "|" for word in ["zero", *words]), "arguments")
    expect(machine.run("sh", "-c", "tr '\\0' '|' </proc/$$/cmdline | head -c 3").stdout, "sh|", "argv[0]")
    script = machine.folder / "bare"
    script.write_text("echo bare $1\n")
    script.chmod(0o700)
    expect(machine.run("./bare", "x").stdout, "bare x\n", "script without #! line")


def terminal_stays_a_terminal(machine):
    check = "import sys; print(*[s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)])"
    shown, status = machine.on_terminal(*machine.command("run", "--", sys.executable, "-c", check))
    expect((shown.strip(), status), ("True True True", 0), "isatty")


def colour_only_where_it_is_wanted(machine):
    machine.plan(FAULT)
    command = machine.command("run", "--rerun=never", "--", *program("ten_launches.py"))
    expect_in("\x1b[", machine.on_terminal(*command)[0], "terminal")
    machine.environment["NO_COLOR"] = "1"
    assert "\x1b[" not in machine.on_terminal(*command)[0]
    del machine.environment["NO_COLOR"]
    assert "\x1b[" not in machine.run(*program("ten_launches.py")).stderr
    rerunning = machine.command("run", "--rerun=always", "--", *program("ten_launches.py"))
    expect_in("\x1b[K", machine.on_terminal(*rerunning)[0], "terminal while it reruns")
    for terminal in ({"TERM": "dumb"}, {"TERM": ""}):
        machine.environment.update(terminal)
        shown, _ = machine.on_terminal(*rerunning)
        expect(("\x1b" in shown, "confirmed by a rerun" in shown), (False, True), f"{shown} with {terminal}")


def cupti_in_other_hands_is_said(machine):
    machine.plan("cupti=held")
    result = machine.run(*program("ten_launches.py"), options=["--watch-by=cupti"])
    expect(result.returncode, 0, "status")
    expect_in("cudadiag: nothing was recorded: ", result.stderr, "message")


def rerun_that_was_not_watched_says_nothing(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"), options=["-o", "here", "--watch-by=cupti"])
    machine.plan(FAULT + "; cupti=held")
    machine.cudadiag("bisect", "-o", "here")
    report = machine.report("-o", "here")
    finding = report["findings"][0]
    expect(finding["evidence"]["grade"], "bracketed", "grade")
    assert "rerun" not in finding["evidence"]["because"], finding["evidence"]
    expect(report["passes"][1]["outcome"], "was not recorded", "outcome of the rerun")


def missing_cupti_is_said_with_a_remedy(machine):
    machine.plan(FAULT)
    for library in ("libcupti.so.13", "libcupti.so.12"):
        # The search finds this file before the machine's copies, but it is not a library.
        (machine.folder / library).touch()
    search = f"LD_LIBRARY_PATH={machine.folder}:{machine.build / 'sim'}"
    result = machine.run("env", "-u", "CUDADIAG_CUPTI", search, *program("ten_launches.py"), options=["--watch-by=cupti"])
    expect((result.stdout, result.returncode), ("result 700\n", 3), "result")
    ours = [line for line in result.stderr.splitlines() if line.startswith("cudadiag: ")]
    expect(ours, ["cudadiag: nothing was recorded: no libcupti was found; install it (pip install nvidia-cuda-cupti) "
                  "or set CUDADIAG_CUPTI to a libcupti.so"], "what cudadiag says")


def program_that_clears_its_environment_is_left_alone(machine):
    clearing = machine.build / "targets/clears_environment"
    result = machine.run(clearing)
    expect((result.stdout, result.returncode), ("done\n", 0), "result of a healthy program")
    machine.plan(FAULT)
    kept = [f"{name}={machine.environment[name]}" for name in ("LD_LIBRARY_PATH", "CUDADIAG_SIM_PLAN")]
    result = machine.run("env", "-i", *kept, *program("ten_launches.py"))
    expect((result.stdout, result.returncode), ("result 700\n", 3), "result of a failing program")


def no_cuda_is_said_after_a_failure_and_in_detail(machine):
    for command, said in (("true", ""), ("false", NO_CALL)):
        expect(machine.run(command).stderr, said, f"stderr of {command}")
        expect(machine.run(command, options=["-q"]).stderr, "", f"stderr of {command} with -q")
        expect_in("did not use CUDA, as far as the recording shows. A process that used a GPU for less than a second without "
                  "being recorded may have been missed. If it should have used CUDA, run: cudadiag doctor",
                  machine.run(command, options=["-v"]).stderr, f"stderr of {command} with -v")


def recorder_that_cannot_be_loaded_is_told(machine):
    recorder = machine.folder / "recorder.so"
    recorder.write_text("not a library")
    machine.environment["CUDADIAG_RECORDER"] = str(recorder)
    result = machine.run(*program("ten_launches.py"))
    expect((result.returncode, result.stdout, result.stderr), (125, "", f"cudadiag: {recorder} is not a library; reinstall "
           "cudadiag, or unset CUDADIAG_RECORDER\n"), "result")


def killed_program_leaves_its_status(machine):
    machine.plan(FAULT)
    result = machine.run(*program("ten_launches.py", "kill"))
    expect(result.returncode, -signal.SIGKILL, "status")
    expect_true_line(machine.report(), "ten_launches.py")


def killed_program_leaves_its_record(machine):
    kept = ["-o", machine.folder / "kept"]
    result = machine.run(machine.build / "targets/killed_by_itself", "1000", options=kept)
    expect((result.stdout, result.returncode), ("launched 1000\n", -signal.SIGKILL), "result")
    expect_in("signal 9", expect_success(machine.cudadiag("list", *kept)).stdout, "list")
    dump = expect_success(machine.cudadiag("dump", *kept)).stdout
    serials = [int(line.split(" serial=")[1].split()[0]) for line in dump.splitlines() if line.startswith("operation ")]
    expect(serials, list(range(1, 1001)), "serials of the operations")


def killed_at_any_moment_the_record_is_whole(machine):
    """CUDADIAG_KILLS is the number of kills. Each record that was published before the kill, and is within a ring's
    horizon, must survive."""
    horizon, unfinished = 4096, 5
    moments = random.Random(20261121)
    machine.plan("hang stream=1")
    counter = machine.folder / "counter"
    counter.write_bytes(bytes(16))
    with open(counter, "r+b") as file, mmap.mmap(file.fileno(), 16) as words:
        for kill in range(int(os.environ.get("CUDADIAG_KILLS", "8"))):
            words[:] = bytes(16)
            kept = machine.folder / "kept"
            moment = moments.randrange(1, 3 * horizon)
            run = machine.start(*machine.command("run", "--rerun=never", "-o", kept, "--",
                                                 machine.build / "targets/launches_until_killed", counter))
            while struct.unpack_from("<Q", words, 8)[0] < moment and run.poll() is None:
                os.sched_yield()
            expect(run.poll(), None, f"status before kill {kill}")
            os.kill(struct.unpack_from("<Q", words)[0], signal.SIGKILL)
            run.communicate()
            expect(run.returncode, -signal.SIGKILL, "status")
            launched = struct.unpack_from("<Q", words, 8)[0]
            dump = expect_success(machine.cudadiag("dump", "-o", kept)).stdout
            serials = {int(line.split(" serial=")[1].split()[0]) for line in dump.splitlines()
                       if line.startswith("operation ")}
            # The kill may have interrupted the overwriting of the ring's oldest record.
            wanted = {*range(1, unfinished + 1), *range(max(1, launched - horizon + 2), launched + 1)}
            expect(wanted - serials, set(), f"what is missing after {launched} launches")
            shutil.rmtree(kept)


def file_size_limit_does_not_stop_the_program(machine):
    machine.plan(FAULT)
    result = machine.plain("sh", "-c", 'ulimit -f 4; exec "$@"', "sh",
                           *machine.command("run", "--", *program("ten_launches.py")))
    expect((result.stdout, result.returncode), ("result 700\n", 3), "result")
    expect_in("running without recording: the file size limit leaves no room for the recording; raise it (ulimit -f)\n",
              result.stderr, "why, and what to do")


def thread_that_may_not_end_a_capture_ends_none(machine):
    machine.plan(targets.plan("capture_wrong_thread"))
    machine.run(machine.build / "targets/capture_wrong_thread")
    dump = expect_success(machine.cudadiag("dump")).stdout
    flags = [line.split(" flags=")[1].split()[0] for line in dump.splitlines()
             if line.startswith("operation ") and " kind=1 " in line]
    captured = "3"  # the call is part of a capture, and has returned
    expect(flags, [captured] * 2, "flags of the launches")


def sessions_are_private_listed_and_dumped(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    (name,) = machine.sessions()
    folder = machine.state / "cudadiag" / name
    expect(stat.S_IMODE(folder.stat().st_mode), 0o700, "mode")
    expect_in("  illegal memory access (700)  ten_launches.py:16  ", expect_success(machine.cudadiag("list")).stdout, "list")
    dump = expect_success(machine.cudadiag("dump", name)).stdout
    kernels = [line for line in dump.splitlines() if line.startswith("operation ") and " kind=1 " in line]
    expect(len(kernels), 10, "kernels in the dump")
    expect_success(machine.cudadiag("report", f"{name}/"))
    missing = machine.cudadiag("report", "nowhere")
    expect((missing.returncode, missing.stderr.count("\n")), (125, 1), "missing session")


def full_disk_is_no_success(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    for words in (["report"], ["report", "--json"], ["report", "--sarif"], ["report", "--html"], ["list"], ["dump"],
                  ["env"], ["--help"], ["core", DATA / "gpucore/load.nvcudmp.gz"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = machine.cudadiag(*words, stdout=full)
        expect(result.returncode, 125, f"status of {words}")
        expect_in("cudadiag: the output could not be written", result.stderr, f"message of {words}")


def list_tells_a_run_that_goes_on_from_one_that_was_killed(machine):
    run = machine.start(*machine.command("run", "--", "sh", "-c", "echo ready; read line"))
    expect(run.stdout.readline(), "ready\n", "first line")
    expect_in("  running  -     -       sh -c 'echo ready; read line'\n", machine.cudadiag("list").stdout, "list")
    run.kill()
    run.communicate()
    expect_in("  not finished  -     -       sh -c 'echo ready; read line'\n", machine.cudadiag("list").stdout, "list")


def list_shows_what_was_recorded_without_the_launcher(machine):
    exports = expect_success(machine.cudadiag("env")).stdout
    unused = machine.cudadiag("list")
    expect((unused.stdout, len(machine.sessions())), ("", 1), "list before a program has used what env prepared")
    expect_in("no session was found", unused.stderr, "message of list")
    expect_in("there are no sessions", machine.cudadiag("report", "1").stderr, "message about a session by number")
    machine.plain("sh", "-c", exports + '"$@"', "sh", *map(str, program("ten_launches.py")))
    _, line = expect_success(machine.cudadiag("list")).stdout.splitlines()
    expect_in("  ended   -  ", line, "end")
    expect_in("ten_launches.py", line, "command")
    expect_in("cannot tell whether CUDA failed in this session: the session was recorded without cudadiag run, or "
              "cudadiag run was killed, so how its programs ended is unknown\n", machine.cudadiag("report").stdout, "report")
    refused = machine.cudadiag("bisect")
    expect((refused.stdout, refused.returncode), ("", 125), "bisect")
    expect_in("so the full command is unknown", refused.stderr, "the reason")
    expect_in(f"cd {machine.folder} && cudadiag run -- {sys.executable} ", refused.stderr, "the command")


def _recorded(machine, command, name, window=""):
    """Returns what `command` issued, as (key of the site, key of the kernel, call of the site, waited for), and the
    waits."""
    kept = ["-o", machine.folder / name]
    machine.run("env", "CUDADIAG_WINDOW=" + window, *command, options=kept)
    lines = expect_success(machine.cudadiag("dump", *kept)).stdout.splitlines()
    sites, issued, waits = {}, [], 0
    for line in lines:
        words = line.split()
        values = dict(word.split("=", 1) for word in words if "=" in word)
        if words[0] == "site":
            sites[words[1]] = values["key"], values["kernel_key"]
        elif words[0] == "operation" and values["site_ordinal"] != "0":
            issued.append((values["site"], int(values["site_ordinal"]), bool(int(values["flags"]) & 128)))
        elif words[0] == "process":
            waits += int(values["waits"])
    return [(*sites[site], ordinal, alone) for site, ordinal, alone in issued], waits


def rerun_waits_where_the_first_run_s_keys_say(machine):
    threads = [sys.executable, TARGETS / "python/py_threads.py"]
    for number, command in enumerate((program("two_streams.py"), [machine.build / "targets/third_of_ten"], threads)):
        first, waits = _recorded(machine, command, f"first-{number}")
        expect(waits, 0, "waits without a window")
        assert len(first) >= 10, first
        windows = {(key, start) for key, _, start, _ in first if start in (1, 2)}
        windows |= {(key, 1) for _, key, _, _ in first if key.strip("0")}
        assert len(windows) >= 4, windows
        for key, start in sorted(windows):
            again, waits = _recorded(machine, command, f"{key}-{start}-{number}", f"{key}@{start}")
            expect(sorted(each[:3] for each in again), sorted(each[:3] for each in first), "keys of another run")
            wanted = [key in each[:2] and each[2] >= start for each in again]
            expect([each[3] for each in again], wanted, f"waited for in {command} with {key}@{start}")
            expect(waits, sum(wanted), "waits")


def window_that_cannot_be_read_waits_for_nothing(machine):
    command = [machine.build / "targets/third_of_ten"]
    first, _ = _recorded(machine, command, "first")
    again, waits = _recorded(machine, command, "again", f"{first[0][0]}@1,nonsense")
    expect((waits, any(each[3] for each in again)), (0, False), "waits")
    dump = expect_success(machine.cudadiag("dump", "-o", machine.folder / "again")).stdout
    expect_in("note window-not-read", dump, "note")


def core_dump_is_read(machine):
    dump = DATA / "gpucore/load.nvcudmp.gz"
    text = expect_success(machine.cudadiag("core", dump))
    expect(text.stderr, "", "stderr")
    expect(text.stdout.splitlines()[:4],
           ["Warp Illegal Address (14) in far_load(int*)",
            "Line    /tmp/cases/cases.cu:16",
            "Kernel  far_load(int*)  grid 2,1,1  block 32,1,1  grid id 3  launched by host thread 577",
            "Failed  64 threads of 2 blocks; first: block 0,0,0, thread 0,0,0 (SM 124, warp 2, lane 0)"], "text")
    found = json.loads(expect_success(machine.cudadiag("core", dump, "--json")).stdout)
    expect({name: found[name] for name in ("exception", "function", "file", "line", "block", "thread", "kernel")},
           {"exception": "Warp Illegal Address", "function": "far_load(int*)", "file": "/tmp/cases/cases.cu",
            "line": 16, "block": [0, 0, 0], "thread": [0, 0, 0], "kernel": "far_load(int*)"}, "JSON")
    source = machine.cudadiag("core", DATA / "gpucore/cases.cu")
    expect((source.stdout, source.returncode, source.stderr.count("\n")), ("", 125, 1), "a different file")
    expect_in("is not a GPU core dump", source.stderr, "message")


def core_shows_what_a_disassembler_says(machine):
    dump = DATA / "gpucore/load.nvcudmp.gz"
    tool = machine.folder / "tools/nvdisasm"
    tool.parent.mkdir()
    machine.environment["PATH"] = f"{tool.parent}:{machine.environment['PATH']}"

    def instruction(script, last="/*0170*/ BRA 0x170;"):
        tool.write_text(f"#!/bin/sh\necho '{last}'\n" + script)
        tool.chmod(0o755)
        text = expect_success(machine.cudadiag("core", dump)).stdout
        expect_in("PC      0x7f21277a0a70, far_load(int*)+0x70\n", text, "text")
        found = json.loads(expect_success(machine.cudadiag("core", dump, "--json")).stdout)["instruction"]
        lines = [line[8:] for line in text.splitlines() if line.startswith("Code ")]
        expect(lines, [] if found is None else [found], "text and JSON")
        return found

    # The tool gets the code of the function, which has 24 instructions of 16 bytes.
    seen = "printf '/*0060*/ NOP ;\\n\\t/*0070*/    @P0 LDG.E R5, desc[UR4][%s.%s] ;\\n' $1$2 $(wc -c <$3)\n"
    expect(instruction(seen), "@P0 LDG.E R5, desc[UR4][-bSM90.384]", "instruction")
    expect(instruction("echo '/*0060*/ NOP ;'\n"), None, "a different place")
    expect(instruction("echo '/*0070*/ EXIT ;'\n"), "EXIT", "another instruction")
    expect(instruction("echo '/*0070*/ EXIT ;'\n", "/*0160*/ NOP;"), None, "a text that is not whole")
    expect(instruction("echo '/*0070*/ EXIT ;'; exit 1\n"), None, "a tool that fails")
    expect(instruction("echo '/*0070*/ EXIT ;'; kill -SEGV $$\n"), None, "a tool that crashes")
    tool.write_text("#!/bin/sh\necho '/*0170*/ BRA 0x170;'\necho '/*0070*/ EXIT ;'\nexec sleep 1000\n")
    found = json.loads(expect_success(machine.cudadiag("core", dump, "--json")).stdout)["instruction"]
    expect(found, None, "a tool that hangs, for which cudadiag waits 10 s")


def nodes_of_a_graph_are_listed(machine):
    machine.plan(targets.plan("graph_replay"))
    machine.run(*targets.command(machine.build, "graph_replay"))
    finding = machine.report()["findings"][0]
    captured = targets.marked_line("graph_replay", "CAPTURED LINE")[1]
    nodes = [(c["location"]["line"], c["launch"]["graph_node"]) for c in finding["candidates"]]
    wanted = [(captured - 1 + i, {"index": i + 1, "of": 3, "replay": 2}) for i in range(3)]
    expect(nodes, wanted, "nodes")
    expect([c["launch"]["kernel"] for c in finding["candidates"]], ["fill", "scale", "fill"], "kernels")


def node_of_a_graph_is_named(machine):
    machine.plan(targets.plan("graph_added"))
    text = machine.run(*targets.command(machine.build, "graph_added")).stderr
    launch = machine.report()["findings"][0]["launch"]
    expect(launch["graph_node"], {"index": 3, "of": 3, "replay": 2}, "node")
    expect((launch["operation"], launch["kernel"], launch["grid"]), ("kernel", "check", [7, 1, 1]), "launch")
    for words in ("node 3/3", "captured at ", "replayed at ", ", replay 2"):
        expect_in(words, text, "report")


def one_rerun_names_the_node_of_a_thousand(machine):
    machine.plan(targets.plan("graph_thousand"))
    command = targets.command(machine.build, "graph_thousand")
    plain = machine.plain(*command)
    result = machine.run(*command, options=["--rerun=auto"])
    expect((result.stdout, result.returncode), (plain.stdout, plain.returncode), "what the program sees")
    finding = machine.report()["findings"][0]
    expect(finding["launch"]["graph_node"], {"index": 412, "of": 1000, "replay": 2}, "node")
    expect((finding["evidence"]["grade"], finding["candidates"]), ("proven", []), "certainty")
    expect_in("one of 1,000 nodes of this line", result.stderr, "the first run's report")
    expect_in("node 412/1000", expect_success(machine.cudadiag("report")).stdout, "report")


def updated_graph_is_watched_too(machine):
    machine.plan(targets.plan("graph_updated"))
    machine.run(*targets.command(machine.build, "graph_updated"), options=["--rerun=auto"])
    finding = machine.report()["findings"][0]
    expect_in("node 1 of its graph had started", finding["evidence"]["because"], "evidence")


def changed_node_is_told_with_the_lines_that_made_and_changed_it(machine):
    text = machine.run(*targets.command(machine.build, "graph_changed:kernel")).stderr
    made, changed, replayed = ("%s:%d" % targets.marked_line("graph_changed:kernel", mark)
                               for mark in ("MADE LINE", "TRUE LINE", "REPLAY LINE"))
    expect_in(f"Graph   captured at {made}, main\n"
              f"        changed at {changed}, main\n"
              f"        replayed at {replayed}, main, replay 2\n", text, "report")
    launch = machine.report()["findings"][0]["launch"]
    expect((launch["kernel"], launch["graph_node"]), ("sim_store_u32", {"index": 1, "of": 1, "replay": 2}), "node")


def nodes_that_one_line_changed_are_of_no_one_kernel_and_making(machine):
    text = machine.run(*targets.command(machine.build, "graph_changed_in_loop")).stderr
    expect_in("one of 2 nodes of this line", text, "report")
    finding = machine.report()["findings"][0]
    expect((finding["launch"]["operation"], finding["launch"]["kernel"]), ("graph", None), "launch")
    expect([line["role"] for line in finding["related"] if line["role"] in ("capture", "update")], ["update"], "lines")
    machine.run(*targets.command(machine.build, "graph_changed_in_loop"), options=["--rerun=auto"])
    finding = machine.report()["findings"][0]
    expect(finding["launch"]["kernel"], "sim_store_u32", "kernel of the node that the rerun saw")
    expect([line["role"] for line in finding["related"] if line["role"] in ("capture", "update")],
           ["capture", "update"], "lines after it")


def driver_explains_a_refused_call(machine):
    machine.run(machine.build / "targets/refused_launch")
    error = machine.report()["findings"][0]["error"]
    expect(error["code"], 1, "code")
    expect(error["text"], "The driver says: One or more of block dimensions of (2048,1,1) exceeds the maximum of "
                          "(1024,1024,64)", "text")


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def small_files_do_not_end_the_target(machine):
    healthy = machine.build / "targets/healthy"
    plain = machine.plain(healthy)
    recorded = machine.run(healthy, preexec_fn=limit(resource.RLIMIT_FSIZE, 1 << 20))
    expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    expect_in("running without recording: the file size limit leaves no room for the recording; raise it (ulimit -f)\n",
              recorded.stderr, "message")


def few_descriptors_are_said(machine):
    healthy = machine.build / "targets/healthy"
    for few in (5, 6, 7):
        result = machine.run(healthy, preexec_fn=limit(resource.RLIMIT_NOFILE, few), timeout=30)
        if result.returncode != 0:
            expect(result.returncode, 125, "status")
            expect_in("Too many open files", result.stderr, "message")
    for few in (15, 17):
        result = machine.run(faulty(machine), options=["--rerun=always"], preexec_fn=limit(resource.RLIMIT_NOFILE, few))
        expect_in("the rerun failed to start: too few files may be open for a rerun; raise the limit: ulimit -n\n",
                  result.stderr, f"message with {few} descriptors")
