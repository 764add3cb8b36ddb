"""GPU core dumps of programs that hang: in the run that hangs, and in a rerun. Probes of runs that hang (status --check).
The simulated driver copies real dumps of an H200."""

import pathlib
import signal

from hangs import _line, _place, _until, stuck
from harness import DATA, expect, expect_in, expect_success, program


def hang_is_dumped_in_the_run_that_hangs(machine):
    plan = f"hang kernel=_Z4spinPiy; dump={DATA}/gpucore/running.nvcudmp.gz"
    for way in (["--once"], ["--once", "--on-hang=dump"], ["--watch-by=hooks"]):
        command = stuck(machine, "kernel")
        machine.plan(plan)
        kept = ["-o", machine.folder / way[-1]]
        result = machine.run(*command, options=["--hang-after", "0.3", *way, *kept])
        expect(result.returncode, -signal.SIGTERM, f"status with {way}, which is that of a run without a dump")
        report = machine.report(*kept)
        finding = report["findings"][0]
        device = finding["device"] and (pathlib.Path(finding["device"]["file"]).name, finding["device"]["line"])
        once = "--once" in way
        expect((finding["kind"], _place(finding["location"]), device),
               ("hang", _line("TRUE LINE kernel"), ("spin.cuh", 8) if once else None), f"answer with {way}")
        expect([each["name"] for each in report["passes"]], ["record"], f"passes with {way}")
        if once:
            expect_in("Device  spin.cuh:8  block 0,0,0 thread 0,0,0; 32 threads", result.stderr, "report")
            assert "finds the line that its threads execute" not in result.stderr, result.stderr
            expect_in(": ending the program after requesting a GPU core dump", result.stderr, "announcement")
            expect_in("running in this run, same kernel", machine.cudadiag("report", "-v", *kept).stdout, "how it is known")
        (folder,) = (machine.folder / way[-1]).glob("2*/record")
        expect([path.name for path in folder.iterdir() if path.suffix in (".pipe", ".request")], [], "files left")


def hang_is_followed_by_a_rerun_for_a_dump(machine):
    """Uses real dumps: of the same kernel, of no kernel, and of the failure of a different program."""
    for dump, device in (("running", ("spin.cuh", 8, None)), ("idle", None), ("load", None)):
        target = stuck(machine, "kernel")[0]
        command = program("hangs_twice.py", target, DATA / f"gpucore/{dump}.nvcudmp.gz")
        kept = ["-o", machine.folder / dump]
        result = machine.run(*command, options=["--hang-after", "0.3", "--on-hang=dump", *kept])
        expect(result.returncode, -signal.SIGTERM, f"status, with {result.stderr}")
        report = machine.report(*kept)
        expect([each["name"] for each in report["passes"]], ["record", "device"], "passes")
        finding = report["findings"][0]
        expect(_place(finding["location"]), _line("TRUE LINE kernel"), "true line")
        found = finding["device"] and tuple(finding["device"][member] for member in ("file", "line", "exception"))
        expect((finding["kind"], found and (pathlib.Path(found[0]).name, *found[1:])), ("hang", device), dump)
        if device:
            expect_in("Device  spin.cuh:8  block 0,0,0 thread 0,0,0; 32 threads", result.stderr, "report")


def hang_of_one_rank_is_not_repeated(machine):
    machine.environment.update(RANK="1", WORLD_SIZE="2")
    for mode in (["--on-hang=dump"], ["--rerun=ask"]):
        result = machine.run(*stuck(machine, "kernel"), options=["--hang-after", "0.3", *mode])
        expect_in("cudadiag: the command was not rerun, because it is one rank of a job; to get a GPU core dump from the next run of the "
                  "job, put this in front of each rank's command: cudadiag run --once --hang-after SECONDS --\n", result.stderr, str(mode))
        expect_in("cudadiag run --once --hang-after SECONDS in front of each rank's command shows it", " ".join(result.stderr.split()), "fix")
        for text in (result.stderr, machine.cudadiag("report", "-v").stdout):
            assert "bisect" not in text, text
        expect([each["name"] for each in machine.report()["passes"]], ["record"], "passes")


def bisect_of_a_hang_succeeds_if_a_dump_shows_its_kernel(machine):
    for dump, status in (("running", 0), ("idle", 1)):
        command = program("hangs_twice.py", stuck(machine, "kernel")[0], DATA / f"gpucore/{dump}.nvcudmp.gz")
        kept = ["-o", machine.folder / dump]
        machine.run(*command, options=["--hang-after", "0.3", *kept])
        result = machine.cudadiag("bisect", *kept, timeout=60)
        expect(result.returncode, status, f"status if the dump is {dump}, with {result.stderr}")
        again = machine.cudadiag("bisect", *kept, timeout=60)
        expect(again.returncode, status, f"status of a second search, with {again.stderr}")
        expect_in("a rerun would add nothing: the session has a GPU core dump of the hang\n", again.stderr, "second search")


def dump_that_does_not_come_is_announced_and_explained(machine):
    result = machine.run(*stuck(machine, "kernel"), options=["--hang-after", "0.3", "--hang-dump", "--time-limit", "2"])
    announced = "cudadiag: running the command again for a GPU core dump of its kernels: 2.0 s at most (--time-limit)\n"
    _, told, after = result.stderr.partition(announced)
    expect(bool(told), True, "announced in " + result.stderr)
    assert "cudadiag bisect /" not in result.stderr, f"it advises what it then does: {result.stderr}"
    expect_in("cudadiag: no GPU core dump was written after ", after, "after it")
    expect_in("no process accepted a request for one: only NVIDIA's driver does", after, "why")
    assert "--on-hang" not in machine.cudadiag("report").stdout, "it is recommended although it was tried"
    command = ["sh", "-c", 'test "$CUDADIAG_PASS" = record && exec "$@"', "sh", *stuck(machine, "kernel")]
    result = machine.run(*command, options=["--hang-after", "0.3", "--hang-dump"])
    expect_in(": the rerun did not hang; to try several times: cudadiag bisect ", result.stderr, "reason if a rerun does not hang")
    expect_in(" --repeat 20\n", result.stderr, "what to do")
    expect("cuda-gdb -p PID" in machine.cudadiag("report").stdout, False, "whether the dump counts as tried")
    machine.cudadiag("bisect", "--repeat", "2")
    expect(len(machine.report()["passes"]), 4, "passes after two attempts")


def dump_that_the_driver_does_not_finish_ends_with_what_is_known(machine):
    machine.plan("fault kernel=scale nth=3 code=700; dump=stuck")
    result = machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", "--once", "--hang-after", "0.5"])
    expect(result.returncode, -signal.SIGTERM, "status")
    expect_in("ending the program, although the driver has not finished its GPU core dump\n", result.stderr, "announcement")
    (finding,) = machine.report("-o", "here")["findings"]
    expect((finding["location"]["line"], finding["cause"]["id"]), (10, "core-dump-unfinished"), "answer")


def probe_fails_while_a_run_hangs(machine):
    run = machine.start(*machine.command("run", "--rerun=never", "--", *stuck(machine, "idle")))
    expect(run.stdout.readline(), "ready\n", "output")
    _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 0.2)
    result = machine.cudadiag("status", "--check", "0.2")
    expect((result.returncode, result.stdout, result.stderr), (0, "", ""), "probe of a program that computes on the host")
    run.communicate("\n")
    run = machine.start(*machine.command("run", "--rerun=never", "--", *stuck(machine, "kernel")))
    pid = _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 0.5)["processes"][0]["pid"]
    expect(machine.cudadiag("status", "--check", "1000").returncode, 0, "probe that allows a longer time")
    result = machine.cudadiag("status", "--check", "0.5", "--dump")
    expect((result.returncode, result.stdout), (1, ""), "probe of a run that hangs")
    line = ":".join(map(str, _line("TRUE LINE kernel")))
    expect_in(f"cudadiag: process {pid} has made no progress for 0.5 s: spin at {line}, main is unfinished\n",
              result.stderr, "reason")
    expect_in("no GPU core dump: the driver can write one only of a program that was started with --once", result.stderr, "no dump")
    run.terminate()
    run.communicate()
    result = machine.cudadiag("status", "--check", "0.5")
    expect(result.returncode, 125, "probe of a run that is over")
    expect_in("nothing to check: ", result.stderr, "reason")


def probe_dumps_a_hang_of_a_program_without_the_launcher(machine):
    command = stuck(machine, "kernel")
    machine.plan(f"hang kernel=_Z4spinPiy; dump={DATA}/gpucore/running.nvcudmp.gz")
    exports = expect_success(machine.cudadiag("env", "--once")).stdout
    run = machine.start("sh", "-c", exports + 'exec "$@"', "sh", *map(str, command))
    _until(machine, run, lambda process: (process["idle_seconds"] or 0) > 0.5)
    result = machine.cudadiag("status", "--check", "0.5", "--dump")
    expect(result.returncode, 1, "status")
    dump = result.stderr.partition("to see where its kernels are: cudadiag core ")[2].strip()
    expect_in("spin.cuh:8", expect_success(machine.cudadiag("core", dump)).stdout, "where its kernels are")
    expect(run.poll(), None, "status of the program, which continues")
    run.kill()
    run.communicate()
