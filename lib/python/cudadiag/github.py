"""python -m cudadiag.github COMMAND SARIF: run by the GitHub Action. Runs a shell command under cudadiag, and writes
annotations, the job summary and the SARIF file. Its exit status is that of the command."""

import os
import pathlib
import subprocess
import sys
import tempfile

from . import command


def escaped(text, more=""):
    """Escapes `text` for a GitHub workflow command. `more`: further characters to escape, for properties."""
    for letter in "%\r\n" + more:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text


def annotation(finding, workspace):
    location = finding["location"] or {}
    properties = {"title": "cudadiag"}
    # GitHub shows only files of the workspace.
    if location.get("file") and pathlib.Path(location["file"]).is_relative_to(workspace):
        properties["file"] = os.path.relpath(location["file"], workspace)
        properties["line"] = str(location["line"])
    listed = ",".join(f"{name}={escaped(value, ':,')}" for name, value in properties.items())
    lines = [command.headline(finding)]
    if finding["cause"]:
        lines.append(finding["cause"]["text"])
    return f"::error {listed}::{escaped(chr(10).join(lines + finding['fix']))}"


def _append(variable, text):
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


def _publish(sessions, sarif):
    report = command.report(sessions)
    for finding in report["findings"]:
        print(annotation(finding, os.environ.get("GITHUB_WORKSPACE", os.getcwd())), flush=True)
    if report["findings"]:
        _append("GITHUB_STEP_SUMMARY", f"### cudadiag\n```\n{command.text(sessions)}```\n")
    _append("GITHUB_OUTPUT", f"verdict={report['verdict']}\n")
    path = pathlib.Path(sarif)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(command.sarif(sessions), encoding="utf-8")


def main():
    words, sarif = sys.argv[1:3]
    sessions = tempfile.mkdtemp(prefix="cudadiag-", dir=os.environ.get("RUNNER_TEMP"))
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", words]  # as GitHub's `shell: bash`
    ended = subprocess.run([command.find_command(), "run", "--rerun=never", "-o", sessions, "--", *shell])
    try:
        _publish(sessions, sarif)
    except (command.NoCommand, OSError) as error:
        print(f"::warning title=cudadiag::{escaped(str(error))}", flush=True)
    return ended.returncode if ended.returncode >= 0 else 128 - ended.returncode


if __name__ == "__main__":
    sys.exit(main())
