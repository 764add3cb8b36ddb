#!/usr/bin/env python3
"""kills.py BUILD KILLS STOPS [SEED]: starts this many reruns, and kills or stops the launcher, the supervisor, the program
or a file server at random, while unrelated processes run. Prints what was left, which unrelated processes received
signals, which exit statuses were wrong, and how long the launcher took."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from harness import Machine, program
from passes import AGAIN
from servers import file_server

# Runs in a shell that becomes the launcher. The parents of these processes end, so the launcher inherits them.
ENTRY = """
marker=$1; shift
(while :; do ( (sleep 0.07; : ) & ) ; ( (MARK=$marker exec sleep 7.125) & ); sleep 0.4; done) >/dev/null 2>&1 &
echo $! >"$1"; shift
exec "$@"
"""
TREE = """sleep 1000 & (setsid sleep 1000 &) ; env -i sleep 1000 & true >"$SHARED.rerun"
test ! -e "$SERVED" || (while :; do true >>"$SERVED"; sleep .01; done) 2>/dev/null & """
LIMIT, PATIENCE = 3, 5
VICTIMS = ("launcher", "supervisor", "program")
STATUS = 3  # of probe.py


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


def files_left(machine, shared):
    """Returns private folders, temporary folders and files in shared memory that a rerun left."""
    return [str(path) for path in (*machine.state.glob("cudadiag/*/*/private"), *machine.folder.glob("cudadiag-*"),
                                   *shared.parent.glob(shared.name + "*"))]


class Trial:
    """What is wrong after something happened to `who`. `launcher_status` is None if the launcher did not end in time."""

    def __init__(self, who):
        self.who = who
        self.left, self.strangers, self.status, self.seconds = [], True, None, 0

    def faults(self):
        wanted = -signal.SIGKILL if self.who == ("launcher", "KILL") else STATUS
        found = [] if not self.left else [f"left: {self.left}"]
        found += [] if self.strangers else ["an unrelated process received a signal"]
        found += [] if self.status == wanted else [f"status {self.status}"]
        return found


def one(machine, who, after, number, how="KILL"):
    """Kills or stops `who`, `after` seconds after a rerun has begun."""
    trial = Trial((who, how))
    before = set(sleepers(()))
    entry_file = machine.folder / "entry"
    served = machine.folder / f"served-{number}"
    served.mkdir()
    (served / "file").write_text("text")
    shared = pathlib.Path("/dev/shm") / f"{machine.folder.name}-{number}"
    environment = {**machine.environment, "SERVED": str(served / "file"), "SHARED": str(shared)}
    command = machine.command("run", "--rerun=auto", "--no-device-pass", f"--time-limit={LIMIT}", "--", "sh", "-c",
                              f'test "$CUDADIAG_PASS" = record || {{ {TREE}}}; exec "$@"', "sh",
                              *program("probe.py", "rerun-hangs"))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(file_server(served, *(["holds"] if number % 2 else []))) if who == "server" else None
        launcher = subprocess.Popen(["sh", "-c", ENTRY, "sh", str(number), str(entry_file), *command],
                                    env=environment, cwd=machine.folder, stdin=subprocess.DEVNULL,
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
        begun = time.monotonic()
        time.sleep(after)
        victim = {"launcher": launcher.pid, "supervisor": supervisor, "program": target,
                  "server": server.pid if server else 0}[who]
        if who == "server" and how == "STOP":
            kill(victim, signal.SIGUSR1)
        else:
            kill(victim, signal.SIGKILL if how == "KILL" else signal.SIGSTOP)
        if (who, how) == ("launcher", "STOP"):
            time.sleep(1)
            kill(victim, signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            trial.status = launcher.wait(timeout=60)
        trial.seconds = time.monotonic() - begun
        limit = time.monotonic() + 30
        trial.left = ["not looked for"]
        while trial.left and time.monotonic() < limit:
            # A supervisor that waits for a file server lives until the server ends.
            waiting = [supervisor] if who == "server" else []
            trial.left = [pid for pid in of_rerun(str(machine.folder)) + sleepers(before) if pid not in waiting]
            trial.left += [] if (who, how) == ("supervisor", "KILL") else files_left(machine, shared)
            time.sleep(0.02)
        trial.strangers = os.path.exists(f"/proc/{bystander}")
        # Each of these processes runs for seven seconds unless something kills it.
        marked = [pid for pid in processes() if f"MARK={number}" in words(pid, "environ")]
        trial.strangers &= len(marked) > 0
        kill(bystander)
        for pid in [launcher.pid, *marked, *(each for each in trial.left if isinstance(each, int))]:
            kill(pid)
        launcher.wait()
    for path in shared.parent.glob(shared.name + "*"):
        path.unlink()
    for name in machine.sessions():
        subprocess.run(["rm", "-rf", str(machine.state / "cudadiag" / name)], check=True)
    return trial


def main():
    build, kills, stops = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    generator = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    machine = Machine(build)
    machine.plan(AGAIN)
    victims = VICTIMS
    if os.geteuid() == 0 and os.path.exists("/dev/fuse"):
        victims += ("server",)
    else:
        print("skipped: file servers, which need root and /dev/fuse", flush=True)
    wrong, counts, slowest = 0, {}, 0
    try:
        for number in range(kills + stops):
            how, who = "KILL" if number < kills else "STOP", generator.choice(victims)
            trial = one(machine, who, generator.random() * 0.6, number, how)
            counts[trial.who] = counts.get(trial.who, 0) + 1
            slowest = max(slowest, trial.seconds)
            faults = trial.faults()
            if trial.seconds > LIMIT + PATIENCE + (trial.who == ("launcher", "STOP")):
                faults.append(f"{trial.seconds:.1f} s")
            if faults:
                wrong += 1
                print(f"wrong: {number}, {who} {how}:", *faults, flush=True)
    finally:
        machine.close()
    counted = ", ".join(f"{who} {how} {count}" for (who, how), count in sorted(counts.items()))
    print(f"{kills} kills, {stops} stops ({counted}): {wrong} wrong, the slowest took {slowest:.1f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
