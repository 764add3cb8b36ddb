"""Runs the built launcher and recorder on small programs against the simulated driver."""

import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

from targets import marked_line, plan

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data"
FAULT = "fault kernel=smooth nth=3 code=700"
FAULTY = "third_of_ten"
NO_CALL = ("cudadiag: no CUDA call was recorded, so the command probably failed before its first one. "
           "To check CUDA, run: cudadiag doctor\n")
# cudadiag finds the tools in this folder if they are not in PATH.
SANITIZER_IS_HERE = bool(shutil.which("compute-sanitizer")) or os.path.exists("/usr/local/cuda/bin/compute-sanitizer")


class Machine:
    """A scratch folder and a separate environment with the test's own sessions, home folder and drivers."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cudadiag-e2e-"))
        self.state = self.folder / "state"
        # The simulated driver's files. A real driver writes to a device, so these should be in memory. The folder also
        # stands in for the MPS folder, because an isolated rerun may write to the control lock there.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.gpu = pathlib.Path(tempfile.mkdtemp(prefix="cudadiag-e2e-", dir=memory))
        self.wrapper = []  # a command that starts cudadiag
        self.runs = self.gpu / "control_lock"
        self.environment = {
            "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",  # `python3` is the tests' Python
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.state),
            "TMPDIR": str(self.folder),
            "LD_LIBRARY_PATH": str(self.build / "sim"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TERM": "xterm",
            "CUDA_MPS_PIPE_DIRECTORY": str(self.gpu),
        }

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.gpu, ignore_errors=True)

    def plan(self, text):
        self.environment["CUDADIAG_SIM_PLAN"] = text

    def command(self, *words):
        return [*map(str, self.wrapper), str(self.build / "bin/cudadiag"), *map(str, words)]

    def cudadiag(self, *words, **options):
        return self.plain(*self.command(*words), **options)

    def plain(self, *command, **options):
        ours = dict(env=self.environment, cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return subprocess.run(command, **{**ours, **options})

    def start(self, *command, **options):
        ours = dict(env=self.environment, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
        return subprocess.Popen(command, **{**ours, **options})

    def run(self, *command, options=(), **others):
        """Runs without reruns, unless the options say otherwise."""
        if not any(str(option).startswith("--rerun") for option in options):
            options = ["--rerun=never", *options]
        return self.cudadiag("run", *options, "--", *command, **others)

    def on_terminal(self, *command, typed=b"", columns=0, after=b"ready", until=None):
        """Returns what the terminal shows, and the wait status. Types `typed` once the terminal has shown `after`. If
        `until` is given, types it again and again until the terminal has shown `until`."""
        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24 if columns else 0, columns, 0, 0))
            os.chdir(self.folder)
            os.execvpe(command[0], command, self.environment)
        shown = b""
        while True:
            if until and after in shown and until not in shown and not select.select([terminal], [], [], 0.2)[0]:
                os.write(terminal, typed)
                continue
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
            if typed and not until and after in shown:
                os.write(terminal, typed)
                typed = b""
        return shown.decode(), os.waitpid(pid, 0)[1]

    def report(self, *words):
        return json.loads(expect_success(self.cudadiag("report", "--json", *words)).stdout)

    def sessions(self):
        root = self.state / "cudadiag"
        return sorted(p.name for p in root.iterdir() if p.name != "latest") if root.exists() else []


def skip(why):
    """Skips the test with a reason, which .ci/run prints at its end."""
    print(f"skipped: {why}")
    raise SystemExit(77)


def in_namespace(machine, options, script, *command):
    """Runs the command as root of new namespaces, after a script that sets them up. The script exits with 77 if this
    machine does not allow that."""
    if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode:
        skip(f"unshare {' '.join(options)} is not allowed here")
    ended = machine.plain("unshare", *options, "sh", "-c", script + '\nexec "$@"', "sh", *command)
    if ended.returncode == 77:
        skip(ended.stderr.strip() or script)
    return ended


def faulty(machine):
    machine.plan(plan(FAULTY))
    return machine.build / "targets" / FAULTY


def expect_answer(machine, recorded, plain):
    """Expects the result of faulty(), which must be the same as without cudadiag."""
    expect((recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout), "status and stdout")
    finding = machine.report()["findings"][0]
    location = finding["location"]
    expect((location["file"], location["line"]), marked_line(FAULTY, "TRUE LINE"), "true line")
    return finding


def copy_session(session, to):
    """Unlike shutil.copytree, keeps the holes of a recording, which has 64 MiB and fills 50 kB of the disk."""
    to.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-rp", session, to], check=True)


def program(name, *arguments):
    return [sys.executable, HERE / "programs" / name, *arguments]


def true_line(name, mark="TRUE LINE"):
    path = HERE / "programs" / name
    lines = path.read_text().splitlines()
    return str(path), 1 + next(i for i, line in enumerate(lines) if line.endswith("# " + mark))


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


def expect_in(part, text, what):
    if part not in text:
        raise AssertionError(f"{what}: expected {part!r} in {text!r}")


def expect_success(result):
    expect(result.returncode, 0, f"status of {result.args}, with stderr {result.stderr}")
    return result


def expect_true_line(report, name):
    expect(report["verdict"], "cuda_failure", "verdict")
    location = report["findings"][0]["location"]
    expect((location["file"], location["line"]), true_line(name), "true line")
