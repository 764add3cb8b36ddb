"""What a person at a terminal sees; a function each, its name is the claim."""

from harness import expect, expect_in, program
from passes import AGAIN

WIPE = "\r\x1b[K"


def _frames(shown):
    """The rows of progress, each painted over the one before."""
    return [frame for frame in shown.split(WIPE)[1:] if frame.startswith("cudadiag: ") and "\n" not in frame]


def _rerun(machine, *words, **options):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    shown, _ = machine.on_terminal(*machine.command("run", "--rerun=always", *words), **options)
    return shown


def progress_fits_the_terminal(machine):
    for columns in (80, 40, 20):
        frames = _frames(_rerun(machine, "--time-limit=1", "--", *program("probe.py", "rerun-hangs"), columns=columns))
        assert len(frames) > 1, f"{frames} on {columns} columns"
        for frame in frames:
            assert len(frame) < columns, f"{len(frame)} of {columns} columns: {frame}"
        wanted = "cudadiag: confirming 0% (Ctrl-C skips)" if columns > 20 else "cudadiag: confirming"[:columns - 1]
        expect(frames[0], wanted, f"first row on {columns} columns")


def progress_counts_no_operations_where_none_are_recorded(machine):
    frames = _frames(_rerun(machine, "--", *program("probe.py")))
    device = [frame for frame in frames if "GPU core dump" in frame]
    assert device, frames
    for frame in device:
        assert "operation" not in frame and "%" not in frame, frame


def progress_is_not_painted_over_the_prompt_of_a_shell(machine):
    machine.plan(AGAIN)
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    command = machine.command("run", "--rerun=always", "--", *program("probe.py"))
    shown, _ = machine.on_terminal("bash", "-c", 'set -m; "$@" & wait', "bash", *command)
    expect_in("confirmed by a rerun", shown, "what a job in the background says")
    expect(_frames(shown), [], "progress of a job in the background")
