#!/usr/bin/env python3
"""hostile_user.py BUILD SECONDS: runs failing programs for this long, as root and as an ordinary user, with sessions in
folders where a second user may rename entries. In a loop, that user exchanges sessions, or the folder that contains them,
with links to another folder of the first user. Other commands then read, keep and remove sessions there. Prints what was
touched outside the sessions, and how often the second user led something there. Needs root."""

import ctypes
import hashlib
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

from harness import Machine, program
from passes import AGAIN

HOSTILE, ORDINARY = 65534, 65533
PASSES = ("record", "confirm", "confirm-2", "races", "device", "origin")
KINDS = ("foreign", "open", "parent")
LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, EXCHANGE, OPENED = -100, 2, 0x20


def exchange(one, other):
    return LIBC.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), EXCHANGE) == 0


def names_in(folder):
    try:
        return [name for name in os.listdir(folder) if not name.startswith(".trap-")]
    except OSError:
        return []


def replace_everything(place, count):
    """Runs as the second user until it is killed. Each exchange puts a link in the place of a folder, or takes it away."""
    traps = set()
    while True:
        for name in names_in(place.attacked):
            entry, trap = place.attacked / name, place.attacked / f".trap-{name}"
            try:
                if name not in traps:
                    traps.add(name)
                    if place.kind == "parent":
                        trap.mkdir(mode=0o777)
                    else:
                        trap.symlink_to(place.outside)
                if place.kind == "parent":  # sessions in the other folder of this name are links
                    for session in set(names_in(entry)) - set(names_in(trap)):
                        (trap / session).symlink_to(place.outside)
            except OSError:
                pass
            if exchange(trap, entry):
                count[:8] = struct.pack("Q", struct.unpack("Q", count[:8])[0] + 1)


def make_outside(folder, owner):
    """Makes a folder that looks like a session inside, and belongs to the user who runs cudadiag."""
    for name in PASSES:
        for inner in ("private/tmp", "private/cuda", "modules"):
            (folder / name / inner).mkdir(parents=True)
            (folder / name / inner / "0123456789abcdef.cubin").write_text("precious")
        (folder / name / "output.txt").write_text("precious")
        (folder / name / "dump.gpucore").write_text("precious")
    for name in ("manifest.json", "summary.json", "kept", "running.json", "arena.json"):
        (folder / name).write_text("precious")
    for each in (folder, *folder.rglob("*")):
        os.chown(each, owner, owner)
        each.chmod(0o700 if each.is_dir() else 0o600)


def state_of(folder):
    digest = hashlib.sha256()
    for path in sorted((folder, *folder.rglob("*"))):
        status = path.lstat()
        digest.update(repr((str(path), status.st_mode, status.st_uid, status.st_size, status.st_ctime_ns)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


class Place:
    """The folder of sessions, and the folder outside, for one user. `kind` says why the second user may rename there."""

    def __init__(self, top, owner, kind):
        self.kind, self.owner = kind, owner
        self.root, self.outside = top / "parent/root", top / "outside"
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        make_outside(self.outside, owner)
        os.chown(self.root, *(2 * [HOSTILE if kind == "foreign" else owner]))
        self.attacked = self.root.parent if kind == "parent" else self.root
        self.attacked.chmod(0o777)
        self.before = state_of(self.outside)
        self.opens = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in (self.outside, *(path for path in self.outside.rglob("*") if path.is_dir())):
            LIBC.inotify_add_watch(self.opens, os.fsencode(folder), OPENED)
        self.count = mmap.mmap(-1, 8)
        self.attacker = os.fork()
        if self.attacker == 0:
            become(HOSTILE)
            replace_everything(self, self.count)

    def end(self):
        """Returns how often the second user replaced something, and how often something was opened outside."""
        os.kill(self.attacker, signal.SIGKILL)
        os.waitpid(self.attacker, 0)
        opened = 0
        try:
            while events := os.read(self.opens, 1 << 16):
                at = 0
                while at < len(events):
                    at += 16 + struct.unpack_from("iIII", events, at)[3]
                    opened += 1
        except BlockingIOError:
            pass
        os.close(self.opens)
        return struct.unpack("Q", self.count[:8])[0], opened


def become(user):
    if user:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def command(machine, place, *words):
    environment = {**machine.environment, "CUDADIAG_DIR": str(place.root)}
    return subprocess.run(machine.command(*words), env=environment, cwd="/", stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, errors="replace", timeout=120, preexec_fn=lambda: become(place.owner))


def python_of(user):
    """Returns an interpreter that the user may execute."""
    for folder in (os.path.dirname(sys.executable), *os.environ["PATH"].split(":")):
        path = os.path.join(folder, "python3")
        try:
            subprocess.run([path, "-c", ""], check=True, preexec_fn=lambda: become(user))
            return path
        except (OSError, subprocess.SubprocessError):
            pass
    raise SystemExit(f"no python3 that user {user} may execute")


def main():
    build, seconds = sys.argv[1], float(sys.argv[2])
    if os.geteuid() != 0:
        print("skipped: needs root, to become other users")
        sys.exit(77)
    machine = Machine(build)
    machine.plan(AGAIN)
    for folder in (machine.folder, machine.gpu):
        folder.chmod(0o755)
    pythons = {owner: python_of(owner) for owner in (0, ORDINARY)}
    totals = {(owner, kind): [0, 0, 0, 0, 0] for owner in pythons for kind in KINDS}
    wrong, number = 0, 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            for owner, kind in totals:
                top = machine.folder / f"{number}"
                number += 1
                top.mkdir()
                os.chown(machine.gpu, owner, owner)
                machine.runs.unlink(missing_ok=True)
                place = Place(top, owner, kind)
                total = totals[owner, kind]
                try:
                    # The last of these repeats the program without isolation, as a user may request.
                    for mode in ("auto", "auto", "always"):
                        result = command(machine, place, "run", f"--rerun={mode}", "--no-device-pass", "--",
                                         pythons[owner], *program("probe.py")[1:])
                        total[0] += 1
                        total[1] += "the command ran 2 times" in result.stderr
                        if result.returncode != 3:
                            wrong += 1
                            print(f"wrong: status {result.returncode} as {owner} in {kind}: {result.stderr}", flush=True)
                        for words in (["list"], ["report", "latest"], ["keep", "latest"], ["keep", "--undo", "latest"],
                                      ["rm", "latest"], ["rm", "1"]):
                            result = command(machine, place, *words)
                            total[2] += result.returncode == 0
                            if result.returncode < 0 or result.returncode > 125:
                                wrong += 1
                                print(f"wrong: status {result.returncode} of {words}: {result.stderr}", flush=True)
                finally:
                    exchanged, opened = place.end()
                    total[3] += exchanged
                    total[4] += opened
                if state_of(place.outside) != place.before:
                    wrong += 1
                    print(f"wrong: something outside the session was touched as {owner} in {kind}: {top}", flush=True)
                else:
                    shutil.rmtree(top)
    finally:
        machine.close()
    for (owner, kind), (runs, reruns, others, exchanged, opened) in totals.items():
        print(f"as {owner} in {kind}: {runs} runs, {reruns} with a rerun, {others} other commands succeeded, "
              f"{exchanged} exchanges, {opened} opens outside")
    print(f"{sum(total[0] for total in totals.values())} runs: {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
