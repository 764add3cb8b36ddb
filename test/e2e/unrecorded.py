"""Processes that initialise CUDA and cannot be recorded: they do what they do without us, and why is said."""

import os
import shutil

from harness import expect, expect_in
from survival import expect_answer, faulty


def little_address_space(machine):
    """The record asks for 64 MB, the recorder for tables of its own."""
    program = faulty(machine)
    said = ("cudadiag: nothing was recorded of a process that initialised CUDA: the limit on its address space leaves too "
            "little for it beside the recording of 64 MB; raise the limit (ulimit -v)\n")
    for megabytes in (60, 88, 120, 140, 148, 250, 1000):
        command = ["sh", "-c", f'ulimit -v {megabytes << 10}; exec "$0"', program]
        plain, recorded = machine.plain(*command), machine.run(*command)
        expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), f"with {megabytes} MB")
        if megabytes in (88, 140, 148):
            expect((plain.returncode, recorded.stderr), (1, said), f"what is said with {megabytes} MB")
    expect_answer(machine, recorded, plain)


def little_data(machine):
    """A limit on the program's own memory leaves room for it, and little or none for the recorder's tables."""
    program = faulty(machine)
    said = ("cudadiag: nothing was recorded of a process that initialised CUDA: the limit on its memory leaves too little "
            "for it beside the recorder's own; raise the limit (ulimit -d)\n")
    for megabytes in (12, 40, 60, 1000):
        command = ["sh", "-c", f'ulimit -d {megabytes << 10}; exec "$0"', program]
        plain, recorded = machine.plain(*command), machine.run(*command)
        expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), f"with {megabytes} MB")
        if megabytes == 12:
            expect((plain.returncode, recorded.stderr), (1, said), f"what is said with {megabytes} MB")
    expect_answer(machine, recorded, plain)


def another_user(machine):
    """The program gives up its rights before it starts CUDA: our memory is out of its reach, and that may be why."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise SystemExit(77)
    program = faulty(machine)
    for folder in (machine.folder, *machine.build.parents, machine.build):
        if not os.access(folder, os.X_OK) or not folder.stat().st_mode & 0o001:
            if folder != machine.folder:
                raise SystemExit(77)
    command = ["setpriv", "--reuid=65534", "--clear-groups", program]
    plain, recorded = machine.plain(*command), machine.run(*command)
    expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    assert "never initialised CUDA" not in recorded.stderr, recorded.stderr
    expect_in("or goes on as another user or in another container, from where the recording is out of reach",
              recorded.stderr, "what is said")
