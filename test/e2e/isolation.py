"""A rerun that nobody asked for changes nothing, and proves what it can; a function each, its name is the claim."""

import contextlib
import ctypes
import os
import pathlib
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

import hangs
import kills
from harness import expect, expect_in, expect_success, program, skip
from passes import AGAIN, bisect, evidence, outcomes, rerun

libc = ctypes.CDLL(None, use_errno=True)
COUNTING = """
import resource, signal, sys, time
count = 0
def add(*_):
    global count
    count += 1
signal.signal(signal.SIGUSR1, add)
print('ready', flush=True)
sys.stdin.read()
print(count, resource.getrlimit(resource.RLIMIT_NOFILE)[0], flush=True)
"""


def _lines(path):
    return len(path.read_text().splitlines())


class Place:
    """A folder beside the working folder with what programs/changes.py changes, and how often it has been changed."""

    def __init__(self, machine):
        self.path = pathlib.Path(str(machine.folder) + ".place")
        self.path.mkdir()
        for name in ("queue", "folders", "done", "made", "linked"):
            (self.path / name).mkdir()
        for number in range(9):
            (self.path / "queue" / str(number)).write_text("work\n")
            (self.path / "folders" / str(number)).mkdir()
        (self.path / "count").write_text("")
        (self.path / "mapped").write_bytes(bytes(4096))
        (self.path / "large").write_bytes(bytes(1000))
        (self.path / "large").chmod(0o600)
        os.utime(self.path / "large", (1_000_000_000, 1_000_000_000))
        (machine.folder / "results").symlink_to(self.path / "linked")
        (machine.folder / "linked.txt").symlink_to(self.path / "count")
        self.closing = contextlib.ExitStack()
        self.closing.callback(shutil.rmtree, self.path, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.close()

    def note(self, name, value):
        (self.path / name).write_text(str(value))

    def serve(self, name, family, kind, address):
        """Counts connections or datagrams that come to it."""
        server = self.closing.enter_context(socket.socket(family, kind))
        server.bind(address)
        server.settimeout(0.2)
        if kind == socket.SOCK_STREAM:
            server.listen()
        self.note(name, server.getsockname()[1] if family == socket.AF_INET else str(address).strip("\0"))
        count = []

        def take():
            with contextlib.suppress(OSError):
                while True:
                    try:
                        if kind == socket.SOCK_STREAM:
                            server.accept()[0].close()
                        else:
                            server.recv(10)
                        count.append(1)
                    except socket.timeout:
                        continue
        threading.Thread(target=take, daemon=True).start()

        def counted():
            time.sleep(0.3)  # what was sent is taken
            return len(count)
        return counted

    def stranger(self):
        child = subprocess.Popen([sys.executable, "-c", COUNTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.closing.callback(child.kill)
        child.stdout.readline()
        self.note("stranger", child.pid)
        return child


def _changed(machine, place, kind):
    """How often the program's change has been made, after a run with the reruns that it may have."""
    path = place.path
    counters = {
        "appends_here": lambda: _lines(machine.folder / "log.txt"),
        "appends_through_a_linked_folder": lambda: _lines(path / "linked/count"),
        "appends_on_a_mount": lambda: _lines(path / "linked/count"),
        "truncates": lambda: 1000 - (path / "large").stat().st_size,
        "maps": lambda: (path / "mapped").read_bytes()[0],
        "removes": lambda: 9 - len(list((path / "queue").iterdir())),
        "removes_a_folder": lambda: 9 - len(list((path / "folders").iterdir())),
        "moves": lambda: len(list((path / "done").iterdir())),
        "changes_mode": lambda: (path / "large").stat().st_mode & 7,
        "changes_mode_by_descriptor": lambda: (path / "large").stat().st_mode & 7,
        "changes_time": lambda: round((1_000_000_000 - (path / "large").stat().st_mtime) / 100),
        "changes_time_by_descriptor": lambda: round((1_000_000_000 - (path / "large").stat().st_mtime) / 100),
        "changes_owner": lambda: (path / "large").stat().st_uid - os.getuid(),
        "commits": lambda: len(subprocess.run(["git", "-C", path / "tree", "log", "--format=%s"], capture_output=True,
                                              text=True, check=True).stdout.splitlines()),
        "inserts": lambda: sqlite3.connect(path / "rows.db").execute("select count(*) from rows").fetchone()[0],
    }
    for name in ("makes_a_folder", "makes_a_link", "makes_a_pipe", "makes_a_lock", "copies"):
        counters[name] = lambda: len(list((path / "made").iterdir()))
    count = counters.get(kind, lambda: _lines(path / "count"))
    with _surroundings(machine, place, kind) as own_count:
        machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
        machine.runs.unlink(missing_ok=True)
        options = {"pass_fds": [int(machine.environment["GIVEN"])]} if "GIVEN" in machine.environment else {}
        result = rerun(machine, *program("changes.py", kind, path), **options)
        return (own_count or count)(), result


@contextlib.contextmanager
def _surroundings(machine, place, kind):
    """What the kind of change needs; gives the way to count it, if there is one of its own."""
    path = place.path
    if kind == "commits":
        subprocess.run(["git", "init", "-q", path / "tree"], check=True)
    if kind == "inserts":
        sqlite3.connect(path / "rows.db").execute("create table rows (pass)")
    if kind == "changes_attribute":
        try:
            os.setxattr(path / "large", "user.count", b"0")
        except OSError:
            skip("no attributes on this file system")
        yield lambda: int(os.getxattr(path / "large", "user.count"))
        return
    if kind == "changes_flags":
        yield lambda: 1 if "A" in subprocess.run(["lsattr", path / "large"], capture_output=True, text=True).stdout.split()[0] else 2
        return
    served = {
        "sends_to_a_server": ("port", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "sends_a_datagram": ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "sends_a_message": ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "sends_to_a_local_server": ("name", socket.AF_UNIX, socket.SOCK_STREAM, str(path / "socket")),
        "sends_to_a_nameless_server": ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + path.name),
        "sends_a_local_datagram": ("name", socket.AF_UNIX, socket.SOCK_DGRAM, str(path / "datagrams")),
    }
    if kind in served:
        yield place.serve(*served[kind])
        return
    if kind in ("listens", "leaves_a_server"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place.note("free", free.getsockname()[1])
    if kind == "writes_to_a_pipe":
        os.mkfifo(path / "fifo")
        reader = os.open(path / "fifo", os.O_RDWR | os.O_NONBLOCK)
        yield lambda: len(os.read(reader, 100))
        os.close(reader)
        return
    if kind == "writes_to_an_inherited_descriptor":
        number = os.open(path / "count", os.O_WRONLY | os.O_APPEND)
        machine.environment["GIVEN"] = str(number)
        yield None
        del machine.environment["GIVEN"]
        os.close(number)
        return
    if kind in ("signals_a_stranger", "signals_by_descriptor"):
        child = place.stranger()
        yield lambda: int(child.communicate()[0].split()[0])
        return
    if kind == "limits_a_stranger":
        child = place.stranger()
        soft, _ = resource.prlimit(child.pid, resource.RLIMIT_NOFILE)
        yield lambda: soft - resource.prlimit(child.pid, resource.RLIMIT_NOFILE)[0]
        return
    if kind == "slows_a_stranger":
        child = place.stranger()
        nice = os.getpriority(os.PRIO_PROCESS, child.pid)
        yield lambda: os.getpriority(os.PRIO_PROCESS, child.pid) - nice
        return
    if kind == "marks_a_stranger":
        child = place.stranger()
        mark = pathlib.Path(f"/proc/{child.pid}/oom_score_adj")
        before = int(mark.read_text())
        yield lambda: int(mark.read_text()) - before
        return
    if kind == "adds_to_shared_memory":
        number = libc.shmget(0, 4096, 0o1600)
        libc.shmat.restype = ctypes.c_void_p
        address = libc.shmat(number, None, 0)
        place.note("shm", number)
        yield lambda: ctypes.c_int.from_address(address).value
        libc.shmctl(number, 0, None)
        return
    if kind == "adds_to_a_semaphore":
        number = libc.semget(0, 1, 0o1600)
        place.note("sem", number)
        yield lambda: libc.semctl(number, 0, 12)
        libc.semctl(number, 0, 0)
        return
    if kind == "adds_to_a_message_queue":
        number = libc.msgget(0, 0o1600)
        place.note("msg", number)
        buffer = ctypes.create_string_buffer(64)

        def messages():
            count = 0
            while libc.msgrcv(number, buffer, 8, 0, 0o4000) >= 0:
                count += 1
            return count
        yield messages
        libc.msgctl(number, 0, None)
        return
    if kind == "adds_to_a_posix_queue":
        name = ("/" + path.name).encode()
        number = libc.mq_open(name, os.O_CREAT | os.O_RDONLY | os.O_NONBLOCK, 0o600, struct.pack("8l", 0, 8, 8, *[0] * 5))
        if number < 0:
            skip("no POSIX message queues here")
        place.note("mq", name.decode())
        buffer = ctypes.create_string_buffer(8192)

        def queued():
            count = 0
            while libc.mq_receive(number, buffer, 8192, None) >= 0:
                count += 1
            return count
        yield queued
        libc.mq_unlink(name)
        return
    if kind == "adds_to_a_file_in_shared_memory":
        file = pathlib.Path("/dev/shm") / path.name
        file.write_text("")
        place.note("shared", file.name)
        yield lambda: _lines(file)
        file.unlink()
        return
    if kind == "saves_after_the_failure":
        def passes():
            written = (path / "model.ckpt").read_bytes()
            expect((len(written), set(written)), (4_000_000, {ord("r")}), "the checkpoint of the first run")
            return 1
        yield passes
        return
    yield None


def _expect_once(machine, *kinds, reached=False):
    machine.plan(AGAIN)
    for kind in kinds:
        with Place(machine) as place:
            count, result = _changed(machine, place, kind)
            expect((kind, count, result.returncode), (kind, 1, 3), "changes made, and the status, where it says " + result.stderr)
            report = machine.report()
            expect([each["name"] for each in report["passes"]][:2], ["record", "confirm"], f"passes of {kind}: {result.stderr}")
            kept = report["passes"][1]["kept_from"]
            expect(bool(kept), True, f"whether {kind} was kept from something, where it says {result.stderr}")
            if reached:
                expect(evidence(report)[0], "proven", "grade of " + kind)
            else:
                expect_in("not confirmed: a rerun", result.stderr, kind)
                expect_in("was kept from", result.stderr, kind)
                expect_in("; to allow it: cudadiag bisect\n", result.stderr, kind)
        (machine.folder / "results").unlink()
        (machine.folder / "linked.txt").unlink()


def _has_private_network(machine):
    return "isolated, with a network of their own\n" in machine.cudadiag("doctor").stdout


def _needs_private_network(machine):
    if not _has_private_network(machine):
        skip("nobody may make a network here")


# ---- what a rerun cannot change


def rerun_appends_to_no_file(machine):
    _expect_once(machine, "appends_here", "appends_elsewhere", "appends_through_a_linked_folder",
                 "appends_through_a_linked_file", "appends_in_a_shell", "appends_in_a_thread",
                 "appends_in_a_session_of_its_own", "appends_by_a_hard_link")


def rerun_appends_to_no_file_on_a_mount(machine):
    """A folder that lies elsewhere is mounted below the working folder, as containers have it."""
    if os.getuid() != 0:
        skip("only root may mount")
    (machine.folder / "mounted").mkdir()
    place = str(machine.folder) + ".place/linked"
    machine.wrapper = ["unshare", "--mount", "sh", "-c", f'mount --bind {place} mounted && exec "$@"', "sh"]
    _expect_once(machine, "appends_on_a_mount")


def rerun_rewrites_no_file(machine):
    _expect_once(machine, "replaces", "truncates", "maps", "commits", "inserts")


def rerun_removes_and_makes_nothing(machine):
    _expect_once(machine, "removes", "removes_a_folder", "moves", "makes_a_folder", "makes_a_link", "makes_a_pipe",
                 "makes_a_lock", "copies")


def rerun_changes_nothing_about_a_file(machine):
    kinds = ["changes_mode", "changes_mode_by_descriptor", "changes_time", "changes_time_by_descriptor"]
    _expect_once(machine, *kinds, *(["changes_owner"] if os.getuid() == 0 else []))


def rerun_changes_no_attribute_of_a_file(machine):
    _expect_once(machine, "changes_attribute")


def rerun_changes_no_flag_of_a_file(machine):
    if shutil.which("lsattr") is None:
        skip("no lsattr here")
    _expect_once(machine, "changes_flags")


def background_writer_of_a_rerun_writes_nothing(machine):
    machine.plan(AGAIN)
    writes = ('( exec 5>ckpt.bin; for i in 1 2 3 4 5 6 7 8; do echo "$CUDADIAG_PASS" >&5; sleep .2; done ) >/dev/null 2>&1 & '
              'exec "$@"')
    rerun(machine, "sh", "-c", writes, "sh", *program("probe.py"))
    file = machine.folder / "ckpt.bin"
    for _ in range(100):
        if _lines(file) == 8:
            break
        time.sleep(0.1)
    expect(file.read_text(), "record\n" * 8, "the checkpoint of the first run")
    expect(evidence(machine.report())[0], "proven", "grade")


def rerun_sends_nothing(machine):
    _expect_once(machine, "sends_to_a_server", "sends_to_a_local_server", "sends_to_a_nameless_server",
                 "sends_a_local_datagram", "writes_to_a_pipe")
    # In a network of its own nobody takes them, and the program need not know.
    _expect_once(machine, "sends_a_datagram", "sends_a_message", reached=_has_private_network(machine))


def rerun_serves_nobody(machine):
    _expect_once(machine, "listens", "listens_without_a_name")


def rerun_at_the_port_of_a_living_server_leaves_it_alone(machine):
    """The first run's server lives on; the rerun starts another at the same port, and asks that one."""
    _needs_private_network(machine)
    machine.plan(AGAIN)
    with Place(machine) as place:
        count, result = _changed(machine, place, "leaves_a_server")
        expect(count, 1, "clients that the first run's server has had, where it says " + result.stderr)
        expect(evidence(machine.report())[0], "proven", "grade")
        socket.create_connection(("127.0.0.1", int((place.path / "free").read_text()))).close()
        _until(lambda: _lines(place.path / "count") == 2, "an answer of the first run's server")
        for pid in kills.processes():
            if str(place.path) in kills.words(pid, "cmdline"):
                kills.kill(pid)


def daemon_of_a_rerun_does_nothing(machine):
    _expect_once(machine, "leaves_a_daemon", reached=True)


def rerun_has_no_descriptor_of_the_first_run(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        count, result = _changed(machine, place, "writes_to_an_inherited_descriptor")
        expect(count, 1, "lines that were written")
        expect_in("before it reached this call", result.stderr, "what came of the rerun")


def rerun_shares_no_memory_with_others(machine):
    _expect_once(machine, "adds_to_shared_memory", "adds_to_a_semaphore", "adds_to_a_message_queue",
                 "adds_to_a_file_in_shared_memory")


def rerun_adds_to_no_message_queue(machine):
    _expect_once(machine, "adds_to_a_posix_queue")


def rerun_touches_no_stranger(machine):
    kinds = ["signals_a_stranger", "limits_a_stranger", "slows_a_stranger", "marks_a_stranger"]
    if sys.version_info >= (3, 9):
        kinds.append("signals_by_descriptor")
    _expect_once(machine, *kinds)


def kernel_confines_the_rerun_whoever_answers_its_calls(machine):
    """Landlock keeps it from looking into processes of others, which no answer to a system call does."""
    machine.plan(AGAIN)
    with Place(machine) as place:
        looks = f'readlink /proc/{place.stranger().pid}/cwd; exec "$@"'
        first = rerun(machine, "sh", "-c", looks, "sh", *program("probe.py"))
        expect(first.stdout, os.getcwd() + "\n", "what the first run saw")
        (shown,) = machine.state.glob("cudadiag/2*/confirm/output.txt")
        expect(shown.read_text(), "", "what the rerun saw")
        expect(evidence(machine.report())[0], "proven", "grade")


def emergency_checkpoint_of_the_first_run_stays_as_it_was(machine):
    _expect_once(machine, "saves_after_the_failure", reached=True)


# ---- what it may do


def _expect_proven(machine, *kinds):
    machine.plan(AGAIN)
    machine.environment.pop("PYTHONDONTWRITEBYTECODE", None)
    (machine.folder / "modules").mkdir(exist_ok=True)
    machine.environment["PYTHONPATH"] = str(machine.folder / "modules")
    (machine.folder / "modules/site_packages_of_none.py").write_text("answer = 42\n")
    unproven = []
    for kind in kinds:
        machine.runs.unlink(missing_ok=True)
        result = rerun(machine, *program("harmless.py", kind))
        grade, because = evidence(machine.report())
        if grade != "proven":
            unproven.append((kind, because, machine.report()["passes"][-1], result.stderr))
        shutil.rmtree(machine.folder / "modules/__pycache__", ignore_errors=True)
    expect(unproven, [], "kinds that no rerun proved")


def program_with_temporary_files_is_proven(machine):
    _expect_proven(machine, "imports_a_package", "makes_a_temporary_file", "makes_a_temporary_folder",
                   "changes_a_temporary_file", "uses_a_temporary_database", "uses_a_database_in_memory",
                   "makes_a_memory_file", "makes_a_nameless_file", "packs_an_archive", "writes_to_a_cache")


def program_of_several_processes_is_proven(machine):
    _expect_proven(machine, "uses_a_pool", "uses_a_queue", "uses_a_lock", "uses_a_manager", "shares_memory",
                   "spawns_processes", "forks", "detaches_a_child", "kills_a_child", "ends_a_group")


def program_that_runs_commands_is_proven(machine):
    _expect_proven(machine, "runs_a_command", "runs_a_pipeline", "runs_a_shell_with_a_document", "runs_git",
                   "prints_much", "prints_to_both", "opens_its_output", "compiles", "runs_a_loop")


def program_that_talks_to_itself_is_proven(machine):
    _expect_proven(machine, "starts_threads", "talks_over_a_pair", "talks_over_a_local_socket",
                   "talks_over_a_nameless_socket", "passes_descriptors", "waits_for_events", "signals_itself",
                   "names_its_threads", "names_threads_of_a_child", "limits_itself")


def program_whose_processes_meet_at_a_port_is_proven(machine):
    _needs_private_network(machine)
    _expect_proven(machine, "talks_over_tcp", "waits_for_a_server", "talks_over_datagrams")
    expect(machine.report()["passes"][1]["kept_from"], [], "what the rerun was kept from")


def program_whose_processes_meet_at_a_port_is_proven_in_a_container(machine):
    """Where root lacks the right to make a network, but may make a user namespace."""
    if os.getuid() != 0:
        skip("only root can give up a right of root")
    machine.wrapper = ["setpriv", "--bounding-set", "-sys_admin"]
    _needs_private_network(machine)
    _expect_proven(machine, "talks_over_tcp", "reads_files")


def rerun_that_can_have_no_network_says_so(machine):
    machine.wrapper = program("without_namespaces.py")
    machine.plan(AGAIN)
    result = rerun(machine, *program("harmless.py", "talks_over_tcp"))
    expect_in(" (a private network is refused here); to allow it: cudadiag bisect\n", result.stderr, "message")
    expect([each["name"] for each in machine.report()["passes"]], ["record", "confirm"], "passes")


def program_that_reads_is_proven(machine):
    _expect_proven(machine, "reads_files", "writes_to_nothing", "asks_for_names", "makes_numbers")


def nothing_of_a_rerun_is_left(machine):
    machine.plan(AGAIN)
    rerun(machine, *program("harmless.py", "leaves_a_file_in_shared_memory"))
    os.unlink(f"/dev/shm/{machine.folder.name}.record")
    (folder,) = [path for path in (machine.state / "cudadiag").iterdir() if not path.is_symlink()]
    expect((folder / "confirm/private").exists(), False, "a private folder in the session")
    expect([name for name in os.listdir(machine.folder) if name.startswith("cudadiag-")], [], "temporary folders")
    own = [name for name in os.listdir("/dev/shm") if name.startswith(machine.folder.name)]  # others test beside us
    expect(own, [], "files in shared memory")


def bisect_may_do_what_the_program_does(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        machine.run(*program("changes.py", "appends_elsewhere", place.path))
        expect_success(bisect(machine))
        expect(_lines(place.path / "count"), 2, "lines that were written")
        expect(evidence(machine.report())[0], "proven", "grade")
        expect([(each["isolated"], each["kept_from"]) for each in machine.report()["passes"]], [(False, [])] * 2, "passes")


# ---- its end


def whoever_is_killed_leaves_nothing_of_a_rerun_and_no_stranger_is_signalled(machine):
    machine.plan(AGAIN)
    for number, who in enumerate(["launcher", "supervisor", "program"] * 2):
        _, left, strangers = kills.one(machine, who, 0.1 * number, number)
        expect((who, left, strangers), (who, [], True), "who was killed, what is left, and whether strangers live")


SERVICE = """
( sleep .3; setsid sh -c 'echo begun >>"$0"; sleep 4; echo ended >>"$0"' "$PWD/service" & ) &
exec "$@"
"""


def orphan_of_another_program_is_none_of_the_reruns(machine):
    """An entry point of a container starts services, and then becomes cudadiag."""
    machine.plan(AGAIN)
    slow = 'test "$CUDADIAG_PASS" = record || sleep 1; exec "$@"'
    command = machine.command("run", "--rerun=auto", "--no-device-pass", "--", "sh", "-c", slow, "sh", *program("probe.py"))
    machine.plain("sh", "-c", SERVICE, "sh", *command)
    expect(evidence(machine.report())[0], "proven", "grade")
    _until(lambda: (machine.folder / "service").read_text() == "begun\nended\n", "the end of the service")


def _state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _until(condition, what):
    for _ in range(500):
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("did not come: " + what)


def rerun_is_stopped_and_goes_on_with_its_launcher(machine):
    machine.plan(AGAIN)
    run = machine.start(*machine.command("run", "--rerun=always", "--no-device-pass", "--", *program("probe.py", "rerun-hangs")))

    def target():
        return [found for child in kills.children(run.pid) if "__supervise" in kills.words(child, "cmdline")
                for found in kills.children(child)]
    (rerun_pid,) = _until(target, "a rerun")
    _until(lambda: "rerun-hangs" in kills.words(rerun_pid, "cmdline"), "its program")
    run.send_signal(signal.SIGTSTP)
    _until(lambda: _state_of(run.pid) == "T" and _state_of(rerun_pid) == "T", "a stop of both")
    run.send_signal(signal.SIGCONT)
    _until(lambda: _state_of(rerun_pid) == "S", "the rerun again")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    expect(outcomes(machine.report())[1], ("confirm", "interrupted"), "pass")


def orphan_of_another_program_is_not_ended_with_a_hanging_one(machine):
    command = machine.command("run", "--hang-after", "1", "--rerun=never", "--", *hangs.stuck(machine, "kernel"))
    ended = machine.plain("sh", "-c", SERVICE, "sh", *command)
    expect_in("no progress for", ended.stderr, "message")
    _until(lambda: (machine.folder / "service").read_text() == "begun\nended\n", "the end of the service")


def rerun_that_asks_the_terminal_is_ended_at_once(machine):
    machine.plan(AGAIN)
    asks = 'test "$CUDADIAG_PASS" = record || read -r answer </dev/tty; exec "$@"'
    machine.on_terminal(*machine.command("run", "--rerun=always", "--no-device-pass", "--", "sh", "-c", asks, "sh",
                                         *program("probe.py")))
    expect(outcomes(machine.report())[1], ("confirm", "it asked the terminal"), "pass")


def rerun_that_issues_nothing_is_ended_early(machine):
    machine.plan(AGAIN)
    waits = 'test "$CUDADIAG_PASS" = record || exec sleep 1000; exec "$@"'
    rerun(machine, "sh", "-c", waits, "sh", *program("probe.py"), options=["--wait-limit", "0.1"])
    expect(outcomes(machine.report())[1], ("confirm", "it issued nothing for too long"), "pass")


def rerun_by_hand_that_has_failed_may_finish_what_it_writes(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        machine.run(*program("changes.py", "saves_after_the_failure", place.path))
        expect_success(bisect(machine))
        expect((place.path / "model.ckpt").stat().st_size, 4_000_000, "bytes of the checkpoint")
