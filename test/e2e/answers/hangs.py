"""Work that never finishes: what other commands show about a live run, and what the report says when the launcher ends
the run because of it."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from harness import DATA, FAULT, HERE, copy_session, expect, expect_in, expect_success, program

SOURCE = HERE.parent / "targets/stuck.cc"
SHAPES = {
    "kernel": "kernel-does-not-end",
    "value": "value-never-written",
    "other_stream": "kernel-does-not-end",
    "copy": "kernel-does-not-end",
}
WAITS = {"kernel": "cuStreamSynchronize", "value": "cuCtxSynchronize", "other_stream": "cuStreamSynchronize",
         "copy": "cuMemcpyDtoH"}
MARKED = 32  # wire::operation::kMarked


def _marked(machine):
    """Returns whether a marker follows each operation of the latest session."""
    lines = expect_success(machine.cudadiag("dump")).stdout.splitlines()
    return [bool(int(re.search(r" flags=(\d+)", line)[1]) & MARKED) for line in lines if line.startswith("operation ")]


def _line(mark):
    lines = SOURCE.read_text().splitlines()
    return str(SOURCE), 1 + next(i for i, line in enumerate(lines) if line.endswith("// " + mark))


def _marked_line(source, mark):
    lines = pathlib.Path(source).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.endswith("# " + mark))


def _place(location):
    return location["file"], location["line"]


def stuck(machine, shape):
    machine.plan("hang kernel=_Z4spinPiy")
    return [machine.build / "targets/stuck", shape]


def _status(machine, *words):
    return json.loads(expect_success(machine.cudadiag("status", "--json", *words)).stdout)


def _until(machine, run, shows, *words):
    """Returns the first status in which `shows` is true for the first process."""
    while True:
        expect(run.poll(), None, "status of the run")
        result = machine.cudadiag("status", "--json", *words)
        if result.returncode == 0:
            status = json.loads(result.stdout)
            if status["running"] and status["processes"] and shows(status["processes"][0]):
                return status
        time.sleep(0.1)  # leaves the processor to the run


def _kept_waiting(process):
    return process["calls"] and process["calls"][0]["seconds"] is not None and process["calls"][0]["seconds"] > 0.2


def live_run_shows_where_its_streams_stand(machine):
    for shape in SHAPES:
        run = machine.start(*machine.command("run", "--rerun=never", "--", *stuck(machine, shape)))
        status = _until(machine, run, _kept_waiting)
        process = status["processes"][0]
        first = process["streams"][0]
        expect((first["proven_unfinished"], first["grade"], first["candidates"]), (True, "bracketed", 1), shape)
        expect(_place(first["operations"][0]["location"]), _line("TRUE LINE " + shape), f"{shape}: true line")
        expect(_place(process["calls"][0]["location"]), _line("WAITS " + shape), f"{shape}: line that waits")
        expect(process["calls"][0]["call"], WAITS[shape], f"{shape}: call that waits")
        if shape == "other_stream":
            second = process["streams"][1]
            expect(_place(second["operations"][0]["location"]), _line("EVENT other_stream"), "line of the wait")
            expect([wait["for"] for wait in second["waits"]], ["stream"], "what the second stream waits for")
        if shape == "value":
            expect_in("equals 7; no stream has queued a write to it", first["waits"][0]["text"], "the wait")
        text = expect_success(machine.cudadiag("status")).stdout
        expect_in(f"stuck.cc:{_line('WAITS ' + shape)[1]}, main", text, "text")
        run.terminate()
        run.communicate()
        expect(run.returncode, -signal.SIGTERM, "status of the run")


def hang_is_ended_and_reported(machine):
    for shape, cause in SHAPES.items():
        report = machine.folder / "report.json"
        result = machine.run(*stuck(machine, shape), options=["--hang-after", "0.5", "--json", report])
        expect(result.returncode, -signal.SIGTERM, f"{shape}: status, with {result.stderr}")
        expect_in(": ending the program", result.stderr.splitlines()[0], "first line, before the report")
        assert len(result.stderr.splitlines()) <= 24, result.stderr
        if shape == "kernel":
            expect_in("\nNext    cudadiag bisect ", result.stderr, "the rerun that may find the line, as none follows by itself")
        for found in (json.loads(report.read_text()), machine.report()):
            expect(found["verdict"], "cuda_failure", "verdict")
            finding = found["findings"][0]
            expect((len(found["findings"]), finding["kind"]), (1, "hang"), "kind")
            expect(finding["evidence"]["grade"], "bracketed", "grade")
            expect(_place(finding["location"]), _line("TRUE LINE " + shape), f"{shape}: true line")
            expect(_place(finding["reported_at"]), _line("WAITS " + shape), f"{shape}: line that waits")
            expect(finding["cause"]["id"], cause, f"{shape}: cause")
            expect(finding["error"]["name"], None, "name of the error")


def hang_in_a_collective_names_where_the_ranks_part(machine):
    stuck = "hang kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL nth=3"
    for how, plans, difference, cause in (("missing", (stuck, ""), "absence", "rank-has-not-come"),
                                          ("other", (stuck, stuck), "line", "ranks-call-different-collectives"),
                                          ("alike", (stuck, stuck), "none", "all-ranks-in-collective")):
        command = program("collectives.py", how)
        machine.environment |= {f"PLAN_{rank}": plan for rank, plan in enumerate(plans)}
        result = machine.run(*command, options=["--hang-after", "1", "-o", how])
        found = machine.report("-o", how)
        assert found["findings"], result.stderr
        finding, ranks = found["findings"][0], found["ranks"]
        expect((finding["kind"], finding["cause"]["id"]), ("hang", cause), how)
        expect((ranks["collective"], ranks["difference"]), (3, difference), how)
        second = {"missing": "AWAY", "other": "OTHER", "alike": "AVERAGE"}[how]
        lines = [_marked_line(command[1], "AVERAGE"), _marked_line(command[1], second)]
        expect([(rank["rank"], rank["collectives"], rank["has_come"], rank["location"]["line"])
                for rank in ranks["ranks"]],
               [(0, 3, True, lines[0]), (1, 2 if how == "missing" else 3, how != "missing", lines[1])], how)
        told = " ".join(result.stderr.split()).replace(str(pathlib.Path(command[1]).parent) + "/", "")
        expect_in("Ranks at collective 3, after 2 that all ranks called in the same way ", told, how)
        expect_in({"missing": f"rank 1: called 2 of them; it is on the host at collectives.py:{lines[1]}, <module> Fix",
                   "other": f"rank 1: collectives.py:{lines[1]}, <module> Fix",
                   "alike": f"ranks 0 and 1: collectives.py:{lines[0]}, average Fix"}[how], told, how)


def ranks_with_a_launcher_each_are_one_job(machine):
    command = program("collectives.py", "missing")
    machine.plan("")

    def launch(rank, *options):
        environment = {**machine.environment, "RANK": str(rank)}
        return subprocess.Popen(machine.command("run", "--rerun=never", *options, "-o", "job", "--", *command),
                                env=environment, cwd=machine.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    second = launch(1)
    expect(second.stdout.readline(), "waits\n", "the second rank")
    machine.plan("hang kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL nth=3")
    alone = launch(0, "--hang-after", "0.5").communicate()[1]
    expect_in("a rank has not reached it", " ".join(alone.split()), "what the first rank's launcher knows")
    line = _marked_line(command[1], "AVERAGE")
    away = _marked_line(command[1], "AWAY")
    for _ in ("while the second one goes on", "when both have ended"):
        found = json.loads(expect_success(machine.cudadiag("ranks", "-o", "job", "--json")).stdout)
        expect([(rank["rank"], rank["collectives"], rank["has_come"], rank["location"]["line"])
                for rank in found["ranks"]["ranks"]], [(0, 3, True, line), (1, 2, False, away)], "ranks")
        expect(found["findings"][0]["cause"]["id"], "rank-has-not-come", "cause")
        text = expect_success(machine.cudadiag("ranks", "job")).stdout
        expect_in("rank 1: called 2 of them; it is on the host at", text, "text")
        expect(text.splitlines()[0].rpartition(",")[0], "cudadiag: first failure in 2 sessions: rank 0", "whose session it is")
        second.terminate()
        # The program must be dead before its input is closed, because the end of the input would let it continue.
        second.wait()
        second.communicate()
    quiet = machine.cudadiag("ranks", "-o", "job", "-q").stdout
    expect((quiet.count("\n"), quiet.partition(",")[0]), (1, "cudadiag: rank 0"), "a quiet answer")


def ranks_of_a_large_job_are_compared_although_their_sessions_are_closed(machine):
    """All ranks but one are copies of one session, which has its rank in four digits."""
    command, count, copied = program("collectives.py", "missing"), 20, b"7777"
    machine.plan("")
    machine.environment["RANK"] = "1"
    away = machine.start(*machine.command("run", "--rerun=never", "-o", "job", "--", *command))
    expect(away.stdout.readline(), "waits\n", "the rank that does not come")
    machine.plan("hang kernel=ncclDevKernel_AllReduce_Sum_f32_RING_LL nth=3")
    machine.environment["RANK"] = copied.decode()
    machine.run(*command, options=["--hang-after", "0.5", "-o", "one"])
    away.terminate()
    # The program must be dead before its input is closed, because the end of the input would let it continue.
    away.wait()
    away.communicate()
    (one,) = (machine.folder / "one").glob("2*")
    (area,) = (one / "record").glob("*.area")
    pid = area.stem
    places = [found.start() for found in re.finditer(copied, area.read_bytes())]
    for rank in (rank for rank in range(count) if rank != 1):
        copy = machine.folder / f"job/20200101-000000-{rank + 1}"
        copy_session(one, copy)
        with open(copy / "record" / area.name, "r+b") as file:
            for at, bytes_there in ((16, (10000 + rank).to_bytes(4, "little")), *((at, b"%04d" % rank) for at in places)):
                file.seek(at)
                file.write(bytes_there)
        (copy / "record" / area.name).rename(copy / f"record/{10000 + rank}.area")
        (copy / "manifest.json").write_text(re.sub(rf"\b{pid}\b", str(10000 + rank), (one / "manifest.json").read_text()))
    found = json.loads(expect_success(machine.cudadiag("ranks", "job", "--json")).stdout)["ranks"]
    expect((found["collective"], found["difference"], len(found["ranks"])), (3, "absence", count), "answer")
    expect([rank["rank"] for rank in found["ranks"] if not rank["has_come"]], [1], "the rank that has not come")
    lines = {_marked_line(command[1], mark) for mark in ("AVERAGE", "AWAY")}
    expect({rank["location"]["line"] for rank in found["ranks"]}, lines, "lines")


def ranks_are_not_taken_from_two_runs(machine):
    for name in ("first", "second"):
        machine.environment["RANK"] = "0"
        machine.run(*program("collectives.py", "alike"), options=["-o", name])
    machine.plan(FAULT)
    for name in ("third", "fourth"):
        machine.run(*program("ten_launches.py"), options=["-o", name])
    for words, said in ((("first", "second"), "rank 0 is in two sessions: "), (("third", "fourth"), "rank 0 is in two sessions: "), ((), "no sessions were given; "),
                        (("first/none",), " does not exist")):
        result = machine.cudadiag("ranks", *words)
        expect((result.returncode, result.stdout), (125, ""), str(words))
        expect_in(said, result.stderr, str(words))
    expect(expect_success(machine.cudadiag("ranks", "first")).stdout, "cudadiag: no CUDA failure in this session\n",
           "one session without ranks that wait")
    (machine.folder / "empty").mkdir()
    expect_in("no session was found in ", machine.cudadiag("ranks", "empty").stderr, "an empty folder")


def ranks_of_several_machines_are_collected_under_other_names(machine):
    machine.plan(FAULT)
    for rank in "01":
        machine.environment["RANK"] = rank
        machine.run(*program("ten_launches.py"), options=["-o", f"of-{rank}"])
        (session,) = (machine.folder / f"of-{rank}").glob("2*")
        copy_session(session, machine.folder / f"job/node{rank}")
    for words in (["job"], ["job/node0", "job/node1"], ["job", "job/node1"]):
        told = expect_success(machine.cudadiag("ranks", *words)).stdout
        expect_in("cudadiag: first failure in 2 sessions: rank 0", told, str(words))


def hang_that_ignores_being_asked_is_killed(machine):
    command = ["sh", "-c", "trap '' TERM; exec \"$@\"", "sh", *stuck(machine, "kernel")]
    result = machine.run(*command, options=["--hang-after", "0.3", "--error-exitcode", "9"])
    expect(result.returncode, 9, f"status, with {result.stderr}")
    expect_in("hang (", result.stderr, "report")


def process_that_had_ended_does_not_hang(machine):
    machine.plan("hang kernel=stuck")
    machine.run(*program("child_leaves_work.py"), options=["--hang-after=1", "-o", "here"])
    report = machine.report("-o", "here")
    expect([(finding["kind"], finding["evidence"]["grade"]) for finding in report["findings"]],
           [("hang", "bracketed")], "findings")
    (parent,) = (process for process in report["processes"] if "child" not in process["argv"])
    expect(report["findings"][0]["process"]["pid"], parent["pid"], "process")


def _lives(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def hang_of_a_child_that_ignores_being_asked_is_killed(machine):
    """The parent exits on SIGTERM and leaves the child running. The GPU must still be released."""
    command = ["sh", "-c", """sh -c 'trap "" TERM; exec "$@"' sh "$@" >/dev/null 2>&1 & wait""", "sh",
               *stuck(machine, "kernel")]
    result = machine.run(*command, options=["--hang-after", "0.3"])
    expect(result.returncode, -signal.SIGTERM, f"status, with {result.stderr}")
    pid = machine.report()["findings"][0]["process"]["pid"]
    left = _lives(pid)
    if left:
        os.kill(pid, signal.SIGKILL)
    expect(left, False, "whether the process lives")


def what_was_there_before_outlives_a_hang(machine):
    """The shell's child becomes the launcher's child when the shell replaces itself with the launcher."""
    script = 'sleep 1000 </dev/null >/dev/null 2>&1 & echo $!; exec "$@"'
    result = machine.plain("sh", "-c", script, "sh", *machine.command(
        "run", "--rerun=never", "--hang-after", "0.3", "--", *stuck(machine, "kernel")))
    expect_in("hang (", result.stderr, "report")
    pid = int(result.stdout)
    lives = _lives(pid)
    if lives:
        os.kill(pid, signal.SIGKILL)
    expect(lives, True, "whether the process lives")


def idle_program_does_not_hang(machine):
    """No marker follows the last operations, which have all finished, while the host reads from a pipe."""
    run = machine.start(*machine.command("run", "--rerun=never", "--hang-after", "0.2", "--markers", "sparse", "--",
                                         *stuck(machine, "idle")))
    expect(run.stdout.readline(), "ready\n", "output")
    status = _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 1.5)
    stream = status["processes"][0]["streams"][0]
    expect((stream["proven_unfinished"], stream["grade"]), (False, "suspected"), "what is said of the tail")
    out, err = run.communicate("\n")
    expect((out, err, run.returncode), ("done\n", "", 0), "result")


def stopped_program_does_not_hang(machine):
    run = machine.start(*machine.command("run", "--rerun=never", "--hang-after", "0.8", "--",
                                         *stuck(machine, "stopped")))
    status = _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 2)
    os.kill(status["processes"][0]["pid"], signal.SIGCONT)
    out, err = run.communicate()
    expect(run.returncode, -signal.SIGTERM, f"status once it continues, with {err}")
    expect_in("hang (", err, "report")


def status_of_what_has_ended(machine):
    kept = ["-o", machine.folder / "kept"]
    machine.run(*stuck(machine, "kernel"), options=["--hang-after", "0.3", *kept])
    status = _status(machine, *kept)
    expect(status["running"], False, "continues")
    stream = status["processes"][0]["streams"][0]
    expect(_place(stream["operations"][0]["location"]), _line("TRUE LINE kernel"), "true line")
    expect_in("has ended", expect_success(machine.cudadiag("status", *kept)).stdout, "text")


def status_of_what_reruns_proved_says_so(machine):
    machine.plan(FAULT)
    kept = ["-o", machine.folder / "kept"]
    for options, grade in (([], "bracketed"), (["--rerun=always", "--no-device-pass"], "proven")):
        machine.run(*program("ten_launches.py"), options=[*options, *kept])
        (stream,) = _status(machine, *kept)["processes"][0]["streams"]
        expect((stream["grade"], stream["operations"][0]["ordinal"]), (grade, 3), "where the stream is blocked")
        text = expect_success(machine.cudadiag("status", *kept)).stdout
        expect_in("before its error was noticed", text, "text")
        expect(" ago" in text, False, "whether it counts from now: " + text)


def status_of_a_recording_that_is_damaged_says_so(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    (area,) = (machine.state / "cudadiag" / machine.sessions()[0] / "record").glob("*.area")
    os.truncate(area, 200)
    for lost in (f"{area} was ignored: it is too short to be a recording", "the recording of its processes is missing"):
        heading, *rest = expect_success(machine.cudadiag("status")).stdout.splitlines()
        expect(bool(re.match(r"cudadiag: has ended, ran for [\d.]+ m?s: ", heading)), True, heading)
        expect(rest, ["no recording of a process could be read", "note: " + lost], "status")
        expect(expect_success(machine.cudadiag("report")).stdout,
               f"cudadiag: cannot tell whether CUDA failed in this session: {lost}\n", "report")
        area.unlink(missing_ok=True)
    kept = ["-o", machine.folder / "kept"]
    machine.run("true", options=kept)
    expect(expect_success(machine.cudadiag("status", *kept)).stdout.splitlines()[1],
           "no process initialised CUDA, or its recording is lost", "status of what uses no GPU")


def status_of_a_program_without_the_launcher(machine):
    exports = expect_success(machine.cudadiag("env")).stdout
    run = machine.start("sh", "-c", exports + 'exec "$@"', "sh", *map(str, stuck(machine, "kernel")))
    process = _until(machine, run, _kept_waiting)["processes"][0]
    expect(process["pid"], run.pid, "process")
    expect_in("cudadiag: running, initialised CUDA ", expect_success(machine.cudadiag("status")).stdout, "text")
    expect_in("running, initialised CUDA ", expect_success(machine.cudadiag("top", "--count", "1")).stdout, "top")
    run.kill()
    run.communicate()
    expect(_status(machine)["running"], False, "continues")


def status_without_a_run_is_refused(machine):
    result = machine.cudadiag("status")
    expect((result.stdout, result.returncode), ("", 125), "result")
    expect_in("no run is in progress here", result.stderr, "what is wrong")
    expect_in("cudadiag run -- COMMAND", result.stderr, "the remedy")


def status_of_a_killed_launcher_is_refused(machine):
    """The command is rejected even if the path of the launcher's memory now leads to a file of another process."""
    run = machine.start(*machine.command("run", "--rerun=never", "--", *stuck(machine, "kernel")))
    pid = _until(machine, run, _kept_waiting)["processes"][0]["pid"]
    session = machine.state / "cudadiag" / machine.sessions()[0]
    run.kill()
    run.wait()
    try:
        for place in (None, f"{os.getpid()} 0 1\n", "1 1 1\n", "99999999 3 1\n"):
            if place is not None:
                (session / "arena").write_text(place)
            result = machine.cudadiag("status", session)
            expect((result.stdout, result.returncode), ("", 125), f"result for {place!r}")
            expect_in("cudadiag run was killed, and the recording is lost", result.stderr, "what is wrong")
            left = f"; the program is still running, but cudadiag has stopped recording it: pid {pid};"
            expect(left in result.stderr, place is None, "what remains of the session")
            if place is None:
                expect(machine.cudadiag("status").stderr.splitlines()[0],
                       "cudadiag: a newer run is incomplete: cudadiag run was killed, and the recording in "
                       f"{session} is lost; the program is still running, but cudadiag has stopped "
                       f"recording it: pid {pid}",
                       "status without a session")
    finally:
        os.kill(pid, signal.SIGKILL)
        run.communicate()


def status_of_a_launcher_that_was_killed_after_a_failure_leads_to_what_it_wrote(machine):
    machine.plan(FAULT)
    failing = program("ten_launches.py")[1]
    goes_on = (f"import contextlib, runpy, sys; sys.path.insert(0, {str(failing.parent)!r})\n"
               f"with contextlib.suppress(SystemExit): runpy.run_path({str(failing)!r})\n"
               "input()")
    run = machine.start(*machine.command("run", "--rerun=never", "--", sys.executable, "-c", goes_on))
    while "cudadiag report" not in run.stderr.readline():
        expect(run.poll(), None, "status of the run")
    session = machine.state / "cudadiag" / machine.sessions()[0]
    pid = machine.report(session)["processes"][0]["pid"]
    shown = expect_success(machine.cudadiag("status", session)).stdout
    expect_in("cudadiag: running: ", shown, "unknown duration")
    expect_in(" before its error was noticed; ", shown, "time of the newest operation")
    expect_in("a sticky error, and nothing after it is recorded", shown, "why")
    probe = machine.cudadiag("status", "--check", "1000", session)
    expect((probe.returncode, probe.stderr), (1, f"cudadiag: process {pid} has a sticky CUDA error; for its line: cudadiag "
                                                 f"report {session}\n"), "probe")
    run.kill()
    run.wait()
    for left in (f"; the program is still running, but cudadiag has stopped recording it: pid {pid}", ""):
        expect(machine.cudadiag("status", session).stderr,
               f"cudadiag: the run recorded in {session} is incomplete: cudadiag run was killed{left}; to see what was "
               f"recorded before that: cudadiag report {session}\n", "status")
        run.communicate()  # closes the program's input, so the program exits
    expect_in("illegal memory access (700)", expect_success(machine.cudadiag("report", session)).stdout, "report")


def status_leaves_no_trace_of_a_clean_run(machine):
    result = machine.run(machine.build / "targets/healthy", options=["--hang-after", "60"])
    expect((result.stderr, result.returncode), ("", 0), "result")
    expect(machine.sessions(), [], "sessions")
    kept = machine.folder / "kept"
    machine.run(machine.build / "targets/healthy", options=["-o", kept])
    session = next(path for path in kept.iterdir() if path.name != "latest")
    expect(sorted(path.name for path in session.iterdir()), ["manifest.json", "record"], "what the session holds")


def action_at_a_hang_needs_the_time_and_is_given_once(machine):
    for words, message in ((["--hang-dump"], "--hang-dump requires --hang-after"),
                           (["--on-hang=report"], "--on-hang requires --hang-after"),
                           (["--hang-after=1", "--on-hang=dump", "--hang-report=1"], " cannot be combined with "),
                           (["--hang-after=1", "--on-hang=end", "--hang-dump"], " cannot be combined with "),
                           (["--hang-after=1", "--on-hang=stop"], "expected one of report, end, dump, got stop")):
        result = machine.cudadiag("run", *words, "--", "echo", "ran")
        expect((result.returncode, result.stdout), (125, ""), f"status and output of {words}")
        expect_in(message, result.stderr, f"message for {words}")


def top_tells_what_a_run_does(machine):
    run = machine.start(*machine.command("run", "--rerun=never", "--", *stuck(machine, "idle")))
    expect(run.stdout.readline(), "ready\n", "output")
    shown = expect_success(machine.cudadiag("status", "--follow", "-n", "2")).stdout.split("\n\n")
    expect(len(shown), 3, "screens, and an empty end")
    first, second, _ = shown
    expect_in("23 in all; 1 process; 0 failed calls", first, "first screen")
    busy = first.split("busiest lines\n")[1].splitlines()[0]
    line = next(i for i, text in enumerate(SOURCE.read_text().splitlines(), 1) if "i < 21" in text)
    expect_in(f"stuck.cc:{line}, main", busy, "busiest line")
    expect_in("0.0 operations/s, 23 in all", second, "second screen")
    expect_in("13    stream 0x", second, "unfinished work")
    expect(("busiest" in second, "cudadiag status" in second), (False, True), "second screen")
    run.communicate("\n")
    result = machine.cudadiag("top", "-n", "1")
    expect(result.returncode, 125, "status without a run")


def top_leaves_the_terminal_as_it_was(machine):
    run = machine.start(*machine.command("run", "--rerun=never", "--", *stuck(machine, "idle")))
    expect(run.stdout.readline(), "ready\n", "output")
    shown, status = machine.on_terminal(*machine.command("top", "-n", "1"))
    run.communicate("\n")
    expect(status, 0, "status")
    expect((shown.startswith("\x1b[?1049h\x1b[?25l\x1b[H"), shown.endswith("\x1b[?25h\x1b[?1049l")), (True, True), shown)


def top_of_a_run_that_is_over_takes_no_terminal(machine):
    machine.run(machine.build / "targets/healthy", options=["-o", "kept"])
    shown, status = machine.on_terminal(*machine.command("top", "-o", "kept"))
    expect(os.waitstatus_to_exitcode(status), 125, "status")
    expect_in("the run is over; cudadiag status ", shown, "output")
    assert "\x1b[?" not in shown, shown


def program_that_is_ended_while_it_hangs_is_told_of(machine):
    for shape in ("kernel", "value"):
        run = machine.start(*machine.command("run", "--rerun=never", "--", *stuck(machine, shape)))
        _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 1.2)
        run.terminate()
        _, err = run.communicate()
        told = f"stuck.cc:{_line('TRUE LINE ' + shape)[1]}, main had not finished when the program ended"
        expect_in(told, err, shape)
        advice = "; to have cudadiag report hangs: cudadiag run --hang-after SECONDS"
        first, second = expect_success(machine.cudadiag("report")).stdout.splitlines()
        for said in (err, first):
            expect_in("cudadiag: cannot tell whether CUDA failed", said, "both say so")
        expect((told in second, second.endswith(advice)), (True, True), f"report of {shape}: {second}")
        (note,) = (each["text"] for each in machine.report()["notes"] if each["code"] == "unfinished")
        expect(second, "cudadiag: " + note, "note")


def program_behind_a_shell_that_is_ended_while_it_hangs_is_told_of(machine):
    run = machine.start(*machine.command("run", "--rerun=never", "--", "sh", "-c", '"$@"; exit 3', "sh",
                                         *stuck(machine, "kernel")))
    status = _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 1.2)
    os.kill(status["processes"][0]["pid"], signal.SIGKILL)
    _, err = run.communicate()
    expect(run.returncode, 3, "status")
    expect_in(f"stuck.cc:{_line('TRUE LINE kernel')[1]}, main had not finished when the program ended", err, "message")
    expect_in("main had not finished", expect_success(machine.cudadiag("report")).stdout, "report")


def program_that_ends_with_work_unfinished_is_told_of_where_it_matters(machine):
    """hanging_kernel does not wait for its kernel, so it may be a correct program."""
    machine.plan("hang kernel=spin")
    result = machine.run(machine.build / "targets/hanging_kernel")
    expect((result.stdout, result.stderr, result.returncode), ("done\n", "", 0), "result")


def all_operations_are_seen_to_end_where_hangs_are_looked_for(machine):
    """Long kernels in sequence without a marker between them would look like one kernel that never finishes."""
    machine.plan("fault kernel=fill nth=40 code=700")
    for options, unmarked in ((["--hang-after", "60"], 0), (["--hang-after", "60", "--markers", "sparse"], 1), ([], 1)):
        machine.run(machine.build / "targets/million_launches", "40", options=options)
        expect(min(_marked(machine).count(False), 1), unmarked, f"unmarked operations with {options}")


def markers_stand_behind_all_operations_of_a_line_at_first_and_never_far_apart(machine):
    machine.plan("fault kernel=fill nth=3000 code=700")
    machine.run(machine.build / "targets/million_launches", "3000")
    marked = _marked(machine)
    expect((len(marked), marked[:9]), (3000, [True] * 8 + [False]), "the first markers")
    places = [at for at, is_marked in enumerate(marked) if is_marked]
    distances = [(place, after - place) for place, after in zip(places[7:], places[8:])]
    expect({distance for place, distance in distances if place < 256 - 16}, {16}, "distances between the first markers")
    assert all(16 <= distance <= 64 for _, distance in distances), f"how far apart they are: {distances}"


def calls_that_were_refused_are_not_unfinished(machine):
    machine.plan("fault kernel=scale nth=3 code=700")
    machine.run(machine.build / "targets/third_of_ten")
    text = expect_success(machine.cudadiag("status")).stdout
    expect_in(": at operation 3 of 10 issued", text, "the stream that failed")
    expect_in("\n    and 7 more after it\n", text, "what waits behind it")
    assert "default stream" not in text, "the copy that was refused is shown: " + text
    expect_in("\n  the process has a sticky error, and nothing after it is recorded: see cudadiag report\n", text,
              "subject of the message")
