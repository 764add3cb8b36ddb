"""Processes that initialise CUDA but cannot be recorded: they behave as without cudadiag, and a message says why."""

import os
import shutil

from harness import expect, expect_answer, expect_in, expect_success, faulty, in_namespace, skip


def little_address_space(machine):
    """The recording needs 64 MB, and the recorder needs more for its tables."""
    program = faulty(machine)
    said = ("cudadiag: nothing was recorded for a process that initialised CUDA: the limit on its address space leaves "
            "too little room for the 64 MB recording; raise the limit (ulimit -v)\n")
    for megabytes in (60, 88, 120, 140, 148, 250, 1000):
        command = ["sh", "-c", f'ulimit -v {megabytes << 10}; exec "$0"', program]
        plain, recorded = machine.plain(*command), machine.run(*command)
        expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), f"with {megabytes} MB")
        if megabytes in (88, 140, 148):
            expect((plain.returncode, recorded.stderr), (1, said), f"what is said with {megabytes} MB")
    expect_answer(machine, recorded, plain)


def little_data(machine):
    """A limit on the program's memory leaves room for the program, and little or none for the recorder's tables."""
    program = faulty(machine)
    said = ("cudadiag: nothing was recorded for a process that initialised CUDA: the limit on its memory leaves too little "
            "room for the recorder's own memory; raise the limit (ulimit -d)\n")
    for megabytes in (12, 40, 60, 1000):
        command = ["sh", "-c", f'ulimit -d {megabytes << 10}; exec "$0"', program]
        plain, recorded = machine.plain(*command), machine.run(*command)
        expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), f"with {megabytes} MB")
        if megabytes == 12:
            expect((plain.returncode, recorded.stderr), (1, said), f"what is said with {megabytes} MB")
    expect_answer(machine, recorded, plain)


def another_user(machine):
    """The program drops its rights before it initialises CUDA, so it cannot reach the launcher's memory."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        skip("only root can become another user, with setpriv")
    program = faulty(machine)
    for folder in (machine.folder, *machine.build.parents, machine.build):
        if not os.access(folder, os.X_OK) or not folder.stat().st_mode & 0o001:
            if folder != machine.folder:
                skip(f"only {folder.owner()} can reach the build folder")
    command = ["setpriv", "--reuid=65534", "--clear-groups", program]
    plain, recorded = machine.plain(*command), machine.run(*command)
    expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    assert "could not use CUDA" not in recorded.stderr, recorded.stderr


def _older_session(machine):
    """Writes a session with a failure and backdates it, because the next session may begin in the same second."""
    machine.run(faulty(machine))
    (name,) = machine.sessions()
    older = machine.state / "cudadiag/20200101-000000-1"
    older.with_name(name).rename(older)
    return older


def without_a_launcher_it_is_kept_why_nothing_was_recorded(machine):
    _older_session(machine)
    program = faulty(machine)
    exports = expect_success(machine.cudadiag("env")).stdout
    limited = 'ulimit -f 4; exec "$0"'
    plain = machine.plain("sh", "-c", limited, program)
    recorded = machine.plain("sh", "-c", exports + limited, program)
    expect((recorded.returncode, recorded.stdout, recorded.stderr), (plain.returncode, plain.stdout, plain.stderr), "result")
    why = ("nothing was recorded for a process that initialised CUDA: its file size limit leaves no room for "
           "the 64 MB recording")
    expect_in(f"(unknown command: {why})\n", expect_success(machine.cudadiag("list")).stdout, "list")
    expect(machine.cudadiag("report").stdout, "cudadiag: cannot tell whether CUDA failed in this session: "
           f"{why}; raise the limit (ulimit -f)\n", "report")


def small_disk_without_a_launcher(machine):
    program = faulty(machine)
    machine.state.mkdir()
    shown = in_namespace(machine, ["--mount"], f"mount -t tmpfs -o size=16k none {machine.state} || exit 77", "sh", "-c",
                         'eval "$("$0" env)"; "$1" >&2; "$0" list; "$0" report', *machine.command(), program)
    why = ("nothing was recorded for a process that initialised CUDA: the disk had no room for the 64 MB recording and as much for the program (No "
           "space left on device)")
    expect_in(f"(unknown command: {why})\n", shown.stdout, "list")
    expect_in("cudadiag: cannot tell whether CUDA failed in this session: "
              f"{why}; free some space, or choose a folder for it with -o FOLDER or CUDADIAG_DIR\n", shown.stdout, "report")


def nothing_is_claimed_of_a_session_that_cannot_be_written(machine):
    """The session becomes read-only after it was created, so nothing can be stored in it."""
    older = _older_session(machine)
    program = faulty(machine)
    exports = expect_success(machine.cudadiag("env")).stdout
    session = exports.split()[-1].strip("'")
    name = session + ".incomplete"  # the folder of a session that is still recorded
    why = (f"nothing was recorded with the environment that cudadiag env printed, and nothing can be recorded: "
           f"{name}/record is not writable: Read-only file system")
    fixed = f"mount --bind {machine.state} {machine.state} && mount -o remount,bind,ro {machine.state} || exit 77"
    shown = in_namespace(machine, ["--mount"], fixed, "sh", "-c", exports + '"$1" >&2; "$0" list; "$0" report 2>&1',
                         *machine.command(), program)
    expect_in(f"(unknown command: {why})\n", shown.stdout, "list")
    expect_in(f"cudadiag: {session}: {why}; using {older} instead\n", shown.stdout, "report if there is an older session")
    shutil.rmtree(older)
    shown = in_namespace(machine, ["--mount"], fixed, *machine.command("report"))
    expect(shown.stderr, f"cudadiag: {session}: {why}; see cudadiag doctor\n", "report without an older session")
