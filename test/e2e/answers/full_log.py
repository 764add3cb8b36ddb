"""--full-log: what remains when the rings have lost records, and when the log is lost too. Each function's name says
what it tests."""

import re
import signal
import stat

import targets
from harness import expect, expect_in, expect_success, expect_true_line, program, true_line

DEEP = "deep_queue.py"
EVENT_RECORD, EVENT_WAIT = 7, 8  # wire::operation::Kind


def _deep(machine, *options):
    # The slow stream fails at operation 30 of 41. Its operations stay queued until the ring has been overwritten.
    machine.plan("hold kernel=slow nth=1 until=stream:2:6001; fault kernel=bad code=700")
    paced = ["paced"] if "--full-log" in options else []
    return machine.run(*program(DEEP, *paced), options=options)


def what_the_rings_have_lost_is_in_the_full_log(machine):
    _deep(machine)
    finding = machine.report()["findings"][0]
    expect((finding["evidence"]["grade"], finding["location"]["line"]), ("suspected", None), "without the log")
    expect_in("--full-log", finding["fix"][0], "advice")
    result = _deep(machine, "--full-log")
    expect(result.returncode, 3, "status")
    report = machine.report()
    expect_true_line(report, DEEP)
    finding = report["findings"][0]
    expect(finding["evidence"]["grade"], "bracketed", "grade: " + finding["evidence"]["because"])
    launch = finding["launch"]
    expect((launch["stream_ordinal"], launch["process_ordinal"], launch["site_ordinal"]), (30, 30, 1), "numbers")
    expect_in(f"{DEEP}:{true_line(DEEP)[1]}", result.stderr, "report")


def every_operation_is_dumped(machine):
    _deep(machine, "--full-log", "-o", "here")
    lines = expect_success(machine.cudadiag("dump", "-o", "here")).stdout.splitlines()
    operations = [line for line in lines if line.startswith("operation ")]
    serials = [int(line.split("serial=")[1].split()[0]) for line in operations]
    assert serials == list(range(1, 6043)), f"{len(serials)} serials"
    (log,) = (machine.folder / "here").glob("2*/record/*.log")
    expect(stat.S_IMODE(log.stat().st_mode), 0o600, "mode")
    assert log.stat().st_size < 16 * 6042, f"{log.stat().st_size} bytes"


def when_events_were_recorded_and_waited_for_is_told(machine):
    """A call on one thread comes before a call on another thread if it returned before that call began."""
    for options in ([], ["--full-log"]):
        machine.plan(targets.plan("event_wait"))
        machine.run(*targets.command(machine.build, "event_wait"), options=options)
        lines = expect_success(machine.cudadiag("dump")).stdout.splitlines()
        told = [{name: int(value) for name, value in re.findall(r" (kind|ticks|returned_at)=(\d+)", line)}
                for line in lines if line.startswith("operation ")]
        calls = [call for call in told if call["kind"] in (EVENT_RECORD, EVENT_WAIT)]
        expect([call["kind"] for call in calls], [EVENT_RECORD, EVENT_WAIT], "calls")
        moments = [moment for call in calls for moment in (call["ticks"], call.get("returned_at", 0))]
        expect(moments, sorted(moments), "their beginnings and ends")


def damaged_log_leaves_what_the_rings_know(machine):
    _deep(machine, "--full-log")
    (log,) = machine.state.glob("cudadiag/2*/record/*.log")
    whole = log.read_bytes()
    log.write_bytes(whole[:len(whole) // 4])
    report = machine.report()
    expect_true_line(report, DEEP)
    expect_in("log-cut", [note["code"] for note in report["notes"]], "notes")
    for damaged in (whole[:24], b"", b"nonsense", whole[:24] + bytes(range(256))):
        log.write_bytes(damaged)
        finding = machine.report()["findings"][0]
        expect((finding["evidence"]["grade"], finding["location"]["line"]), ("suspected", None), "what remains")
        expect_success(machine.cudadiag("dump"))


def log_of_a_killed_program_is_whole(machine):
    machine.plan(targets.plan("ends_abruptly"))
    result = machine.run(machine.build / "targets/ends_abruptly", "kill", options=["--full-log"])
    expect(result.returncode, -signal.SIGKILL, "status")
    report = machine.report()
    location = report["findings"][0]["location"]
    expect((location["file"], location["line"]), targets.marked_line("ends_abruptly", "TRUE LINE"), "true line")
    expect([note["code"] for note in report["notes"] if note["code"].startswith("log-")], [], "notes")
    (log,) = machine.state.glob("cudadiag/2*/record/*.log")
    log.unlink()
    expect(len(machine.report()["findings"]), 1, "findings without the log")


def log_of_a_clean_run_goes_with_it(machine):
    healthy = machine.build / "targets/healthy"
    plain = machine.plain(healthy)
    recorded = machine.run(healthy, options=["--full-log"])
    expect((recorded.returncode, recorded.stdout, recorded.stderr), (plain.returncode, plain.stdout, plain.stderr),
           "what is read of the log")
    expect(machine.sessions(), [], "sessions")


def log_and_races_go_together(machine):
    result = machine.cudadiag("races", "--full-log", "-o", "here", "--", machine.build / "targets/race_streams", "nothing")
    expect_in("race between two streams", result.stderr, "report")
    lines = expect_success(machine.cudadiag("dump", "-o", "here")).stdout.splitlines()
    kinds = [line.split("kind=")[1].split()[0] for line in lines if line.startswith("operation ")]
    assert kinds and all(int(kind) < 12 for kind in kinds), kinds
