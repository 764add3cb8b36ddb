"""What keeps a command from being rerun unasked; a function each, its name is the claim."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

from harness import FAULT, expect, expect_in, program
from passes import AGAIN, KEPT, expect_proven, outcomes, rerun, session_of


def _expect_refused(machine, result, why):
    """No rerun, the reason, and how to ask for one."""
    (line,) = [line for line in result.stderr.splitlines() if "not run again, as " in line]
    expect_in(why, line.partition(", as ")[2], "message")
    expect_in(". To prove this and find the cause: cudadiag bisect", line, "message")
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes")


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
    _expect_refused(machine, result, "it was ended from outside")


def failure_is_proven_unasked_if_nobody_sits_at_a_terminal(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.cudadiag("run", "--no-device-pass", "--", *program("probe.py"))
    expect_proven(machine.report())
    expect([each["isolated"] for each in machine.report()["passes"]], [False, True], "whether passes were isolated")


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
    expect_in("expected one of ask, auto, always, never, got perhaps", result.stderr, "message")


def one_rank_of_a_job_is_not_repeated(machine):
    machine.plan(AGAIN)
    for size, rank in (("WORLD_SIZE", "RANK"), ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
                       ("PMI_SIZE", "PMI_RANK"), ("SLURM_NTASKS", "SLURM_PROCID")):
        machine.environment[size], machine.environment[rank] = "8", "3"
        machine.runs.unlink(missing_ok=True)
        _expect_refused(machine, rerun(machine, *program("probe.py")), "it is one rank of a job of 8")
        del machine.environment[size], machine.environment[rank]


def program_at_a_terminal_is_not_repeated(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    shown, _ = machine.on_terminal(*machine.command("run", "--rerun=auto", "--", *program("probe.py")))
    expect_in("not run again, as its input is a terminal. To prove this and find the cause: cudadiag bisect\r\n", shown, "terminal")
    assert "<INPUT" not in shown, shown


def input_that_cannot_be_had_again_is_an_obstacle(machine):
    machine.plan(AGAIN)
    source, writer = os.pipe()
    os.write(writer, b"words")
    result = rerun(machine, *program("probe.py"), stdin=source)
    _expect_refused(machine, result, "its input is a pipe that cannot be read again")
    expect_in("cudadiag bisect <INPUT", result.stderr, "the command, which needs one")
    os.close(writer)
    os.close(source)


def pipe_that_somebody_may_have_written_to_is_an_obstacle(machine):
    machine.plan(AGAIN)
    source, writer = os.pipe()
    reads = 'read -r line; echo "$line"; exec "$@"'
    run = subprocess.Popen(machine.command("run", "--rerun=auto", "--no-device-pass", "--", "sh", "-c", "echo ready; " + reads, "sh",
                                           *program("probe.py")), env=machine.environment, cwd=machine.folder, stdin=source,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect(run.stdout.readline(), "ready\n", "what it says first")
    os.write(writer, b"words\n")
    said = run.communicate(timeout=60)
    os.close(writer)
    os.close(source)
    expect(said[0], "words\n", "what it read")
    expect_in("not run again, as its input is a pipe that somebody could write to", said[1], "message")


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
        command = f"cudadiag bisect {session_of(machine).resolve()} <INPUT"
        expect_in(command + "  # ", machine.cudadiag("report").stdout, "what is advised")
        refused = machine.cudadiag("bisect")
        expect((refused.returncode, refused.stderr), (125, "cudadiag: the command read its standard input, which its "
               f"reruns need again, from a file; {command}\n"), "without it")
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


# ---- where reruns cannot be isolated


def _cannot_isolate(machine):
    machine.plan(AGAIN)
    machine.wrapper = program("without_landlock.py")


def program_that_leaves_no_trace_is_repeated_without_isolation(machine):
    _cannot_isolate(machine)
    said = rerun(machine, *program("probe.py")).stderr
    assert "not run again" not in said, said
    expect_proven(machine.report())
    expect([each["isolated"] for each in machine.report()["passes"]], [False, False], "whether passes were isolated")


def program_that_writes_files_is_not_repeated(machine):
    _cannot_isolate(machine)
    _expect_refused(machine, rerun(machine, *program("probe.py", "writes")), "result.txt changed while it ran")
    rerun(machine, *program("probe.py", "writes"), options=["--rerun=always"])
    expect_proven(machine.report())
    # As soon as it is started, and without writing to a file.
    for script, what in (("echo step >>log.csv", "log.csv changed while it ran"),
                         ("mkdir made", "made/ changed while it ran"),
                         ("rm result.txt", "result.txt was removed while it ran")):
        command = ["sh", "-c", script + '; exec "$@"', "sh", *program("probe.py")]
        _expect_refused(machine, rerun(machine, *command), what)
    expect((machine.folder / "log.csv").read_text(), "step\n", "what was written")


def program_that_copies_a_file_with_its_time_is_not_repeated(machine):
    _cannot_isolate(machine)
    command = ["sh", "-c", 'cp -p /bin/sh copied; exec "$@"', "sh", *program("probe.py")]
    _expect_refused(machine, rerun(machine, *command), "copied changed while it ran")


def program_that_changes_something_below_or_elsewhere_is_not_repeated(machine):
    _cannot_isolate(machine)
    elsewhere = pathlib.Path(f"{machine.folder}.elsewhere")
    elsewhere.mkdir()
    (elsewhere / "results").mkdir()
    (machine.folder / "linked").symlink_to(elsewhere / "results")
    (machine.folder / "queue").mkdir()
    for number in range(9):
        (machine.folder / "queue" / str(number)).write_text("work")
    machine.plain("git", "init", "-q", "tree")
    commit = "git -C tree -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
    for script, why in (("rm $(ls -d queue/* | head -1)", "queue/ changed while it ran"),
                        (f"mv $(ls -d queue/* | head -1) {elsewhere}", "queue/ changed while it ran"),
                        ("echo x >> linked/rows", "changed while it ran"),
                        (commit, "tree/.git/"),
                        (f"echo x >> {elsewhere}/rows; sync -f {elsewhere}/rows", "it wrote to a disk"),
                        ("sleep 20 >/dev/null 2>&1 &", " still runs")):
        machine.runs.unlink(missing_ok=True)
        command = ["sh", "-c", script + ' exec "$@"' if script.endswith("&") else script + '; exec "$@"', "sh",
                   *program("probe.py")]
        _expect_refused(machine, rerun(machine, *command), why)
    shutil.rmtree(elsewhere)


def program_that_uses_the_network_is_not_repeated(machine):
    _cannot_isolate(machine)
    talk = ("import os, socket, sys; server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen();"
            "socket.create_connection(server.getsockname()).close(); server.close(); os.execv(sys.argv[1], sys.argv[1:])")
    result = rerun(machine, sys.executable, "-c", talk, *program("probe.py"))
    _expect_refused(machine, result, "something used the network meanwhile")


def own_files_in_the_working_folder_are_no_obstacle(machine):
    _cannot_isolate(machine)
    with open(machine.folder / "log", "w") as log:
        rerun(machine, *program("probe.py", "tells"), options=["-o", "./kept", "--json", "report.json"], stdout=log)
    expect((machine.folder / "log").read_text(), "record None\n", "log")
    expect_proven(machine.report(*KEPT))
    (machine.folder / "link").symlink_to("kept")
    rerun(machine, *program("probe.py"), options=["-o", "link"])
    expect_proven(machine.report(*KEPT))


def file_that_another_program_keeps_our_output_in_is_no_obstacle(machine):
    _cannot_isolate(machine)
    command = shlex.join(map(str, machine.command("run", "--rerun=auto", "--no-device-pass", "--", *program("probe.py"))))
    machine.plain("sh", "-c", command + " 2>&1 | tee log.txt")
    expect_in("probe.py", (machine.folder / "log.txt").read_text(), "log")
    expect_proven(machine.report())


def never_is_never(machine):
    machine.plan(AGAIN)
    result = machine.run(*program("probe.py"), options=["--rerun=never"])
    assert "rerun by itself" not in result.stderr, result.stderr
    expect(outcomes(machine.report()), [("record", "bracketed")], "passes")
