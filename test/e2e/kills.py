#!/usr/bin/env python3
"""kills.py BUILD NUMBER [SEED]: starts this many reruns, and kills the launcher, supervisor or program at random, while
unrelated processes run. Prints which processes were left, and which unrelated ones received signals."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from harness import Machine, program
from passes import AGAIN

# Runs in a shell that becomes the launcher. The parents of these processes end, so the launcher inherits them.
ENTRY = """
marker=$1; shift
(while :; do ( (sleep 0.07; : ) & ) ; ( (MARK=$marker exec sleep 7.125) & ); sleep 0.4; done) >/dev/null 2>&1 &
echo $! >"$1"; shift
exec "$@"
"""
TREE = "sleep 1000 & (setsid sleep 1000 &) ; env -i sleep 1000 & exec \"$@\""


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def words(pid, file):
    try:
        return pathlib.Path(f"/proc/{pid}/{file}").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def children(pid):
    found = []
    for each in processes():
        try:
            stat = pathlib.Path(f"/proc/{each}/stat").read_text()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid and stat.rpartition(")")[2].split()[0] != "Z":
            found.append(each)
    return found


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def of_rerun(mark):
    """Returns the processes of reruns on this machine."""
    return [pid for pid in processes() if any(mark in word and "/record" not in word for word in words(pid, "environ")
                                              if word.startswith("CUDADIAG_SESSION="))]


def sleepers(since):
    """Returns the processes of TREE, one of which has an empty environment."""
    return [pid for pid in processes() if words(pid, "cmdline")[:2] == ["sleep", "1000"] and pid not in since]


def one(machine, who, after, number):
    """Kills `who` `after` seconds after a rerun has begun. Returns (who, the processes that are left, whether unrelated
    processes are alive)."""
    before = set(sleepers(()))
    entry_file = machine.folder / "entry"
    command = machine.command("run", "--rerun=auto", "--no-device-pass", "--", "sh", "-c",
                              f'test "$CUDADIAG_PASS" = record || {{ {TREE}; }}; exec "$@"', "sh",
                              *program("probe.py", "rerun-hangs"))
    launcher = subprocess.Popen(["sh", "-c", ENTRY, "sh", str(number), str(entry_file), *command],
                                env=machine.environment, cwd=machine.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    supervisor = target = 0
    limit = time.monotonic() + 60
    while time.monotonic() < limit and not target and launcher.poll() is None:
        for child in children(launcher.pid):
            if "__supervise" in words(child, "cmdline"):
                supervisor = child
                found = children(child)
                target = found[0] if found else 0
        time.sleep(0.005)
    bystander = int(entry_file.read_text())
    assert target, "no rerun was seen"
    time.sleep(after)
    kill({"launcher": launcher.pid, "supervisor": supervisor, "program": target}[who])
    limit = time.monotonic() + 30
    left = True
    while left and time.monotonic() < limit:
        launcher.poll()
        left = of_rerun(str(machine.folder)) + sleepers(before)
        time.sleep(0.02)
    launcher.wait(timeout=60)
    alive = os.path.exists(f"/proc/{bystander}")
    # Each of these processes runs for seven seconds unless something kills it.
    marked = [pid for pid in processes() if f"MARK={number}" in words(pid, "environ")]
    strangers = alive and len(marked) > 0
    kill(bystander)
    for pid in [*marked, *left]:
        kill(pid)
    for name in machine.sessions():
        subprocess.run(["rm", "-rf", str(machine.state / "cudadiag" / name)], check=True)
    return who, left, strangers


def main():
    build, number = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    generator = random.Random(seed)
    machine = Machine(build)
    machine.plan(AGAIN)
    wrong = []
    counts = {"launcher": 0, "supervisor": 0, "program": 0}
    try:
        for each in range(number):
            who = generator.choice(("launcher", "supervisor", "program"))
            _, left, strangers = one(machine, who, generator.random() * 0.6, each)
            counts[who] += 1
            if left or not strangers:
                wrong.append((each, who, left, strangers))
                print("wrong:", wrong[-1], flush=True)
    finally:
        machine.close()
    print(f"{number} kills {counts}: {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
