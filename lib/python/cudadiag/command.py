"""Runs the command `cudadiag`, and returns its output for a session."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sysconfig


class NoCommand(Exception):
    """Raised if the command is not installed or fails. The text gives the reason."""


def find_command():
    """Returns the path of this installation's command or, if there is none, of the command on PATH."""
    schemes = (None, f"{os.name}_user")
    for scheme in schemes:
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(folder, "cudadiag")
        if os.access(path, os.X_OK):
            return path
    path = shutil.which("cudadiag")
    if path is None:
        raise NoCommand("cudadiag is not on PATH. Install it: pip install cudadiag")
    return path


def _output(*words):
    ended = subprocess.run([find_command(), *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ended.returncode:
        raise NoCommand(ended.stderr.strip().removeprefix("cudadiag: ") or f"cudadiag {words[0]} failed")
    return ended.stdout


def prepare():
    """Returns the environment variables that make the driver load the recorder, and the session's folder."""
    variables, folder = {}, None
    for line in _output("env").splitlines():
        words = shlex.split(line, comments=False)
        if words[:1] == ["export"]:
            name, _, value = words[1].partition("=")
            variables[name] = value
        elif words[:2] == ["#", "afterwards:"]:
            folder = pathlib.Path(words[-1])
    return variables, folder


def report(session):
    return json.loads(_output("report", "--json", str(session)))


def page(session):
    return _output("report", str(session), "--html", "-")


def sarif(session):
    return _output("report", "--sarif", str(session))


def text(session):
    return _output("report", str(session))


def remove(session):
    try:
        _output("rm", str(session))
    except NoCommand:
        pass


def headline(finding):
    """Returns a summary such as: CUDA_ERROR_ILLEGAL_ADDRESS (700) in train.py:41, forward [proven]"""
    location = finding["location"] or {}
    error = finding["error"] or {}
    place = location.get("file") or "an unknown line"
    if location.get("line"):
        place = f"{place}:{location['line']}"
    if location.get("function"):
        place += f", {location['function']}"
    what = error.get("name") or finding["kind"]
    number = f" ({error['code']})" if error.get("code") else ""
    return f"{what}{number} in {place} [{finding['evidence']['grade']}]"
