"""The recipes of cudadiag-recipes(7) whose launchers are installed, on the simulated driver."""

import os
import shutil

from harness import FAULT, expect, expect_success, expect_true_line, program, skip, true_line

PROGRAM = program("one_rank_fails.py")


def _find(machine, name):
    found = shutil.which(name)
    if found is None:
        skip(f"{name} is not installed")
    machine.plan(FAULT)
    return found


def _outside(machine, *launcher):
    """Runs the whole job under one launcher, which creates one session."""
    machine.run(*launcher, *PROGRAM)
    report = machine.report()
    expect_true_line(report, "one_rank_fails.py")
    expect([finding["process"]["rank"] for finding in report["findings"]], [1], "ranks that failed")


def _inside(machine, *launcher):
    """Runs each rank under its own launcher. Each creates a session, and `ranks` combines them."""
    job = machine.folder / "job"
    machine.plain(*launcher, *machine.command("run", "--rerun=never", "-o", job, "--"), *PROGRAM)
    combined = expect_success(machine.cudadiag("ranks", job, "-q"))
    _, line = true_line("one_rank_fails.py")
    expect(f"one_rank_fails.py:{line}, <module> [bracketed]" in combined.stdout, True, f"line in {combined.stdout}")


def mpirun_with_a_launcher_in_front_or_for_each_rank(machine):
    mpirun = [_find(machine, "mpirun"), "--oversubscribe", "-np", "2"]
    if os.geteuid() == 0:
        mpirun.append("--allow-run-as-root")
    _outside(machine, *mpirun)
    _inside(machine, *mpirun)


def torchrun_with_a_launcher_in_front_or_for_each_rank(machine):
    torchrun = [_find(machine, "torchrun"), "--nproc-per-node", "2", "--no-python"]
    _outside(machine, *torchrun)
    _inside(machine, *torchrun)


def accelerate_with_a_launcher_in_front_or_for_each_rank(machine):
    accelerate = [_find(machine, "accelerate"), "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
                  "--mixed_precision", "no", "--dynamo_backend", "no", "--no_python"]
    _outside(machine, *accelerate)
    _inside(machine, *accelerate)
