"""Saves and replays the launch of the target program saved_launch, for the rooms that test replays."""

import json
import pathlib

from harness import expect, expect_success
from targets import marked_line


def bisect_launch(machine, *options):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    return machine.cudadiag("bisect", "--no-device-pass", "--save-launch", *options, timeout=100)


def save_launch(machine, mode, *options):
    """Saves the launch. Returns the finding, and the folder of the launch."""
    machine.run(machine.build / "targets/saved_launch", mode)
    result = expect_success(bisect_launch(machine, *options))
    (finding,) = machine.report()["findings"]
    location = finding["location"]
    expect((location["file"], location["line"]), marked_line("saved_launch", "TRUE LINE"), "true line")
    return finding, pathlib.Path(finding["alone"]["folder"]) if finding["alone"] else None, result


def replay_launch(machine, *words, status=0):
    result = machine.cudadiag("replay", "--json", *words, timeout=60)
    expect(result.returncode, status, f"status of {words}, with stderr {result.stderr}")
    return json.loads(result.stdout)


def description_of(folder):
    return json.loads((folder / "launch.json").read_text())


def change_launch(folder, change):
    launch = description_of(folder)
    change(launch)
    (folder / "launch.json").write_text(json.dumps(launch))


def contents_of(folder, block):
    return (folder / block["contents"]["file"]).read_bytes()
