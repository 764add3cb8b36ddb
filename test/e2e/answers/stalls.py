"""Work that makes no progress while the program runs: what --hang-report says about it, about an interrupted program,
and about ordinary work."""

import json
import os
import re
import select
import signal
import sys

from hangs import _kept_waiting, _line, _place, _until, stuck
from harness import HERE, expect, expect_in

SOURCE = HERE.parent / "targets/stalls.cc"
HOLD = "hold kernel=_Z4spinPiy until=notify"
CAUSES = {"twice": "value-never-written", "beside": "kernel-does-not-end", "events": "kernel-does-not-end",
          "copy": "kernel-does-not-end"}


def _mark(text):
    lines = SOURCE.read_text().splitlines()
    return str(SOURCE), 1 + next(i for i, line in enumerate(lines) if line.endswith("// " + text))


def _start(machine, shape, *options):
    machine.plan(HOLD)
    report = machine.folder / f"{shape}.json"
    return machine.start(*machine.command("run", "--rerun=never", "--json", report, *options, "--",
                                          machine.build / "targets/stalls", shape)), report


def _read_until(stream, text):
    told = ""
    while text not in told:
        line = stream.readline()
        expect(bool(line), True, f"whether {text!r} follows {told!r}")
        told += line
    return told


def _let_continue(run):
    run.stdin.write("\n")
    run.stdin.flush()


def _end(run):
    """Returns the rest of the run's output. communicate() would lose text that was already buffered."""
    run.stdin.close()
    out, err = run.stdout.read(), run.stderr.read()
    run.wait()
    expect((run.returncode, out.splitlines()[-1:]), (0, ["done"]), "how it ended, with " + err)
    return err


def stalled_operation_is_reported_once_and_the_program_continues(machine):
    for shape, cause in CAUSES.items():
        run, file = _start(machine, shape, "--hang-after", "0.3", "--on-hang=report")
        told = _read_until(run.stderr, "cudadiag: hang (")
        expect(run.poll(), None, "status while it is reported")
        for _ in range(2):
            _let_continue(run)
        told += _end(run)
        expect(told.count("cudadiag: hang ("), 1, f"{shape}: reports in {told}")
        where = f"stalls.cc:{_mark('TRUE LINE ' + shape)[1]}"
        expect_in(where, told.splitlines()[0], "first line")
        expect_in("cudadiag: the operation at ", told, "the end")
        for found in (json.loads(file.read_text()), machine.report()):
            expect((found["verdict"], len(found["findings"])), ("cuda_failure", 1), f"{shape}: findings")
            finding = found["findings"][0]
            expect((finding["kind"], finding["evidence"]["grade"]), ("hang", "bracketed"), "kind")
            expect(_place(finding["location"]), _mark("TRUE LINE " + shape), f"{shape}: true line")
            waits = finding["reported_at"] and _place(finding["reported_at"])
            expect(waits, None if shape == "beside" else _mark("WAITS " + shape), f"{shape}: line that waits")
            expect(finding["cause"]["id"], cause, f"{shape}: cause")
            hang = finding["hang"]
            expect((hang["while_running"], hang["seconds"] < hang["ended_after"]), (True, True), str(hang))
            expect_in("it finished on its own after ", finding["evidence"]["because"], shape)


def operation_that_ends_in_time_is_not_reported(machine):
    for shape in ("events", "copy"):
        run, file = _start(machine, shape, "--hang-report", "60")
        _until(machine, run, _kept_waiting)
        _let_continue(run)
        expect(_end(run), "", f"{shape}: what is said")
        expect(json.loads(file.read_text())["findings"], [], "findings")


def line_that_took_long_before_may_take_long_again(machine):
    run, file = _start(machine, "twice", "--hang-report", "0.2")
    told = _read_until(run.stderr, "cudadiag: hang (")
    seconds = 1.5
    _until(machine, run, lambda process: (process["idle_seconds"] or 0) > seconds)
    _let_continue(run)
    told += _read_until(run.stderr, "finished on its own after ")
    _until(machine, run, lambda process: 0.5 < (process["idle_seconds"] or 0) < seconds)
    _let_continue(run)
    told += _end(run)
    expect(told.count("cudadiag: hang ("), 1, "reports in " + told)
    expect(len(json.loads(file.read_text())["findings"]), 1, "findings")


def quiet_report_of_a_stall_is_one_line(machine):
    run, _ = _start(machine, "events", "--hang-report", "0.2", "-q")
    told = _read_until(run.stderr, "hang")
    _let_continue(run)
    told += _end(run)
    expect((told.count("\n"), "stalls.cc:" in told), (1, True), told)


def stall_that_lasts_is_ended_as_the_same_hang(machine):
    report = machine.folder / "report.json"
    result = machine.run(*stuck(machine, "kernel"),
                         options=["--hang-report", "0.2", "--hang-after", "1.5", "--json", report])
    expect(result.returncode, -signal.SIGTERM, "status, with " + result.stderr)
    expect(result.stderr.count("cudadiag: hang ("), 2, "reports in " + result.stderr)
    (finding,) = json.loads(report.read_text())["findings"]
    expect(_place(finding["location"]), _line("TRUE LINE kernel"), "true line")
    expect((finding["hang"]["while_running"], finding["hang"]["ended_after"]), (False, None), "how the program ended")


def _waits_for(seconds):
    return lambda process: process["calls"] and (process["calls"][0]["seconds"] or 0) > seconds


def _begin(machine, name, at_signal=()):
    machine.plan(HOLD)
    folder = machine.folder / name
    return machine.start(*machine.command("run", "-o", folder, "--json", f"{folder}.json", "--error-exitcode=9", "--",
                                          machine.build / "targets/stalls", "events", *at_signal),
                         start_new_session=True)


def _interrupt(machine, run, name, seconds=6, keys=1, whole_group=False, handled=False, finishes=False):
    """Returns the text and the JSON report of a run that was interrupted after it had waited for some time. `handled`: the
    program handles the first signal."""
    folder = machine.folder / name
    _until(machine, run, _waits_for(seconds), "-o", folder)
    for _ in range(keys):
        (os.killpg if whole_group else os.kill)(run.pid, signal.SIGINT)
        if handled:
            _until_handled(machine, folder)
    if finishes:
        _let_continue(run)
    err = run.communicate()[1]
    return run.returncode, err, json.loads((machine.folder / f"{name}.json").read_text())


def _until_handled(machine, folder):
    """Waits until the program has handled SIGINT, and would now die by it."""
    status = json.loads(machine.cudadiag("status", "--json", "-o", folder).stdout or "{}")
    for process in status.get("processes", []):
        caught = 1 << signal.SIGINT - 1
        while caught & 1 << signal.SIGINT - 1:
            try:
                with open(f"/proc/{process['pid']}/status", encoding="utf-8") as file:
                    caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt:"))
            except OSError:
                return


def interrupted_hang_is_a_finding_with_its_line(machine):
    where = _mark("TRUE LINE events")
    runs = [(name, _begin(machine, name, at_signal), options, status)
            for name, at_signal, options, status in (("dies", [], {}, -signal.SIGINT),
                                                     ("group", [], {"whole_group": True}, -signal.SIGINT),
                                                     ("exits", ["exits"], {}, 3),
                                                     ("twice", ["goes-on"], {"keys": 2, "handled": True}, -signal.SIGINT))]
    for name, run, options, status in runs:
        code, err, report = _interrupt(machine, run, name, **options)
        expect(code, status, f"{name}: status, with {err}")
        expect_in(f"cudadiag: interrupted while spin (stalls.cc:{where[1]}) had been running for ", err, name)
        expect((report["verdict"], report["notes"][0]["code"]), ("inconclusive", "interrupted-at-work"), name)
        (finding,) = report["findings"]
        hang = finding["hang"]
        expect(finding["evidence"]["grade"], "suspected", name)
        expect_in(" interrupted ", machine.cudadiag("list", "-o", machine.folder / name).stdout, f"{name}: listed result")
        expect_in("it may only be slow", finding["cause"]["text"], name)
        shown = machine.cudadiag("report", "-o", machine.folder / name).stdout
        assert re.search(r"cudadiag run --error-exitcode=9 --hang-after \d\d --on-hang=dump -- \S+/targets/stalls events ", shown), shown
        expect((finding["kind"], hang["interrupted"], hang["while_running"], hang["ended_after"]),
               ("hang", True, False, None), f"{name}: kind of finding")
        expect((_place(finding["location"]), hang["seconds"] > 5), (where, True), f"{name}: line, and time in {hang}")
        expect_in("it is the first call on its line", finding["evidence"]["because"], name)
        (listed,) = json.loads(machine.cudadiag("list", "--json", "-o", machine.folder / name).stdout)["sessions"]
        expect(_place(listed["finding"]["location"]), where, "listed line")
    for option in ("--sarif", "--html"):
        shown = machine.cudadiag("report", option, "-o", machine.folder / "dies").stdout
        expect_in("interrupted while spin", shown, option)


def interrupted_work_that_may_be_healthy_is_no_finding(machine):
    runs = [("finishes", _begin(machine, "finishes", ["goes-on"]), {"handled": True, "finishes": True}),
            ("soon", _begin(machine, "soon"), {"seconds": 1})]
    for name, run, options in reversed(runs):
        _, err, report = _interrupt(machine, run, name, **options)
        expect(("interrupted while" in err, report["findings"]), (False, []), f"{name}: {err}")


def unfinished_work_of_a_program_that_exits_at_the_interrupt_is_named(machine):
    """The program exits before the work has run for long enough to be called a hang."""
    machine.plan("hang kernel=spin")
    file = machine.folder / "asks.py"
    file.write_text(f"""import sys, time; sys.path.insert(0, {str(HERE / "programs")!r})
import cuda
cuda.start()
launch, stream = cuda.kernel("spin")[0], cuda.stream()
launch(stream, None, None)
end = time.monotonic() + 1.2  # shorter work is not named
try:
    while cuda.driver.cuStreamQuery(stream) == 600:
        if end and time.monotonic() > end:
            end = print("waits", flush=True)
except KeyboardInterrupt:
    sys.exit(int(sys.argv[1]))
""")
    for status in 0, 130:
        run = machine.start(*machine.command("run", "--", sys.executable, file, status))
        expect(run.stdout.readline(), "waits\n", "the program")
        run.send_signal(signal.SIGINT)
        err = run.communicate()[1]
        expect(run.returncode, status, err)
        expect_in(f"cudadiag: spin at {file.name}:5, <module> had not finished when the program ended, ", err, f"status {status}")


def hang_in_a_host_function_is_called_so(machine):
    file = machine.folder / "waits.py"
    file.write_text(f"""import ctypes, sys; sys.path.insert(0, {str(HERE / "programs")!r})
import cuda
cuda.start()
stream = cuda.stream()
pause = ctypes.cast(ctypes.CDLL(None).pause, ctypes.c_void_p)
cuda.check(cuda.driver.cuLaunchHostFunc(stream, pause, None))
cuda.driver.cuStreamSynchronize(stream)
""")
    report = machine.folder / "report.json"
    result = machine.run(sys.executable, file, options=["--hang-after", "1", "--json", report])
    expect(result.returncode, -signal.SIGTERM, "status, with " + result.stderr)
    (finding,) = json.loads(report.read_text())["findings"]
    expect((finding["kind"], finding["launch"]["operation"]), ("hang", "host function"), "kind, and the operation")
    expect_in("What    host function", result.stderr, "the operation in the text")
    expect(_place(finding["location"]), (str(file), 6), "true line")


def stopped_program_has_no_stall(machine):
    run = machine.start(*machine.command("run", "--rerun=never", "--hang-report", "0.8", "--",
                                         *stuck(machine, "stopped")))
    status = _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 2)
    expect(select.select([run.stderr], [], [], 0)[0], [], "whether anything is said while the program is stopped")
    pid = status["processes"][0]["pid"]
    machine.plain("kill", "-CONT", str(pid))
    expect_in("hang (", _read_until(run.stderr, "cudadiag: hang ("), "what is said once the program continues")
    run.kill()
    machine.plain("kill", "-KILL", str(pid))
    run.communicate()
