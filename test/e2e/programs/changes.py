"""changes.py KIND PLACE: changes something outside itself once, then launches ten kernels, the third of which may be
planned to fail. PLACE is a folder that belongs to another program. A kind imports the large modules that only it needs."""

import array
import ctypes
import fcntl
import os
import pathlib
import resource
import signal
import socket
import struct
import sys
import time

import cuda

KIND, PLACE = sys.argv[1], pathlib.Path(sys.argv[2])
PASS = os.environ.get("CUDADIAG_PASS", "plain")
libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def append(path):
    with open(path, "a") as file:
        file.write(PASS + "\n")


def next_number(folder):
    return len(list(pathlib.Path(folder).iterdir()))


def stranger():
    return int((PLACE / "stranger").read_text())


def appends_here():
    append("log.txt")


def appends_elsewhere():
    append(PLACE / "count")


def appends_through_a_linked_folder():
    append("results/count")


def appends_through_a_linked_file():
    append("linked.txt")


def appends_on_a_mount():
    append("mounted/count")


def appends_in_a_shell():
    import subprocess
    subprocess.run(["sh", "-c", f"echo {PASS} >> {PLACE}/count"], check=True)


def appends_in_a_thread():
    import threading
    failed = []

    def work():
        try:
            append(PLACE / "count")
        except OSError as error:
            failed.append(error)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def appends_in_a_session_of_its_own():
    import subprocess
    subprocess.run(["setsid", "-w", sys.executable, "-c", f"open('{PLACE}/count', 'a').write('x\\n')"], check=True)


def appends_by_a_hard_link():
    os.link(PLACE / "count", "here.txt")
    append("here.txt")
    os.unlink("here.txt")


def replaces():
    temporary = PLACE / "new"
    temporary.write_text((PLACE / "count").read_text() + PASS + "\n")
    os.replace(temporary, PLACE / "count")


def truncates():
    size = os.stat(PLACE / "large").st_size
    os.truncate(PLACE / "large", size - 1)


def maps():
    import mmap
    with open(PLACE / "mapped", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0] += 1


def removes():
    sorted((PLACE / "queue").iterdir())[0].unlink()


def removes_a_folder():
    import shutil
    shutil.rmtree(sorted((PLACE / "folders").iterdir())[0])


def moves():
    first = sorted((PLACE / "queue").iterdir())[0]
    first.rename(PLACE / "done" / first.name)


def makes_a_folder():
    (PLACE / "made" / str(next_number(PLACE / "made"))).mkdir()


def makes_a_link():
    os.symlink("/", PLACE / "made" / str(next_number(PLACE / "made")))


def makes_a_pipe():
    os.mkfifo(PLACE / "made" / str(next_number(PLACE / "made")))


def makes_a_lock():
    os.close(os.open(PLACE / "made" / str(next_number(PLACE / "made")), os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def copies():
    import shutil
    shutil.copy(__file__, PLACE / "made" / str(next_number(PLACE / "made")))


def changes_mode():
    path = PLACE / "large"
    path.chmod((path.stat().st_mode & 0o777) + 1)


def changes_mode_by_descriptor():
    number = os.open(PLACE / "large", os.O_RDONLY)
    os.fchmod(number, (os.fstat(number).st_mode & 0o777) + 1)


def changes_time():
    time_now = os.stat(PLACE / "large").st_mtime
    os.utime(PLACE / "large", (time_now, time_now - 100))


def changes_time_by_descriptor():
    number = os.open(PLACE / "large", os.O_RDONLY)
    os.utime(number, (0, os.fstat(number).st_mtime - 100))


def by_descriptor(spelling):
    """The file system of /proc resolves `self` for the process that asks, however the path spells it."""
    number = os.open(PLACE / "large", os.O_RDONLY)
    os.chmod(spelling + str(number), (os.fstat(number).st_mode & 0o777) + 1)


def changes_mode_by_a_path_with_two_slashes():
    by_descriptor("/proc//self/fd/")


def changes_mode_by_a_path_with_a_dot():
    by_descriptor("/proc/./self/fd/")


def changes_mode_by_a_link_to_its_descriptors():
    if not os.path.islink("descriptors"):
        os.symlink("/proc/self/fd", "descriptors")
    by_descriptor("descriptors/")


def changes_attribute():
    count = int(os.getxattr(PLACE / "large", "user.count"))
    os.setxattr(PLACE / "large", "user.count", str(count + 1).encode())


def changes_owner():
    os.chown(PLACE / "large", os.stat(PLACE / "large").st_uid + 1, -1)


def changes_flags():
    number = os.open(PLACE / "large", os.O_RDONLY)
    flags = array.array("l", [0])
    fcntl.ioctl(number, 0x80086601, flags)  # FS_IOC_GETFLAGS
    flags[0] ^= 0x80  # turns off access times
    fcntl.ioctl(number, 0x40086602, flags)


def commits():
    import subprocess
    subprocess.run(["git", "-C", str(PLACE / "tree"), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                    "--allow-empty", "-m", PASS], check=True)


def inserts():
    import sqlite3
    with sqlite3.connect(PLACE / "rows.db") as database:
        database.execute("insert into rows values (?)", (PASS,))


def sends_to_a_server():
    socket.create_connection(("127.0.0.1", int((PLACE / "port").read_text()))).close()


def sends_a_datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", int((PLACE / "udp").read_text())))


def sends_a_message():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendmsg([b"x"], [], 0, ("127.0.0.1", int((PLACE / "udp").read_text())))


def sends_to_a_local_server():
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(str(PLACE / "socket"))


def sends_to_a_nameless_server():
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect("\0" + (PLACE / "abstract").read_text())


def sends_a_local_datagram():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", str(PLACE / "datagrams"))


def sends_to_a_local_server_by_descriptor():
    number = os.open(PLACE / "socket", os.O_PATH)
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(f"/proc//self/fd/{number}")


def writes_to_a_pipe():
    with open(PLACE / "fifo", "w") as file:
        file.write("x")


def writes_to_an_inherited_descriptor():
    os.write(int(os.environ["GIVEN"]), b"x\n")


def listens():
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int((PLACE / "free").read_text())))
    server.listen()
    append_by = socket.create_connection(server.getsockname())
    append_by.close()
    append(PLACE / "count")


def listens_without_a_name():
    server = socket.socket()
    server.listen()
    append(PLACE / "count")


def leaves_a_daemon():
    import subprocess
    subprocess.Popen(["setsid", "sh", "-c", f"echo {PASS} >> {PLACE}/count; exec sleep 5"], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.3)


SERVER = """
import pathlib, socket, sys
place = pathlib.Path(sys.argv[1])
server = socket.create_server(("127.0.0.1", int((place / "free").read_text())))
while True:
    server.accept()[0].close()
    with open(place / "count", "a") as file:
        file.write("served\\n")
"""


def leaves_a_server():
    import subprocess
    subprocess.Popen([sys.executable, "-c", SERVER, str(PLACE)], start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", int((PLACE / "free").read_text()))).close()
        except ConnectionRefusedError:
            time.sleep(0.02)


def adds_to_shared_memory():
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(int((PLACE / "shm").read_text()), None, 0)
    checked(-1 if address in (None, 2**64 - 1) else 0)
    ctypes.c_int.from_address(address).value += 1


def adds_to_a_semaphore():
    checked(libc.semop(int((PLACE / "sem").read_text()), struct.pack("hhh", 0, 1, 0), 1))


def adds_to_a_message_queue():
    checked(libc.msgsnd(int((PLACE / "msg").read_text()), struct.pack("l8s", 1, b"x"), 8, 0))


def adds_to_a_posix_queue():
    queue = checked(libc.mq_open((PLACE / "mq").read_text().encode(), os.O_WRONLY))
    checked(libc.mq_send(queue, b"x", 1, 0))


def adds_to_a_file_in_shared_memory():
    append(pathlib.Path("/dev/shm") / (PLACE / "shared").read_text())


def writes_to_a_file_that_replaced_its_own():
    """A service removes the file, and makes one of the same name."""
    path = pathlib.Path(f"/dev/shm/{(PLACE / 'shared').read_text()}.{PASS}")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    while not path.exists() or path.read_text() != "service\n":
        time.sleep(0.01)
    append(path)


def fails_to_make_a_file_that_a_service_makes():
    """The name is not its own, because its creation failed."""
    name = f"/dev/shm/{(PLACE / 'shared').read_text()}.{PASS}"
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, limits[1]))
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        append(name + ".failed")
    while not os.path.exists(name):
        pass


def resizes_a_terminal():
    terminal = os.open((PLACE / "terminal").read_text(), os.O_RDONLY | os.O_NOCTTY)
    columns = 81 if PASS == "record" else 82
    fcntl.ioctl(terminal, 0x5414, struct.pack("4H", 24, columns, 0, 0))  # TIOCSWINSZ


def changes_version():
    number = os.open(PLACE / "large", os.O_RDONLY)
    version = array.array("l", [0])
    fcntl.ioctl(number, 0x80086603, version)  # EXT4_IOC_GETVERSION
    version[0] += 1
    fcntl.ioctl(number, 0x40086604, version)


def signals_a_group_without_leader():
    os.killpg(int((PLACE / "group").read_text()), signal.SIGUSR1)
    time.sleep(0.2)


def signals_by_a_folder_of_a_process():
    signal.pidfd_send_signal(os.open(f"/proc/{stranger()}", os.O_RDONLY), signal.SIGUSR1)
    time.sleep(0.2)


def signals_a_stranger():
    os.kill(stranger(), signal.SIGUSR1)
    time.sleep(0.2)


def signals_by_descriptor():
    signal.pidfd_send_signal(os.pidfd_open(stranger()), signal.SIGUSR1)
    time.sleep(0.2)


def limits_a_stranger():
    soft, hard = resource.prlimit(stranger(), resource.RLIMIT_NOFILE)
    resource.prlimit(stranger(), resource.RLIMIT_NOFILE, (soft - 1, hard))


def slows_a_stranger():
    os.setpriority(os.PRIO_PROCESS, stranger(), os.getpriority(os.PRIO_PROCESS, stranger()) + 1)


def marks_a_stranger():
    path = pathlib.Path(f"/proc/{stranger()}/oom_score_adj")
    path.write_text(str(int(path.read_text()) + 1))


def stops_its_parent():
    if PASS != "record":
        os.kill(os.getppid(), signal.SIGSTOP)


def limits_its_parent():
    resource.prlimit(os.getppid(), resource.RLIMIT_CORE, resource.prlimit(os.getppid(), resource.RLIMIT_CORE))


def advises_a_stranger():
    libc.syscall(440, os.pidfd_open(1), None, 0, 20, 0)  # process_madvise, MADV_COLD


def takes_a_descriptor_of_its_parent():
    """In a rerun, from the confined thread, which Landlock takes for a part of the rerun."""
    for thread in os.listdir(f"/proc/{os.getppid()}/task"):
        pidfd = libc.syscall(434, int(thread), os.O_EXCL)  # pidfd_open, PIDFD_THREAD
        if pidfd >= 0:
            libc.syscall(438, pidfd, 2, 0)  # pidfd_getfd


def saves_after_the_failure():
    pass


def saves():
    """The emergency checkpoint of a program that has just failed."""
    with open(PLACE / "model.ckpt", "wb") as file:
        for _ in range(40):
            file.write(PASS[:1].encode() * 100_000)
            file.flush()
            time.sleep(0.05)


globals()[KIND]()
cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
for step in range(10):
    launch(stream, parameters, None)
failed = cuda.driver.cuStreamSynchronize(stream)
if KIND == "saves_after_the_failure":
    saves()
sys.exit(3 if failed else 0)
