"""Folders of sessions: what is removed, what others can do to them, and what a session of somebody else is good for."""

import json
import os
import pathlib
import shutil
import subprocess

from harness import expect, expect_in, expect_success, faulty, skip

NOBODY = 65534


def an_old_session_that_goes_is_announced_and_nothing_of_the_users_goes_with_it(machine):
    program = faulty(machine)
    machine.run(program)
    root = machine.state / "cudadiag"
    first = root / machine.sessions()[0]
    for n in range(1, 20):
        shutil.copytree(first, root / f"20200101-0000{n:02}-1")
    oldest = root / "20200101-000001-1"
    (oldest / "weights.bin").write_text("mine")
    model = root / "20190101-000000-77"
    model.mkdir()
    (model / "manifest.json").write_text('{"model": "mine"}')
    said = machine.run(program).stderr
    expect_in("removed 1 old session: ", said, "announcement")
    expect_in("what -o FOLDER names is never removed", said, "remedy")
    expect(sorted(p.name for p in oldest.iterdir()), ["weights.bin"], "what is left of the oldest")
    expect(sorted(p.name for p in model.iterdir()), ["manifest.json"], "a folder of the user's")
    expect("removed" in machine.run(program, options=["-q"]).stderr, False, "announcement of -q")
    expect(expect_success(machine.cudadiag("list")).stdout.count("\n"), 20, "sessions that are listed")


def where_a_folder_is_named_by_cudadiag_dir_no_other_is_looked_into(machine):
    program = faulty(machine)
    machine.environment.update(CUDADIAG_DIR="/dev/null/none")
    machine.run(program)
    elsewhere = machine.folder / f"cudadiag-{os.geteuid()}"
    expect(len([p for p in elsewhere.iterdir() if p.name != "latest"]), 1, "sessions in the temporary folder")
    ours = machine.folder / "ours"
    ours.mkdir()
    machine.environment.update(CUDADIAG_DIR=str(ours))
    expect_in("there is no session yet", machine.cudadiag("list").stderr, "list")
    expect_in("there is no session yet", machine.cudadiag("report").stderr, "report")
    machine.run(program)
    listed = expect_success(machine.cudadiag("list")).stdout
    expect((listed.count("\n"), str(ours) in listed), (1, True), f"sessions in {listed}")


def what_env_prints_runs_nothing_that_a_folder_is_called(machine):
    folder = machine.folder / "evil\ntouch pwned #"
    folder.mkdir()
    printed = expect_success(machine.cudadiag("env", "-o", "sessions", cwd=folder)).stdout
    ended = machine.plain("sh", "-c", 'eval "$1"; printf %s "$CUDADIAG_SESSION"', "sh", printed)
    expect((machine.folder / "pwned").exists(), False, "a file made by the name")
    expect_in(str(folder / "sessions"), ended.stdout, "session")


def what_env_prepared_may_be_removed_before_it_is_used(machine):
    program = faulty(machine)
    printed = expect_success(machine.cudadiag("env")).stdout
    prepared = machine.state / "cudadiag" / machine.sessions()[0]
    shutil.rmtree(prepared)
    machine.plain("sh", "-c", 'eval "$1"; exec "$2"', "sh", printed, program)
    expect(machine.report(prepared)["verdict"], "cuda_failure", "verdict")


def _as_nobody(machine, *command, **options):
    if os.geteuid() != 0:
        skip("only root can be somebody else")
    return machine.plain("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command, **options)


def a_folder_exchanged_by_its_owner_has_nothing_overwritten(machine):
    shared, precious = machine.folder / "shared", machine.folder / "precious"
    shared.mkdir()
    (precious / "record").mkdir(parents=True)
    (precious / "manifest.json").write_text("mine")
    machine.folder.chmod(0o755)
    shared.chmod(0o777)
    exchange = (f'cd {shared} && for s in *.incomplete; do mv "$s" stolen && ln -s {precious} "$s"; done')
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    script = f'{" ".join(words)} sh -c \'{exchange}\'; exec {faulty(machine)}'
    ended = machine.run("sh", "-c", script, options=["-o", shared])
    expect((precious / "manifest.json").read_text(), "mine", "a file of the user's elsewhere")
    expect(sorted(p.name for p in precious.iterdir()), ["manifest.json", "record"], "what is in the user's folder")
    expect_in("has moved the session's folder", ended.stderr, "what is said")
    expect_in("all users can write to", ended.stderr, "warning")
    expect(json.loads((shared / "stolen/manifest.json").read_text())["schema"], "cudadiag.session/1", "our manifest")


def why_a_folder_has_no_sessions_to_list_is_said(machine):
    machine.run(faulty(machine), options=["-o", "kept"])
    kept = machine.folder / "kept"
    session = next(p for p in kept.iterdir() if not p.is_symlink())
    (kept / "latest").unlink()
    session.rename(kept / "mine")
    expect_in("do not have the names that cudadiag gives them", machine.cudadiag("list", "-o", "kept").stderr, "names")
    (kept / "mine").rename(session)
    machine.folder.chmod(0o755)
    kept.chmod(0o755)
    listed = _as_nobody(machine, *machine.command("list", "-o", "kept"))
    expect_in("belong to another user (uid 0)", listed.stderr, "owner")
    kept.chmod(0o700)
    machine.folder.chmod(0o700)
    listed = _as_nobody(machine, *machine.command("list", "-o", kept), cwd="/")
    expect_in(f"{kept} cannot be read: permission denied", listed.stderr, "permission")
