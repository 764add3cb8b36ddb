#!/usr/bin/env python3
"""hostile_user.py BUILD SECONDS: runs failing programs for this long, as root and as an ordinary user, with sessions in
folders where a second user may rename entries. In a loop, that user renames sessions, puts links to other folders in
their place, and replaces those links again. Prints what was touched outside the sessions. Needs root."""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from harness import Machine, program
from passes import AGAIN

HOSTILE, ORDINARY = 65534, 65533
PASSES = ("record", "confirm", "confirm-2", "races", "device", "origin")


def replace_everything(root, outside):
    """Runs as the second user until it is killed."""
    number = 0
    while True:
        for name in os.listdir(root):
            if name.startswith(("taken-", "latest")):
                continue
            number += 1
            place, taken = os.path.join(root, name), os.path.join(root, f"taken-{number}")
            try:
                os.rename(place, taken)
                os.symlink(outside, place)
            except OSError:
                continue
        for name in os.listdir(root):
            if name.startswith("taken-") and number % 2:
                try:  # puts the session back where it was, so that some of the run's own work succeeds
                    os.rename(os.path.join(root, name), os.path.join(root, "20" + name))
                except OSError:
                    pass


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
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest.update(repr((str(path), status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


class Place:
    """The folder of sessions, and the folder outside, for one user. `kind` says why the second user may rename there."""

    def __init__(self, top, owner, kind):
        self.owner = owner
        self.root, self.outside = top / "parent/root", top / "outside"
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        make_outside(self.outside, owner)
        os.chown(self.root, owner, owner)
        if kind == "foreign":
            os.chown(self.root, HOSTILE, HOSTILE)
            self.root.chmod(0o777)
        elif kind == "open":
            self.root.chmod(0o777)
        else:
            self.root.parent.chmod(0o777)
        self.before = state_of(self.outside)
        self.attacked = self.root if kind in ("foreign", "open") else self.root.parent
        target = self.outside if kind in ("foreign", "open") else self.outside.parent / "decoy"
        if kind not in ("foreign", "open"):
            target.mkdir()
        self.attacker = os.fork()
        if self.attacker == 0:
            os.setgroups([])
            os.setgid(HOSTILE)
            os.setuid(HOSTILE)
            replace_everything(self.attacked, target)

    def end(self):
        os.kill(self.attacker, signal.SIGKILL)
        os.waitpid(self.attacker, 0)


def run(machine, place, options):
    def become():
        if place.owner:
            os.setgroups([])
            os.setgid(place.owner)
            os.setuid(place.owner)

    environment = {**machine.environment, "CUDADIAG_DIR": str(place.root)}
    return subprocess.run(machine.command("run", *options, "--no-device-pass", "--", *program("probe.py")), env=environment,
                          cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, preexec_fn=become)


def main():
    build, seconds = sys.argv[1], float(sys.argv[2])
    if os.geteuid() != 0:
        print("skipped: needs root, to become other users")
        sys.exit(77)
    machine = Machine(build)
    machine.plan(AGAIN)
    for folder in (machine.folder, machine.gpu):
        folder.chmod(0o755)
    runs, wrong, reruns = 0, 0, 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            for owner in (0, ORDINARY):
                for kind in ("foreign", "open", "parent"):
                    top = machine.folder / f"{runs}"
                    top.mkdir()
                    os.chown(machine.gpu, owner, owner)
                    place = Place(top, owner, kind)
                    try:
                        # The last of these repeats the program without isolation, as a user may request.
                        for mode in ("auto", "auto", "always"):
                            result = run(machine, place, [f"--rerun={mode}"])
                            runs += 1
                            reruns += "the command ran 2 times" in result.stderr
                            if result.returncode != 3:
                                wrong += 1
                                print(f"wrong: status {result.returncode} as {owner} in {kind}: {result.stderr}", flush=True)
                    finally:
                        place.end()
                    if state_of(place.outside) != place.before:
                        wrong += 1
                        print(f"wrong: something outside the session was touched as {owner} in {kind}: {top}", flush=True)
                    else:
                        shutil.rmtree(top)
    finally:
        machine.close()
    print(f"{runs} runs, {reruns} of them with a rerun: {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
