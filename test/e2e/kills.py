#!/usr/bin/env python3
"""kills.py BUILD KILLS STOPS [SEED]: starts this many runs, and kills or stops the launcher, the supervisor, the program or
a file server at random: in the first run, in a rerun, or while the rerun ends. Unrelated processes run meanwhile. Prints
what was left, which unrelated processes received signals, which exit statuses were wrong, and how long the launcher
took."""

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
marker=$1 hurt=$2; shift 2
(while test -d "$HOME"; do ( (sleep 0.07; : ) & ) ; ( (MARK=$marker sleep 7.125 || echo $? >>"$hurt") & ); sleep 0.4; done) >/dev/null 2>&1 &
echo $! >"$1"; shift
exec "$@"
"""
TREE = """sleep $SLEEP & (setsid sleep $SLEEP &) ; env -i sleep $SLEEP & true >"$SHARED.rerun"; mkdir "$SHARED.folder"
test ! -e "$SERVED" || (while :; do true >>"$SERVED"; sleep .01; done) 2>/dev/null & """
LIMIT, PATIENCE = 3, 5
PHASES = ("first", "rerun", "rerun", "end")  # a rerun is twice as likely
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


def sleepers(seconds):
    """Returns the processes of TREE, one of which has an empty environment."""
    return [pid for pid in processes() if words(pid, "cmdline")[:2] == ["sleep", seconds]]


def mounts(folder):
    return [line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if folder.name in line]


def files_left(machine, shared):
    """Returns private folders, temporary folders and files in shared memory that a rerun left."""
    return [str(path) for path in (*machine.state.glob("cudadiag/*/*/private"), *machine.folder.glob("cudadiag-*"),
                                   *shared.parent.glob(shared.name + "*"))]


class Trial:
    """What happened to `who`, and what is wrong afterwards. `status` is None if the launcher did not end in time."""

    def __init__(self, who, phase):
        self.who, self.phase = who, phase
        self.left, self.strangers, self.status, self.seconds, self.struck = [], True, None, 0, False

    def look_for_rest(self, rest):
        """Gives what is left half a minute to end."""
        limit = time.monotonic() + 30
        while (left := rest()) and time.monotonic() < limit:
            time.sleep(0.02)
        self.left += left
        for pid in left:
            print("left:", pid, words(pid, "cmdline"), words(pid, "stat"), words(pid, "wchan"), flush=True)

    def faults(self):
        wanted = [-signal.SIGKILL if self.who == ("launcher", "KILL") and self.struck else STATUS]
        if (*self.who, self.phase) == ("program", "KILL", "first"):
            wanted.append(-signal.SIGKILL)  # unless it had failed before
        found = [] if not self.left else [f"left: {self.left}"]
        found += [] if self.strangers else ["an unrelated process received a signal"]
        found += [] if self.status in wanted else [f"status {self.status}"]
        return found


class Run:
    """The processes of one run."""

    def __init__(self, launcher, server):
        self.launcher, self.server = launcher, server
        self.started = time.monotonic()
        self.first = self.supervisor = self.target = self.began = 0  # `began`: when the rerun did

    def look(self):
        for child in children(self.launcher.pid):
            command = words(child, "cmdline")
            if "__supervise" in command:
                self.supervisor, self.began = child, self.began or time.monotonic()
                self.target = self.target or next(iter(children(child)), 0)
            elif any(word.endswith("probe.py") for word in command) and ENTRY not in command:
                self.first = child

    def victim(self, who, phase, after):
        """Returns the process to kill or stop, once the time for it has come."""
        since = time.monotonic() - (self.started if phase == "first" else self.began)
        if phase == "first":
            # The supervisor does not exist in the first run, so this one has only started.
            chosen = {"launcher": self.launcher.pid, "supervisor": self.supervisor, "program": self.first}
            return chosen.get(who, self.server) if since > after or who == "supervisor" else 0
        chosen = {"launcher": self.launcher.pid, "supervisor": self.supervisor, "program": self.target}
        due = self.target and since > (after if phase == "rerun" else LIMIT + 3 * after)
        return chosen.get(who, self.server) if due else 0


def strike(trial, victim, launcher):
    who, how = trial.who
    trial.struck = launcher.poll() is None and (who in ("launcher", "server") or os.path.exists(f"/proc/{victim}/exe"))
    if not trial.struck:
        return
    if (who, how) == ("server", "STOP"):
        return kill(victim, signal.SIGUSR1)
    kill(victim, signal.SIGKILL if how == "KILL" else signal.SIGSTOP)
    # Somebody who stops a launcher, or a program outside a rerun, continues it.
    if how == "STOP" and (who == "launcher" or (who == "program" and trial.phase == "first")):
        time.sleep(1)
        kill(victim, signal.SIGCONT)


def one(machine, who, after, number, how="KILL", phase="rerun"):
    """Kills or stops `who`, `after` seconds after the phase has begun."""
    trial = Trial((who, how), phase)
    entry_file, hurt = machine.folder / f"entry-{number}", machine.folder / f"hurt-{number}"
    served = machine.folder / f"served-{number}"
    served.mkdir()
    (served / "file").write_text("text")
    shared = pathlib.Path("/dev/shm") / f"{machine.folder.name}-{number}"
    mark = f"{os.getpid()}{number:04}"  # of the processes of this trial
    seconds = f"1000.{mark}"
    environment = {**machine.environment, "SERVED": str(served / "file"), "SHARED": str(shared), "SLEEP": seconds}
    command = machine.command("run", "--rerun=auto", "--no-device-pass", f"--time-limit={LIMIT}", "--", "sh", "-c",
                              f'test "$CUDADIAG_PASS" = record || {{ {TREE}}}; exec "$@"', "sh",
                              *program("probe.py", "rerun-hangs"))
    def rest():
        return of_rerun(str(machine.folder)) + sleepers(seconds)
    with contextlib.ExitStack() as stack:
        # Until this server ends, nothing ends the processes that wait for it.
        holds = ["holds"] if number % 2 and who == "server" else []
        server = stack.enter_context(file_server(served, *holds)) if who == "server" else None
        launcher = subprocess.Popen(["sh", "-c", ENTRY, "sh", mark, str(hurt), str(entry_file), *command],
                                    env=environment, cwd=machine.folder, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while words(launcher.pid, "cmdline")[:1] != command[:1]:  # the shell becomes the launcher
            time.sleep(0.001)
        bystander = int(entry_file.read_text())
        run = Run(launcher, server.pid if server else 0)
        victim = 0
        while launcher.poll() is None and time.monotonic() < run.started + 60:
            if not victim or not run.began:
                run.look()
            if not victim:
                victim = run.victim(who, phase, after)
                if victim:
                    strike(trial, victim, launcher)
            time.sleep(0.005)
        trial.status = launcher.poll()
        trial.seconds = time.monotonic() - (run.began or run.started)
        trial.look_for_rest(lambda: ([] if holds else rest()) + files_left(machine, shared))
        # Each of these processes runs for seven seconds unless something kills it.
        marked = [pid for pid in processes() if f"MARK={mark}" in words(pid, "environ")]
        trial.strangers = bool(words(bystander, "cmdline")) and len(marked) > 0 and not hurt.exists()
        for pid in [launcher.pid, bystander, *marked, *(each for each in trial.left if isinstance(each, int))]:
            kill(pid)
        launcher.wait()
    if holds:
        trial.look_for_rest(rest)
    trial.left += mounts(machine.folder)
    for path in shared.parent.glob(shared.name + "*"):
        path.rmdir() if path.is_dir() else path.unlink()
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
    wrong, counts, slowest, late = 0, {}, 0, 0
    try:
        for number in range(kills + stops):
            how, who, phase = "KILL" if number < kills else "STOP", generator.choice(victims), generator.choice(PHASES)
            trial = one(machine, who, generator.random() * 0.6, number, how, phase)
            counts[who, how, phase] = counts.get((who, how, phase), 0) + trial.struck
            late += not trial.struck
            slowest = max(slowest, trial.seconds)
            faults = trial.faults()
            if trial.seconds > LIMIT + PATIENCE + (trial.who == ("launcher", "STOP")):
                faults.append(f"{trial.seconds:.1f} s")
            if faults:
                wrong += 1
                print(f"wrong: {number}, {who} {how} in {phase}:", *faults, flush=True)
    finally:
        machine.close()
    for words_of_count, count in sorted(counts.items()):
        print(*words_of_count, count)
    print(f"{kills} kills, {stops} stops, {late} of them too late: {wrong} wrong, the slowest took {slowest:.1f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
