#!/usr/bin/env python3
"""Programs that write before they fail: runs each under cudadiag with reruns, and checks two things. The reruns must
change no file, and the report must prove the marked line.

labels.json gives for each program its needs and the files that exist before it; README.md explains the fields. Without
a GPU, the programs run on the simulated driver of the built tree.
"""

import argparse
import concurrent.futures
import contextlib
import fnmatch
import glob
import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from snapshot import differences

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
MARK = "TRUE LINE"
LIMIT_S = 300
TREES = ("cwd", "home", "tmp", "elsewhere")
# The command of the first run takes the snapshot when the program has ended. Reruns run the same command without it.
FIRST_RUN = '"$@"; status=$?; [ "$CUDADIAG_PASS" != record ] || {snapshot}; exit $status'


class Skipped(Exception):
    pass


def on_gpu():
    return bool(glob.glob("/dev/nvidia[0-9]*"))


def marked_line(label):
    name = label.get("marked", label["run"])
    lines = (PROGRAMS / name).read_text().splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if line.endswith((f"# {MARK}", f"// {MARK}"))]
    if len(numbers) != 1:
        raise ValueError(f"{name} has {len(numbers)} marked lines")
    return name, numbers[0]


def has_module(python, name):
    if python == sys.executable:
        return importlib.util.find_spec(name) is not None
    return subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode == 0


def missing(label, python):
    for command in label.get("commands", ()):
        if not shutil.which(command):
            return f"no command {command}"
    lacking = [module for module in label.get("needs", ()) if not any(has_module(python, each) for each in module.split("|"))]
    return f"no Python module {', '.join(lacking)}" if lacking else None


class FileSystem(contextlib.ExitStack):
    """Mounts a file system of this type on a folder, and unmounts it at the end."""

    def __init__(self, kind, folder, disk):
        super().__init__()
        self.kind, self.folder, self.disk = kind, folder, disk

    def mount(self, *options, on):
        done = subprocess.run(["mount", *map(str, options), str(on)], capture_output=True, text=True)
        if done.returncode:
            raise Skipped(f"mount {self.kind}: {done.stderr.strip()}")
        self.callback(subprocess.run, ["umount", str(on)], check=False)

    def __enter__(self):
        try:
            if self.kind:
                self.disk.mkdir()
                self.start()
        except BaseException:
            self.close()
            raise
        return self

    def start(self):
        if os.getuid() != 0:
            raise Skipped("only root may mount")
        if self.kind == "tmpfs":
            return self.mount("-t", "tmpfs", "tmpfs", on=self.folder)
        if self.kind == "overlay":
            self.mount("-t", "tmpfs", "tmpfs", on=self.disk)  # the folder may itself be on an overlay
            for name in ("lower", "upper", "work"):
                (self.disk / name).mkdir()
            options = ",".join(f"{name}dir={self.disk}/{name}" for name in ("lower", "upper", "work"))
            return self.mount("-t", "overlay", "overlay", "-o", options, on=self.folder)
        if not shutil.which(f"mkfs.{self.kind}"):
            raise Skipped(f"no mkfs.{self.kind}")
        with open(self.disk / "image", "wb") as image:
            image.truncate(2 << 30)
        made = subprocess.run([f"mkfs.{self.kind}", self.disk / "image"], capture_output=True, text=True)
        if made.returncode:
            raise Skipped(f"mkfs.{self.kind}: {made.stderr.strip()}")
        self.mount("-o", "loop", self.disk / "image", on=self.folder)


class Place:
    """The folders of one run. Everything that the program can reach is in `trees`, and cudadiag's session is not."""

    def __init__(self, folder, label, settings):
        self.folder, self.label, self.settings = folder, label, settings
        self.trees, self.state = folder / "trees", folder / "state"
        for path in (self.state, *(self.trees / name for name in TREES)):
            path.mkdir(parents=True)
        self.programs = self.trees / "programs"
        shutil.copytree(PROGRAMS, self.programs, ignore=shutil.ignore_patterns("__pycache__"))
        self.outside = [Path(path) for path in label.get("outside", ())]

    def fill(self):
        for name, data in self.label.get("before", {}).items():
            path = self.trees / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(data) if isinstance(data, int) else data.encode())
        for name, target in self.label.get("links", {}).items():
            (self.trees / name).symlink_to(target)
        if self.settings.user:
            subprocess.run(["chown", "-R", "-h", f"{self.settings.user}:{self.settings.user}", self.folder], check=True)

    def clear_outside(self):
        for path in self.outside:
            path.unlink(missing_ok=True)

    def command(self):
        program = self.programs / self.label["run"]
        if program.suffix == ".cc":
            built = program.with_suffix("")
            subprocess.run(["c++", "-std=c++17", "-g", "-O1", "-o", built, program, "-ldl"], check=True)
            return [built]
        return [program] if program.suffix == ".sh" else [self.settings.python, program]

    def environment(self):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("CUDADIAG_", "CUDA_", "XDG_", "WANDB", "PYTHONDONT")) or name == "CUDADIAG_CUPTI"}
        ours = {"HOME": self.trees / "home", "TMPDIR": self.trees / "tmp", "ELSEWHERE": self.trees / "elsewhere",
                "XDG_STATE_HOME": self.state,
                "PATH": f"{Path(self.settings.python).parent}:{os.environ['PATH']}"}
        if not on_gpu():
            ours["LD_LIBRARY_PATH"] = self.settings.build / "sim"
        return {**kept, **{name: str(value) for name, value in ours.items()}}

    def as_user(self):
        user = self.settings.user
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"] if user else []

    def snapshot(self, name):
        """Returns the command that takes a snapshot. The same user takes all, so that they show the same facts."""
        return [self.settings.snapshot_python, str(self.folder / "snapshot.py"), str(self.folder / name), str(self.trees),
                *map(str, self.outside)]


def run_to_end(words, limit_s, **options):
    """Kills the whole group of processes after the limit. Returns the status (None after the limit) and the output."""
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True, **options) as process:
        try:
            return process.communicate(timeout=limit_s)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0], None


def judged(label, report, changed):
    """Returns (outcome, right or wrong)."""
    findings = report.get("findings") or []
    if not findings:
        return "no finding", False
    location, grade = findings[0].get("location") or {}, findings[0]["evidence"]["grade"]
    if (Path(location.get("file") or "").name, location.get("line")) != marked_line(label):
        return f"wrong line {location.get('line')}, {grade}", False
    return grade, not changed and (grade == "proven" or label["rerun"] == "either")


def measured(place, settings):
    label, shared = place.label, ["run", f"--rerun={settings.rerun}", "--json", place.folder / "report.json"]
    if not on_gpu():
        shared.append("--no-device-pass")  # the simulated driver writes no core dump
    shutil.copy(HERE / "snapshot.py", place.folder)
    words = FIRST_RUN.format(snapshot=shlex.join(place.snapshot("before.json")))
    began = time.monotonic()
    text, status = run_to_end([*place.as_user(), settings.build / "bin/cudadiag", *shared, *settings.option, "--",
                               "sh", "-c", words, "sh", *place.command()],
                              LIMIT_S, cwd=place.trees / "cwd", env=place.environment())
    seconds = time.monotonic() - began
    run_to_end([*place.as_user(), *place.snapshot("after.json")], LIMIT_S)
    try:
        report, before, after = (json.loads((place.folder / name).read_text())
                                 for name in ("report.json", "before.json", "after.json"))
    except (OSError, ValueError) as error:
        return {"outcome": f"no result: {error}", "right": False, "seconds": seconds, "output": text}
    for each in (before, after):  # cudadiag makes and removes its own folder in $TMPDIR
        for time_of_change in ("mtime", "ctime"):
            del each["files"][str(place.trees / "tmp")][time_of_change]
    changed = differences(before["files"], after["files"])
    outcome, right = judged(label, report, changed)
    passes = report.get("passes", [])
    return {"outcome": outcome, "right": right, "seconds": seconds, "status": status,
            "changed": [[path.removeprefix(f"{place.trees}/"), what] for path, what in changed],
            "files": len(before["files"]),
            "left": sorted(set(after["shared"]) - set(before["shared"])), "running": [before["running"], after["running"]],
            "passes": [[each["name"], each["outcome"], round(each["seconds"], 2)] for each in passes],
            "kept_from": [[each["deed"], str(each["object"]).removeprefix(f"{place.trees}/")]
                          for one in passes for each in one["kept_from"]],
            "output": text}


def check(label, settings):
    why = missing(label, settings.python)
    if why:
        return {"id": label["id"], "outcome": f"skipped: {why}", "right": None}
    folder = settings.scratch / label["id"]
    place = Place(folder, label, settings)
    try:
        with FileSystem(settings.cwd_fs, place.trees / "cwd", folder / "disk"):
            place.fill()
            place.clear_outside()
            return {"id": label["id"], **measured(place, settings)}
    except Skipped as why:
        return {"id": label["id"], "outcome": f"skipped: {why}", "right": None}
    finally:
        place.clear_outside()
        if not settings.keep:
            shutil.rmtree(folder, ignore_errors=True)


def row(result):
    kept = [f"{deed} {thing}" for deed, thing in result.get("kept_from", [])]
    changed = [f"CHANGED {path}: {what}" for path, what in result.get("changed", [])]
    verdict = {True: "ok", False: "WRONG", None: "-"}[result["right"]]
    running = [f"{len(pids)} processes run after {which}" for pids, which in
               zip(result.get("running", ()), ("the first run", "the reruns")) if pids]
    more = (*changed[:3], *running, *(f"new meanwhile: {path}" for path in result.get("left", [])[:2]), *kept[:2])
    extra = len(changed[3:]) + len(kept[2:])
    words = "; ".join(more) + (f"; and {extra} more" if extra > 0 else "")
    return f"{result['id']:24} {verdict:5} {result.get('seconds', 0):6.1f} s  {result['outcome']:12} {words}"


def summary(results):
    ran = [each for each in results if each["right"] is not None]
    proven = sum(each["outcome"] == "proven" for each in ran)
    line = sum(each["outcome"].startswith("wrong line") for each in ran)
    changed = sum(bool(each.get("changed")) for each in ran)
    return (f"{len(ran)} programs: {proven} proven, {changed} whose files a rerun changed, {line} with a wrong line, "
            f"{sum(not each['right'] for each in ran)} not as expected; {len(results) - len(ran)} skipped")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=lambda text: Path(text).resolve(), default=HERE.parents[1] / "build")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="run the programs whose names match")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    parser.add_argument("--user", help="run as this user id, with setpriv (needs root)")
    parser.add_argument("--cwd-fs", metavar="TYPE", help="mount this on the working folder: tmpfs, overlay, ext4, xfs, btrfs, ...")
    parser.add_argument("--scratch", type=Path, help="the folder for all folders (default: a new one in $TMPDIR)")
    parser.add_argument("--rerun", choices=("auto", "always"), default="auto",
                        help="always: without isolation, to see that this test notices changes")
    parser.add_argument("--keep", action="store_true", help="keep all folders")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the programs")
    parser.add_argument("--option", action="append", default=[], metavar="OPTION", help="an option of cudadiag run (--option=-v)")
    parser.add_argument("--list", action="store_true", help="list the programs, and run none")
    return parser.parse_args()


def main():
    settings = arguments()
    labels = [label for label in json.loads((HERE / "labels.json").read_text()) if fnmatch.fnmatch(label["id"], settings.only)]
    if settings.list:
        for label in labels:
            print(f"{label['id']:24} {label['rerun']:7} {' line '.join(map(str, marked_line(label)))}")
        return 0
    settings.scratch = Path(tempfile.mkdtemp(prefix="cudadiag-writers-", dir=settings.scratch))
    settings.scratch.chmod(0o755)
    settings.snapshot_python = sys.executable
    if settings.user:
        settings.snapshot_python = settings.python
        tried = subprocess.run(["setpriv", f"--reuid={settings.user}", f"--regid={settings.user}", "--clear-groups", "--",
                                settings.python, "-c", ""], capture_output=True, text=True)
        if tried.returncode:
            print(f"skipped: user {settings.user} cannot run {settings.python}: {tried.stderr.strip()}")
            return 77
    try:
        with concurrent.futures.ThreadPoolExecutor(settings.jobs) as pool:
            results = []
            for result in pool.map(lambda label: check(label, settings), labels):
                print(row(result), flush=True)
                results.append(result)
    finally:
        if not settings.keep:
            shutil.rmtree(settings.scratch, ignore_errors=True)
    print(summary(results))
    if settings.keep:
        print("the folders are in", settings.scratch)
    if settings.json:
        settings.json.write_text(json.dumps(results, indent=1))
    if all(each["right"] is None for each in results):
        return 77
    return int(any(each["right"] is False for each in results))


if __name__ == "__main__":
    sys.exit(main())
