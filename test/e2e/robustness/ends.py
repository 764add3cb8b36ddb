"""The program ends as it does without cudadiag, however it ends. CUDADIAG_REPETITIONS: how many times each case runs
(3)."""

import os
import signal
import sys

from harness import FAULT, expect, expect_in, expect_success, expect_true_line, in_namespace, program

REPETITIONS = int(os.environ.get("CUDADIAG_REPETITIONS", "3"))


def _said_by_program(stderr):
    """Removes cudadiag's own lines. Even with -q there is one, which may be about a signal."""
    return [line for line in stderr.splitlines() if not line.startswith("cudadiag: ")]


def _ends_alike(machine, name, *arguments, status, stderr=()):
    """Checks the end without comparing it with a plain run: if threads end together, libc lets some of these runs
    crash."""
    for n in range(REPETITIONS):
        command = (machine.build / "targets" / name, *arguments)
        recorded = machine.run(*command, options=["-q"], timeout=60)
        found = recorded.returncode, recorded.stdout, _said_by_program(recorded.stderr)
        expected = status, arguments[0] + "\n", list(stderr)
        expect(found, expected, f"run {n + 1} of {name} {' '.join(arguments)}")


def threads_that_end_the_program_together(machine):
    machine.plan("fault kernel=scale nth=1 code=700")
    for way in ("failed", "unasked"):
        _ends_alike(machine, "ends_together", way, status=3)


def ends_while_threads_launch_or_wait(machine):
    machine.plan("hang kernel=lasts")
    ways = {"exit": 3, "_exit": 4, "quick_exit": 5, "pthread_exit": 6, "handler": 7, "abort": -signal.SIGABRT,
            "terminate": -signal.SIGABRT, "signal": -signal.SIGTERM}
    for kernel, tried in (("brief", ways), ("lasts", ("exit", "_exit", "handler"))):
        for way in tried:
            said = ["terminate called without an active exception"] if way == "terminate" else []
            _ends_alike(machine, "ends_at_work", way, kernel, status=ways[way], stderr=said)


def handlers_and_destructors_that_use_cuda(machine):
    machine.environment["LD_LIBRARY_PATH"] += f":{machine.build / 'targets'}"
    for way, status, said in (("destructor", 8, ["destructor: 0"]), ("handler", 8, ["handler: 0"]), ("reset", 8, ["reset: 0"]),
                              ("library", 8, ["library: 0"]), ("again", 9, []), ("host_function", 10, [])):
        _ends_alike(machine, "ends_with_cuda", way, status=status, stderr=said)


def threads_that_wait_do_not_outlive_the_runtime(machine):
    machine.plan("hold kernel=lasts until=notify")
    for n in range(REPETITIONS):
        recorded = machine.run(machine.build / "targets" / "ends_before_runtime", options=["-q"], timeout=60)
        expect((recorded.returncode, recorded.stdout), (3, "ends\n"), f"run {n + 1}")


def recording_without_the_launcher(machine):
    result = expect_success(machine.cudadiag("env"))
    expect_in(result.stderr.removeprefix("cudadiag: "), result.stdout.splitlines(keepends=True)[-1], "what to do afterwards")
    machine.plan(FAULT)
    machine.plain("sh", "-c", result.stdout + '"$@"', "sh", *map(str, program("ten_launches.py")))
    report = machine.report()
    expect_true_line(report, "ten_launches.py")
    expect(report["findings"][0]["evidence"]["grade"], "bracketed", "grade, though no driver can pin the pages of a file")
    row = f"\nRun     {report['run']['started']}  {sys.executable} "[:50]
    expect_in(row, expect_success(machine.cudadiag("report")).stdout, "row of the report")


def program_recorded_through_env_ends_itself_after_its_failure_if_the_user_asks(machine):
    machine.plan("fault kernel=smooth nth=3 code=700")
    failing = program("ten_launches.py")[1]
    lives_on = (f"import contextlib, runpy, signal, sys; sys.path.insert(0, {str(failing.parent)!r})\n"
                "if 'ignores' in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                f"with contextlib.suppress(SystemExit): runpy.run_path({str(failing)!r})\n"
                "print('lives on', flush=True)\n"
                "while True: signal.pause()")
    for options in ([], ["--once"]):
        exports = expect_success(machine.cudadiag("env", "--end-on-failure", *options)).stdout
        command = ["sh", "-c", exports + 'exec "$@"', "sh", sys.executable, "-c", lives_on]
        ended = machine.plain(*command)
        expect((ended.returncode, ended.stdout), (-signal.SIGTERM, "result 700\nlives on\n"), f"end with {options}")
        expect(len(machine.report()["findings"]), 1, f"findings with {options}")
    ended = machine.plain(*command, "ignores")
    expect(ended.returncode, 128 + signal.SIGTERM, "status of a program that ignores SIGTERM")
    # The kernel ignores the signals that process 1 sends to itself.
    ended = in_namespace(machine, ["--pid", "--fork", "--mount-proc", "--kill-child"], "", *command)
    expect((ended.returncode, ended.stdout), (128 + signal.SIGTERM, "result 700\nlives on\n"), "end of process 1")


def command_for_a_failure_is_refused_by_env(machine):
    refused = machine.cudadiag("env", "--on-failure", "reboot")
    expect((refused.returncode, refused.stdout, machine.sessions()), (125, "", []), "result")
    expect_in("--on-failure needs cudadiag run, which watches the program; let your watchdog run the command when cudadiag "
              "status --check 60 exits with 1", refused.stderr, "who must watch")
