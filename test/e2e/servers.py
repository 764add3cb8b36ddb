"""A file server that stops answering, for tests that skip where this machine has no FUSE."""

import contextlib
import ctypes
import subprocess
import sys

from harness import HERE, skip

DETACH = 2


@contextlib.contextmanager
def file_server(folder, *options):
    """Serves the files in the folder. Yields the server's process. Unmounts the folder at the end, which ends all waits."""
    server = subprocess.Popen([sys.executable, HERE / "programs/silent_server.py", folder, *options],
                              stdout=subprocess.PIPE, text=True)
    try:
        said = server.stdout.readline().strip()
        if said != "mounted":
            skip(said)
        yield server
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        ctypes.CDLL(None).umount2(str(folder).encode(), DETACH)
