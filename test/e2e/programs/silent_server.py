"""silent_server.py FOLDER [holds]: a file server. Mounts a file system at FOLDER that shows the files in FOLDER, until
somebody looks for a file named "silence" or sends it USR1. After that, it answers nothing. With `holds`, it still takes
requests, so that not even SIGKILL ends a process that waits for an answer. Prints a line once it is mounted."""

import ctypes
import os
import signal
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 27, 28, 29, 34, 36, 42
ROOT = 1
SIZE = 100_000


def attributes(node, names, source):
    mode, size = (stat.S_IFDIR | 0o777, 0) if node == ROOT else (stat.S_IFREG | 0o777, len(content(node, names, source)))
    return struct.pack("<6Q10I", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


def content(node, names, source):
    with open(os.path.join(source, names[node]), "rb") as file:
        return file.read(SIZE)


def mount(folder, device):
    library = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    if library.mount(b"silent", os.fsencode(folder), b"fuse", 0, options.encode()):
        print("cannot mount:", os.strerror(ctypes.get_errno()), flush=True)
        sys.exit(77)


def serve(folder, holds):
    source = os.open(folder, os.O_RDONLY)
    source = f"/proc/self/fd/{source}"  # the files below the mount
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        print("no FUSE:", error, flush=True)
        sys.exit(77)
    mount(folder, device)
    print("mounted", flush=True)
    names = {}
    silence = []

    def fall_silent(*_):
        silence.append(1)
        if not holds:
            os.kill(os.getpid(), signal.SIGSTOP)
    signal.signal(signal.SIGUSR1, fall_silent)
    while True:
        if silence and not holds:
            os.kill(os.getpid(), signal.SIGSTOP)
        try:
            request = os.read(device, 1 << 18)
        except OSError:  # unmounted
            return
        if silence:
            continue
        _, kind, unique, node = struct.unpack_from("<IIQQ", request)
        body = request[40:]
        error, answer = 0, b""
        if kind in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        if kind == INIT:
            answer = struct.pack("<IIIIHHII", 7, 31, 4096, 0, 8, 8, 4096, 1).ljust(64, b"\0")
        elif kind == LOOKUP:
            name = os.fsdecode(body.split(b"\0")[0])
            silence += ["asked"] * (name == "silence")
            if not os.path.isfile(os.path.join(source, name)):
                error = -2
            else:
                node = next((each for each, known in names.items() if known == name), len(names) + 2)
                names[node] = name
                answer = struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + attributes(node, names, source)
        elif kind == GETATTR:
            answer = struct.pack("<QII", 0, 0, 0) + attributes(node, names, source)
        elif kind in (OPEN, OPENDIR):
            answer = struct.pack("<QII", 0, 1, 0)
        elif kind == READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            answer = content(node, names, source)[offset:offset + size]
        elif kind == STATFS:
            answer = struct.pack("<5Q10I", 0, 0, 0, 0, 0, 4096, 255, 4096, *[0] * 7)
        elif kind not in (READDIR, RELEASE, RELEASEDIR, FLUSH, ACCESS):
            error = -38
        os.write(device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)


if __name__ == "__main__":
    serve(sys.argv[1], "holds" in sys.argv)
