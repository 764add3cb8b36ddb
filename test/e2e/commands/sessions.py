"""Folders of sessions: what is removed, what other users can do to them, and how others' sessions are handled."""

import json
import os
import pathlib
import shutil
import subprocess

from harness import FAULT, copy_session, expect, expect_in, expect_success, faulty, program, skip, true_line
from passes import AGAIN, bisect, rerun, session_of

ONCE = AGAIN + " run=1"
NOBODY = 65534


def an_old_session_goes_with_v_announced_and_nothing_of_the_users_goes_with_it(machine):
    program = faulty(machine)
    machine.run(program)
    root = machine.state / "cudadiag"
    first = root / machine.sessions()[0]
    for n in range(1, 20):
        copy_session(first, root / f"20200101-0000{n:02}-1")
    oldest = root / "20200101-000001-1"
    (oldest / "weights.bin").write_text("mine")
    model = root / "20190101-000000-77"
    model.mkdir()
    (model / "manifest.json").write_text('{"model": "mine"}')
    said = machine.run(program, options=["-v"]).stderr
    expect_in(f"removed 1 old session ({oldest.name}): cudadiag keeps the newest 20 in {root}, up to 2 GB; to protect one: "
              "cudadiag keep SESSION\n", said, "announcement")
    expect(sorted(p.name for p in oldest.iterdir()), ["weights.bin"], "what remains of the oldest")
    expect(sorted(p.name for p in model.iterdir()), ["manifest.json"], "a folder of the user's")
    expect("removed" in machine.run(program).stderr, False, "announcement without -v")
    expect(expect_success(machine.cudadiag("list")).stdout.count("\n"), 21, "heading, and the sessions that are listed")


def sessions_are_named_by_number_beginning_and_name(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py", "first"))
    root = machine.state / "cudadiag"
    (first,) = machine.sessions()
    older = "20190101-000000-77"
    copy_session(root / first, root / older)
    for named, meant in (("1", first), ("2", older), ("2019", older), (older, older), (first[:-1], first), ("latest", first)):
        expect_in(f"session {root / meant}", expect_success(machine.cudadiag("dump", named)).stdout.splitlines()[0], named)
    expect_success(machine.cudadiag("env"))  # creates a session that no program uses, and that list omits
    expect_in(f"session {root / first}", expect_success(machine.cudadiag("dump", first[:8])).stdout.splitlines()[0], "a day")
    for command in ("report", "dump", "bisect"):
        for named, message in (("3", "session 3 does not exist: there are only 2 sessions; run: cudadiag list"),
                               ("20", "session 20 does not exist: there are only 2 sessions; run: cudadiag list"),
                               ("2077", "session 2077 does not exist; to list all sessions: cudadiag list")):
            expect(machine.cudadiag(command, named).stderr, f"cudadiag: {message}\n", f"{command} {named}")
    copy_session(root / first, root / "20190101-000000-78")
    expect(machine.cudadiag("report", "2019").stderr, "cudadiag: 2 session names begin with 2019; the newest is "
           "20190101-000000-78; choose one by its number in cudadiag list\n", "an ambiguous beginning")


def folder_of_sessions_is_neither_kept_nor_removed(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    root, recorded = machine.state / "cudadiag", machine.sessions()
    for command in ("keep", "rm"):
        refused = machine.cudadiag(command, root)
        expect((refused.returncode, refused.stderr),
               (125, f"cudadiag: {root} is a folder of sessions, not a session; to list its sessions: "
                f"cudadiag list -o {root}\n"), command)
    expect((machine.sessions(), (root / recorded[0] / "kept").exists()), (recorded, False), "sessions, and a mark")


def number_of_a_session_comes_before_a_file_of_that_name(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py", "first"))
    root = machine.state / "cudadiag"
    (newest,) = machine.sessions()
    older, own = "20190101-000000-77", machine.folder / "1"
    copy_session(root / newest, root / older)
    copy_session(root / newest, own)
    (machine.folder / "2").write_text("mine")
    for named, meant in (("1", newest), ("2", older)):
        expect_in(f"session {root / meant}", expect_success(machine.cudadiag("dump", named)).stdout.splitlines()[0], named)
        expect(machine.report(named)["run"]["session"], str(root / meant), f"session of report {named}")
    expect_success(machine.cudadiag("keep", "2"))
    expect((root / older / "kept").exists(), True, "whether the older session is kept")
    expect_success(machine.cudadiag("rm", "1"))
    expect((machine.sessions(), own.exists()), ([older], True), "sessions after rm, and the folder called 1")
    expect_success(machine.cudadiag("rm", "--force", "1"))
    for named in ("./1", "1/", "1"):
        expect(str(root) in expect_success(machine.cudadiag("dump", named)).stdout.splitlines()[0], False, named)
    expect(machine.cudadiag("report", "2").stderr, "cudadiag: 2 is not a folder, so it is not a session; "
           "to list all sessions: cudadiag list\n", "message for a file named like a session that does not exist")


def report_of_the_newest_session_says_when_and_what_was_run(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    expect_success(machine.run("true"))  # a clean run leaves no session
    (name,) = machine.sessions()
    run = machine.report()["run"]
    for words in ([], ["latest"]):
        lines = expect_success(machine.cudadiag("report", *words)).stdout.splitlines()
        start = f"Run     {run['started']}  {run['command'][0]} "[:60]
        expect([line[:len(start)] for line in lines if line.startswith("Run ")], [start], f"row of report {words}")
    expect("\nRun " in machine.cudadiag("report", name).stdout, False, "row of a given session")


def clean_run_names_no_session(machine):
    file = machine.folder / "report.json"
    said = machine.run(machine.build / "targets/healthy", options=["-v", "--json", file]).stderr
    expect((machine.sessions(), "session /" in said, str(machine.state) in said), ([], False, False), said)
    expect(json.loads(file.read_text())["run"]["session"], None, "session in JSON")


def service_is_as_new_as_its_latest_recording(machine):
    machine.plan(AGAIN)
    exports = expect_success(machine.cudadiag("env")).stdout
    (prepared,) = machine.sessions()
    (machine.state / "cudadiag" / prepared).rename(machine.state / "cudadiag/20190101-000000-77.incomplete")
    exports = exports.replace(prepared.removesuffix(".incomplete"), "20190101-000000-77")
    machine.run(*program("ten_launches.py"))
    for n in range(1, 20):
        copy_session(machine.state / "cudadiag" / machine.sessions()[-1], machine.state / f"cudadiag/20200102-0000{n:02}-1")
    machine.plain("sh", "-c", exports + 'exec "$@"', "sh", *program("ten_launches.py", "service"))
    later = 2_000_000_000  # after every run, although they end within one second
    os.utime(machine.state / "cudadiag/20190101-000000-77.incomplete/record", (later, later))
    newest = expect_success(machine.cudadiag("list")).stdout.splitlines()[1]
    expect_in("ten_launches.py service", newest, "the newest session")
    machine.run(*program("ten_launches.py"))
    expect([name for name in machine.sessions() if name.startswith("2019")], ["20190101-000000-77.incomplete"], "the service")


def list_says_what_failed_where_and_keeps_what_it_has_read(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    machine.run("sh", "-c", "exit 4", options=["-o", machine.state / "cudadiag"])
    heading, clean, failed = expect_success(machine.cudadiag("list")).stdout.splitlines()
    expect(heading.split(), ["#", "AGE", "RESULT", "LINE", "KERNEL", "COMMAND"], "heading")
    expect(clean.split()[0:1] + clean.split()[3:6], ["1", "exit", "4", "-"], "a run without a finding")
    path, line = true_line("ten_launches.py")
    expect_in(f"  illegal memory access (700)  ten_launches.py:{line}  ", failed, "a failure")
    # Without the older row, the columns are narrower; the age may have changed.
    (newest,) = machine.cudadiag("list", "-n", "1").stdout.splitlines()[1:]
    expect(newest.split()[:1] + newest.split()[3:], clean.split()[:1] + clean.split()[3:], "the newest")
    (listed, other) = json.loads(machine.cudadiag("list", "--json").stdout)["sessions"]
    expect((listed["finding"], listed["exit"]), (None, {"code": 4, "signal": None}), "the same as JSON")
    expect_in(f"  ten_launches.py:{line}  {other['finding']['kernel']}  ", failed, "the kernel")
    expect((other["number"], other["state"], other["kept"], other["finding"]["grade"], other["finding"]["location"]["file"]),
           (2, "finished", False, "bracketed", path), "a failure as JSON")
    # Without the record, only the manifest shows whether the finding must be computed again.
    folder = machine.state / "cudadiag" / other["name"]
    shutil.rmtree(folder / "record")
    def row():
        (found,) = [each for each in machine.cudadiag("list").stdout.splitlines() if "programs/ten_launches.py" in each]
        return found
    expect_in(f"  ten_launches.py:{line}  ", row(), "what was stored earlier")
    os.utime(folder / "manifest.json")
    expect_in("  exit 3 ", row(), "after the manifest was written again")


def numbers_of_sessions_of_one_second_stay_the_same(machine):
    machine.run(faulty(machine))
    root = machine.state / "cudadiag"
    (first,) = machine.sessions()
    newest_first = [f"20200101-000000-{pid}" for pid in (20, 10, 9, 8)]
    for name in newest_first:
        copy_session(root / first, root / name)
    shutil.rmtree(root / first)

    def listed():
        return [(each["number"], each["name"]) for each in json.loads(machine.cudadiag("list", "--json").stdout)["sessions"]]
    wanted = list(enumerate(newest_first, 1))
    expect(listed(), wanted, "sessions")
    # The one that finished last is the newest, whatever its number.
    newest_first.insert(0, newest_first.pop())
    (root / "latest").unlink()
    (root / "latest").symlink_to(newest_first[0])
    wanted = list(enumerate(newest_first, 1))
    expect(listed(), wanted, "sessions after the last one has finished")
    expect(machine.report()["run"]["session"], str(root / newest_first[0]), "the session of the report")
    for number, name in wanted:
        expect_success(machine.cudadiag("keep", number))
        expect((listed(), (root / name / "kept").exists()), (wanted, True), f"sessions after keep {number}, and whether it is kept")


def sessions_are_kept_and_removed_by_name(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    root = machine.state / "cudadiag"
    (first,) = machine.sessions()
    old = [f"20200101-0000{n:02}-1" for n in range(1, 21)]
    for name in old:
        copy_session(root / first, root / name)
    expect_success(machine.cudadiag("keep", old[0]))
    machine.run(*program("ten_launches.py"))
    left = machine.sessions()
    expect([name in left for name in old[:4]], [True, False, True, True], "kept, and removed for their age")
    expect_in(", kept  ", machine.cudadiag("list").stdout.splitlines()[-1], "the kept session")
    refused = machine.cudadiag("rm", old[0])
    expect(refused.returncode, 125, "status of rm for a kept session")
    expect_in(f"{old[0]} was not removed: cudadiag keep protects it; to remove it: cudadiag rm --force", refused.stderr, "message")
    expect(old[0] in machine.sessions(), True, "the kept session is still there")
    expect_success(machine.cudadiag("keep", "--undo", old[0]))
    removed = expect_success(machine.cudadiag("rm", "1", "2", old[0], "1")).stderr.splitlines()
    expect((len(removed), removed[-1]), (3, f"cudadiag: removed {root / old[0]}"), "what rm prints")
    expect(machine.sessions(), old[2:], "sessions after rm")
    expect((root / "latest").resolve().name, old[-1], "the latest")
    refused = machine.cudadiag("rm", old[-1], "2077")
    expect((refused.returncode, len(machine.sessions())), (125, 18), "nothing is removed if one does not exist")
    (root / old[-1] / "mine.txt").touch()
    expect_in("it holds files that cudadiag did not write", machine.cudadiag("rm", old[-1]).stderr, "what remains")
    expect([path.name for path in (root / old[-1]).iterdir()], ["mine.txt"], "what remains")
    expect(machine.cudadiag("rm").stderr, "cudadiag: SESSION is required; see cudadiag rm --help\n", "rm of nothing")
    for command in ("rm", "keep", "ranks"):
        expect(machine.cudadiag(command, "").stderr, 'cudadiag: SESSION: "" is not a SESSION\n', command + " of an empty name")


def env_removes_old_sessions_too(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    root = machine.state / "cudadiag"
    (first,) = machine.sessions()
    for n in range(1, 21):
        copy_session(root / first, root / f"20200101-0000{n:02}-1")
    said = expect_success(machine.cudadiag("env")).stderr
    expect_in("removed 2 old sessions (20200101-000001-1 to 20200101-000002-1): ", said, "message")
    expect((root / "20200101-000002-1").exists(), False, "whether an old session is still there")


def where_a_folder_is_named_by_cudadiag_dir_no_other_is_looked_into(machine):
    program = faulty(machine)
    machine.environment.update(CUDADIAG_DIR="/dev/null/none")
    machine.run(program)
    elsewhere = machine.folder / f"cudadiag-{os.geteuid()}"
    expect(len([p for p in elsewhere.iterdir() if p.name != "latest"]), 1, "sessions in the temporary folder")
    ours = machine.folder / "ours"
    ours.mkdir()
    machine.environment.update(CUDADIAG_DIR=str(ours))
    expect_in("no session was found", machine.cudadiag("list").stderr, "list")
    expect_in("no session was found", machine.cudadiag("report").stderr, "report")
    machine.run(program)
    listed = json.loads(expect_success(machine.cudadiag("list", "--json")).stdout)["sessions"]
    expect([os.path.dirname(each["folder"]) for each in listed], [str(ours)], "folders of sessions that are listed")


def what_env_prints_runs_nothing_that_a_folder_is_called(machine):
    folder = machine.folder / "evil\ntouch pwned #"
    folder.mkdir()
    printed = expect_success(machine.cudadiag("env", "-o", "sessions", cwd=folder)).stdout
    ended = machine.plain("sh", "-c", 'eval "$1"; printf %s "$CUDADIAG_SESSION"', "sh", printed)
    expect((machine.folder / "pwned").exists(), False, "a file created by that name")
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
        skip("only root can act as another user")
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
    expect(json.loads((shared / "stolen/manifest.json").read_text())["schema"], "cudadiag.session/1", "its manifest")


def state_folder_that_another_user_has_linked_is_not_used(machine):
    if os.geteuid() != 0:
        skip("only root can act as another user")
    state, precious = machine.folder / "state_of_nobody", machine.folder / "precious"
    state.mkdir()
    precious.mkdir()
    (state / "cudadiag").symlink_to(precious)
    machine.environment["XDG_STATE_HOME"] = str(state)
    machine.run(faulty(machine))
    expect([each.name for each in precious.iterdir()] != [], True, "the user's own link is followed")
    shutil.rmtree(precious)
    precious.mkdir()
    os.lchown(state / "cudadiag", NOBODY, NOBODY)
    ended = machine.run(faulty(machine))
    expect(list(precious.iterdir()), [], "the folder that the link leads to")
    expect_in(f"{state}/cudadiag belongs to another user", ended.stderr, "message")


def why_a_folder_has_no_sessions_to_list_is_said(machine):
    machine.run(faulty(machine), options=["-o", "kept"])
    kept = machine.folder / "kept"
    session = next(p for p in kept.iterdir() if not p.is_symlink())
    (kept / "latest").unlink()
    session.rename(kept / "mine")
    expect_in("do not have the names that cudadiag gives them", machine.cudadiag("list", "-o", "kept").stderr, "names")
    (kept / "mine").rename(session)
    expect(machine.cudadiag("list", "-o", session).stderr, f"cudadiag: {session} is a session, not a folder of sessions; "
           f"to read it: cudadiag report {session}\n", "a session in place of its folder")
    machine.folder.chmod(0o755)
    kept.chmod(0o755)
    listed = _as_nobody(machine, *machine.command("list", "-o", "kept"))
    expect_in("belong to another user (uid 0)", listed.stderr, "owner")
    kept.chmod(0o700)
    machine.folder.chmod(0o700)
    listed = _as_nobody(machine, *machine.command("list", "-o", kept), cwd="/")
    expect_in(f"{kept} cannot be read: Permission denied", listed.stderr, "permission")


def folder_of_another_user_that_a_variable_names_is_said_not_to_be_used(machine):
    if os.geteuid() != 0:
        skip("only root can act as another user")
    machine.plan(FAULT)
    machine.environment["XDG_STATE_HOME"] = "/proc/none"
    machine.run(*program("ten_launches.py"))  # in the temporary folder
    (used,) = (machine.folder / "cudadiag-0").glob("2*")
    theirs = machine.folder / "theirs/cudadiag"
    machine.run(*program("ten_launches.py"), options=["-o", theirs])
    (session,) = theirs.glob("2*")
    os.chown(session, NOBODY, NOBODY)
    machine.environment["XDG_STATE_HOME"] = str(theirs.parent)
    why = f"cudadiag: the sessions in {theirs} belong to another user (uid {NOBODY}); "
    expect(expect_success(machine.cudadiag("report")).stderr, f"{why}using {used} instead\n", "beside another folder")
    del machine.environment["XDG_STATE_HOME"]
    expect(machine.cudadiag("report").stderr, "", "without the variable")
    machine.environment["XDG_STATE_HOME"] = str(theirs.parent)
    shutil.rmtree(used)
    expect_in(f"{why}give the path of one, such as ", machine.cudadiag("list").stderr, "alone")


def next_commands_name_the_session_if_a_newer_one_is_not_finished(machine):
    machine.plan(FAULT)
    run = machine.run(*program("ten_launches.py"))
    (older,) = (machine.state / "cudadiag").glob("2*")
    expect_in("cudadiag report -v\n", run.stderr, "without a newer run")
    newer = machine.start(*machine.command("run", "--", "sh", "-c", "echo ready; read line"))
    expect(newer.stdout.readline(), "ready\n", "first line")
    while_running = machine.cudadiag("report", older).stdout
    newer.kill()
    newer.communicate()
    for text in (while_running, machine.cudadiag("report", older).stdout):
        expect_in(f"cudadiag report {older} -v", " ".join(text.split()), "beside a newer one")


def _foreign(machine, **manifest):
    """Creates a session in the folder "foreign", with these members in its manifest."""
    machine.run(*program("ten_launches.py"))
    folder = machine.folder / "foreign"
    copy_session(machine.state / "cudadiag" / machine.sessions()[-1], folder)
    file = folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **manifest}))
    return folder


def a_session_of_another_host_quotes_no_source_unless_asked(machine):
    machine.plan(FAULT)
    line = pathlib.Path(true_line("ten_launches.py")[0]).read_text().splitlines()[true_line("ten_launches.py")[1] - 1]
    folder = _foreign(machine, host="evilbox")
    for format in ([], ["-v"], ["--json"], ["--html", "--keep-names"], ["--sarif"]):
        written = expect_success(machine.cudadiag("report", folder, *format)).stdout
        expect(line.strip() in written, False, f"source in {format}")
        expect_in("another host (evilbox)", " ".join(written.split()), f"reason in {format}")
        expect("cudadiag bisect" in written, False, f"a rerun suggested by {format}")
        trusted = expect_success(machine.cudadiag("report", folder, "--foreign", *format)).stdout
        expect_in("# TRUE LINE" if format in ([], ["-v"]) else "TRUE LINE", trusted, f"source with --foreign in {format}")
    expect(line.strip() in expect_success(machine.cudadiag("status", folder, "--json")).stdout, False, "status")
    expect(line.strip() in machine.cudadiag("ranks", folder, "--json").stdout, False, "ranks")
    expect_in("TRUE LINE", machine.cudadiag("ranks", folder, "--json", "--foreign").stdout, "ranks with --foreign")


def a_session_of_another_user_quotes_no_source_and_runs_nothing(machine):
    if os.geteuid() != 0:
        skip("only root can give a session away")
    machine.plan(FAULT)
    folder = _foreign(machine)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    written = expect_success(machine.cudadiag("report", folder)).stdout
    expect_in("its folder belongs to another user (uid 65534)", " ".join(written.split()), "reason")
    expect("TRUE LINE" in written, False, "source")
    refused = machine.cudadiag("bisect", folder)
    expect(refused.returncode, 125, "status of bisect")
    expect_in("its folder belongs to another user (uid 65534)", refused.stderr, "reason")


def bisect_runs_the_command_of_somebody_else_only_if_asked_and_says_what_it_runs(machine):
    machine.plan(FAULT)
    trace = machine.folder / "ran"
    folder = _foreign(machine, host="evilbox", command=["sh", "-c", f"echo >>{trace}; exit 3"],
                      working_directory=str(machine.folder))
    refused = machine.cudadiag("bisect", folder, "--repeat", "5")
    expect((refused.returncode, trace.exists()), (125, False), "status, and whether the program ran")
    expect_in(f"A rerun would execute: sh -c 'echo >>{trace}; exit 3'  (in {machine.folder})", refused.stderr, "command")
    expect_in(f"cudadiag bisect --repeat=5 --foreign {folder}\n", refused.stderr, "the command to run it")
    said = machine.cudadiag("bisect", folder, "--foreign").stderr
    expect(trace.exists(), True, "whether the program ran")
    expect(said.splitlines()[0], "cudadiag: running the command again without isolation, so it can write files: "
           f"sh -c 'echo >>{trace}; exit 3'  (in {machine.folder})", "first line")


def a_session_is_kept_and_removed_from_its_own_folder_and_the_one_above(machine):
    machine.plan(FAULT)
    for inside in (False, True):
        machine.run(*program("ten_launches.py"))
        folder = session_of(machine).resolve()
        name, place = (".", folder) if inside else (folder.name, folder.parent)
        for command in (["keep"], ["keep", "--undo"], ["rm"]):
            expect_success(machine.cudadiag(*command, name, cwd=place))


def a_bundle_has_no_file_that_a_link_leads_to(machine):
    machine.plan(FAULT)
    secret = machine.folder / "credentials"
    secret.write_text("aws_key_of_somebody\n")
    place = machine.folder / "place"
    place.mkdir()
    (place / "train.py").symlink_to(secret)
    (place / "kept.py").write_text("print(1)\n")
    folder = _foreign(machine, command=["python", "train.py", "kept.py"], working_directory=str(place))
    packed = expect_success(machine.cudadiag("report", folder, "--bundle", "it.tar.gz"))
    expect_in("it is a link to a file outside its folder, " + str(secret), packed.stderr, "what is said")
    names = subprocess.run(["tar", "tzf", machine.folder / "it.tar.gz"], stdout=subprocess.PIPE, text=True).stdout
    expect([name for name in names.split() if "script" in name], ["cudadiag-bundle/script/kept.py"], "scripts")
    expect_in(f"script/kept.py (9 bytes, from {place / 'kept.py'})", packed.stderr, "list")
    file = folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "host": "evilbox"}))
    expect_success(machine.cudadiag("report", folder, "--bundle", "other.tar.gz"))
    names = subprocess.run(["tar", "tzf", machine.folder / "other.tar.gz"], stdout=subprocess.PIPE, text=True).stdout
    expect("script" in names, False, "scripts of another user's session")


def a_bundle_has_the_script_that_an_installed_command_starts(machine):
    machine.plan(FAULT)
    tools = machine.folder / "bin"
    tools.mkdir()
    for file in (tools / "torchrun", machine.folder / "train.py", machine.folder / "run.sh"):
        file.write_text("#!/usr/bin/python3\n" if file.parent == tools else "#!/bin/sh\n")
    for number, (command, packed) in enumerate((([str(tools / "torchrun"), "train.py"], "train.py"),
                                                ([str(tools / "torchrun"), "-m", "train"], "torchrun"),
                                                (["./run.sh", "train.py"], "run.sh"))):
        folder = _foreign(machine, command=command, working_directory=str(machine.folder))
        said = expect_success(machine.cudadiag("report", folder, "--bundle", f"{number}.tar.gz")).stderr
        expect([line.split()[1] for line in said.splitlines() if "script/" in line], [f"script/{packed}"], f"script of {command}")


def a_bundle_redacts_words_before_it_quotes_them(machine):
    machine.plan(FAULT)
    command = ["python3", "train.py", "cfg={'token': 'X1Y2'}", "--url=https://bob:pw9@h/x?token=T7 --db"]
    folder = _foreign(machine, command=command)
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["passes"].append({**manifest["passes"][0], "name": "confirm", "folder": ""})
    file.write_text(json.dumps(manifest))
    expect_success(machine.cudadiag("report", folder, "--bundle", "it.tar.gz"))
    text = subprocess.run(["tar", "xzOf", machine.folder / "it.tar.gz"], stdout=subprocess.PIPE, text=True).stdout
    expect([secret for secret in ("X1Y2", "pw9", "T7") if secret in text], [], "secrets")
    (line,) = [line for line in text.splitlines() if "compute-sanitizer --tool" in line]
    expect_in(r"'cfg={'\''token'\'': '\''REDACTED'\''}'", line, "quoted words")
    expect_in("'--url=https://REDACTED@h/x?token=REDACTED --db'", line, "quoted words")


def sources_that_have_effects_when_they_are_read_are_not(machine):
    machine.plan(FAULT)
    script = ("import sys; sys.path.insert(0, {!r}); import cuda; cuda.start(); launch, p = cuda.kernel('smooth'); "
              "s = cuda.stream(); exec(compile('\\n' * 2 + 'for i in range(10): launch(s, p, None)', sys.argv[1], 'exec'));"
              "cuda.driver.cuStreamSynchronize(s)").format(str(pathlib.Path(true_line("ten_launches.py")[0]).parent))
    given = machine.folder / "given"
    given.write_text("a\nb\nsecret on stdin\n")
    os.utime(given, (0, 0))  # older than the run, because the lines of a newer file are not shown
    for source in ("/proc/thread-self/environ", "/dev/fd/0", "/proc/kmsg"):
        machine.run("python3", "-c", script, source)
        with given.open() as stdin:
            written = expect_success(machine.cudadiag("report", stdin=stdin)).stdout
        expect([part for part in ("secret", "PATH=", "XDG_") if part in written], [], f"what is quoted of {source}")


def each_state_of_a_session_is_analysed_once(machine):
    log = machine.folder / "analyses"
    machine.environment["CUDADIAG_DEBUG_LOG"] = str(log)

    def analysed(result):
        lines = log.read_text().splitlines()
        log.unlink()
        expect(len(set(lines)), len(lines), f"states that were analysed, each once: {lines} {result.stderr}")
        # A program that takes a long time to exit is also diagnosed while it is still running.
        return [line.partition(", ended, ")[2] for line in lines if ", ended, " in line]

    machine.plan(ONCE)
    run = rerun(machine, *program("probe.py"), options=["--repeat", "2"])
    expect(analysed(run), ["reruns 0", "reruns 1", "reruns 2"], "states of a run with two reruns")
    expect(analysed(machine.cudadiag("report")), ["reruns 2"], "states of report")
    expect(analysed(bisect(machine, "--repeat", "2")), ["reruns 2", "reruns 3", "reruns 4"], "states of bisect")
    machine.plan(AGAIN)
    expect(analysed(machine.run(*program("probe.py"), options=["-o", "job"])), ["reruns 0"], "states of a run")
    machine.run(*program("probe.py"), options=["-o", "job"])
    log.unlink()
    expect(analysed(machine.cudadiag("ranks", "-o", "job")), ["reruns 0", "reruns 0"], "states of two sessions of a job")


def unwritable_folder_that_nobody_named_costs_the_session_only(machine):
    machine.plan(FAULT)
    machine.environment.update(XDG_STATE_HOME="/proc/none", TMPDIR="/proc/none")
    result = machine.run(*program("ten_launches.py"))
    expect(result.returncode, 3, "status")
    expect_in("no session will be kept", result.stderr, "message")
    expect_in("[bracketed]", result.stderr, "report")
    result = machine.run(*program("ten_launches.py"), options=["--rerun=auto"])
    expect(result.stderr.splitlines()[-1], "cudadiag: cannot rerun the command to prove this: no session could be "
           "stored; choose a folder for it with -o FOLDER", "the last line")


def home_that_does_not_exist_is_not_created(machine):
    machine.plan(FAULT)
    del machine.environment["XDG_STATE_HOME"]
    machine.environment["HOME"] = str(machine.folder / "nobody")
    said = machine.run(*program("ten_launches.py")).stderr
    expect_in(f"sessions go to {machine.folder}/cudadiag-{os.geteuid()}, which may vanish", said, "where they go instead")
    expect((machine.folder / "nobody").exists(), False, "whether the home folder was created")


def unwritable_folder_by_the_environment_is_named(machine):
    machine.plan(FAULT)
    (machine.folder / "file").touch()
    for variables, why in (
            ({"CUDADIAG_DIR": f"{machine.folder}/file"}, f"CUDADIAG_DIR cannot be used: {machine.folder}/file is not a folder"),
            ({"XDG_STATE_HOME": "/proc/none"},
             "cannot create the session folder /proc/none/cudadiag: No such file or directory")):
        machine.environment.update(variables)
        said = machine.run(*program("ten_launches.py")).stderr
        expect_in(f"cudadiag: {why}; sessions go to {machine.folder}/cudadiag-{os.geteuid()}, which may vanish", said, why)
        machine.environment.pop("CUDADIAG_DIR", None)


def folder_that_vanishes_costs_the_session_only(machine):
    machine.plan(FAULT)
    command = ["sh", "-c", 'rm -r kept; exec "$@"', "sh", *program("ten_launches.py")]
    result = machine.run(*command, options=["-o", "kept"])
    expect((result.stdout, result.returncode), ("result 700\n", 3), "result")
    expect_in("[bracketed]", result.stderr, "report")
    expect_in("cudadiag: the session is incomplete: ", result.stderr, "message")
    assert "cudadiag report" not in result.stderr, "a session that does not exist is recommended: " + result.stderr


def recording_of_another_version_is_not_read_and_the_remedy_is_named(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"))
    (area,) = (machine.state / "cudadiag/latest/record").glob("*.area")
    content = bytearray(area.read_bytes())
    content[8] = 5  # the version, after eight bytes of magic
    area.write_bytes(content)
    reason = f"{area.resolve()} was ignored: it was written in format version 5; this cudadiag reads version "
    remedy = "; open it with the version of cudadiag that wrote it\n"
    shown = machine.cudadiag("report").stdout
    expect((shown.startswith(f"cudadiag: cannot tell whether CUDA failed in this session: {reason}"), shown[-len(remedy):]),
           (True, remedy), shown)
    expect_in("a rerun would add nothing: no recording of a process could be read\n", machine.cudadiag("bisect").stderr, "bisect")


def folders_of_somebody_else_are_said_to_be_so(machine):
    if os.geteuid() != 0:
        skip("only root can run it as another user")
    sessions = machine.folder / "sessions"
    sessions.mkdir(0o700)
    machine.folder.chmod(0o755)
    somebody = dict(user=65534, group=65534, cwd="/")
    try:
        listed = machine.cudadiag("list", "-o", sessions, **somebody)
    except PermissionError:
        skip("only its owner can reach the build folder")
    expect((listed.returncode, listed.stdout), (125, ""), "list")
    expect_in(f"{sessions} cannot be read: it belongs to another user", listed.stderr, "message")
    os.chown(sessions, 65534, 65534)
    sessions.chmod(0)
    for command in ("list", "report", "status"):
        refused = machine.cudadiag(command, "-o", sessions, **somebody)
        expect((refused.returncode, refused.stderr), (125, f"cudadiag: {sessions} cannot be read: its owner has no "
               f"read permission; run: chmod u+rx {sessions}\n"), command)
    machine.environment["CUDADIAG_DIR"] = "/etc/some/where"
    shown = machine.cudadiag("doctor", **somebody).stdout
    expect_in(" /etc/some/where cannot be created: /etc is not writable, so ", shown, "doctor")
    expect_in(" fix: choose a different folder with CUDADIAG_DIR or -o FOLDER\n", shown, "its fix")
