"""Reasons against rerunning a command without asking. Each function's name says what it tests."""

import json
import os
import pathlib
import signal
import socket
import subprocess

from harness import FAULT, expect, expect_in, expect_success, program
from passes import AGAIN, bisect, expect_proven, outcomes, rerun, session_of


def _expect_refused(machine, result, why, isolated=False, grade="bracketed"):
    """Expects no rerun, the reason, and the command that requests one."""
    (line,) = [line for line in result.stderr.splitlines() if "the command was not rerun, because " in line]
    expect_in(why, line.partition(", because ")[2], "message")
    expect_in(". To prove this and find the cause: cudadiag bisect", line, "message")
    expect((" --isolated" in line, line.endswith("  # not isolated: it can write files")), (isolated, not isolated),
           f"the command and its warning: {line}")
    expect(outcomes(machine.report()), [("record", grade)], "passes")


def _can_isolate(machine):
    return "reruns            isolated" in machine.cudadiag("doctor").stdout


def _file(path):
    return open(path, "rb", buffering=0)


def _closed_pipe(path):
    source, writer = os.pipe()
    os.write(writer, path.read_bytes())
    os.close(writer)
    return os.fdopen(source, "rb", buffering=0)


def killed_run_is_not_repeated(machine):
    machine.plan(FAULT)
    result = rerun(machine, *program("ten_launches.py", "kill"))
    expect(result.returncode, -signal.SIGKILL, "status")
    _expect_refused(machine, result, "signal 9 ended it", _can_isolate(machine))
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    result = rerun(machine, "sh", "-c", '"$@"; exit 143', "sh", *program("ten_launches.py"))
    _expect_refused(machine, result, "it ended with status 143, as after a signal", _can_isolate(machine))
    result = rerun(machine, "sh", "-c", '"$@"; kill -USR1 $$', "sh", *program("ten_launches.py"))
    _expect_refused(machine, result, "signal 10 ended it", _can_isolate(machine))


def removed_working_folder_is_said_before_a_rerun_is_announced(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    script = 'mkdir gone && cd gone && "$0" run --rerun=always -- sh -c \'rmdir "$PWD"; exec "$@"\' sh "$@"'
    cudadiag, *_ = machine.command("run")
    result = machine.plain("sh", "-c", script, cudadiag, *program("probe.py"))
    gone = machine.folder / "gone"
    expect_in(f"the command was not rerun, because its working folder has been removed and must first be created again: {gone}. To prove",
              result.stderr, "message")
    isolated = " --isolated" if _can_isolate(machine) else "  # not isolated"
    expect_in(f"To prove this and find the cause: cudadiag bisect{isolated}", result.stderr, "advice")
    expect("running the command again" in result.stderr, False, "whether a rerun is announced in " + result.stderr)
    by_hand = machine.cudadiag("bisect", "--isolated")
    expect_in(f"cudadiag: the rerun failed to start: the working folder of the program has been removed: {gone}; "
              "create it again, with the files that the program reads\n", by_hand.stderr, "bisect")
    expect("running the command again" in by_hand.stderr, False, "whether bisect announces a rerun in " + by_hand.stderr)


def working_folder_that_was_removed_before_the_start_is_an_obstacle_to_isolation(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    script = 'mkdir gone && cd gone && rmdir "$PWD" && exec "$@"'
    start = ["sh", "-c", script, "sh", *machine.command("run", "--rerun=auto", "--", *program("probe.py"))]
    if _can_isolate(machine):
        _expect_refused(machine, machine.plain(*start), "its working folder was removed before it started; "
                        "first change to a folder that exists. To prove", isolated=True)
        refused = machine.cudadiag("bisect")
        expect_in("not rerun, because the folder in which the command ran had been removed", refused.stderr, "bisect")
        expect_in(f"cudadiag bisect --isolated {machine.state}/cudadiag/{machine.sessions()[0]}\n", refused.stderr, "bisect")
        expect_success(machine.cudadiag("bisect", "--isolated", "--no-device-pass"))
        expect_proven(machine.report())


def failure_is_proven_unasked_if_nobody_sits_at_a_terminal(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.cudadiag("run", "--no-device-pass", "--", *program("probe.py"))
    expect_proven(machine.report())
    expect([each["isolated"] for each in machine.report()["passes"]], [False, True], "whether passes were isolated")


_HARM = "this GPU may be shared through MPS: a rerun that fails can end the other programs on it"


def _refused_under_mps(machine, grade="bracketed"):
    _expect_refused(machine, rerun(machine, *program("probe.py")), _HARM, _can_isolate(machine), grade)
    machine.runs.unlink()


def failure_is_not_repeated_under_mps(machine):
    machine.plan(AGAIN + "; mps")
    _refused_under_mps(machine, "inferred")  # another client may have caused the fault
    machine.plan(AGAIN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as daemon:
        daemon.bind(str(machine.gpu / "control"))
        daemon.listen()
        _refused_under_mps(machine)
    # The killed daemon's socket remains.
    if _can_isolate(machine):
        rerun(machine, *program("probe.py"))
        expect_proven(machine.report())
        machine.runs.unlink()
    machine.environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = "0=2G"
    _refused_under_mps(machine)


def rerun_under_mps_that_was_asked_for_says_whom_it_can_harm(machine):
    machine.plan(AGAIN + "; mps")
    result = rerun(machine, *program("probe.py"), options=["--rerun=always"])
    expect(result.stderr.count(f"cudadiag: {_HARM}\n"), 1, f"warnings in {result.stderr}")
    expect([name for name, _ in outcomes(machine.report())], ["record", "confirm"], "passes")
    machine.runs.unlink()
    machine.run(*program("probe.py"))
    expect_in(f"cudadiag: {_HARM}\n", bisect(machine).stderr, "bisect")
    expect([name for name, _ in outcomes(machine.report())], ["record", "confirm"], "passes of bisect")
    machine.runs.unlink()
    for name in ("CI", "CONTINUOUS_INTEGRATION", "BUILD_ID", "BUILD_NUMBER"):
        machine.environment.pop(name, None)
    shown, _ = machine.on_terminal(*machine.command("run", "--no-device-pass", "--", *program("probe.py")),
                                   typed=b"n\n", after=b"[y/N]", until=b"end the other programs on it\r\n")
    expect_in(f". But {_HARM}. [y/N]", shown, "question")
    expect_in(f"; but {_HARM}\r\n", shown, "advice")


def doctor_shows_mps_and_mig(machine):
    lines = machine.cudadiag("doctor").stdout.splitlines()
    expect_in(f"        MPS               not in use: no daemon listens in {machine.gpu}", lines, "doctor")
    expect_in("        MIG               off (for each GPU, in the order of nvidia-smi)", lines, "doctor")
    machine.plan("mps")
    machine.environment["CUDADIAG_SIM_MIG"] = "10-"
    shown = expect_success(machine.cudadiag("doctor", "--gpu")).stdout
    expect_in(f"        MPS               in use (pipe folder {machine.gpu}), so a program that fails can end the others on its GPU, ",
              shown, "MPS")
    expect_in("        MIG               on, off, not supported (for each GPU, in the order of nvidia-smi)\n", shown, "MIG")
    expect_in("        planted fault     not tested: under MPS, it could end the other programs on the GPU; ", shown, "planted fault")
    machine.environment["CUDADIAG_SIM_MIG"] = ""
    expect_in("        MIG               unknown: libnvidia-ml.so.1 was not found, or failed\n", machine.cudadiag("doctor").stdout, "MIG")
def asking_without_a_terminal_means_never(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    result = machine.cudadiag("run", "--rerun=ask", "--no-device-pass", "--", *program("probe.py"))
    _expect_refused(machine, result, "no one can answer the question without a terminal", isolated=True)
    machine.runs.unlink()
    machine.environment["CUDADIAG_RERUN"] = "ask"
    result = machine.cudadiag("run", "--no-device-pass", "--", *program("probe.py"))
    _expect_refused(machine, result, "no one can answer the question without a terminal", isolated=True)


def variable_sets_the_default_and_an_option_goes_before_it(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_RERUN"] = "never"
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.cudadiag("run", "--no-device-pass", "--", *program("probe.py"))
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes")
    machine.runs.unlink()
    machine.cudadiag("run", "--rerun=auto", "--no-device-pass", "--", *program("probe.py"))
    expect_proven(machine.report())
    machine.environment["CUDADIAG_RERUN"] = "perhaps"
    result = machine.cudadiag("run", "--", "echo", "ran")
    expect((result.returncode, result.stdout), (125, ""), "status and output")
    expect_in("cudadiag: CUDADIAG_RERUN: expected one of ask, auto, always, never, got perhaps\n", result.stderr, "message")
    expect(machine.cudadiag("races", "--", "true").returncode, 125, "status of races")
    for words in (["list"], ["report"], ["bisect", "--no-device-pass"]):
        expect_success(machine.cudadiag(*words))  # they have no --rerun
    result = machine.cudadiag("run", "--rerun=maybe", "--", "echo", "ran")
    expect_in("cudadiag: --rerun: expected one of ask, auto, always, never, got maybe\n", result.stderr, "message")


def one_rank_of_a_job_is_not_repeated(machine):
    machine.plan(AGAIN)
    for size, rank in (("WORLD_SIZE", "RANK"), ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
                       ("PMI_SIZE", "PMI_RANK"), ("HOROVOD_SIZE", "HOROVOD_RANK"), ("FLUX_JOB_SIZE", "FLUX_TASK_RANK"),
                       ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID")):
        machine.environment[size], machine.environment[rank] = "8", "3"
        machine.runs.unlink(missing_ok=True)
        refused = rerun(machine, *program("probe.py"))
        expect_in("cudadiag: the command was not rerun, because it is one rank of a job; to get a GPU core dump from the next "
                  "run of the job, put this in front of each rank's command: cudadiag run --once --\n", refused.stderr, "message")
        expect(outcomes(machine.report()), [("record", "bracketed")], "passes")
        shown = machine.cudadiag("report").stdout
        expect_in("cudadiag run --once -- COMMAND\n", shown, "next command")
        expect("bisect" in shown, False, f"a rerun of one rank in {shown}")
        del machine.environment[size], machine.environment[rank]
    machine.environment["RANK"] = "3"
    expect_in("because it is one rank of a job; ", rerun(machine, *program("probe.py")).stderr, "a rank without the number of ranks")


def command_that_names_a_descriptor_is_not_repeated(machine):
    machine.plan(AGAIN)
    run = [*machine.command("run", "--rerun=always", "--"), *program("probe.py")]
    said = machine.plain("bash", "-c", '"$@" <(echo words)', "bash", *run).stderr
    expect_in("cudadiag: the command was not rerun, because a rerun cannot read /dev/fd/63, which only the first run had. To prove "
              "this and find the cause, run it again with a file in place of /dev/fd/63\n", said, "message")
    assert "bisect" not in machine.cudadiag("report", "-v").stdout
    expect_in("not rerun, because the command reads /dev/fd/63, which only the first run had; record the command again with a file "
              "in its place\n", machine.cudadiag("bisect").stderr, "bisect")


def advice_has_the_options_of_the_first_run(machine):
    machine.plan(AGAIN)
    given = ["--keep-core", "--repeat", "3", "--hang-after", "600"]
    said = machine.run(*program("probe.py"), options=["--rerun=ask", *given]).stderr
    for text in (said, machine.cudadiag("report").stdout, machine.cudadiag("report", "-v").stdout):
        expect_in("cudadiag bisect --keep-core --repeat=3", text.replace(str(session_of(machine).resolve()) + " ", ""), "command")
        assert "hang-after" not in text, text
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.cudadiag("bisect", "--no-device-pass", "--time-limit", "30")
    kept = json.loads((session_of(machine) / "manifest.json").read_text())
    expect((kept["options"], kept["rerun_options"]), (["run", "--rerun=ask", "--keep-core", "--repeat=3", "--hang-after=600"],
           ["--no-device-pass", "--time-limit=30"]), "options after another command")


def program_at_a_terminal_is_not_repeated(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    shown, _ = machine.on_terminal(*machine.command("run", "--rerun=auto", "--", *program("probe.py")))
    expect_in("the command was not rerun, because its input is a terminal. To prove this and find the cause: cudadiag bisect"
              " --isolated\r\n", shown, "terminal")
    assert "<INPUT" not in shown, shown


def terminal_that_shows_no_question_is_not_taken_for_the_obstacle(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    command = machine.command("run", "--no-device-pass", "--", *program("probe.py"))
    shown, _ = machine.on_terminal("sh", "-c", '"$@" 2>&1 | cat', "sh", *command)
    expect_in("the command was not rerun, because cudadiag cannot ask whether to rerun it: standard error is not a terminal", shown, "reason")
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes")
    if " (with </dev/null, cudadiag reruns it without asking)" not in shown:  # reruns cannot be isolated here
        return
    machine.runs.unlink()
    shown, _ = machine.on_terminal("sh", "-c", '"$@" 2>&1 </dev/null | cat', "sh", *command)
    expect_in("running the command again to prove this", shown, "with </dev/null")


def input_that_cannot_be_had_again_is_an_obstacle(machine):
    machine.plan(AGAIN)
    source, writer = os.pipe()
    os.write(writer, b"words")
    result = rerun(machine, *program("probe.py"), stdin=source)
    _expect_refused(machine, result, "its input is a pipe that cannot be read again", isolated=True)
    expect_in("cudadiag bisect --no-device-pass --isolated <INPUT", result.stderr, "the command, which needs a terminal")
    machine.runs.unlink()
    forced = rerun(machine, *program("probe.py"), options=["--rerun=always"], stdin=source)
    expect_in("the rerun gets no input, because its input is a pipe that cannot be read again", forced.stderr, "forced")
    os.close(writer)
    os.close(source)


def pipe_that_somebody_may_have_written_to_is_an_obstacle(machine):
    machine.plan(AGAIN)
    source, writer = os.pipe()
    reads = 'read -r line; echo "$line"; exec "$@"'
    run = subprocess.Popen(machine.command("run", "--rerun=auto", "--no-device-pass", "--", "sh", "-c", "echo ready; " + reads, "sh",
                                           *program("probe.py")), env=machine.environment, cwd=machine.folder, stdin=source,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect(run.stdout.readline(), "ready\n", "its first line")
    os.write(writer, b"words\n")
    said = run.communicate(timeout=60)
    os.close(writer)
    os.close(source)
    expect(said[0], "words\n", "its input")
    expect_in("the command was not rerun, because its input is a pipe that another process could write to", said[1], "message")


def pipe_that_was_closed_is_read_again(machine):
    machine.plan(AGAIN)
    source, writer = os.pipe()
    os.write(writer, b"words")
    os.close(writer)
    result = rerun(machine, *program("probe.py", "reads"), stdin=source)
    os.close(source)
    expect(result.stdout, "read words\n", "stdout")
    expect((session_of(machine) / "confirm/output.txt").read_text(), "read words\n", "stdout of the rerun")
    expect_proven(machine.report())


def file_is_read_again_from_where_it_stood(machine):
    machine.plan(AGAIN)
    (machine.folder / "input").write_text("first second")
    with open(machine.folder / "input", "rb", buffering=0) as source:
        source.seek(6)
        result = rerun(machine, *program("probe.py", "reads"), stdin=source)
    expect(result.stdout, "read second\n", "stdout")
    expect((session_of(machine) / "confirm/output.txt").read_text(), "read second\n", "stdout of the rerun")


def rerun_by_hand_needs_what_the_program_read(machine):
    machine.plan(AGAIN)
    words = machine.folder / "words"
    words.write_text("words")
    for give in (_file, _closed_pipe):
        with give(words) as source:
            machine.run(*program("probe.py", "reads"), stdin=source)
        session = session_of(machine).resolve()
        expect_in("cudadiag bisect --isolated <INPUT  # ", machine.cudadiag("report").stdout, "the suggestion")
        refused = machine.cudadiag("bisect")
        expect((refused.returncode, refused.stderr), (125, "cudadiag: the command read its standard input, so a rerun "
               f"needs the same input from a file; run: cudadiag bisect {session} <INPUT\n"), "without it")
        expect(outcomes(machine.report()), [("record", "bracketed")], "passes")
        with give(words) as source:
            machine.cudadiag("bisect", "--no-device-pass", stdin=source)
        expect((session_of(machine) / "confirm/output.txt").read_text(), "read words\n", "stdout of the rerun")
        expect_proven(machine.report())


def input_that_the_program_left_alone_is_not_asked_for(machine):
    machine.plan(AGAIN)
    words = machine.folder / "words"
    words.write_text("words")
    for give in (_file, _closed_pipe):
        with give(words) as source:
            machine.run(*program("probe.py"), stdin=source)
        assert "<INPUT" not in machine.cudadiag("report").stdout
        machine.cudadiag("bisect", "--no-device-pass")
        expect_proven(machine.report())


def nothing_is_repeated_unasked_where_another_user_can_replace_the_session(machine):
    machine.plan(AGAIN)
    machine.state.mkdir()
    machine.state.chmod(0o777)
    result = rerun(machine, *program("probe.py"))
    refusal = f"another user can rename entries of {machine.state} and so replace the session's folder"
    expect_in(f"the command was not rerun, because {refusal}. To prove this and find the cause, run it again with a folder that "
              "only you can write to: -o FOLDER or CUDADIAG_DIR\n", result.stderr, "message")
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes")
    (machine.folder / "link").symlink_to(session_of(machine))
    for session in ([], [machine.folder / "link"]):
        by_hand = machine.cudadiag("bisect", "--isolated", *session)
        expect(by_hand.returncode, 125, f"status of bisect {session}")
        expect_in(f"not rerun, because {refusal}; record the command again in a folder that only you can write to: ", by_hand.stderr, "bisect")
        shown = " ".join(machine.cudadiag("report", *session).stdout.split())
        expect(("Next cudadiag run --rerun=auto --no-device-pass -o FOLDER -- " in shown, "cudadiag bisect" in shown), (True, False), shown)
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes after bisect")
    expect_in(f"all users can write to {machine.state} and replace a session while it is being written", result.stderr, "warning")
    machine.state.chmod(0o1777)  # the sticky bit keeps others from renaming
    machine.runs.unlink(missing_ok=True)
    rerun(machine, *program("probe.py"))
    expect_proven(machine.report())


# ---- where reruns cannot be isolated


def _cannot_isolate(machine):
    machine.plan(AGAIN)
    machine.wrapper = program("without_landlock.py")


def nothing_is_repeated_unasked_without_isolation(machine):
    _cannot_isolate(machine)
    _expect_refused(machine, rerun(machine, *program("probe.py")),
                    "this system cannot isolate a rerun (no Landlock)")


def nothing_outside_the_working_folder_is_repeated_without_isolation(machine):
    _cannot_isolate(machine)
    shared = pathlib.Path(f"/dev/shm/{machine.folder.name}.log")
    script = f'echo "$CUDADIAG_PASS" >>{shared}; exec "$@"'
    try:
        rerun(machine, "sh", "-c", script, "sh", *program("probe.py"))
        expect(shared.read_text(), "record\n", "who wrote to shared memory")
    finally:
        shared.unlink(missing_ok=True)


def question_says_that_a_rerun_is_not_isolated(machine):
    _cannot_isolate(machine)
    machine.environment["TERM"] = "xterm"
    for name in ("CI", "CONTINUOUS_INTEGRATION", "BUILD_ID", "BUILD_NUMBER"):
        machine.environment.pop(name, None)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    shown, _ = machine.on_terminal(*machine.command("run", "--rerun=ask", "--no-device-pass", "--", *program("probe.py")),
                                   typed=b"n\n", after=b"[y/N]", until=b"cudadiag: to prove")
    expect_in("it can repeat everything that the program does (not isolated: no Landlock). [y/N]", shown, "terminal")


def isolated_rerun_is_refused_where_it_cannot_be_isolated(machine):
    _cannot_isolate(machine)
    machine.run(*program("probe.py"))
    expect("--isolated" in machine.cudadiag("report", "-v").stdout, False, "whether the report names it")
    refused = bisect(machine, "--isolated")
    expect(refused.returncode, 125, "status")
    expect_in("this system cannot isolate a rerun (no Landlock), so nothing was rerun", refused.stderr, "message")
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes")


def rerun_that_was_asked_for_has_no_descriptor_of_the_first_run(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    command = machine.command("run", "--rerun=always", "--no-device-pass", "--", "sh", "-c",
                              'test ! -e /proc/self/fd/9 || echo "$CUDADIAG_PASS" >&9; exec "$@"', "sh", *program("probe.py"))
    machine.plain("sh", "-c", 'exec 9>>given; exec "$@"', "sh", *command)
    expect((machine.folder / "given").read_text(), "record\n", "who wrote to the descriptor")
    expect_proven(machine.report())


def never_is_never(machine):
    machine.plan(AGAIN)
    result = machine.run(*program("probe.py"), options=["--rerun=never"])
    assert "rerun by itself" not in result.stderr, result.stderr
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes")
