"""Folders of saved launches that are damaged, or that another user may have written. Function names say what is tested.
"""

import json
import os

from harness import expect, expect_in, expect_success, skip
from saved_launches import change_launch, description_of, replay_launch, save_launch


def launch_of_another_host_runs_only_on_request(machine):
    _, folder, _ = save_launch(machine, "through")

    def move(description):
        description["made_on"] = "0123456789abcdef"

    change_launch(folder, move)
    refused = machine.cudadiag("replay", folder)
    expect(refused.returncode, 125, "status")
    expect_in("not run, because the launch may belong to another user: it was saved on another host", refused.stderr, "message")
    expect(replay_launch(machine, "--foreign", folder)["outcome"], "fails as it did", "on request")


def launch_that_may_be_foreign_is_not_parsed_unasked(machine):
    _, folder, _ = save_launch(machine, "through")
    whole = (folder / "launch.json").read_text()
    (folder / "launch.json").write_text(whole.replace('"kernel"', '"kernel', 1))
    (folder / "image").chmod(0o602)
    refused = machine.cudadiag("replay", folder)
    expect(refused.returncode, 125, "status of a launch to which others can write")
    expect_in("may belong to another user: anyone can write to its file image", refused.stderr, "message")
    (folder / "image").chmod(0o600)
    mark = json.loads(whole)["made_on"]
    (folder / "launch.json").write_text((folder / "launch.json").read_text().replace(mark, mark[::-1]))
    refused = machine.cudadiag("replay", folder)
    expect_in("may belong to another user: it was saved on another host", refused.stderr, "message")
    expect_in("launch.json", machine.cudadiag("replay", "--foreign", folder).stderr, "message on request")


def damaged_folders_are_refused(machine):
    _, folder, _ = save_launch(machine, "through")
    whole = (folder / "launch.json").read_text()
    table = next(block for block in json.loads(whole)["memory"] if block["bytes"] == 8192)
    file = table["contents"]["file"]
    for old, new in ((f'"file": "{file}"', '"file": "../../etc/passwd"'), (f'"file": "{file}"', '"file": "image"'),
                     ('"bytes": 8192', '"bytes": 18446744073709551615'), ('"offset": 0', '"offset": 4294967295'),
                     ('"schema": "cudadiag.launch/1"', '"schema": "cudadiag.launch/9"'), ("{", "["),
                     ('"from": 0', '"from": -1')):
        expect(old in whole, True, f"{old} in launch.json")
        (folder / "launch.json").write_text(whole.replace(old, new, 1) if old == "{" else whole.replace(old, new))
        refused = machine.cudadiag("replay", folder)
        expect((refused.returncode, "launch.json" in refused.stderr), (125, True), f"{new}: {refused.stderr}")
    (folder / "launch.json").write_text(whole)
    for other in (os.symlink, lambda aside, name: os.mkfifo(name)):
        (folder / "launch.json").rename(folder / "aside")
        other("aside", folder / "launch.json")
        refused = machine.cudadiag("replay", folder)
        expect_in("is not the folder of a saved launch", refused.stderr, "launch.json as a link or pipe")
        (folder / "aside").replace(folder / "launch.json")


def files_of_a_launch_must_be_regular_and_of_their_size(machine):
    _, folder, _ = save_launch(machine, "through")
    contents = [block["contents"]["file"] for block in description_of(folder)["memory"] if block["contents"]]
    for name in ("image", contents[0]):
        file, whole = folder / name, (folder / name).read_bytes()
        for how, make, why in (
                ("link", lambda: os.symlink("aside", file), "is a symbolic link"),
                ("pipe", lambda: os.mkfifo(file), "is not a regular file"),
                ("folder", file.mkdir, "is not a regular file"),
                ("nothing", lambda: None, "is missing"),
                ("short", lambda: file.write_bytes(whole[:-1]), f"has {len(whole) - 1} bytes, but launch.json says {len(whole)}"),
                ("long", lambda: file.write_bytes(whole + b"\0"), f"has {len(whole) + 1} bytes, but launch.json says {len(whole)}")):
            file.rename(folder / "aside")
            make()
            found = replay_launch(machine, folder, status=125)
            expect((found["outcome"], found["why"]), ("could not be made", f"{name} {why}"), how)
            if how == "folder":
                file.rmdir()
            (folder / "aside").replace(file)
    expect(replay_launch(machine, folder)["outcome"], "fails as it did", "with all its files")


def name_of_a_variable_cannot_answer_for_the_launch(machine):
    _, folder, _ = save_launch(machine, "variable")

    def rename(description):
        next(block for block in description["memory"] if block["variable"])["variable"] = "x\nlaunching\nresult 700"

    change_launch(folder, rename)
    found = replay_launch(machine, folder, status=125)
    expect(found["outcome"], "could not be made", "outcome")
    expect_in("does not contain this variable: x\\nlaunching\\nresult 700", found["why"], "why")


def folder_to_which_others_can_write_is_foreign(machine):
    _, folder, _ = save_launch(machine, "through")
    folder.chmod(0o777)
    refused = machine.cudadiag("replay", folder)
    expect((refused.returncode, "anyone can write to its folder" in refused.stderr), (125, True), refused.stderr)
    folder.chmod(0o700)
    if os.geteuid() != 0:
        skip("only root can give a file to another user")
    os.chown(folder / "image", 1, 1)
    refused = machine.cudadiag("replay", folder)
    expect((refused.returncode, "its file image belongs to another user (uid 1)" in refused.stderr), (125, True), refused.stderr)


def folder_that_exists_is_refused_before_the_search(machine):
    _, folder, _ = save_launch(machine, "through")
    (machine.folder / "small").mkdir()
    refused = machine.cudadiag("replay", "--minimise", "--write", machine.folder / "small", folder)
    expect(refused.returncode, 125, "status")
    expect_in("small already exists", refused.stderr, "message")
    expect("running the device code" in refused.stderr, False, "the program ran")


def folder_that_is_none_is_refused(machine):
    result = machine.cudadiag("replay", machine.folder)
    expect(result.returncode, 125, "status")


def session_with_a_launch_can_be_removed_whole(machine):
    save_launch(machine, "through")
    expect_success(machine.cudadiag("rm", "latest"))
    expect(machine.sessions(), [], "sessions")
