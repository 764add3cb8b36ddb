"""Hostile environments: the program behaves as without cudadiag, and messages say what is missing."""

import ctypes
import json
import os
import pathlib
import pty
import resource
import shutil
import signal
import struct
import sys

from harness import FAULT, FAULTY, HERE, expect, expect_answer, expect_in, expect_success, faulty, in_namespace, program, skip
from passes import AGAIN, evidence, expect_proven, outcomes, rerun, session_of
from targets import marked_line, plan


def every_way_to_end_leaves_the_answer(machine):
    program = machine.build / "targets/ends_abruptly"
    machine.plan(plan("ends_abruptly"))
    for way, status in (("_exit", 5), ("quick_exit", 6), ("abort", -signal.SIGABRT), ("terminate", -signal.SIGABRT),
                        ("kill", -signal.SIGKILL)):
        recorded = machine.run(program, way)
        expect((recorded.returncode, recorded.stdout), (status, f"{way} after 700\n"), "status and stdout")
        location = machine.report()["findings"][0]["location"]
        expect((location["file"], location["line"]), marked_line("ends_abruptly", "TRUE LINE"), way)


def pointers_of_refused_calls_are_not_followed(machine):
    program = machine.build / "targets/bad_arguments"
    for which in ("alloc", "async", "host", "access", "count"):
        recorded = machine.run(program, which)
        expect((recorded.returncode, recorded.stdout), (0, f"{which} returned 1\n"), f"status and stdout of {which}")


def under_jemalloc(machine):
    _under_another_allocator(machine, _library("libjemalloc.so.2"))


def under_tcmalloc(machine):
    _under_another_allocator(machine, _library("libtcmalloc_minimal.so.4"))


def under_mimalloc(machine):
    _under_another_allocator(machine, _library("libmimalloc.so.2"))


def under_the_allocator_of_the_address_sanitizer(machine):
    # the launcher may itself be built with a sanitizer
    _under_another_allocator(machine, _library("libasan.so.*"), launcher=False)


def _library(name):
    return next(pathlib.Path("/usr/lib").glob(f"*-linux-gnu/{name}"), None) or skip(f"{name} is not installed")


def _under_another_allocator(machine, library, launcher=True):
    """Preloads the library in the program and, if `launcher` is true, in the launcher. The program's results and errors
    must not change."""
    def answer(finding):
        return ({name: finding[name] for name in ("kind", "cause", "location", "reported_at")},
                finding["evidence"]["grade"], [each["location"] for each in finding["candidates"]])

    loaded = ["env", f"LD_PRELOAD={library}", "ASAN_OPTIONS=detect_leaks=0"]
    healthy, program = machine.build / "targets/healthy", faulty(machine)
    machine.run(program)
    usual = answer(machine.report()["findings"][0])
    plain = machine.plain(*loaded, program)
    expect(plain.stderr, "", "what it prints without cudadiag")  # for example, an error of the dynamic loader
    recorded = machine.run(*loaded, program)
    expect(answer(expect_answer(machine, recorded, plain)), usual, "answer")
    sessions = machine.sessions()
    plain, recorded = machine.plain(*loaded, healthy), machine.run(*loaded, healthy)
    expect((recorded.returncode, recorded.stdout, recorded.stderr), (plain.returncode, plain.stdout, plain.stderr),
           "the output of a correct program")
    expect(machine.sessions(), sessions, "sessions")
    if launcher:
        recorded = machine.plain(*loaded, *machine.command("run", "--rerun=never", "--", program))
        expect(answer(expect_answer(machine, recorded, machine.plain(program))), usual, "answer, exported")


def with_a_debugger_attached(machine):
    if not shutil.which("gdb"):
        skip("gdb is not installed")
    command = ["gdb", "--batch", "--nx", "-ex", "set debuginfod enabled off", "-ex", "run", faulty(machine)]
    plain, recorded = machine.plain(*command), machine.run(*command)
    if "exited with code" not in plain.stdout:
        skip("this machine does not allow tracing")
    expect_in("exited with code", recorded.stdout, "what the debugger says")
    location = machine.report()["findings"][0]["location"]
    expect((location["file"], location["line"]), marked_line(FAULTY, "TRUE LINE"), "true line")


def forbidden_system_calls(machine):
    """Calls that a container's filter may deny, to the launcher and to the program."""
    program = faulty(machine)
    plain = machine.plain(program)
    recorded = machine.run(program, preexec_fn=refuse_system_calls)
    expect_answer(machine, recorded, plain)


def status_under_a_filter_that_kills(machine):
    """The program exits normally, because the recorder makes no system call at exit either."""
    recorded = machine.run(machine.build / "targets/strict_filter", options=["-q"])
    expect((recorded.returncode, recorded.stdout), (3, ""), "result")


def what_keeps_a_command_from_being_started_is_told(machine):
    """The message must give the system call that failed, and not blame the permissions of the command."""
    for refused, said in (({"pipe": 22, "pipe2": 293}, "cannot create a pipe to it (pipe, fcntl)"),
                          ({"fcntl": 72}, "cannot create a pipe to it (pipe, fcntl)"),
                          ({"fork": 57, "vfork": 58, "clone": 56, "clone3": 435}, "cannot create a process (fork)")):
        result = machine.run("true", preexec_fn=lambda: refuse_system_calls(refused))
        expect((result.returncode, result.stderr.splitlines()[-1:]), (125, [
            f"cudadiag: cannot start true: {said}: Operation not permitted; the seccomp filter of a container or sandbox "
            "may forbid it"]), f"result without {refused}")


def without_proc_nobody_is_said_to_be_missing(machine):
    run = machine.command("run", "--rerun=never", "--", "sh", "-c", "exit 3")
    result = in_namespace(machine, ["--mount"], "mount -t tmpfs none /proc || exit 77", *run)
    expect((result.returncode, result.stderr), (3, "cudadiag: running without recording: cannot look for "
           "libcudadiag_record.so: /proc/self/exe: No such file or directory; mount /proc, or set CUDADIAG_RECORDER to "
           "its path\n"), "result")


# The calls that Docker's default profile and stricter ones deny.
OFTEN_REFUSED = {"ptrace": 101, "memfd_create": 319, "process_vm_readv": 310, "process_vm_writev": 311, "bpf": 321,
                 "perf_event_open": 298, "userfaultfd": 323, "kcmp": 312, "pidfd_open": 434, "pidfd_getfd": 438,
                 "io_uring_setup": 425, "close_range": 436, "personality": 135, "membarrier": 324}


def refuse_system_calls(refused=OFTEN_REFUSED):
    """Installs a classic BPF filter on the number of the call. These calls then fail with EPERM."""
    load_number, jump_if_equal, answer = 0x20, 0x15, 0x06
    allow, deny = 0x7FFF0000, 0x00050001
    filters = [(load_number, 0, 0, 0)]
    for left, number in zip(range(len(refused), 0, -1), refused.values()):
        filters.append((jump_if_equal, left, 0, number))
    filters += [(answer, 0, 0, allow), (answer, 0, 0, deny)]
    code = b"".join(struct.pack("HBBI", *each) for each in filters)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(filters), ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_no_new_privs, pr_set_seccomp, mode_filter = 38, 22, 2
    if libc.prctl(pr_set_no_new_privs, 1, 0, 0, 0) or libc.prctl(pr_set_seccomp, mode_filter, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter")


def recorded_twice(machine):
    """The recorded program is another launcher, which runs the same program."""
    program = faulty(machine)
    plain = machine.plain(program)
    inner = machine.command("run", "--rerun=never", "--", program)
    recorded = machine.run(*inner)
    expect_answer(machine, recorded, plain)
    expect(recorded.stderr.count("illegal memory access (700)"), 1, f"reports in {recorded.stderr}")


def nothing_to_write_to(machine):
    """Some of descriptors 0, 1 and 2 are closed. cudadiag opens no file under these numbers, and the program finds them
    closed."""
    program = faulty(machine)
    # The shell inspects itself and its parent.
    places = ('(for p in $$ $PPID; do for n in 0 1 2; do readlink /proc/$p/fd/$n || echo closed; done; done) > "$1"; '
              'exec "$0"')
    for closed in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        close = ["sh", "-c", 'exec "$@" ' + " ".join(f"{number}>&-" for number in closed), "sh"]
        plain = machine.plain(*close, "sh", "-c", places, program, "plain")
        recorded = machine.plain(*close, *machine.command("run", "--rerun=never", "--", "sh", "-c", places, program,
                                                          "recorded"))
        expect_answer(machine, recorded, plain)
        expect("illegal memory access (700)" in recorded.stderr, 2 not in closed, f"report on 2, with {closed} closed")
        found = [(machine.folder / name).read_text().split("\n") for name in ("plain", "recorded")]
        for number in range(3):
            expect(*(places[number] == "closed" for places in found), f"descriptor {number} with {closed} closed")
        for number in closed:
            expect(found[0][number], "closed", "what a program without cudadiag finds")
            for kept in ("memfd:", "pipe:", str(machine.folder)):
                assert kept not in found[1][3 + number], f"{found[1][3 + number]} of cudadiag is descriptor {number}"


def process_numbers_of_its_own(machine):
    """The program has a different /proc, through which the launcher's memory cannot be reached, so it writes a file."""
    program = faulty(machine)
    plain = machine.plain(program)
    command = ["unshare", "--pid", "--fork", "--mount-proc", program]
    if machine.plain(*command).returncode != plain.returncode:
        skip(f"{' '.join(command[:-1])} is not allowed here")
    expect_answer(machine, machine.run(*command), plain)


def program_that_replaces_one_that_looked_for_a_device(machine):
    """Without the launcher, both programs write a file for the same process id."""
    program = faulty(machine)
    exports = expect_success(machine.cudadiag("env")).stdout
    probe = machine.build / "targets/exec_after_probe"
    recorded = machine.plain("sh", "-c", exports + 'exec "$@"', "sh", probe, program)
    expect_answer(machine, recorded, machine.plain(program))


def _with_an_arena_that_is_not_one(machine, descriptor, *command):
    """Like a program that outlived its launcher: the launcher's pid now belongs to another process."""
    exports = expect_success(machine.cudadiag("env")).stdout
    arena = f"export CUDADIAG_ARENA=/proc/{os.getpid()}/fd/{descriptor}\n"
    # A new session has no controlling terminal. If the recorder opened a terminal, that would become the controlling
    # terminal.
    return machine.plain("sh", "-c", exports + arena + 'exec "$@"', "sh", *command, start_new_session=True)


def file_in_the_place_of_an_arena_is_left_alone(machine):
    program = faulty(machine)
    copy = machine.folder / "copy"
    expect_success(machine.run("sh", "-c", f'head -c 65536 "$CUDADIAG_ARENA" > {copy}'))
    header = copy.read_bytes()
    expect(header[:8], b"CDGARENA", "the start of the copy")
    (area_bytes,) = struct.unpack_from("<Q", header, 16)
    os.truncate(copy, 65536 + area_bytes)
    with copy.open("r+b") as file:
        recorded = _with_an_arena_that_is_not_one(machine, file.fileno(), program)
        expect(file.read(len(header)), header, "the file after the run")
    expect_answer(machine, recorded, machine.plain(program))


def terminal_in_the_place_of_an_arena_stays_as_it_is(machine):
    ours, terminal = pty.openpty()
    code = "import os, cuda; cuda.start(); os.open('/dev/tty', os.O_RDWR)"
    machine.environment["PYTHONPATH"] = str(HERE / "programs")
    result = _with_an_arena_that_is_not_one(machine, terminal, sys.executable, "-c", code)
    expect_in("No such device or address: '/dev/tty'", result.stderr, "what a process without a terminal says")
    os.close(ours)
    os.close(terminal)


def child_of_fork_where_no_page_is_wiped(machine):
    """The child has a copy of its parent's record, and does not touch it."""
    target = "fork_between_launches"
    machine.plan(plan(target))
    machine.environment["LD_PRELOAD"] = str(machine.build / "targets/libno_wipe.so")
    machine.run(machine.build / "targets" / target)
    location = machine.report()["findings"][0]["location"]
    expect((location["file"], location["line"]), marked_line(target, "TRUE LINE"), "true line")


def no_core_files_no_locked_memory_small_stack(machine):
    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))

    program = faulty(machine)
    expect_answer(machine, machine.run(program, preexec_fn=limits), machine.plain(program, preexec_fn=limits))


def answer_is_whole_with_little_stack(machine):
    """As after `ulimit -s 64`. Reading debug information alone needs a larger stack."""
    program = faulty(machine)
    for kilobytes in (128, 64, 32):
        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (kilobytes << 10, kilobytes << 10))

        recorded = machine.run(program, options=["--rerun=always", "--races"], preexec_fn=limit)
        finding = expect_answer(machine, recorded, machine.plain(program, preexec_fn=limit))
        expect(finding["evidence"]["grade"], "proven", f"grade with {kilobytes} kB")
        expect_success(machine.cudadiag("report", preexec_fn=limit))


def rival_that_comes_later_is_refused_as_by_anyone(machine):
    """CUPTI allows one subscriber per process. A profiler that subscribes after cudadiag gets CUPTI's usual error. By
    default, cudadiag leaves CUPTI to the profiler."""
    for way, number in (("cupti", 39), ("auto", 0)):
        result = expect_success(machine.run(machine.build / "targets/profiles_itself", options=[f"--watch-by={way}"]))
        expect(result.stdout, f"subscribing: {number}\ndone\n", f"stdout, {way}")


def profilers_that_share_cupti_both_have_it(machine):
    target = machine.build / "targets/profiles_itself"
    for plan, word, number in (("cupti=shared", "share", 0), ("cupti=shared", "alone", 39), ("cupti=unshared", "share", 39)):
        machine.plan(f"{plan}; fault kernel=scale nth=1 code=700")
        result = machine.run(target, word, options=["-o", plan, "--rerun=never", "--watch-by=cupti"])
        expect_in(f"subscribing: {number}\n", result.stdout, f"{plan}, {word}")
        expect(machine.report("-o", plan)["findings"][0]["launch"]["watched_by"], "cupti", f"{plan}, {word}")


def stream_that_threads_meet_together_is_one(machine):
    machine.plan(FAULT.replace("smooth", "scale").replace("nth=3", "nth=1"))
    machine.run(machine.build / "targets/streams_met_together")
    dump = expect_success(machine.cudadiag("dump")).stdout.splitlines()
    expect(sum(line.startswith("stream ") for line in dump), 400, "streams")


def streams_without_a_place_are_asked_about_once(machine):
    name = "streams_beyond_room"
    machine.plan(plan(name))
    machine.run(machine.build / "targets" / name)
    dump = expect_success(machine.cudadiag("dump")).stdout.splitlines()
    expect_in(" streams=100 ", next(line for line in dump if line.startswith("dropped ")), "what was dropped")
    location = machine.report()["findings"][0]["location"]
    expect((location["file"], location["line"]), marked_line(name, "TRUE LINE"), "true line")


def stream_in_the_place_of_one_that_left_work_behind_is_kept(machine):
    name = "stream_in_anothers_place"
    machine.plan(plan(name))
    machine.run(machine.build / "targets" / name, options=["--markers=off"])
    location = machine.report()["findings"][0]["location"]
    expect((location["file"], location["line"]), marked_line(name, "TRUE LINE"), "true line")


def contexts_of_any_number_are_described_once(machine):
    machine.plan(plan("many_resets"))
    machine.run(machine.build / "targets/many_resets")
    (area,) = (machine.state / "cudadiag/latest/record").glob("*.area")
    entries = intern_entries(area.read_bytes(), {8: "note", 9: "property"})
    expect(len(entries), len(set(entries)), "entries of notes and properties, and different ones")


def intern_entries(area, tags):
    """Returns the entries of the interning heap (drawn in lib/wire/intern.h) that have one of these tags."""
    at = struct.unpack_from("<Q", area, 1024 + 16 * 13)[0]
    end, entries = at + struct.unpack_from("<Q", area, 120)[0], []
    while at < end:
        size, tag = struct.unpack_from("<IH", area, at)
        entries += [area[at:at + size]] if tag in tags else []
        at += size
    return entries


def threads_of_any_number_have_default_streams_of_their_own(machine):
    machine.plan(FAULT.replace("smooth", "scale").replace("nth=3", "nth=2"))
    machine.run(machine.build / "targets/per_thread_stream", "5000")
    dump = expect_success(machine.cudadiag("dump")).stdout.splitlines()
    issued = {line.split(" issued=")[1].split()[0] for line in dump if line.startswith("stream ") and " flags=2 " in line}
    expect(issued, {"2", "5"}, "operations of a thread's stream")
    expect_in(" streams=0 ", next(line for line in dump if line.startswith("dropped ")), "what was dropped")


def memory_freed_by_a_thread_without_a_place_is_not_kept_for_living(machine):
    machine.plan(plan("unrecorded_thread"))
    machine.run(machine.build / "targets/unrecorded_thread", "memory")
    dump = expect_success(machine.cudadiag("dump")).stdout.splitlines()
    (allocation,) = [line for line in dump if line.startswith("allocation ")]
    assert " freed=0 " not in allocation, allocation


def memory_that_a_thread_without_a_place_is_refused_to_free_lives_on(machine):
    machine.plan(plan("unrecorded_thread"))
    expect_in("refused", machine.run(machine.build / "targets/unrecorded_thread", "refused").stdout, "its output")
    dump = expect_success(machine.cudadiag("dump")).stdout.splitlines()
    (allocation,) = [line for line in dump if line.startswith("allocation ")]
    expect_in(" freed=0 ", allocation, "the allocation")


def closed_pipe_of_ours_costs_the_command_nothing(machine):
    """As in `cudadiag run -- COMMAND 2>&1 | head -1`."""
    machine.plan(FAULT)
    reader, writer = os.pipe()
    os.close(reader)
    command = ["sh", "-c", 'exec "$@" 2>/dev/null', "sh", *program("ten_launches.py")]
    for rerun in ("never", "auto"):
        result = machine.run(*command, options=["--rerun=" + rerun], stderr=writer)
        expect((result.stdout, result.returncode), ("result 700\n", 3), "result with --rerun=" + rerun)
    os.close(writer)


def signal_that_ends_the_command_is_told_unless_it_was_sent_through_us(machine):
    for name in ("SEGV", "KILL", "ABRT"):
        result = machine.run("sh", "-c", f"kill -{name} $$")
        number = getattr(signal, "SIG" + name).value
        expect(result.returncode, -number, "status")
        expect(result.stderr.splitlines()[-1], f"cudadiag: the command was killed by signal {number} (SIG{name})", name)
    ended = machine.run("sh", "-c", "kill -PIPE $$")
    expect((ended.returncode, ended.stderr), (-signal.SIGPIPE, ""), "a pipe without a reader")
    for number in (signal.SIGTERM, signal.SIGUSR1):
        run = machine.start(*machine.command("run", "--rerun=never", "--", "sh", "-c", "echo ready; exec sleep 100"))
        expect(run.stdout.readline(), "ready\n", "first line")
        run.send_signal(number)
        errors = run.communicate()[1]
        expect(run.returncode, -number, "status")
        assert "was killed by signal" not in errors, errors


def signals_are_to_the_command_and_its_reruns_what_they_were(machine):
    machine.plan(FAULT)
    script = ["sh", "-c", 'grep SigIgn /proc/self/status >&2; exec "$@"', "sh", *program("ten_launches.py")]
    for restore in (True, False):  # False: with SIGPIPE and SIGXFSZ ignored, as Python starts programs
        plain = machine.plain("grep", "SigIgn", "/proc/self/status", restore_signals=restore).stdout
        result = machine.run(*script, options=["--rerun=auto", "--show-rerun"], restore_signals=restore)
        seen = [line + "\n" for line in result.stderr.splitlines() if line.startswith("SigIgn")]
        expect(seen, [plain] * 3, f"what is ignored in the run and two reruns, with {result.stderr}")


def ignored_ends_of_children_change_no_rerun(machine):
    ignoring = dict(preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    machine.plan(FAULT)
    told = "SIGCHLD is ignored"
    script = ("import os, signal, sys\n"
              f"if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN: os.write(2, b'{told}\\n')\n"
              "os.execv(sys.argv[1], sys.argv[1:])")
    script = [sys.executable, "-c", script, *program("ten_launches.py")]
    options = ["--rerun=auto", "--show-rerun"]
    usual = machine.run(*script, options=options)
    passes = [each["isolated"] for each in machine.report()["passes"]]
    result = machine.run(*script, options=options, **ignoring)
    expect(result.stderr.splitlines().count(told), len(passes), f"the run and reruns that ignore it, with {result.stderr}")
    expect([each["isolated"] for each in machine.report()["passes"]], passes, "isolation")
    expect(("cut short" in result.stderr, result.returncode), (False, usual.returncode), "time limit, and the status")
    expect(machine.cudadiag("doctor", **ignoring).stdout, machine.cudadiag("doctor").stdout, "doctor")


def damaged_recording_is_said_to_be_one(machine):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.run(faulty(machine), options=["--rerun=always", "--no-device-pass"])
    proven = machine.report()["findings"][0]
    expect(proven["evidence"]["grade"], "proven", "grade")
    (area,) = (machine.state / "cudadiag/latest/record").glob("*.area")
    # Truncation first loses the strings, with the names and stacks of call sites, and then the operations.
    for size in (area.stat().st_size // 6, 1_000_000):
        os.truncate(area, size)
        shown = expect_success(machine.cudadiag("report")).stdout
        assert "--full-log" not in shown and "[proven]" in shown.splitlines()[0], shown
        finding, lost = machine.report()["findings"]
        expect((finding["evidence"]["grade"], finding["location"]), ("proven", proven["location"]), "what leads")
        expect_in("the first run's record of it is damaged", finding["evidence"]["because"], "because")
        expect(lost["evidence"]["grade"], "suspected", "grade of a damaged recording")
        expect_in("the recording is damaged", lost["evidence"]["because"], "because")


def recording_that_was_written_over_is_said_to_be_damaged(machine):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.run(faulty(machine), options=["--rerun=always", "--no-device-pass"])
    proven = machine.report()["findings"][0]
    (area,) = (machine.state / "cudadiag/latest/record").glob("*.area")
    with area.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(41 * number % 251 for number in range(40 << 10)))
    finding, lost = machine.report()["findings"]
    expect((finding["evidence"]["grade"], finding["location"]), ("proven", proven["location"]), "what leads")
    expect_in("the recording is damaged", lost["evidence"]["because"], "because")


def page_of_zeroes_is_no_evidence_that_nothing_had_finished(machine):
    """The page has the streams, or their markers at the freeze."""
    for name in ("two_threads", "freed_pointer"):
        machine.plan(plan(name))
        machine.run(machine.build / "targets" / name, options=["--rerun=never"])
        true = machine.report()["findings"][0]["location"]["line"]
        (area,) = (machine.state / "cudadiag/latest/record").glob("*.area")
        whole = area.read_bytes()
        for page, line in ((0x7000, None), (0xa7000, true)):
            area.write_bytes(whole[:page] + bytes(4096) + whole[page + 4096:])
            report = machine.report()
            finding = report["findings"][0]
            expect_in(finding["evidence"]["grade"], ("inferred", "suspected"), f"grade of {name} without {page:#x}")
            expect_in("damaged", finding["evidence"]["because"], "because")
            expect_in("area-damaged", [note["code"] for note in report["notes"]], "notes")
            if line:
                expect(finding["location"]["line"], line, "line, as the later markers show it")


def nothing_is_claimed_where_nothing_was_recorded(machine):
    machine.plan(FAULT)
    kept = [f"{name}={machine.environment[name]}" for name in ("LD_LIBRARY_PATH", "CUDADIAG_SIM_PLAN")]
    out = machine.folder / "out.json"
    for command in (["env", "-i", *kept, *program("ten_launches.py")], ["true"]):
        said = machine.run(*command, options=["-o", "kept", "--json", out]).stderr
        seen = "uses a GPU but is not recorded" in said  # a process that ends before a check is not seen
        for report in (machine.report("-o", "kept"), json.loads(out.read_text())):
            expect((report["verdict"], report["processes"]), ("inconclusive", []), "verdict")
            expect([note["code"] for note in report["notes"]], ["launcher" if seen else "nothing-recorded"], "notes")
        expect(machine.cudadiag("bisect", "-o", "kept").returncode, 1, "status of bisect")
        if seen:
            continue
        expect_in("cannot tell whether CUDA failed in this session: no process of the program loaded the recorder: either "
                  "the program did not use CUDA, or it cleared CUDA_INJECTION64_PATH (",
                  expect_success(machine.cudadiag("report", "-o", "kept")).stdout, "report")
    limited = ["sh", "-c", 'ulimit -f 2000; exec "$@"', "sh", *machine.command("run", "-o", "unrecorded")]
    machine.plain(*limited, "--", *program("ten_launches.py"))
    report = machine.report("-o", "unrecorded")
    expect(report["verdict"], "inconclusive", "verdict of a run that could not be recorded")
    expect([note["code"] for note in report["notes"]], ["nothing-recorded"], "its notes")
    expect_in("the program was not recorded: ", report["notes"][0]["text"], "why")
    expect_in("\nthe program was not recorded: ", machine.cudadiag("status", "-o", "unrecorded").stdout, "status")
    expect_in("\nnote unrecorded: ", machine.cudadiag("dump", "-o", "unrecorded").stdout, "dump")


def run_that_was_not_watched_is_inconclusive(machine):
    machine.plan(FAULT + "; cupti=held")
    by_cupti = "--watch-by=cupti"
    expect(machine.run(*program("ten_launches.py"), options=["-o", "here", by_cupti]).returncode, 3, "status")
    report = machine.report("-o", "here")
    expect((report["verdict"], report["findings"]), ("inconclusive", []), "verdict")
    expect([note["code"] for note in report["notes"]], ["recorder-disabled", "cupti-held"], "notes")
    expect(machine.cudadiag("report", "-o", "here").stdout, "cudadiag: cannot tell whether CUDA failed in this session: "
           "the recorder turned itself off: Simulated rival profiler; another profiler uses CUPTI: turn it off for this "
           "run, or use --watch-by=hooks\n", "what the session contains")
    expect_in("its work was not recorded, because the recorder turned itself off", machine.cudadiag("status", "-o", "here").stdout,
              "status")
    machine.plan("cupti=held")
    expect(machine.run(*program("ten_launches.py"), options=["--json", "out.json", by_cupti]).returncode, 0, "status")
    clean = json.loads((machine.folder / "out.json").read_text())
    expect((clean["verdict"], machine.sessions()), ("inconclusive", []), "a run that succeeds")


def rerun_whose_recording_is_gone_is_not_taken_for_one_that_did_not_fail(machine):
    machine.plan(AGAIN)
    rerun(machine, *program("probe.py"))
    expect_proven(machine.report())
    for file in (session_of(machine) / "confirm").iterdir():
        file.unlink()
    report = machine.report()
    expect(outcomes(report), [("record", "bracketed"), ("confirm", "was not recorded")], "passes")
    expect("rerun" in evidence(report)[1], False, "whether the evidence speaks of a rerun: " + evidence(report)[1])
    expect([note["code"] for note in report["notes"]], ["rerun-lost"], "notes")


def what_a_rerun_found_is_not_new_where_the_first_recording_is_gone(machine):
    machine.plan(AGAIN)
    rerun(machine, *program("probe.py"))
    shutil.rmtree(session_of(machine) / "record")
    expect_in("; the first run's recording is lost", evidence(machine.report())[1], "evidence")


def parameters_of_a_rejected_launch_are_not_read(machine):
    for words in (["run"], ["run", "--check-copies", "1"], ["races"], ["run", "--watch-by=cupti", "--check-copies", "1"]):
        ended = machine.cudadiag(*words, "--", machine.build / "targets/unread_parameters")
        expect(ended.returncode, 0, f"status under {words}: {ended.stderr}")
