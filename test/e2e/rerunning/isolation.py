"""A rerun that the user did not request changes nothing, and proves what it can. Each function's name says what it
tests."""

import itertools
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import hangs
import kills
from counted_changes import Place, changed, lines_of
from harness import HERE, expect, expect_in, expect_success, program, skip
from passes import AGAIN, bisect, evidence, outcomes, rerun, session_of
from servers import file_server


WALLS = "--write-limit=0"  # no overlays: a rerun may not write


def _ways(machine):
    return [[], [WALLS]] if "reruns may write up to " in machine.cudadiag("doctor").stdout else [[WALLS]]


def _needs_overlays(machine):
    if len(_ways(machine)) == 1:
        skip("mounting overlays is not allowed here")


def _expect_once(machine, *kinds, reached=False, written=False, ways=None):
    """`reached`: the program goes on although it is denied something. `written`: with overlays, it is denied nothing."""
    machine.plan(AGAIN)
    for options, kind in itertools.product(ways or _ways(machine), kinds):
        (machine.folder / "log.txt").unlink(missing_ok=True)
        with Place(machine) as place:
            count, result = changed(machine, place, kind, *options)
            told = f"{kind} {options}, with stderr {result.stderr}"
            expect((count, result.returncode), (1, 3), "changes made, and the status of " + told)
            report = machine.report()
            expect([each["name"] for each in report["passes"]][:2], ["record", "confirm"], "passes of " + told)
            kept = report["passes"][1]["kept_from"]
            may = written and not options
            expect(bool(kept), not may, "whether it was denied something: " + told)
            if reached or may:
                expect(evidence(report)[0], "proven", "grade of " + told)
            else:
                expect_in("not confirmed: a rerun", result.stderr, kind)
                expect_in("was kept from", result.stderr, kind)
                expect_in("; to allow it: cudadiag bisect --no-device-pass", result.stderr, kind)


def _has_private_network(machine):
    return "isolated, with a private network\n" in machine.cudadiag("doctor").stdout


def _needs_private_network(machine):
    if not _has_private_network(machine):
        skip("creating a network is not allowed here")


# ---- what a rerun cannot change


def rerun_appends_to_no_file(machine):
    _expect_once(machine, "appends_here", "appends_elsewhere", "appends_through_a_linked_folder",
                 "appends_through_a_linked_file", "appends_in_a_shell", "appends_in_a_thread",
                 "appends_in_a_session_of_its_own", "appends_by_a_hard_link", written=True)


def rerun_appends_to_no_file_on_a_mount(machine):
    """Another folder is mounted below the working folder, as in containers."""
    if os.getuid() != 0:
        skip("only root may mount")
    (machine.folder / "mounted").mkdir()
    place = str(machine.folder) + ".place/linked"
    machine.wrapper = ["unshare", "--mount", "sh", "-c", f'mount --bind {place} mounted && exec "$@"', "sh"]
    _expect_once(machine, "appends_on_a_mount", written=True)


def rerun_rewrites_no_file(machine):
    _expect_once(machine, "replaces", "truncates", "maps", "commits", "inserts", written=True)


def rerun_removes_and_makes_nothing(machine):
    _expect_once(machine, "removes", "removes_a_folder", "moves", "makes_a_folder", "makes_a_link", "makes_a_pipe",
                 "makes_a_lock", "copies", written=True)


def rerun_changes_nothing_about_a_file(machine):
    kinds = ["changes_mode", "changes_mode_by_descriptor", "changes_time", "changes_time_by_descriptor"]
    _expect_once(machine, *kinds, *(["changes_owner"] if os.getuid() == 0 else []), written=True)


def rerun_changes_no_file_by_its_own_descriptor(machine):
    _expect_once(machine, "changes_mode_by_a_path_with_two_slashes", "changes_mode_by_a_path_with_a_dot",
                 "changes_mode_by_a_link_to_its_descriptors", written=True)
    _expect_once(machine, "sends_to_a_local_server_by_descriptor")


def rerun_changes_no_version_of_a_file(machine):
    _expect_once(machine, "changes_version", ways=[[WALLS]])


def rerun_writes_to_no_file_that_replaced_its_own(machine):
    _expect_once(machine, "writes_to_a_file_that_replaced_its_own", ways=[[WALLS]])


def rerun_removes_no_file_that_it_failed_to_make(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        count, result = changed(machine, place, "fails_to_make_a_file_that_a_service_makes", WALLS)
        expect(count, 2, "files of the service, with stderr " + result.stderr)
        expect(evidence(machine.report())[0], "proven", "grade")


def _expect_kept_from(machine, kinds):
    machine.plan(AGAIN)
    for kind, deed in kinds.items():
        with Place(machine) as place:
            _, result = changed(machine, place, kind)
            kept = machine.report()["passes"][1]["kept_from"]
            expect((kind, {each["deed"] for each in kept}), (kind, {deed}), "what it was denied, with stderr " + result.stderr)


def rerun_leaves_its_supervisor_alone(machine):
    kinds = {"stops_its_parent": "signal", "limits_its_parent": "change"}
    if sys.version_info >= (3, 9):
        kinds.update({"takes_a_descriptor_of_its_parent": "trace", "advises_a_stranger": "trace"})
    _expect_kept_from(machine, kinds)


def rerun_changes_no_attribute_of_a_file(machine):
    _expect_once(machine, "changes_attribute", written=True)


def rerun_changes_no_flag_of_a_file(machine):
    if shutil.which("lsattr") is None:
        skip("lsattr is not installed")
    _expect_once(machine, "changes_flags")


def background_writer_of_a_rerun_writes_nothing(machine):
    machine.plan(AGAIN)
    writes = ('( exec 5>ckpt.bin; for i in 1 2 3 4 5 6 7 8; do echo "$CUDADIAG_PASS" >&5; sleep .2; done ) >/dev/null 2>&1 & '
              'exec "$@"')
    rerun(machine, "sh", "-c", writes, "sh", *program("probe.py"))
    file = machine.folder / "ckpt.bin"
    for _ in range(100):
        if lines_of(file) == 8:
            break
        time.sleep(0.1)
    expect(file.read_text(), "record\n" * 8, "the checkpoint of the first run")
    expect(evidence(machine.report())[0], "proven", "grade")


def rerun_sends_nothing(machine):
    _expect_once(machine, "sends_to_a_server", "sends_to_a_local_server", "sends_to_a_nameless_server",
                 "sends_a_local_datagram", "writes_to_a_pipe")
    # In a private network, no process receives what the rerun sends, although sending may succeed.
    _expect_once(machine, "sends_a_datagram", "sends_a_message", reached=_has_private_network(machine))


def rerun_serves_nobody(machine):
    _expect_once(machine, "listens", "listens_without_a_name", written=_has_private_network(machine))


def rerun_at_the_port_of_a_living_server_leaves_it_alone(machine):
    """The first run's server is still running. The rerun starts another server at the same port, and must query its
    own."""
    _needs_private_network(machine)
    machine.plan(AGAIN)
    with Place(machine) as place:
        count, result = changed(machine, place, "leaves_a_server")
        expect(count, 1, "clients of the first run's server, with stderr " + result.stderr)
        expect(evidence(machine.report())[0], "proven", "grade")
        socket.create_connection(("127.0.0.1", int((place.path / "free").read_text()))).close()
        _until(lambda: lines_of(place.path / "count") == 2, "an answer of the first run's server")
        for pid in kills.processes():
            if str(place.path) in kills.words(pid, "cmdline"):
                kills.kill(pid)


def daemon_of_a_rerun_does_nothing(machine):
    _expect_once(machine, "leaves_a_daemon", reached=True, written=True)


def rerun_has_no_descriptor_of_the_first_run(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        count, result = changed(machine, place, "writes_to_an_inherited_descriptor")
        expect(count, 1, "lines that were written")
        expect_in("before it reached this call", result.stderr, "result of the rerun")


def rerun_shares_no_memory_with_others(machine):
    _expect_once(machine, "adds_to_shared_memory", "adds_to_a_semaphore", "adds_to_a_message_queue")
    _expect_once(machine, "adds_to_a_file_in_shared_memory", written=True)


def rerun_adds_to_no_message_queue(machine):
    _expect_once(machine, "adds_to_a_posix_queue")


def rerun_touches_no_stranger(machine):
    kinds = ["signals_a_stranger", "limits_a_stranger", "slows_a_stranger", "marks_a_stranger"]
    if sys.version_info >= (3, 9):
        kinds.append("signals_by_descriptor")
    _expect_once(machine, *kinds)


def kernel_confines_the_rerun_whoever_answers_its_calls(machine):
    """Landlock keeps the rerun from reading other processes. Intercepting its system calls would not be enough."""
    machine.plan(AGAIN)
    with Place(machine) as place:
        looks = f'readlink /proc/{place.stranger().pid}/cwd; exec "$@"'
        first = rerun(machine, "sh", "-c", looks, "sh", *program("probe.py"))
        expect(first.stdout, os.getcwd() + "\n", "what the first run saw")
        (shown,) = machine.state.glob("cudadiag/2*/confirm/output.txt")
        expect(shown.read_text(), "", "what the rerun saw")
        expect(evidence(machine.report())[0], "proven", "grade")


def emergency_checkpoint_of_the_first_run_stays_as_it_was(machine):
    _expect_once(machine, "saves_after_the_failure", reached=True, written=True)


# ---- what it writes with overlays


def _passes(machine):
    return [(each["name"], each["kept_from"]) for each in machine.report()["passes"]]


def rerun_does_not_see_what_the_first_run_created(machine):
    _needs_overlays(machine)
    machine.plan(AGAIN)
    result = rerun(machine, "sh", "-c", 'mkdir out && echo "$CUDADIAG_PASS" >out/log && exec "$@"', "sh", *program("probe.py"))
    expect(evidence(machine.report())[0], "proven", "grade, with stderr " + result.stderr)
    expect(_passes(machine), [("record", []), ("confirm", [])], "passes")
    expect((machine.folder / "out/log").read_text(), "record\n", "the log of the first run")
    expect([each["text"] for each in machine.report()["notes"] if each["code"] == "launcher"],
           ["isolated reruns that could write did not see what was created during the first run: out"], "notes")


def rerun_is_not_kept_from_anything_by_a_shell_that_looks_for_a_terminal(machine):
    machine.plan(AGAIN)
    asks = '( : >/dev/tty ) 2>/dev/null; test "$CUDADIAG_PASS" = record || exit 5; exec "$@"'
    rerun(machine, "sh", "-c", asks, "sh", *program("probe.py"))
    expect(machine.report()["passes"][1]["outcome"], "ended before it reached this call", "outcome")
    expect(_passes(machine)[1:], [("confirm", [])], "passes")


def rerun_that_misses_what_was_hidden_runs_again_with_it(machine):
    _needs_overlays(machine)
    machine.plan(AGAIN)
    first = 'test "$CUDADIAG_PASS" != record || echo data >given; cat given || exit 5; exec "$@"'
    result = rerun(machine, "sh", "-c", first, "sh", *program("probe.py"))
    expect(evidence(machine.report())[0], "proven", "grade, with stderr " + result.stderr)
    expect([name for name, _ in _passes(machine)], ["record", "confirm", "confirm"], "passes")
    expect("did not see" in str(machine.report()["notes"]), False, "whether a note says that it was hidden")


def rerun_that_writes_more_than_it_may_says_so(machine):
    _needs_overlays(machine)
    machine.plan(AGAIN)
    for fill in ("head -c 3000000 /dev/zero >large", "echo >>huge"):
        with open(machine.folder / "huge", "wb") as huge:
            huge.truncate(2 << 20)
        result = rerun(machine, "sh", "-c", f'{fill} || exit 5; exec "$@"', "sh", *program("probe.py"),
                       options=["--write-limit=1"])
        kept = _passes(machine)[-1][1]
        expect_in("--write-limit", kept[0]["object"] if kept else "", f"what {fill} was denied, with stderr {result.stderr}")
        expect_in("was kept from writing", result.stderr, "message")


# ---- what it may do


def _expect_proven(machine, *kinds):
    machine.plan(AGAIN)
    machine.environment.pop("PYTHONDONTWRITEBYTECODE", None)
    (machine.folder / "modules").mkdir(exist_ok=True)
    machine.environment["PYTHONPATH"] = str(machine.folder / "modules")
    (machine.folder / "modules/site_packages_of_none.py").write_text("answer = 42\n")
    for options in _ways(machine):
        machine.runs.unlink(missing_ok=True)
        result = rerun(machine, *program("harmless.py", *kinds), options=options)
        output = (session_of(machine) / "confirm/output.txt").read_text(errors="replace")
        done = [line.removeprefix("done: ") for line in output.splitlines() if line.startswith("done: ")]
        expect(done, list(kinds), f"what the rerun did with {options}, with output {output[-4000:]}")
        grade, because = evidence(machine.report())
        expect(grade, "proven", f"grade with {options}: {because}; {machine.report()['passes'][-1]}, with stderr {result.stderr}")
        shutil.rmtree(machine.folder / "modules/__pycache__", ignore_errors=True)


def program_with_temporary_files_is_proven(machine):
    _expect_proven(machine, "imports_a_package", "makes_a_temporary_file", "makes_a_temporary_folder",
                   "changes_a_temporary_file", "uses_a_temporary_database", "uses_a_database_in_memory",
                   "makes_a_memory_file", "makes_a_nameless_file", "packs_an_archive", "writes_to_a_cache")


def program_of_several_processes_is_proven(machine):
    _expect_proven(machine, "uses_a_pool", "uses_a_queue", "uses_a_lock", "uses_a_manager", "spawns_processes",
                   "forks", "detaches_a_child", "kills_a_child", "ends_a_group")


def program_with_shared_memory_is_proven(machine):
    _expect_proven(machine, "shares_memory", "names_a_nameless_file_in_shared_memory", "makes_a_folder_in_shared_memory",
                   "moves_a_file_in_shared_memory", "has_no_descriptor_left_for_shared_memory")


def program_that_runs_commands_is_proven(machine):
    _expect_proven(machine, "runs_a_command", "runs_a_pipeline", "runs_a_shell_with_a_document", "runs_git",
                   "prints_much", "prints_to_both", "opens_its_output", "compiles", "runs_a_loop")


def program_that_talks_to_itself_is_proven(machine):
    _expect_proven(machine, "starts_threads", "talks_over_a_pair", "talks_over_a_local_socket",
                   "talks_over_a_nameless_socket", "passes_descriptors", "waits_for_events", "signals_itself",
                   "names_its_threads", "names_threads_of_a_child", "limits_itself")


def program_whose_processes_meet_at_a_port_is_proven(machine):
    _needs_private_network(machine)
    _expect_proven(machine, "talks_over_tcp", "waits_for_a_server", "talks_over_datagrams")
    expect(machine.report()["passes"][1]["kept_from"], [], "what the rerun was denied")


def program_whose_processes_meet_at_a_port_is_proven_in_a_container(machine):
    """In this container, root may not create a network namespace, but may create a user namespace."""
    if os.getuid() != 0:
        skip("only root can give up a capability")
    machine.wrapper = ["setpriv", "--bounding-set", "-sys_admin"]
    _needs_private_network(machine)
    _expect_proven(machine, "talks_over_tcp", "reads_files")


def rerun_that_can_have_no_network_says_so(machine):
    machine.wrapper = program("without_namespaces.py")
    machine.plan(AGAIN)
    result = rerun(machine, *program("harmless.py", "talks_over_tcp"))
    expect_in(" (a private network is not allowed here); to allow it: cudadiag bisect --no-device-pass", result.stderr, "message")
    expect([each["name"] for each in machine.report()["passes"]], ["record", "confirm"], "passes")


def program_that_reads_is_proven(machine):
    _expect_proven(machine, "reads_files", "writes_to_nothing", "asks_for_names", "makes_numbers")


def nothing_of_a_rerun_is_left(machine):
    machine.plan(AGAIN)
    rerun(machine, *program("harmless.py", "leaves_a_file_in_shared_memory"))
    os.unlink(f"/dev/shm/{machine.folder.name}.record")
    (folder,) = [path for path in (machine.state / "cudadiag").iterdir() if not path.is_symlink()]
    expect((folder / "confirm/private").exists(), False, "a private folder in the session")
    expect([name for name in os.listdir(machine.folder) if name.startswith("cudadiag-")], [], "temporary folders")
    own = [name for name in os.listdir("/dev/shm") if name.startswith(machine.folder.name)]  # those of this test
    expect(own, [], "files in shared memory")


def folder_that_took_the_place_of_a_session_is_left_alone(machine):
    machine.plan(AGAIN)
    waits = 'test "$CUDADIAG_PASS" = record || while test ! -e go; do sleep .02; done; exec "$@"'
    precious = machine.folder / "outside/confirm/private/precious"
    precious.parent.mkdir(parents=True)
    precious.write_text("precious")
    # With a longer path, the private folder would be in the temporary folder.
    with tempfile.TemporaryDirectory(prefix="c") as short:
        machine.environment["CUDADIAG_DIR"] = short
        machine.run("sh", "-c", waits, "sh", *program("probe.py"))
        session = (pathlib.Path(short) / "latest").resolve()
        machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
        running = machine.start(*machine.command("bisect", "--isolated", WALLS, "--no-device-pass"), stdin=subprocess.DEVNULL)
        _until((session / "confirm/private/tmp").exists, "the private folder")
        moved = session.rename(session.with_suffix(".moved"))
        session.symlink_to(machine.folder / "outside")
        (machine.folder / "go").touch()
        running.communicate(timeout=60)
        expect((precious.exists(), (moved / "confirm/private").exists()), (True, False), "what is there after the rerun")


def _supervisor(launcher):
    """The process that watches over the rerun, or None while the rerun has no process."""
    return next((pid for pid in kills.children(launcher.pid)
                 if "__supervise" in kills.words(pid, "cmdline") and kills.children(pid)), None)


def supervisor_has_no_file_of_the_first_run(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    launcher = machine.start(*machine.command("run", "--rerun=auto", "--no-device-pass", "--time-limit=5", "--",
                                              *program("probe.py", "rerun-hangs")), stdin=subprocess.DEVNULL)
    folder = pathlib.Path(f"/proc/{_until(lambda: _supervisor(launcher), 'a rerun')}/fd")
    files = [os.readlink(path) for path in folder.iterdir() if int(path.name) > 2]
    launcher.terminate()
    launcher.communicate(timeout=60)
    own = ("/private", "/memfd:", "/cudadiag-")  # the private folder, which may be in the temporary folder; the arena
    # "/" is where the overlays' files are, a file system without a place.
    files = [path for path in files if path.startswith("/") and path != "/" and not any(part in path.removeprefix(str(machine.folder)) for part in own)]
    expect(files, [], "files that the supervisor has open")


def bisect_may_do_what_the_program_does(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        machine.run(*program("changes.py", "appends_elsewhere", place.path))
        expect_success(bisect(machine))
        expect(lines_of(place.path / "count"), 2, "lines that were written")
        expect(evidence(machine.report())[0], "proven", "grade")
        expect([(each["isolated"], each["kept_from"]) for each in machine.report()["passes"]], [(False, [])] * 2, "passes")


# ---- on kernels whose Landlock covers less


def _with_landlock(machine, version):
    machine.environment["OLD_LANDLOCK"] = str(version)
    machine.wrapper = ["env", f"LD_PRELOAD={machine.build / 'targets/libold_landlock.so'}"]


def _expect_the_same_with_old_landlock(machine, version, *kinds):
    _with_landlock(machine, version)
    _expect_once(machine, "appends_elsewhere", "changes_mode", written=True)
    _expect_once(machine, *kinds, ways=[[WALLS]])
    _expect_proven(machine, "uses_a_pool", "shares_memory", "ends_a_group", "kills_a_child", "prints_to_both", "forks")


def rerun_is_as_isolated_with_the_first_landlock(machine):
    """The first version covers least. Between it and version 6, only the rights that Landlock is asked for differ."""
    kinds = ["replaces", "removes", "makes_a_link", "sends_to_a_local_server", "sends_to_a_nameless_server",
             "signals_a_stranger", "signals_a_group_without_leader", "resizes_a_terminal"]
    if sys.version_info >= (3, 9):
        kinds.append("signals_by_a_folder_of_a_process")
    _expect_the_same_with_old_landlock(machine, 1, *kinds)
    rerun_leaves_its_supervisor_alone(machine)


def rerun_is_as_isolated_with_a_landlock_that_covers_no_devices(machine):
    _expect_the_same_with_old_landlock(machine, 4, "resizes_a_terminal")


def rerun_is_as_isolated_with_a_landlock_that_covers_no_signals(machine):
    _expect_the_same_with_old_landlock(machine, 5, "sends_to_a_nameless_server", "signals_a_stranger")


# ---- its end


def whoever_is_killed_leaves_nothing_of_a_rerun_and_no_stranger_is_signalled(machine):
    machine.plan(AGAIN)
    for number, (phase, who) in enumerate((phase, who) for phase in ("first", "rerun") for who in kills.VICTIMS):
        trial = kills.one(machine, who, 0.1 * number, number, phase=phase)
        expect(trial.faults(), [], f"what is wrong after {who} was killed, phase {phase}")


def sandboxed_service_of_the_first_run_survives_the_death_of_the_supervisor(machine):
    """Such a service has a system call filter, as all processes of a rerun have."""
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    starts = 'test "$CUDADIAG_PASS" = confirm || "$1" "$2" "$3" >/dev/null 2>&1 & shift 3; exec "$@"'
    launcher = machine.start(*machine.command("run", "--rerun=auto", "--no-device-pass", "--time-limit=5", "--", "sh", "-c", starts, "sh",
                                              *program("sandboxed.py", machine.folder / "service"),
                                              *program("probe.py", "rerun-hangs")), stdin=subprocess.DEVNULL)
    victim = _until(lambda: _supervisor(launcher), "a rerun")
    service = int(_until(lambda: (machine.folder / "service").exists() and (machine.folder / "service").read_text(), "the service"))
    kills.kill(victim)
    launcher.communicate(timeout=60)
    alive = bool(kills.words(service, "cmdline")[0])
    kills.kill(service)
    expect((launcher.returncode, alive), (kills.STATUS, True), "status, and whether the service lives")


def whoever_is_stopped_does_not_keep_the_status_of_the_first_run(machine):
    machine.plan(AGAIN)
    for number, who in enumerate(kills.VICTIMS):
        expect(kills.one(machine, who, 0.1, number, "STOP").faults(), [], f"what is wrong after {who} was stopped")


def file_server_that_stops_answering_does_not_keep_the_status_of_the_first_run(machine):
    machine.plan(AGAIN)
    for number in range(2):  # one that takes no requests, and one that takes them and answers none
        expect(kills.one(machine, "server", 0.1, number, "STOP").faults(), [], "what is wrong after it fell silent")


def file_server_below_the_working_folder_is_not_asked_before_the_run(machine):
    (served := machine.folder / "served").mkdir()
    with file_server(served, "holds") as server:
        os.kill(server.pid, signal.SIGUSR1)
        result = machine.run(*program("ten_launches.py"), options=["--rerun=auto"], cwd=machine.folder, timeout=60)
    expect(result.returncode, machine.plain(*program("ten_launches.py")).returncode, "status")


def second_signal_ends_a_rerun_whose_supervisor_is_stopped(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    launcher = machine.start(*machine.command("run", "--rerun=auto", "--no-device-pass", "--", *program("probe.py", "rerun-hangs")),
                             stdin=subprocess.DEVNULL)
    os.kill(_until(lambda: _supervisor(launcher), "a rerun"), signal.SIGSTOP)
    for _ in range(2):
        launcher.terminate()
        time.sleep(0.1)
    expect((launcher.wait(timeout=60), kills.of_rerun(str(machine.folder))), (kills.STATUS, []), "status, and what is left")


def report_that_waits_for_a_file_server_does_not_keep_the_status_of_the_first_run(machine):
    """The source of the program is on the server, and the report shows its line."""
    machine.plan(AGAIN)
    served = machine.folder / "served"
    served.mkdir()
    shutil.copy(HERE / "programs/silent_program.py", served)
    machine.environment["PYTHONPATH"] = str(HERE / "programs")
    with file_server(served):
        result = rerun(machine, sys.executable, served / "silent_program.py", options=["--time-limit=2"])
    expect(result.returncode, kills.STATUS, f"status, with stderr {result.stderr}")
    expect_in("cudadiag: the report is not complete: it made no progress for 2 s; a file server may not answer, and the "
              "recording is lost\n", result.stderr, "message")


SERVICE = """
( sleep .3; setsid sh -c 'echo begun >>"$0"; sleep 4; echo ended >>"$0"' "$PWD/service" & ) &
exec "$@"
"""


def orphan_of_another_program_is_none_of_the_reruns(machine):
    """The entry point of a container starts services, and then replaces itself with cudadiag."""
    machine.plan(AGAIN)
    slow = 'test "$CUDADIAG_PASS" = record || sleep 1; exec "$@"'
    command = machine.command("run", "--rerun=auto", "--no-device-pass", "--", "sh", "-c", slow, "sh", *program("probe.py"))
    machine.plain("sh", "-c", SERVICE, "sh", *command)
    expect(evidence(machine.report())[0], "proven", "grade")
    _until(lambda: (machine.folder / "service").read_text() == "begun\nended\n", "the end of the service")


def _state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _until(condition, what):
    for _ in range(500):
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("did not come: " + what)


def rerun_is_stopped_and_goes_on_with_its_launcher(machine):
    machine.plan(AGAIN)
    run = machine.start(*machine.command("run", "--rerun=always", "--no-device-pass", "--", *program("probe.py", "rerun-hangs")))

    (rerun_pid,) = kills.children(_until(lambda: _supervisor(run), "a rerun"))
    _until(lambda: "rerun-hangs" in kills.words(rerun_pid, "cmdline"), "its program")
    run.send_signal(signal.SIGTSTP)
    _until(lambda: _state_of(run.pid) == "T" and _state_of(rerun_pid) == "T", "a stop of both")
    run.send_signal(signal.SIGCONT)
    _until(lambda: _state_of(rerun_pid) == "S", "the rerun again")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    expect(outcomes(machine.report())[1], ("confirm", "interrupted"), "pass")


def orphan_of_another_program_is_not_ended_with_a_hanging_one(machine):
    command = machine.command("run", "--hang-after", "1", "--rerun=never", "--", *hangs.stuck(machine, "kernel"))
    ended = machine.plain("sh", "-c", SERVICE, "sh", *command)
    expect_in("no progress for", ended.stderr, "message")
    _until(lambda: (machine.folder / "service").read_text() == "begun\nended\n", "the end of the service")


def rerun_that_asks_the_terminal_is_ended_at_once(machine):
    machine.plan(AGAIN)
    asks = 'test "$CUDADIAG_PASS" = record || read -r answer </dev/tty; exec "$@"'
    machine.on_terminal(*machine.command("run", "--rerun=always", "--no-device-pass", "--", "sh", "-c", asks, "sh",
                                         *program("probe.py")))
    expect(outcomes(machine.report())[1], ("confirm", "it asked the terminal"), "pass")


def rerun_by_hand_that_has_failed_may_finish_what_it_writes(machine):
    machine.plan(AGAIN)
    with Place(machine) as place:
        machine.run(*program("changes.py", "saves_after_the_failure", place.path))
        expect_success(bisect(machine))
        expect((place.path / "model.ckpt").stat().st_size, 4_000_000, "bytes of the checkpoint")
