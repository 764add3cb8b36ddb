"""What passes between the launcher and its processes: signals, exit statuses, and memory for their records."""

import fcntl
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

import targets
from harness import FAULT, expect, expect_in, expect_true_line, program, true_line


def _left_behind(machine, command, first="true", watch=("run",)):
    """Returns the pid of a process that outlives a run of `first`, and what the launcher printed and wrote about
    both."""
    hold, said = (machine.folder / name for name in ("hold", "said"))
    for pipe in (hold, said):
        os.mkfifo(pipe)
    script = '"$0" >/dev/null; "$@" <hold >said 2>/dev/null & read line <said; echo $!'
    with open(hold, "r+b", buffering=0), open(said, "r+b", buffering=0):
        result = machine.cudadiag(*watch, "--rerun=never", "--json", "out.json", "--", "sh", "-c", script, first, *command)
        pid = int(result.stdout)
        os.kill(pid, signal.SIGKILL)
    for pipe in (hold, said):
        pipe.unlink()
    expect(result.returncode, 0, "status")
    return pid, result.stderr, json.loads((machine.folder / "out.json").read_text())


def process_that_outlives_the_command_is_told_of(machine):
    pid, said, _ = _left_behind(machine, program("ten_launches.py", "wait"))
    sentence = (f"process {pid} was still running when the command exited, so cudadiag stopped watching it; to watch it until "
                "it exits, make the command wait for it")
    expect(said, f"cudadiag: {sentence}\n", "what is said")
    report = machine.report()
    expect((report["verdict"], [note["text"] for note in report["notes"]]), ("inconclusive", [sentence]), "report")
    expect([process["pid"] for process in report["processes"]], [pid], "processes")
    expect(machine.cudadiag("report").stdout,
           f"cudadiag: cannot tell whether CUDA failed in this session: {sentence}\n", "what the session contains")
    expect(json.loads(machine.cudadiag("status", "--json").stdout)["notes"], [sentence], "notes of its status")
    _, heading, what, *_ = machine.cudadiag("status").stdout.splitlines()
    expect(heading.startswith(f"pid {pid}: ") and heading.endswith(" before the command ended"), True, heading)
    expect(what, "  it was still running when the command exited, so cudadiag stopped watching it", "text of its status")
    expect_in(f"\nnote outlived: {pid}\n", machine.cudadiag("dump").stdout, "dump")


def what_is_no_longer_looked_for_in_what_goes_on_is_said(machine):
    for watch, sought in ((("run", "--hang-after", "60"), "hangs"), (("races",), "races"),
                          (("run", "--races", "--hang-after", "60"), "hangs and races")):
        _, said, _ = _left_behind(machine, program("ten_launches.py", "wait"), watch=watch)
        expect_in(f"; to watch it until it exits, make the command wait for it; cudadiag has stopped looking for {sought}\n", said, sought)


def daemons_that_give_the_gpu_nothing_to_do_leave_a_run_clean(machine):
    healthy = machine.build / "targets/healthy"
    pid, said, report = _left_behind(machine, program("daemon.py"), healthy)
    expect((report["verdict"], machine.sessions()), ("no_cuda_failure", []), "a process without CUDA")
    # It may still use CUDA, so it is named.
    expect_in(f"cudadiag: process {pid} (", said, "a process without CUDA")
    expect_in("if it uses CUDA later, this shows its recording: cudadiag report ", said, "what to do")
    session = said.rpartition(" ")[2].strip()
    expect(machine.cudadiag("report", session).stderr, f"cudadiag: session {session} has no recording; a process that the run "
           "left writes one only if it uses CUDA\n", "the command before it uses CUDA")
    pid, said, report = _left_behind(machine, program("daemon.py", "asks"), healthy)
    expect_in(f"process {pid} was still running when the command exited", said, "a process that requested a device")
    expect(report["verdict"], "no_cuda_failure", "verdict")


def process_that_starts_cuda_as_the_command_ends_is_not_lost(machine):
    """The process starts while the command ends, and then fails."""
    machine.plan(targets.plan("third_of_ten"))
    done = machine.folder / "done"
    os.mkfifo(done)
    script = '("$@"; echo >done) </dev/null >/dev/null 2>&1 & exit 0'
    for attempt in range(8):
        result = machine.cudadiag("run", "--rerun=never", "--", "sh", "-c", script, "sh",
                                  machine.build / "targets/third_of_ten")
        done.read_text()
        shown = machine.cudadiag("report", "--json")
        later = "if it uses CUDA later" in result.stderr and result.stderr.rpartition(" ")[2].strip()
        report = json.loads(machine.cudadiag("report", "--json", later).stdout if later else shown.stdout)
        # It either failed in time, or is named as still running, or wrote its recording later.
        open_end = report["verdict"] == "inconclusive" and "was still running when the command exited" in result.stderr
        expect(report["verdict"] == "cuda_failure" or open_end, True, f"attempt {attempt}: {report['verdict']}, {result.stderr}")


def process_that_dies_at_work_in_a_pipeline_is_a_riddle(machine):
    machine.plan("hang kernel=smooth")
    dies = "import cuda, os, signal; cuda.start(); launch, p = cuda.kernel('smooth'); launch(None, p, None); os.kill(os.getpid(), signal.SIGSEGV)"
    machine.environment["PYTHONPATH"] = str(pathlib.Path(program("ten_launches.py")[-1]).parent)
    result = machine.run("bash", "-c", '"$@" | cat', "bash", sys.executable, "-c", dies, options=["--json", "out.json"])
    expect(result.returncode, 0, "status")
    expect(json.loads((machine.folder / "out.json").read_text())["verdict"], "inconclusive", "verdict")
    expect_in("cudadiag: cannot tell whether CUDA failed: process ", result.stderr, "what is said")
    expect_in("ended in an unknown way with 1 operation pending", result.stderr, "why")


def rank_that_is_ended_for_another_ones_end_is_no_riddle(machine):
    machine.plan("hang kernel=stuck")
    result = machine.run(*program("ranks.py", "both"))
    expect(result.returncode, 1, "status")
    expect([line for line in result.stderr.splitlines() if line.startswith("cudadiag:")],
           ["cudadiag: no CUDA failure was recorded"], "what is said")
    report = machine.report()  # the session is kept, because the interrupted work may be useful
    pids = {process["argv"][-1]: process["pid"] for process in report["processes"]}
    expect((report["verdict"], report["findings"]), ("no_cuda_failure", []), "verdict")
    expect([note["text"] for note in report["notes"] if note["code"] == "cut-off"],
           [f"process {pids['waits']} ended in an unknown way with 1 operation pending; process "
            f"{pids['raises']} had ended with status 1 while this one was working"], "notes")


def rank_that_was_ended_before_the_other_one_is_a_riddle(machine):
    machine.plan("hang kernel=stuck")
    machine.run(*program("ranks.py", "alone"), options=["-o", "here"])
    report = machine.report("-o", "here")
    expect(report["verdict"], "inconclusive", "verdict")


def interrupted_command_without_cuda_gets_no_advice(machine):
    for command, said in (("run", ""), ("races", "cudadiag: the program did not use CUDA before it was interrupted\n")):
        target = machine.start(*machine.command(command, "--", "sh", "-c", "echo ready; exec sleep 1000"))
        expect(target.stdout.readline(), "ready\n", "start")
        target.send_signal(signal.SIGINT)
        expect((target.communicate(timeout=60)[1], target.returncode), (said, -signal.SIGINT), f"what {command} says")
        by_others = machine.cudadiag(command, "--", "sh", "-c", "kill -INT $$")
        expect((by_others.stderr, by_others.returncode),
               (said + "cudadiag: the command was killed by signal 2 (SIGINT)\n", -signal.SIGINT), f"what {command} says")


def launcher_of_a_launcher_says_who_records(machine):
    machine.plan(FAULT)
    inner = machine.command("run", "--rerun=never", "-o", "inner", "--", *program("ten_launches.py"))
    bisect = machine.command("bisect", "-o", "inner", "--no-device-pass")
    for command in (inner, ["sh", "-c", '"$@"; exit 3', "sh", *inner], ["sh", "-c", '"$@"; exit 3', "sh", *bisect]):
        result = machine.run(*command)
        expect(result.returncode, 3, "status")
        expect(result.stderr.splitlines()[-1], "cudadiag: nothing was recorded here: the command started another "
               "cudadiag; what that one recorded is in a session of its own", "what the outer one says")
        expect_true_line(machine.report("-o", "inner"), "ten_launches.py")


def signals_to_the_launcher_reach_the_program(machine):
    for name in ("INT", "QUIT", "TERM", "HUP", "USR1", "USR2"):
        script = f"trap 'echo got; exit 4' {name}; echo ready; while :; do read -r line; done"
        target = machine.start(*machine.command("run", "--", "sh", "-c", script))
        expect(target.stdout.readline(), "ready\n", "start")
        target.send_signal(getattr(signal, "SIG" + name))
        out = target.communicate("\n" * 100)[0]
        expect((out, target.returncode), ("got\n", 4), name)


def signal_that_the_program_sends_to_its_group_arrives_once(machine):
    """The launcher is stopped meanwhile. A signal that it forwarded would arrive later, so the two could not merge into
    one."""
    script = ("import os, signal\ncount = 0\n"
              "def on(*_):\n global count; count += 1\n"
              "def end(*_):\n os.write(1, b'%d\\n' % count); os._exit(0)\n"
              "signal.signal(signal.SIGHUP, on); signal.signal(signal.SIGUSR1, end)\n"
              "print('ready', flush=True); input(); os.killpg(0, signal.SIGHUP)\nprint('sent', flush=True)\n"
              "while True: signal.pause()")
    run = machine.start(*machine.command("run", "--", "python3", "-c", script), start_new_session=True)
    expect(run.stdout.readline(), "ready\n", "start")
    run.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WNOWAIT)
    run.stdin.write("\n")
    run.stdin.flush()
    expect(run.stdout.readline(), "sent\n", "behaviour of the program")
    run.send_signal(signal.SIGCONT)
    while "ShdPnd:\t0000000000000001" in pathlib.Path(f"/proc/{run.pid}/status").read_text():
        os.sched_yield()
    run.send_signal(signal.SIGUSR1)
    expect(run.communicate()[0], "1\n", "how many times it arrived")


def ignored_signals_stay_ignored(machine):
    result = machine.plain("sh", "-c", 'trap "" HUP; exec "$@"', "sh",
                           *machine.command("run", "--", "sh", "-c", "kill -HUP $$; echo alive"))
    expect(result.stdout, "alive\n", "stdout")
    command = ["grep", "SigIgn", "/proc/self/status"]
    ignoring = dict(preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    expect(machine.run(*command, **ignoring).stdout, machine.plain(*command, **ignoring).stdout, "ignored signals")


def interrupt_key_arrives_once(machine):
    script = ("import signal, sys; count = 0\n"
              "def on(*_):\n global count; count += 1\n"
              "signal.signal(signal.SIGINT, on); print('ready', flush=True); sys.stdin.readline()\n"
              "print('interrupts', count)")
    shown, status = machine.on_terminal(*machine.command("run", "--", sys.executable, "-c", script), typed=b"\x03\n")
    expect_in("interrupts 1", shown, "terminal")
    expect(status, 0, "status")


def processes_beyond_all_places_are_counted(machine):
    """The limit leaves room for one process in the launcher's memory, and no file for the other processes."""
    machine.plan(targets.plan("third_of_ten"))
    size = 65536 + (64 << 20)  # a header of one 64 KiB page, the largest page size, and room for one process
    script = 'for i in 1 2 3 4 5 6 7 8 9 10 11; do "$0" 2>/dev/null; done'
    kept = ["-o", machine.folder / "kept"]
    machine.run("sh", "-c", script, machine.build / "targets/third_of_ten", options=kept,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    report = machine.report(*kept)
    expect(len(report["processes"]), 9, "processes that were recorded")
    expect([note["text"] for note in report["notes"] if "not recorded" in note["text"]],
           ["2 processes were not recorded: a recording has room for 1, including processes that failed; start "
            "cudadiag closer to the part that fails"], "notes")
    machine.plan("")
    script = 'for i in 1 2 3 4; do "$@"; done; true'
    for ending, verdict, missing in (("", "no_cuda_failure", []), ("kill", "inconclusive", ["3 processes were not recorded"])):
        machine.run("sh", "-c", script, "sh", *program("ten_launches.py", ending), options=kept,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        report = machine.report(*kept)
        expect(report["verdict"], verdict, f"verdict if processes end like this: {ending}")
        expect([note["text"].partition(":")[0] for note in report["notes"] if "not recorded" in note["text"]], missing, "notes")


def failure_after_many_processes_is_found(machine):
    """The limit leaves room for 20 processes in the launcher's memory, and for 8 files."""
    machine.plan(targets.plan("third_of_ten") + " run=40")
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    size = 65536 + 20 * (64 << 20)
    result = machine.run("sh", "-c", 'for i in $(seq 40); do "$0" || exit; done', machine.build / "targets/third_of_ten",
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    expect(result.stdout.count("done\n"), 39, "processes that end well")
    expect("not recorded" in result.stderr, False, f"whether a process counts as unrecorded: {result.stderr}")
    report = machine.report()
    location = report["findings"][0]["location"]
    expect((location["file"], location["line"]), targets.marked_line("third_of_ten", "TRUE LINE"), "true line")
    expect((len(report["processes"]), report["verdict"]), (16, "cuda_failure"), "recorded processes, and verdict")


def own_end_of_a_child_decides_what_it_died_of(machine):
    def found(ending):
        result = machine.run(*program("out_of_memory_in_child.py", ending, "1"), options=["-o", ending])
        expect(result.returncode, 1, "status")
        report = machine.report("-o", ending)
        return [(finding["kind"], finding["evidence"]["grade"]) for finding in report["findings"]]

    expect(found("0"), [], "a process that continued")
    expect(found("1"), [("out_of_memory", "proven")], "a process that died of it")
    expect(found("3"), [("out_of_memory", "suspected")], "a process that chose its status")
    expect(found("killed"), [("out_of_memory", "suspected")], "a process whose end was not seen")


def child_that_chose_its_status_has_answered_its_parent(machine):
    result = machine.run(*program("out_of_memory_in_child.py", "3", "0"))
    expect((result.stderr, result.returncode, machine.sessions()), ("", 0, []), "a child that chose its status")
    kept = ["-o", machine.folder / "kept"]
    machine.run(*program("out_of_memory_in_child.py", "3", "0"), options=kept)
    report = machine.report(*kept)
    expect((report["verdict"], report["findings"]), ("no_cuda_failure", []), "report")
    expect_in("ended with status 3, but the command succeeded", " ".join(note["text"] for note in report["notes"]), "notes")
    machine.run(*program("out_of_memory_in_child.py", "raises", "0"))
    expect([finding["kind"] for finding in machine.report()["findings"]], ["out_of_memory"], "an uncaught exception")
    machine.plan(targets.plan("alloc_fails_fatal"))
    machine.run("sh", "-c", '"$0"; exit 0', machine.build / "targets/alloc_fails_fatal")
    grades = [finding["evidence"]["grade"] for finding in machine.report()["findings"]]
    expect(grades, ["proven"], "a native child")


def code_that_python_gets_as_a_value_is_no_finding(machine):
    result = machine.run(*program("refused_launch.py"))
    expect((result.stdout, result.stderr, result.returncode), ("refused: 1\n", "", 0), "through ctypes")
    expect(machine.sessions(), [], "sessions")
    machine.plan("fail api=cuLaunchKernel nth=2 code=1")
    machine.run(*program("refused_launch.py", machine.build / "targets/libplugin.so"))
    finding = machine.report()["findings"][0]
    expect(finding["kind"], "unchecked_error", "in a library of the user's")
    expect((finding["location"]["file"], finding["location"]["line"]), targets.marked_line("plugin", "TRUE LINE"), "line")


def error_that_is_asked_for_late_is_the_failed_calls(machine):
    target = machine.build / "targets/asked_late"
    result = machine.run(target, "copy")
    expect_in("(cudaGetLastError): innocent", " ".join(result.stderr.split()), "report")
    finding = machine.report()["findings"][0]
    blamed = finding["reported_at"]
    expect((blamed["api"], blamed["file"], blamed["line"]),
           ("cudaGetLastError", *targets.marked_line("asked_late", "ASKED LINE")), "who is blamed")
    expect(finding["evidence"]["because"],
           "the call itself returned the error, and so did cudaGetLastError after its thread had continued, and the program "
           "ended with status 1 afterwards", "evidence")
    result = machine.run(target, "went_on")
    line = targets.marked_line("asked_late", "TRUE LINE copy")
    said = f"1 call of cudaMemcpy at {':'.join(map(str, line))} returned invalid argument (1) and the program continued"
    silence = "cudadiag: no CUDA failure is known to have ended"
    expect(result.stderr.splitlines()[1:], [f"{silence} the program; {said}"], "a process that continued")
    kept = ["-o", machine.folder / "kept"]
    machine.run(target, "went_on", options=kept)
    expect(machine.cudadiag("report", *kept).stdout, f"{silence} the program; {said}\n", "report")
    expect_in(f"{said} (error-handled)", " ".join(machine.cudadiag("report", "-v", *kept).stdout.split()), "with -v")
    expect([note["text"] for note in machine.report(*kept)["notes"] if note["code"] == "error-handled"], [said], "JSON")


def function_that_is_not_there_is_told_where_nothing_came_after(machine):
    kept = ["-o", machine.folder / "kept"]
    result = machine.run(*program("asks.py"), options=kept)
    expect((result.stdout, result.returncode), ("result 0\n", 4), "if the file exists")
    expect(machine.report(*kept)["verdict"], "no_cuda_failure", "verdict if the file exists")
    machine.plan("missing kernel=absent")
    result = machine.run(*program("asks.py"), options=kept)
    expect((result.stdout, result.returncode), ("result 500\n", 4), "if it does not exist")
    report = machine.report(*kept)
    expect_true_line(report, "asks.py")
    finding = report["findings"][0]
    expect((finding["cause"]["id"], finding["evidence"]["grade"]), ("function-not-found", "suspected"), "the finding")
    expect([note["code"] for note in report["notes"]], [], "notes")
    machine.run(*program("asks.py", "on"), options=kept)
    report = machine.report(*kept)
    expect(report["verdict"], "no_cuda_failure", "verdict if the program continued")
    expect([note["text"] for note in report["notes"]],
           ["the command ended with status 4, but no watched CUDA call had failed, except those whose error is expected"],
           "notes")


def _finished(machine):
    return [name for name in machine.sessions() if not name.endswith(".incomplete")]


def _waits_for_a_reader(pid):
    """Returns whether the process is in poll() with the timeout of 5 seconds that it uses while no process reads its
    output."""
    try:
        call = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()
        return len(call) > 3 and int(call[3], 16) == 5000
    except OSError:
        return False


def report_is_whole_where_writing_does_not_wait(machine):
    """O_NONBLOCK applies to everything that writes to the same pipe, and this pipe is full."""
    machine.plan(targets.plan("third_of_ten"))
    command = machine.command("run", "--rerun=never", "--", machine.build / "targets/third_of_ten")
    wanted = machine.plain(*command).stderr
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    filled = os.write(writes, b"." * fcntl.fcntl(writes, fcntl.F_GETPIPE_SZ))
    run = subprocess.Popen(command, env=machine.environment, cwd=machine.folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=writes)
    os.close(writes)
    while not _waits_for_a_reader(run.pid) and len(_finished(machine)) < 2:
        expect(run.poll(), None, "status while no process reads")
    with open(reads, "rb") as reader:
        shown = reader.read()[filled:].decode()
    run.wait()
    expect(len(shown.splitlines()), len(wanted.splitlines()), "lines of " + shown)


def signals_are_handed_on_while_nobody_reads_the_report(machine):
    machine.plan(FAULT)
    for is_read in (False, True):
        reads, writes = os.pipe()
        run = subprocess.Popen(machine.command("run", "--rerun=never", "--", *program("fills_stderr.py")), text=True,
                               env=machine.environment, cwd=machine.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=writes)
        os.close(writes)
        expect(run.stdout.readline(), "ready\n", "its output")
        while not any(b'"failed_after"' in each.read_bytes()
                      for each in machine.state.glob("cudadiag/*.incomplete/manifest.json")):
            expect(run.poll(), None, "status while no process reads")
        shown = b""
        while is_read and b"Next" not in shown:
            shown += os.read(reads, 4096)
        run.send_signal(signal.SIGTERM)
        expect(run.wait(60), -signal.SIGTERM, "status")
        run.stdout.close()
        os.close(reads)


def fork_that_uses_cuda_is_named_with_the_line_that_forked(machine):
    command = machine.build / "targets/forked_worker", "uses"
    recorded, plain = machine.run(*command), machine.plain(*command)
    expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    finding = machine.report()["findings"][0]
    place = finding["location"]["file"], finding["location"]["line"]
    expect(place, targets.marked_line("forked_worker", "TRUE LINE"), "first call of the child")
    expect((finding["kind"], finding["cause"]["id"]), ("sync_error", "cuda-after-fork"), "kind and cause")
    forked = [(line["file"], line["line"]) for line in finding["related"] if line["role"] == "fork"]
    expect(forked, [targets.marked_line("forked_worker", "FORK LINE")], "the fork")


def forks_that_need_no_cuda_are_silent(machine):
    for way in ("asks", "frees", "nothing"):
        recorded = machine.run(machine.build / "targets/forked_worker", way)
        expect((recorded.returncode, recorded.stderr, machine.sessions()), (0, "", []), way)
    expect(machine.run(*program("forks.py", "healthy")).stderr, "", "Python")


def fork_in_which_a_framework_refuses_cuda_is_explained_by_a_note(machine):
    recorded = machine.run(*program("forks.py", "refused"))
    _, line = true_line("forks.py", "FORK LINE")
    expect(recorded.returncode, 1, "status")
    expect_in(f"forks.py:{line}, <module> after using CUDA", recorded.stderr, "the fork")
    expect_in('multiprocessing.set_start_method("spawn")', recorded.stderr, "what to do")
