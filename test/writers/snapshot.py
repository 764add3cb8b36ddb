#!/usr/bin/env python3
"""snapshot.py FILE PATH...: writes everything about the paths, and about what is below them, to a JSON file.

The only facts that it leaves out are times of access, and attributes that not every user can read. It first waits for
the processes that the program has left behind, because they may still write.
"""

import hashlib
import json
import os
import stat
import sys
import time

PIECE = 1 << 20
LIMIT_S = 10


def contents(path, size):
    """Returns a hash of the data and its places. Skips holes, so that sparse files cost nothing."""
    digest, position = hashlib.sha256(), 0
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        while position < size:
            try:
                position = os.lseek(file, position, os.SEEK_DATA)
            except OSError:  # no data follows
                break
            hole = os.lseek(file, position, os.SEEK_HOLE)
            while position < hole:
                piece = os.pread(file, min(PIECE, hole - position), position)
                if piece.strip(b"\0"):  # a file system may store zeros as a hole
                    digest.update(b"%d:%d:" % (position, len(piece)) + piece)
                position += len(piece) or hole
    finally:
        os.close(file)
    return digest.hexdigest()


def attributes(path):
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:
        return {}
    return {name: os.getxattr(path, name, follow_symlinks=False).hex() for name in sorted(names)
            if not name.startswith("trusted.")}


def facts(path):
    at = os.lstat(path)
    found = {"inode": at.st_ino, "mode": oct(at.st_mode), "links": at.st_nlink, "owner": at.st_uid, "group": at.st_gid,
             "device": at.st_rdev, "size": at.st_size, "mtime": at.st_mtime_ns, "ctime": at.st_ctime_ns,
             "attributes": attributes(path)}
    if stat.S_ISLNK(at.st_mode):
        found["target"] = os.readlink(path)
    if stat.S_ISREG(at.st_mode):
        try:
            found["contents"] = contents(path, at.st_size)
        except PermissionError:
            found["contents"] = "not readable"
    return found


def snapshot(roots):
    found = {}
    for root in roots:
        if not os.path.lexists(root):
            continue
        found[root] = facts(root)
        for folder, folders, files in os.walk(root):
            found.update((path, facts(path)) for path in (os.path.join(folder, name) for name in folders + files))
    return found


def names_in(folders):
    """Returns what is directly in the folders that all programs share, without the files of compilers and of this test."""
    return sorted(each.path for folder in folders if os.path.isdir(folder) for each in os.scandir(folder)
                  if not each.name.startswith(("cc", "tmpxft_", "cudadiag-writers-")))


def own_ancestors():
    pid, found = os.getpid(), set()
    while pid > 1:
        found.add(str(pid))
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    return found


def processes_in(roots):
    """Returns the processes whose working folder is below one of the roots, except this one and its ancestors."""
    found = []
    for pid in {each for each in os.listdir("/proc") if each.isdigit()} - own_ancestors():
        try:
            folder = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if any(folder == root or folder.startswith(root + "/") for root in roots):
            found.append(pid)
    return found


def wait_for_processes(roots):
    end = time.monotonic() + LIMIT_S
    while processes_in(roots) and time.monotonic() < end:
        time.sleep(0.05)
    return processes_in(roots)


def differences(before, after):
    """Returns [(path, what differs)]."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            what = "new" if not old else "gone" if not new else ", ".join(
                each for each in sorted(old.keys() | new.keys()) if old.get(each) != new.get(each))
            found.append((path, what))
    return found


if __name__ == "__main__":
    running = wait_for_processes(sys.argv[2:])
    with open(sys.argv[1], "w") as out:
        json.dump({"files": snapshot(sys.argv[2:]), "shared": names_in(("/tmp", "/var/tmp", "/dev/shm")), "running": running}, out)
