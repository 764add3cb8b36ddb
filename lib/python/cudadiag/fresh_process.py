"""Processes that have never used CUDA. Tests run in them after this process has lost its context.

A template process is forked before the first test, with everything imported and collected. It runs no tests itself. On
request, it forks a fresh process, and sends back a socket that is connected to that process.
"""

import json
import os
import socket
import threading
import warnings

_ASK = b"?"


class Template:
    """The template process. It ends when the process that created it ends."""

    def __init__(self, serve):
        """`serve(channel)` runs in each fresh process."""
        ours, theirs = socket.socketpair()
        self._socket = ours
        # Python 3.12 warns if there are other threads. Before the first test, these belong to xdist and to imported
        # libraries; they wait for work, so that the child inherits no lock that they hold.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r".*multi-threaded, use of fork\(\) ", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _in_child(lambda: _fork_when_asked(theirs, serve))
        theirs.close()

    def fresh(self):
        """Returns a Channel to a new process."""
        self._socket.sendall(_ASK)
        message, descriptors, _, _ = socket.recv_fds(self._socket, 1, 1)
        if not message or not descriptors:
            raise OSError("the process that starts fresh test processes has ended")
        return Channel(socket.socket(fileno=descriptors[0]))

    def close(self):
        self._socket.close()
        os.waitpid(self._pid, 0)


class Channel:
    """Lines of JSON in both directions. `receive()` returns None once the other side has ended."""

    def __init__(self, connection):
        self._connection = connection
        self._file = connection.makefile("r", encoding="utf-8")

    def send(self, message):
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        line = self._file.readline()
        return json.loads(line) if line.endswith("\n") else None

    def close(self):
        self._file.close()
        self._connection.close()


def can_fork():
    return hasattr(os, "fork") and hasattr(socket, "recv_fds") and threading.main_thread() is threading.current_thread()


def _in_child(work):
    try:
        work()
        os._exit(0)
    except BaseException:  # no code of the parent may run here, least of all its exit handlers
        os._exit(1)


def _fork_when_asked(asked, serve):
    children = set()
    while asked.recv(1) == _ASK:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            asked.close()
            ours.close()
            channel = Channel(theirs)
            _in_child(lambda: serve(channel))
        children.add(pid)
        theirs.close()
        socket.send_fds(asked, [_ASK], [ours.fileno()])
        ours.close()
    for pid in children:
        os.waitpid(pid, 0)
