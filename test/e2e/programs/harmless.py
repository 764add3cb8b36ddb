"""harmless.py KIND...: does ordinary things that change only the program's own files, then launches as probe.py does. Prints
each kind once it is done."""

import asyncio
import ctypes
import multiprocessing
import multiprocessing.shared_memory
import os
import pathlib
import pwd
import resource
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import zipfile


def imports_a_package():
    import site_packages_of_none as package  # noqa: F401, created by the test next to the program's working folder
    assert package


def makes_a_temporary_file():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")


def makes_a_temporary_folder():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a" / "b"
        path.mkdir(parents=True)
        (path / "file").write_text("x")
        (path / "file").rename(path / "other")


def changes_a_temporary_file():
    number, name = tempfile.mkstemp()
    os.fchmod(number, 0o700)
    os.chmod(name, 0o600)
    os.utime(name, (0, 0))
    os.unlink(name)


def uses_a_pool():
    with multiprocessing.Pool(2) as pool:
        assert pool.map(abs, [-1, 2]) == [1, 2]


def uses_a_queue():
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=queue.put, args=(1,))
    child.start()
    assert queue.get(timeout=30) == 1
    child.join()


def uses_a_lock():
    with multiprocessing.Lock():
        pass


def uses_a_manager():
    with multiprocessing.Manager() as manager:
        assert manager.dict(a=1)["a"] == 1


def shares_memory():
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    memory.buf[0] = 1
    memory.close()
    memory.unlink()


def leaves_a_file_in_shared_memory():
    _shared_name().write_text("x")


def _shared_name():
    return pathlib.Path("/dev/shm", pathlib.Path.cwd().name + "." + os.environ["CUDADIAG_PASS"])


def names_a_nameless_file_in_shared_memory():
    number = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.link(f"/proc/self/fd/{number}", _shared_name(), src_dir_fd=number)  # with this argument, Python follows links
    os.close(os.open(_shared_name(), os.O_RDWR))
    os.unlink(_shared_name())


def makes_a_folder_in_shared_memory():
    folder = _shared_name()
    folder.mkdir(mode=0o750)
    assert folder.stat().st_mode & 0o777 == 0o750
    (folder / "file").write_text("x")
    shutil.rmtree(folder)


def moves_a_file_in_shared_memory():
    name = _shared_name()
    other = name.with_suffix(".other")
    os.umask(0o027)
    name.write_text("x")
    assert name.stat().st_mode & 0o777 == 0o640
    name.rename(other)
    os.link(other, name)
    os.chmod(name, 0o600)
    with open(other, "a+") as file:
        os.unlink(other)
        os.unlink(name)
        file.write("x")
        with open(f"/proc/self/fd/{file.fileno()}", "r+") as again:
            again.write("y")


def has_no_descriptor_left_for_shared_memory():
    """The failed creation leaves no file, so the same name can be created later."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, limits[1]))
    try:
        while True:
            os.dup(0)
    except OSError:
        pass
    try:
        os.open(_shared_name(), os.O_CREAT | os.O_EXCL | os.O_RDWR)
        raise AssertionError("it has a descriptor left")
    except OSError as error:
        assert error.errno == 24, error  # EMFILE
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    os.close(os.open(_shared_name(), os.O_CREAT | os.O_EXCL | os.O_RDWR))
    os.unlink(_shared_name())


def spawns_processes():
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=print, args=("spawned",))
    child.start()
    child.join()
    assert child.exitcode == 0


def runs_a_command():
    subprocess.run(["echo", "x"], check=True)


def runs_a_pipeline():
    subprocess.run("seq 1 1000 | sort -r | tail -1 > /dev/null", shell=True, check=True)


def runs_a_shell_with_a_document():
    subprocess.run(["bash", "-c", "cat <<TEXT >/dev/null\nx\nTEXT"], check=True)


def runs_git():
    subprocess.run(["git", "--version"], check=True)


def prints_much():
    for _ in range(2000):
        print("x" * 200)


def prints_to_both():
    print("out", flush=True)
    print("error", file=sys.stderr, flush=True)


def uses_a_database_in_memory():
    sqlite3.connect(":memory:").execute("create table rows (a)")


def uses_a_temporary_database():
    with tempfile.TemporaryDirectory() as folder, sqlite3.connect(f"{folder}/rows.db") as database:
        database.execute("create table rows (a)")


def makes_a_memory_file():
    number = os.memfd_create("x")
    os.write(number, b"x")
    with open(f"/proc/self/fd/{number}", "r+b") as again:
        again.write(b"y")


def starts_threads():
    threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def runs_a_loop():
    async def work():
        process = await asyncio.create_subprocess_exec("true")
        await process.wait()
    asyncio.run(work())


def talks_over_a_pair():
    one, other = socket.socketpair()
    one.sendmsg([b"x"])
    assert other.recv(1) == b"x"


def talks_over_a_local_socket():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/socket")
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{folder}/socket")


def talks_over_a_nameless_socket():
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(f"\0cuda-test-{os.getpid()}")
        server.listen()
        client.connect(f"\0cuda-test-{os.getpid()}")


def _answer(port):
    with socket.create_connection(("localhost", port)) as client:
        client.sendall(b"rank 1")


def talks_over_tcp():
    """Like ranks that connect to each other at a port."""
    with socket.create_server(("", 0)) as server:
        child = multiprocessing.get_context("spawn").Process(target=_answer, args=(server.getsockname()[1],))
        child.start()
        with server.accept()[0] as connection:
            assert connection.recv(10) == b"rank 1"
        child.join()


def waits_for_a_server():
    """The clients retry until the server listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = os.fork()
    if child == 0:
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                os._exit(0)
            except ConnectionRefusedError:
                time.sleep(0.01)
        os._exit(1)
    time.sleep(0.1)
    socket.create_server(("127.0.0.1", port)).accept()[0].close()
    assert os.waitpid(child, 0)[1] == 0


def talks_over_datagrams():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as receiver, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        receiver.bind(("::1", 0))
        sender.sendto(b"x", receiver.getsockname())
        assert receiver.recv(1) == b"x"


def passes_descriptors():
    one, other = socket.socketpair()
    socket.send_fds(one, [b"x"], [0])
    assert socket.recv_fds(other, 1, 1)[1]


def waits_for_events():
    poll = select.epoll()
    reader, writer = os.pipe()
    poll.register(reader, select.EPOLLIN)
    os.write(writer, b"x")
    assert poll.poll(1)


def reads_files():
    for path in pathlib.Path("/etc").iterdir():
        if path.is_file() and os.access(path, os.R_OK):
            path.read_bytes()


def signals_itself():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)


def kills_a_child():
    child = subprocess.Popen(["sleep", "100"])
    child.kill()
    child.wait()


def ends_a_group():
    child = subprocess.Popen(["sh", "-c", "sleep 100 & wait"], start_new_session=True)
    time.sleep(0.1)
    os.killpg(child.pid, signal.SIGTERM)
    child.wait()


def names_its_threads():
    for task in os.listdir("/proc/self/task"):
        pathlib.Path(f"/proc/self/task/{task}/comm").write_text("worker")


def names_threads_of_a_child():
    subprocess.run([sys.executable, "-c", "open('/proc/self/comm', 'w').write('worker')"], check=True)


def limits_itself():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (soft - 2, hard))
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
    if os.uname().machine == "x86_64":
        limits = (ctypes.c_ulong * 2)(2, 2)
        assert ctypes.CDLL(None).syscall(160, resource.RLIMIT_CORE, limits) == 0, "setrlimit"
    os.nice(1)
    os.sched_setaffinity(0, os.sched_getaffinity(0))


def writes_to_nothing():
    with open("/dev/null", "w") as file:
        file.write("x")
    assert len(open("/dev/urandom", "rb").read(8)) == 8


def writes_to_a_cache():
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH", "TORCH_EXTENSIONS_DIR"):
        default = pathlib.Path.home() / ".cache" / name.lower()
        folder = pathlib.Path(os.environ.get(name, default))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "entry").write_text("x")


def asks_for_names():
    pwd.getpwuid(os.getuid())
    socket.gethostname()
    socket.getaddrinfo("localhost", 80)


def makes_numbers():
    uuid.uuid1()
    uuid.uuid4()


def packs_an_archive():
    with tempfile.TemporaryFile() as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "x" * 1000)


def forks():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def detaches_a_child():
    subprocess.run(["setsid", "-w", "true"], check=True)


def opens_its_output():
    with open("/dev/stdout", "a") as file:
        file.write("again\n")
    with open("/proc/self/fd/2", "a") as file:
        file.write("again\n")


def makes_a_nameless_file():
    number = os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(number, b"x")


def compiles():
    if shutil.which("cc") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "a.c"
        source.write_text("int f(void) { return 1; }\n")
        subprocess.run(["cc", "-shared", "-o", f"{folder}/a.so", source], check=True)
        assert ctypes.CDLL(f"{folder}/a.so").f() == 1


if __name__ == "__main__":
    for kind in sys.argv[1:]:
        globals()[kind]()
        print("done:", kind, flush=True)
    import probe  # noqa: F401, launches once it is imported
