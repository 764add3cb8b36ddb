"""What programs/changes.py changes outside itself, what each change needs, and how many times it was made."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import pty
import resource
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time

from harness import expect, program, skip
from passes import rerun

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


def lines_of(path):
    return len(path.read_text().splitlines())


class Place:
    """A folder next to the working folder, which contains what programs/changes.py changes, and counts the changes."""

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
        for name in ("results", "linked.txt"):
            self.closing.callback((machine.folder / name).unlink)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.close()

    def note(self, name, value):
        (self.path / name).write_text(str(value))

    def serve(self, name, family, kind, address):
        """Counts the connections or datagrams that arrive."""
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
            time.sleep(0.3)  # time to receive what was sent
            return len(count)
        return counted

    def stranger(self, before=""):
        child = subprocess.Popen([sys.executable, "-c", before + COUNTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.closing.callback(child.kill)
        child.stdout.readline()
        self.note("stranger", child.pid)
        return child


def changed(machine, place, kind, *rerun_options):
    """Returns how many times the program made its change, in a run with the reruns that cudadiag allows."""
    count = _counters(machine, place.path).get(kind, lambda: lines_of(place.path / "count"))
    with _surroundings(machine, place, kind) as own_count:
        machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
        machine.runs.unlink(missing_ok=True)
        options = {"pass_fds": [int(machine.environment["GIVEN"])]} if "GIVEN" in machine.environment else {}
        result = rerun(machine, *program("changes.py", kind, place.path), options=rerun_options, **options)
        return (own_count or count)(), result


def _counters(machine, path):
    """Returns how many times a kind of change was made, according to its traces in files."""
    counters = {
        "appends_here": lambda: lines_of(machine.folder / "log.txt"),
        "appends_through_a_linked_folder": lambda: lines_of(path / "linked/count"),
        "appends_on_a_mount": lambda: lines_of(path / "linked/count"),
        "truncates": lambda: 1000 - (path / "large").stat().st_size,
        "maps": lambda: (path / "mapped").read_bytes()[0],
        "removes": lambda: 9 - len(list((path / "queue").iterdir())),
        "removes_a_folder": lambda: 9 - len(list((path / "folders").iterdir())),
        "moves": lambda: len(list((path / "done").iterdir())),
        "changes_mode": lambda: (path / "large").stat().st_mode & 7,
        "changes_mode_by_descriptor": lambda: (path / "large").stat().st_mode & 7,
        **{"changes_mode_by_" + way: lambda: (path / "large").stat().st_mode & 7
           for way in ("a_path_with_two_slashes", "a_path_with_a_dot", "a_link_to_its_descriptors")},
        "changes_time": lambda: round((1_000_000_000 - (path / "large").stat().st_mtime) / 100),
        "changes_time_by_descriptor": lambda: round((1_000_000_000 - (path / "large").stat().st_mtime) / 100),
        "changes_owner": lambda: (path / "large").stat().st_uid - os.getuid(),
        "commits": lambda: len(subprocess.run(["git", "-C", path / "tree", "log", "--format=%s"], capture_output=True,
                                              text=True, check=True).stdout.splitlines()),
        "inserts": lambda: sqlite3.connect(path / "rows.db").execute("select count(*) from rows").fetchone()[0],
    }
    for name in ("makes_a_folder", "makes_a_link", "makes_a_pipe", "makes_a_lock", "copies"):
        counters[name] = lambda: len(list((path / "made").iterdir()))
    return counters


# ---- what a kind of change needs, and how it is counted; None means that it is counted by its traces in files


def _repository(machine, place):
    subprocess.run(["git", "init", "-q", place.path / "tree"], check=True)
    yield None


def _database(machine, place):
    sqlite3.connect(place.path / "rows.db").execute("create table rows (pass)")
    yield None


def _attribute(machine, place):
    large = place.path / "large"
    try:
        os.setxattr(large, "user.count", b"0")
    except OSError:
        skip("this file system has no attributes")
    yield lambda: int(os.getxattr(large, "user.count"))


def _flags(machine, place):
    def flags():
        return subprocess.run(["lsattr", place.path / "large"], capture_output=True, text=True).stdout.split()[0]
    yield lambda: 1 if "A" in flags() else 2


def _server(name, family, kind, address):
    def served(machine, place):
        yield place.serve(name, family, kind, address(place.path))
    return served


def _free_port(machine, place):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place.note("free", free.getsockname()[1])
    yield None


def _pipe(machine, place):
    fifo = place.path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    yield lambda: len(os.read(reader, 100))
    os.close(reader)


def _inherited_descriptor(machine, place):
    number = os.open(place.path / "count", os.O_WRONLY | os.O_APPEND)
    machine.environment["GIVEN"] = str(number)
    yield None
    del machine.environment["GIVEN"]
    os.close(number)


def _signalled_stranger(machine, place):
    child = place.stranger()
    yield lambda: int(child.communicate()[0].split()[0])


def _group_without_leader(machine, place):
    child = place.stranger("import os\nos.setpgid(0, 0)\nif os.fork():\n    os._exit(0)\n")
    child.wait()
    place.note("group", child.pid)
    yield lambda: int(child.communicate()[0].split()[0])


def _terminal(machine, place):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    place.note("terminal", os.ttyname(theirs))
    yield lambda: struct.unpack("4H", fcntl.ioctl(ours, termios.TIOCGWINSZ, bytes(8)))[1] - 80
    os.close(ours)
    os.close(theirs)


def _version(machine, place):
    number = os.open(place.path / "large", os.O_RDONLY)

    def version():
        return struct.unpack("l", fcntl.ioctl(number, 0x80086603, bytes(8)))[0]
    try:
        before = version()
    except OSError:
        skip("this file system has no versions of files")
    yield lambda: version() - before
    os.close(number)


def _replaced_file(machine, place):
    """A service that replaces each file that the program makes."""
    names = {name: pathlib.Path(f"/dev/shm/{place.path.name}.{name}") for name in ("record", "confirm")}
    place.note("shared", place.path.name)
    over = threading.Event()

    def replace(path):
        while not over.is_set():
            if path.exists():
                path.unlink()
                service = path.with_name(path.name + ".service")
                service.write_text("service\n")
                return service.rename(path)
            time.sleep(0.01)
    threads = [threading.Thread(target=replace, args=(path,)) for path in names.values()]
    for thread in threads:
        thread.start()

    def count():
        over.set()
        for thread in threads:
            thread.join()
        expect(names["confirm"].read_text(), "service\n", "the file of the service")
        return lines_of(names["record"]) - 1
    yield count
    over.set()
    for path in names.values():
        path.unlink(missing_ok=True)


def _made_file(machine, place):
    """A service that makes each file that the program failed to make."""
    names = [pathlib.Path(f"/dev/shm/{place.path.name}.{name}") for name in ("record", "confirm")]
    place.note("shared", place.path.name)
    over = threading.Event()

    def make(path):
        while not over.is_set():
            if path.with_name(path.name + ".failed").exists():
                return path.write_text("service\n")
            time.sleep(0.01)
    threads = [threading.Thread(target=make, args=(path,)) for path in names]
    for thread in threads:
        thread.start()

    def count():
        over.set()
        for thread in threads:
            thread.join()
        return sum(path.exists() for path in names)
    yield count
    over.set()
    for path in names:
        path.unlink(missing_ok=True)
        path.with_name(path.name + ".failed").unlink(missing_ok=True)


def _limited_stranger(machine, place):
    child = place.stranger()
    soft, _ = resource.prlimit(child.pid, resource.RLIMIT_NOFILE)
    yield lambda: soft - resource.prlimit(child.pid, resource.RLIMIT_NOFILE)[0]


def _slowed_stranger(machine, place):
    child = place.stranger()
    nice = os.getpriority(os.PRIO_PROCESS, child.pid)
    yield lambda: os.getpriority(os.PRIO_PROCESS, child.pid) - nice


def _marked_stranger(machine, place):
    child = place.stranger()
    mark = pathlib.Path(f"/proc/{child.pid}/oom_score_adj")
    before = int(mark.read_text())
    yield lambda: int(mark.read_text()) - before


def _shared_memory(machine, place):
    number = libc.shmget(0, 4096, 0o1600)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(number, None, 0)
    place.note("shm", number)
    yield lambda: ctypes.c_int.from_address(address).value
    libc.shmctl(number, 0, None)


def _semaphore(machine, place):
    number = libc.semget(0, 1, 0o1600)
    place.note("sem", number)
    yield lambda: libc.semctl(number, 0, 12)
    libc.semctl(number, 0, 0)


def _message_queue(machine, place):
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


def _posix_queue(machine, place):
    name = ("/" + place.path.name).encode()
    number = libc.mq_open(name, os.O_CREAT | os.O_RDONLY | os.O_NONBLOCK, 0o600, struct.pack("8l", 0, 8, 8, *[0] * 5))
    if number < 0:
        skip("this machine has no POSIX message queues")
    place.note("mq", name.decode())
    buffer = ctypes.create_string_buffer(8192)

    def queued():
        count = 0
        while libc.mq_receive(number, buffer, 8192, None) >= 0:
            count += 1
        return count
    yield queued
    libc.mq_unlink(name)


def _file_in_shared_memory(machine, place):
    file = pathlib.Path("/dev/shm") / place.path.name
    file.write_text("")
    place.note("shared", file.name)
    yield lambda: lines_of(file)
    file.unlink()


def _checkpoint(machine, place):
    def passes():
        written = (place.path / "model.ckpt").read_bytes()
        expect((len(written), set(written)), (4_000_000, {ord("r")}), "the checkpoint of the first run")
        return 1
    yield passes


NEEDS = {
    "commits": _repository,
    "inserts": _database,
    "changes_attribute": _attribute,
    "changes_flags": _flags,
    "sends_to_a_server": _server("port", socket.AF_INET, socket.SOCK_STREAM, lambda path: ("127.0.0.1", 0)),
    "sends_a_datagram": _server("udp", socket.AF_INET, socket.SOCK_DGRAM, lambda path: ("127.0.0.1", 0)),
    "sends_a_message": _server("udp", socket.AF_INET, socket.SOCK_DGRAM, lambda path: ("127.0.0.1", 0)),
    "sends_to_a_local_server": _server("name", socket.AF_UNIX, socket.SOCK_STREAM, lambda path: str(path / "socket")),
    "sends_to_a_nameless_server": _server("abstract", socket.AF_UNIX, socket.SOCK_STREAM, lambda path: "\0" + path.name),
    "sends_to_a_local_server_by_descriptor":
        _server("name", socket.AF_UNIX, socket.SOCK_STREAM, lambda path: str(path / "socket")),
    "sends_a_local_datagram": _server("name", socket.AF_UNIX, socket.SOCK_DGRAM, lambda path: str(path / "datagrams")),
    "listens": _free_port,
    "leaves_a_server": _free_port,
    "writes_to_a_pipe": _pipe,
    "writes_to_an_inherited_descriptor": _inherited_descriptor,
    "signals_a_stranger": _signalled_stranger,
    "signals_by_descriptor": _signalled_stranger,
    "signals_by_a_folder_of_a_process": _signalled_stranger,
    "signals_a_group_without_leader": _group_without_leader,
    "limits_a_stranger": _limited_stranger,
    "slows_a_stranger": _slowed_stranger,
    "marks_a_stranger": _marked_stranger,
    "adds_to_shared_memory": _shared_memory,
    "adds_to_a_semaphore": _semaphore,
    "adds_to_a_message_queue": _message_queue,
    "adds_to_a_posix_queue": _posix_queue,
    "adds_to_a_file_in_shared_memory": _file_in_shared_memory,
    "writes_to_a_file_that_replaced_its_own": _replaced_file,
    "fails_to_make_a_file_that_a_service_makes": _made_file,
    "resizes_a_terminal": _terminal,
    "changes_version": _version,
    "saves_after_the_failure": _checkpoint,
}


def _surroundings(machine, place, kind):
    needs = NEEDS.get(kind)
    return contextlib.contextmanager(needs)(machine, place) if needs else contextlib.nullcontext()
