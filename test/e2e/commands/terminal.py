"""What a person at a terminal sees. Each function's name says what it tests."""

import os
import re
import pty
import select
import signal
import sys

from harness import FAULT, expect, expect_in, expect_success, program
from passes import AGAIN, outcomes

WIPE = "\r\x1b[K"
QUESTION = b"[y/N] "
PROVE = "prove this and find the cause: cudadiag bisect --isolated\r\n"


class Screen:
    """The rows that a terminal with this many columns shows. It wraps when a character has no room, as xterm does."""

    def __init__(self, columns, shown):
        self.rows, self.column = [""], 0
        self.columns = columns
        text = shown.replace("\x1b[K", "\0")
        for character in text:
            self.put(character)

    def put(self, character):
        if character == "\n":
            self.rows.append("")
        elif character == "\r":
            self.column = 0
        elif character == "\0":
            self.rows[-1] = self.rows[-1][:self.column]
        else:
            if self.column == self.columns:
                self.rows.append("")
                self.column = 0
            self.rows[-1] = self.rows[-1].ljust(self.column)[:self.column] + character + self.rows[-1][self.column + 1:]
            self.column += 1


def _frames(shown):
    """Returns the progress rows, each of which overwrites the previous one."""
    return [frame for frame in shown.split(WIPE)[1:] if frame.startswith("cudadiag: ") and "\n" not in frame]


def _run(machine, *words, prefix=(), **options):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    machine.environment["NO_COLOR"] = "1"
    return machine.on_terminal(*prefix, *machine.command("run", *words), **options)


def _rerun(machine, *words, **options):
    return _run(machine, "--rerun=always", *words, **options)[0]


# ---- the end of the terminal


def hang_up_reaches_the_program_if_cudadiag_leads_the_session(machine):
    """The kernel sends HUP only to the leader of the session."""
    script = ("import os, signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])\n"
              "print('ready', flush=True); signal.sigwait([signal.SIGHUP])\n"
              "os.write(int(sys.argv[1]), b'hung up'); os._exit(4)")
    told, telling = os.pipe()
    os.set_inheritable(telling, True)
    command = machine.command("run", "--rerun=never", "--", sys.executable, "-c", script, telling)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(machine.folder)
        os.execvpe(command[0], command, machine.environment)
    os.close(telling)
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 4096)
    os.close(terminal)
    if not select.select([told], [], [], 60)[0]:
        os.killpg(pid, signal.SIGKILL)
    expect(os.read(told, 100), b"hung up", "what the program says")
    expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 4, "status")
    os.close(told)


# ---- progress


def progress_fits_the_terminal(machine):
    for columns in (80, 40, 20):
        frames = _frames(_rerun(machine, "--time-limit=1", "--", *program("probe.py", "rerun-hangs"), columns=columns))
        assert len(frames) > 1, f"{frames} on {columns} columns"
        for frame in frames:
            assert len(frame) < columns, f"{len(frame)} of {columns} columns: {frame}"
        wanted = "cudadiag: confirming 0% (Ctrl-C stops)" if columns > 20 else "cudadiag: confir..."
        expect(frames[0], wanted, f"first row on {columns} columns")


def progress_counts_no_operations_where_none_are_recorded(machine):
    frames = _frames(_rerun(machine, "--", *program("probe.py")))
    device = [frame for frame in frames if "GPU core dump" in frame]
    assert device, frames
    for frame in device:
        assert "operation" not in frame and "%" not in frame, frame


def progress_is_not_painted_over_the_prompt_of_a_shell(machine):
    in_background = ("bash", "-c", 'set -m; "$@" & wait', "bash")
    shown = _rerun(machine, "--", *program("probe.py"), prefix=in_background)
    expect_in("confirmed by a rerun", shown, "what a job in the background says")
    expect(_frames(shown), [], "progress of a job in the background")


# ---- the question


def yes_runs_it_again_and_the_proof_comes_at_once(machine):
    shown, status = _run(machine, "--", *program("probe.py"), typed=b"y\n", after=QUESTION, until=b"confirmed")
    expect(os.waitstatus_to_exitcode(status), 3, "status")
    asked = " ".join(shown.split())  # the question is wrapped at the terminal's width
    assert re.search(r"cudadiag: Run it again to prove this\? Usually (1 run|1 to 3 runs), (under a second|about \d+ s)( each)?; ", asked), asked
    expect("; it changes no files. [y/N] " in asked, machine.report()["passes"][1]["isolated"], "what it promises")
    proof, device = shown.index("confirmed by a rerun ("), shown.index("getting a GPU core dump")
    assert proof < device, f"the proof comes {proof - device} characters after the next rerun begins"
    expect([name for name, _ in outcomes(machine.report())], ["record", "confirm", "device"], "passes")
    after = shown[device:]
    rows = after.replace(WIPE, "\r\n").split("\r\n")  # the first row may take the place of the progress
    expect([row.startswith("Known   in a rerun, ") for row in rows].count(True), 1, "the row that changed")
    expect([row for row in rows if "illegal memory access" in row or row.startswith(("Why ", "Fix ", "Stack "))], [],
           "rows of the first report that are printed again")
    expect_in("cudadiag: the command ran 3 times in all\r\n", after, "count")
    expect("running the command again" in shown, False, "whether an agreed rerun is announced too")


def whatever_is_not_yes_leaves_the_command_that_proves_it(machine):
    for typed in (b"n\n", b"\n", b"yarn\n", b"\x04", b"\x03"):
        shown, status = _run(machine, "--", *program("probe.py"), typed=typed, after=QUESTION, until=b"cudadiag: to prove")
        expect(os.waitstatus_to_exitcode(status), 3, f"status after {typed}")
        expect_in("to " + PROVE, shown, f"hint after {typed}")
        expect(outcomes(machine.report()), [("record", "bracketed")], f"passes after {typed}")
    expect_success(machine.cudadiag("bisect", "--isolated", "--no-device-pass"))
    expect([name for name, _ in outcomes(machine.report())], ["record", "confirm"], "passes of the hint's command")


def input_that_was_typed_is_not_to_be_had_again(machine):
    # Linux changes the time of a terminal's last read at most once in eight seconds.
    just_read = ("sh", "-c", 'touch -a /proc/self/fd/0 && exec "$@"', "sh")
    for words, typed in ((["reads"], b"words\n\x04"), ([], b"")):
        machine.runs.unlink(missing_ok=True)
        script = ["sh", "-c", 'echo ready; "$@"', "sh", *program("probe.py", *words)]
        shown = _run(machine, "--", *script, prefix=just_read, typed=typed or b"n\n",
                     after=b"ready" if typed else QUESTION, until=None if typed else b"cudadiag: to prove")[0]
        said = ("the command was not rerun, because it read what was typed at the terminal. To prove this and find the cause: "
                "cudadiag bisect --isolated <INPUT\r\n")
        expect((said in shown, "Run it again" in shown), (bool(typed), not typed), shown)
        expect("<INPUT" in machine.cudadiag("report").stdout, bool(typed), "suggestion of the report")


def nobody_is_asked_where_nobody_can_agree(machine):
    plain = machine.environment.copy()
    cases = (([], {"CI": "true"}, (), "this is a CI job, where no one can answer the question"),
             ([], {"GITHUB_ACTIONS": "true"}, (), "this is a CI job, where no one can answer the question"),
             ([], {"JENKINS_URL": "http://ci/"}, (), "this is a CI job, where no one can answer the question"),
             ([], {"TERM": "dumb"}, (), "this terminal cannot show a question"),
             ([], {}, ("bash", "-c", 'set -m; "$@" & wait', "bash"), "this job is in the background"))
    for options, environment, prefix, why in cases:
        machine.environment = {**plain, **environment}
        shown, _ = _run(machine, *options, "--", *program("probe.py"), prefix=prefix)
        expect_in("the command was not rerun, because " + why, shown, "the reason")
        expect_in("To " + PROVE, shown, "hint")
        expect("[y/N]" in shown, False, f"whether the user is asked with {options}, {environment}, {prefix}")
    machine.environment = plain
    shown, _ = _run(machine, "-q", "--", *program("probe.py"))
    expect((shown.count("cudadiag: "), "[y/N]" in shown), (1, False), f"lines of -q, and whether it asks: {shown!r}")


def rerun_is_announced_before_and_counted_after(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    said = machine.cudadiag("run", "--rerun=auto", "--no-device-pass", "--", *program("probe.py")).stderr
    announced = said.index("cudadiag: running the command again to prove this: usually 1 run, under a second")
    expect_in(" (turn off: --rerun=never)\n", said, "announcement")
    assert announced < said.index("confirmed by a rerun ("), said
    expect(said.splitlines()[-1], "cudadiag: the command ran 2 times in all", "last line")


def quiet_run_prints_the_answer_and_its_proof(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    for mode in ("auto", "always"):
        machine.runs.unlink(missing_ok=True)
        said = machine.cudadiag("run", f"--rerun={mode}", "--no-device-pass", "-q", "--", *program("probe.py")).stderr
        answer, proof = (line for line in said.splitlines() if line.startswith("cudadiag: "))
        expect_in("illegal memory access (700)", answer, "first line")
        expect_in("confirmed by a rerun (", proof, "second line")


# ---- colour


def option_chooses_colour(machine):
    machine.plan(FAULT)
    for words, coloured in (([], False), (["--color=always"], True), (["--color=never"], False)):
        said = machine.run(*program("ten_launches.py"), options=words).stderr
        expect("\x1b[" in said, coloured, f"whether a pipe gets colours with {words}")
        expect("\x1b[" in machine.cudadiag("report", *words).stdout, coloured, f"the same for report with {words}")
    machine.environment.update(TERM="xterm", NO_COLOR="1")
    for words, coloured in (([], False), (["--color=auto"], False), (["--color=always"], True)):
        shown, _ = machine.on_terminal(*machine.command("report", *words))
        expect("\x1b[1m" in shown or "\x1b[3" in shown, coloured, f"whether a terminal gets colours with {words}")
    del machine.environment["NO_COLOR"]
    shown, _ = machine.on_terminal(*machine.command("report", "--color=never"))
    expect("\x1b[" in shown, False, "colours with --color=never")


# ---- where the cursor is


def run_without_findings_writes_nothing_to_the_terminal(machine):
    machine.environment["TERM"] = "xterm"
    command = machine.command("run", "--rerun=never", "--", "sh", "-c", 'exec "$0" >out 2>&1', machine.build / "targets/healthy")
    shown, status = machine.on_terminal(*command, columns=80)
    expect((shown, os.waitstatus_to_exitcode(status)), ("", 0), "terminal and status")
    job = 'set -m; stty tostop; "$@" & wait $!; echo "status $?"'
    shown, _ = machine.on_terminal("bash", "-c", job, "bash", *command, columns=80)
    expect((shown.endswith("status 0\r\n"), " " * 80 in shown), (True, False), f"whether a job in the background ends, and writes: {shown!r}")


def demo_fits_a_small_terminal(machine):
    machine.plan("fault kernel=_Z6smoothPfi nth=3 code=700")
    command = machine.command("run", "--", machine.build / "demo/demo")
    shown, _ = machine.on_terminal("sh", "-c", '"$@" </dev/null', "sh", *command, columns=80)
    expect_in("proven", shown, "answer")
    assert len(shown.splitlines()) <= 26, shown


def rows_of_doctor_wrap_at_the_width_of_the_terminal(machine):
    shown, _ = machine.on_terminal(*machine.command("doctor"), columns=80)
    expect([row for row in shown.splitlines() if len(row) > 80 and " " in row[26:]], [], "rows that are too wide")


def report_begins_on_a_row_of_its_own_and_wipes_nothing(machine):
    machine.plan(AGAIN)
    bar = "33%|###       | 1/3"
    for begun, wanted in ((bar, bar), ("x", "x"), ("", ""), ("whole line\\n", "whole line")):
        script = f"printf '{begun.replace('%', '%%')}' >&2; exec \"$@\""
        shown, _ = _run(machine, "--rerun=never", "--", "sh", "-c", script, "sh", *program("probe.py"), columns=60)
        rows = [row.rstrip() for row in Screen(60, shown).rows]
        first = next(i for i, row in enumerate(rows) if row.startswith("cudadiag: illegal"))
        expect(rows[:first], [wanted] if wanted else [], f"rows before the report, where the program wrote {begun!r}")


def rerun_of_a_proven_failure_is_announced_as_finding_out_more(machine):
    machine.plan(FAULT)
    machine.run(*program("ten_launches.py"), options=["--rerun=never"])
    said = machine.run(*program("ten_launches.py"), options=["--rerun=auto", "--arm", "1"]).stderr
    expect_in("[proven]", said.partition("running the command again")[0], "the first answer")
    expect_in("cudadiag: running the command again to find out more: usually 1 run, under a second", said, "announcement")
