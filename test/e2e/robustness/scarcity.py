"""Full disks, little shared memory, little memory: the program behaves as without cudadiag. cudadiag keeps what it can
and reports what it cannot keep. Each function's name says what it tests."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import sys

from harness import (DATA, expect, expect_answer, expect_in, expect_success, expect_true_line, faulty, in_namespace, program,
                     skip)


def _with_a_disk(machine, size, first, *command):
    """Runs `cudadiag run` with its sessions on a small disk. Returns the result, the status, and what the other
    commands print afterwards, by name."""
    machine.state.mkdir(exist_ok=True)
    script = '"$0" run --rerun=never "$@"; echo $? > ended; for c in list report status dump; do "$0" $c > $c 2>&1; done; ' \
             '"$0" report --json > json 2> /dev/null; find . -name "*.log" > logs'
    recorded = in_namespace(machine, ["--mount"], f"mount -t tmpfs -o size={size} none {machine.state} || exit 77; {first}",
                            "sh", "-c", script, *machine.command(), *command)
    said = {name: (machine.folder / name).read_text() for name in ("list", "report", "status", "dump", "json", "logs")}
    return recorded, int((machine.folder / "ended").read_text()), said


def _operations(machine, *where):
    dump = expect_success(machine.cudadiag("dump", *where)).stdout.splitlines()
    return sum(line.startswith("operation ") for line in dump)


def full_disk_under_the_sessions(machine):
    faulty_program = faulty(machine)
    plain = machine.plain(faulty_program)
    for size, first in (("16k", ""), ("1m", f"head -c 1016K /dev/zero > {machine.state}/full")):
        recorded, status, said = _with_a_disk(machine, size, first, "--json", "/dev/full", "--", faulty_program)
        # The session has no report that could be printed instead.
        expect_in("/dev/full: No space left on device; free some space\n", recorded.stderr, "--json")
        expect((status, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
        expect_in("illegal memory access (700)", recorded.stderr, "report")
        expect_in("cudadiag: the session is incomplete: ", recorded.stderr, "message")
        expect_in("No space left on device", recorded.stderr, "message")
        for command in ("list", "report", "status", "dump"):
            assert "was killed" not in said[command] and "not finished" not in said[command], said[command]
        expect_in(f"exit {status}", said["list"], "list")
        for command in ("report", "status", "dump"):
            expect_in(".area: No space left on device", said[command], command)


def full_log_gives_way_to_the_recording(machine):
    """The program fills the disk that holds the log. There is then room for only one of the two."""
    machine.plan("fault kernel=bad code=700")
    command = program("full_disk.py", "logged")
    plain = machine.plain(*command)
    recorded, status, said = _with_a_disk(machine, "72m", "", "--full-log", "--", *command)
    expect((status, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    report = json.loads(said["json"] or "{}")
    expect_true_line(report, "full_disk.py")
    expect(report["findings"][0]["evidence"]["grade"], "bracketed", "grade")
    notes = [note["text"] for note in report["notes"] if "full log" in note["text"]]
    pid = report["processes"][0]["pid"]
    expect(notes, [f"the full log of process {pid} ends early: its disk has less than 64 MB left",
                   f"the full log of process {pid} was discarded to make room for the recording"], "notes")
    for note in notes:
        expect_in(f"cudadiag: {note}; free some space", recorded.stderr, "message")
    expect(said["logs"], "", "remaining logs")
    expect_in("illegal memory access (700)", said["list"], "list")


def full_log_leaves_room_on_the_disk(machine):
    """The program's own files need the room."""
    machine.plan("fault kernel=fill nth=100000 code=700")
    target = machine.build / "targets/million_launches"
    recorded, status, said = _with_a_disk(machine, "1m", "", "--full-log", "--", target, "100000")
    expect((status, recorded.stdout), (1, machine.plain(target, "100000").stdout), "status and stdout")
    report = json.loads(said["json"] or "{}")
    expect(report["verdict"], "cuda_failure", "verdict")
    expect([note["text"].partition(" ends early: ")[2] for note in report["notes"] if "full log" in note["text"]],
           ["its disk has less than 64 MB left"], "notes")
    assert "not whole" not in recorded.stderr, recorded.stderr


def no_shared_memory(machine):
    """/dev/shm is small and full. Data loaders need it, but cudadiag does not use it."""
    faulty_program = faulty(machine)
    plain = machine.plain(faulty_program)
    fill = "mount -t tmpfs -o size=64k none /dev/shm || exit 77; head -c 1M /dev/zero > /dev/shm/full 2>/dev/null"
    recorded = in_namespace(machine, ["--mount"], fill, *machine.command("run", "--rerun=never", "--", faulty_program))
    expect_answer(machine, recorded, plain)


def shared_memory_is_left_to_the_program(machine):
    """The program can use all 64 MB, the default in containers."""
    machine.plan("fault kernel=bad code=700")
    mount = "mount -t tmpfs -o size=64m none /dev/shm || exit 77"
    for arguments, status in (([], 3), (["beyond"], -signal.SIGBUS)):
        command = program("shared_batches.py", *arguments)
        plain = in_namespace(machine, ["--mount"], mount, *command)
        recorded = in_namespace(machine, ["--mount"], mount,
                                *machine.command("run", "--rerun=never", "-o", "kept", "--", *command))
        expect((plain.returncode, plain.stdout), (status, "16 batches\n"), "behaviour without cudadiag")
        expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
        if status == 3:
            expect_true_line(machine.report("-o", "kept"), "shared_batches.py")
        else:
            expect_in("cudadiag: the command was killed by signal 7 (SIGBUS)", recorded.stderr, "message")
            expect(_operations(machine, "-o", "kept"), 16, "launches that were recorded")


@contextlib.contextmanager
def _memory_group(megabytes):
    """Yields the words that run a command in a separate memory group, for version 1 or 2 of cgroups."""
    name, obstacles = f"cudadiag-test-{os.getpid()}", []
    for root, limit, swap, most_swap in (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", megabytes << 20),
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max", 0)):
        group = pathlib.Path(root, name)
        handed_on = pathlib.Path(root, "cgroup.subtree_control")
        if limit == "memory.max" and not (handed_on.exists() and "memory" in handed_on.read_text().split()):
            obstacles.append(f"memory is not in {handed_on}")
            continue
        with contextlib.ExitStack() as made:
            try:
                group.mkdir()
                made.callback(group.rmdir)
                (group / limit).write_text(str(megabytes << 20))
                if (group / swap).exists():  # if the kernel counts swap
                    (group / swap).write_text(str(most_swap))
            except OSError as error:
                obstacles.append(f"{root}: {error.strerror}")
                continue
            yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"']
            return
    skip("no memory group can be created: " + "; ".join(obstacles))


def little_memory(machine):
    """There is room for the program and little more. The recording's pages count towards the limit when they are first
    used."""
    with _memory_group(48) as grouped:
        faulty_program = faulty(machine)
        plain = machine.plain(*grouped, faulty_program)
        recorded = machine.plain(*grouped, *machine.command("run", "--rerun=never", "--", faulty_program))
        expect_answer(machine, recorded, plain)


def killed_for_want_of_memory(machine):
    """The kernel kills the program, alone in a memory group or together with the launcher, as in a container."""
    machine.plan("hang stream=1")
    command = program("takes_memory.py")
    with _memory_group(256) as grouped:
        plain = machine.plain(*grouped, *command)
        expect((plain.returncode, plain.stdout), (-signal.SIGKILL, "launched\n"), "behaviour without cudadiag")
        run = machine.command("run", "--rerun=never", "--")
        for whole in ([*run, *grouped, *command], [*grouped, *run, *command]):
            recorded = machine.plain(*whole)
            expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
            expect_in("cudadiag: the command was killed by signal 9 (SIGKILL)", recorded.stderr, "message")
            report = machine.report()
            (process,) = report["processes"]
            (note,) = [note for note in report["notes"] if note["code"] == "killed-at-work"]
            expect((report["verdict"], process["exit"]), ("inconclusive", {"code": None, "signal": signal.SIGKILL}), "end")
            expect(note["text"], f"process {process['pid']} was killed by signal 9 with 10 operations pending; no later "
                   "call checked whether they failed", "note")
            expect(_operations(machine), 10, "launches that were recorded")


def _restarted_service(machine, *options):
    """Returns the shell commands that `cudadiag env` prints, and the session's folder for recordings."""
    exports = expect_success(machine.cudadiag("env", *options, "-o", "kept")).stdout
    (session,) = (machine.folder / "kept").glob("*.incomplete")
    return exports, session / "record"


def _copy_area(machine, area, names):
    for name in names:  # the copies have holes for zero pages, so that they need little disk space
        expect_success(machine.plain("cp", "--sparse=always", area, area.with_name(f"{name}.area")))


def session_of_a_restarted_service_keeps_sixteen_recordings(machine):
    exports, record = _restarted_service(machine, "--once")
    machine.plan(f"fault kernel=_Z15assert_positivePKi code=710; dump={DATA}/gpucore/assert.nvcudmp")
    run = ("sh", "-c", exports + 'exec "$@"', "sh")
    machine.plain(*run, machine.build / "targets/dumped")
    failed = set(record.iterdir())
    waits = "import cuda; cuda.start(); print('ready', flush=True); input()"
    machine.environment["PYTHONPATH"] = str(pathlib.Path(program("cuda.py")[-1]).parent)
    living = machine.start(*run, sys.executable, "-c", waits)
    expect(living.stdout.readline(), "ready\n", "the live process")
    expect_success(machine.plain(*run, machine.build / "targets/healthy"))
    (ended,) = set(record.glob("*.area")) - failed - {record / f"{living.pid}.area"}
    _copy_area(machine, ended, range(1 << 23, (1 << 23) + 18))
    expect_success(machine.plain(*run, machine.build / "targets/healthy"))
    areas = set(record.glob("*.area"))
    expect(len(areas), 16, "recordings")
    expect(record / f"{living.pid}.area" in areas, True, "the recording of the live process is kept")
    expect(failed <= set(record.iterdir()), True, "the recording and the dump of the failure are kept")
    report = machine.report("-o", "kept")
    expect(report["findings"][0]["evidence"]["grade"], "proven", "grade")
    expect_in("the recordings of 6 earlier processes were removed to save disk space", json.dumps(report["notes"]), "notes")
    living.communicate("\n")


def process_with_a_reused_id_is_recorded(machine):
    """In a container, each program that a restart starts has process id 1."""
    exports, record = _restarted_service(machine)
    expect_success(machine.plain("sh", "-c", exports + 'exec "$@"', "sh", machine.build / "targets/healthy"))
    (ended,) = record.glob("*.area")
    copies = 'for n in "" -2 -3 -4 -5 -6 -7 -8 -9 -10 -11 -12 -13 -14 -15 -16; do ' \
             'cp --sparse=always "$1" "$CUDADIAG_SESSION/$$$n.area"; done; rm "$1"; shift; exec "$@"'
    command = faulty(machine)
    machine.plain("sh", "-c", exports + copies, "sh", ended, command)
    expect(len(list(record.glob("*.area"))), 16, "recordings")
    expect(machine.report("-o", "kept")["verdict"], "cuda_failure", "verdict")


# Like an unmodified container image with a read-only root: no right, no home folder, no user name, and only /dev/shm to
# write to.
READ_ONLY = """
for place in $(cut -d" " -f5 /proc/self/mountinfo | sort -r); do
  case $place in /proc*|/dev/shm|/sys*) ;; *) mount -o remount,bind,ro "$place" 2>/dev/null;; esac
done
mount -t tmpfs -o mode=1777,size=$ROOM none /dev/shm || exit 77
! touch "$MACHINE/file" 2>/dev/null || exit 77
set -- setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --no-new-privs "$@"
unset HOME XDG_STATE_HOME TMPDIR"""


def _in_a_bare_container(machine, room, script):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        skip("only root can become another user, with setpriv")
    machine.folder.chmod(0o755)
    machine.gpu.chmod(0o755)
    settings = f"MACHINE={machine.folder} ROOM={room}{READ_ONLY}"
    return in_namespace(machine, ["--mount"], settings, "sh", "-c", script, *machine.command(), machine.build / "targets/dumped")


def container_without_rights_and_with_a_read_only_root_is_recorded(machine):
    machine.plan(f"fault kernel=_Z15assert_positivePKi code=710; dump={DATA}/gpucore/assert.nvcudmp")
    by_run = '"$0" run --once -o /dev/shm/s -- "$1"'
    by_env = 'variables=$("$0" env --once -o /dev/shm/s) && eval "$variables" && "$1"'
    for start in by_run, by_env:
        ended = _in_a_bare_container(machine, "1g", start + ' >&2; "$0" report --json -o /dev/shm/s')
        (finding,) = json.loads(ended.stdout)["findings"]
        expect((finding["error"]["code"], finding["location"]["line"], finding["evidence"]["grade"], finding["device"]["line"]),
               (710, 11, "proven", 17), f"answer of {start}, with {ended.stderr}")
    ended = _in_a_bare_container(machine, "1g", '"$0" run --once -- "$1"')
    expect_in("choose a writable folder with -o FOLDER", ended.stderr, "remedy without a folder")
    expect_in("dumped.cc:11, main", ended.stderr, "line without a folder")


def small_shared_memory_is_not_filled_by_a_recording(machine):
    """The program's own workers need it. 64 MB is the default in containers."""
    machine.plan("fault kernel=_Z15assert_positivePKi code=710")
    ended = _in_a_bare_container(machine, "64m", 'variables=$("$0" env -o /dev/shm/s) && eval "$variables"; "$1" >&2; '
                                                 'df --output=avail -k /dev/shm | tail -n 1; "$0" report -o /dev/shm/s')
    assert int(ended.stdout.split()[0]) > 60 << 10, ended.stdout
    expect_in("the disk had no room for the 64 MB recording and as much for the program", ended.stdout, "reason")


def doctor_names_the_folder_that_sessions_go_to(machine):
    (machine.folder / "file").touch()
    machine.environment["XDG_STATE_HOME"] = str(machine.folder / "file")
    shown = machine.cudadiag("doctor")
    expect(shown.returncode, 1, "status")
    expect_in(f"PROBLEM sessions          {machine.folder}/file/cudadiag cannot be used: Not a directory, so sessions go to "
              f"{machine.folder}/cudadiag-{os.geteuid()}\n", shown.stdout, "the folders")
    expect_in(" fix: choose a different folder with CUDADIAG_DIR or -o FOLDER\n", shown.stdout, "fix")
    machine.environment["CUDADIAG_DIR"] = str(machine.folder / "file")
    shown = machine.cudadiag("doctor").stdout
    expect_in(f" {machine.folder}/file is not a folder, so sessions go to ", shown, "the given folder")
    expect_in(" fix: choose a different folder with CUDADIAG_DIR or -o FOLDER\n", shown, "its fix")
