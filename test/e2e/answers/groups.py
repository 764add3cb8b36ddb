"""Jobs of several ranks in groups that call the simulated NCCL: which rank has not reached which call of a group."""

import json
import pathlib
import re
import subprocess

from harness import expect, expect_in, expect_success, program

PROGRAM = "groups.py"
RANKS = {"ddp": 3, "pipeline": 4, "experts": 4}


def _lines():
    """Returns the lines of the program that have marks, by mark."""
    text = pathlib.Path(program(PROGRAM, "ddp")[1]).read_text().splitlines()
    return {found[1]: number for number, line in enumerate(text, 1) if (found := re.search(r"  # ([A-Z ]+)$", line))}


def _run(machine, shape, fault, *options, name=None):
    """Runs one launcher for all ranks. Returns its report and what it printed."""
    machine.environment["SIM_NCCL_FILE"] = str(machine.gpu / f"{shape}-{fault}-{name}")
    result = machine.run(*program(PROGRAM, shape, fault), options=["--nccl", "-o", name or f"{shape}-{fault}", *options])
    return result, machine.report("-o", name or f"{shape}-{fault}")


def _answer(report):
    found = report["groups"]
    assert found, json.dumps(report, indent=1)[:3000]
    absent = [rank["rank"] for rank in found["ranks"] if not rank["has_come"]]
    return found["kind"], found["group"], found["function"], found["number"], absent


def _stuck(machine, shape, fault):
    result, report = _run(machine, shape, fault, "--hang-after", "2")
    expect(report["findings"][0]["kind"], "hang", f"{shape}, {fault}: {result.stderr}")
    return report["groups"], _answer(report), " ".join(result.stderr.split())


def healthy_groups_are_silent(machine):
    for shape in RANKS:
        for fault in ("none", "slow"):
            result, report = _run(machine, shape, fault)
            expect((result.returncode, result.stderr), (0, ""), f"{shape}, {fault}")
            expect((report["groups"], report["ranks"], report["findings"]), (None, None, []), f"{shape}, {fault}")
            expect(report["notes"], [], f"notes of {shape}, {fault}")


def job_that_hangs_without_its_groups_is_told_of_nccl(machine):
    machine.environment["SIM_NCCL_FILE"] = str(machine.gpu / "without")
    machine.run(*program(PROGRAM, "pipeline", "missing"), options=["-o", "without", "--hang-after", "2"])
    report = machine.report("-o", "without")
    expect(report["groups"], None, "groups")
    expect_in("cudadiag run --nccl --hang-after SECONDS -- COMMAND", " ".join(report["findings"][0]["fix"]), "what to do")


def rank_that_works_on_is_late(machine):
    """The rank launches other kernels for five times the limit, while the others wait for it."""
    result, report = _run(machine, "ddp", "busy", "--hang-report", "1")
    expect((result.returncode, result.stderr, report["findings"]), (0, "", []), "a rank that keeps working")


def rank_that_does_not_come_to_its_group_is_named(machine):
    """If two ranks wait for the missing rank in different groups, the report gives the rank that began to wait
    first."""
    marks = {"world": "ALL REDUCE", "tp1": "ALL REDUCE", "pp1": "SEND", "ep1": "EXCHANGE", "dp1": "ALL REDUCE"}
    for shape, groups in (("ddp", ["world"]), ("pipeline", ["tp1", "pp1"]), ("experts", ["ep1", "dp1"])):
        found, (kind, group, function, number, absent), text = _stuck(machine, shape, "missing")
        odd = RANKS[shape] - 1
        expect((kind, group in groups, number, absent), ("absence", True, 4, [odd]), shape)
        present = {rank["location"]["line"] for rank in found["ranks"] if rank["has_come"]}
        expect(present, {_lines()[marks[group]]}, f"{shape}: line of those that wait")
        away = [rank["location"]["line"] for rank in found["ranks"] if not rank["has_come"]]
        expect(away, [_lines()["AWAY"]], f"{shape}: line of the missing rank")
        expect_in(f"cudadiag: rank {odd} never reached {function} 4 of group {group}: it is on the host at", text, shape)


def call_of_another_size_is_named(machine):
    lines = _lines()
    found, answer, text = _stuck(machine, "ddp", "size")
    expect((answer, found["difference"]), (("mismatch", "world", "all_reduce", 4, []), "count"), "ddp")
    expect_in(f"rank 2 calls all_reduce 4 of 64 float32 at {PROGRAM}:{lines['ALL REDUCE']}, all_reduce, while ranks 0 and 1 call "
              "all_reduce 4 of 1,024 float32, in group world", text.replace(str(pathlib.Path(program(PROGRAM)[1]).parent) + "/", ""), "ddp")
    for shape, group in (("pipeline", "pp1"), ("experts", "ep1")):
        found, answer, text = _stuck(machine, shape, "size")
        expect((answer[0], answer[1], answer[3], found["difference"]), ("mismatch", group, 4, "count"), shape)
        expect(sorted(rank["rank"] for rank in found["ranks"]), [1, 3] if shape == "pipeline" else [2, 3], shape)


def calls_in_another_order_are_named(machine):
    lines = _lines()
    for shape, group in (("ddp", "world"), ("experts", "dp1")):
        found, answer, _ = _stuck(machine, shape, "order")
        expect((answer[0], answer[1], found["difference"]), ("mismatch", group, "function"), shape)
        functions = {rank["rank"]: rank["call"].split()[0] for rank in found["ranks"]}
        odd = RANKS[shape] - 1
        expect(functions, {rank: "all_gather" if rank == odd else "all_reduce" for rank in functions}, shape)
    found, answer, text = _stuck(machine, "pipeline", "order")
    expect((answer[0], answer[1]), ("circle", "pp1"), "pipeline")
    waits = {wait["rank"]: (wait["for_rank"], wait["location"]["line"]) for wait in found["circle"]}
    expect(waits, {1: (3, lines["SEND"]), 3: (1, lines["SEND"])}, "who waits for whom, where")
    expect_in("rank 1 waits for rank 3 in send 4 to rank 3 in group pp1", text, "pipeline")


def every_version_of_the_interface_tells_the_group(machine):
    for version in range(2, 7):
        machine.environment["SIM_NCCL_INTERFACE"] = str(version)
        result, report = _run(machine, "ddp", "missing", "--hang-after", "2", name=f"version-{version}")
        # Versions 2 and 3 do not say how many ranks the group has.
        expect((_answer(report), report["groups"]["size"]),
               (("absence", "world", "all_reduce", 4, [2]), 3 if version >= 4 else None), f"version {version}")
        report = machine.cudadiag("dump", "-o", f"version-{version}").stdout
        expect_in(f"name=world rank=0 ranks={3 if version >= 4 else 0} version={version} ", report, "communicator")


def profiler_that_the_user_turned_off_stays_off(machine):
    machine.environment["NCCL_PROFILER_PLUGIN"] = "NONE"
    _, report = _run(machine, "ddp", "missing", "--hang-after", "2")
    expect(report["groups"], None, "groups")
    assert "communicator" not in machine.cudadiag("dump", "-o", "ddp-missing").stdout


def plugin_that_the_user_named_gets_what_it_asks_for(machine):
    """Whatever its version and mask, the plugin gets the same calls with the same handles as without cudadiag."""
    masks = (0, 1 << 1, 1 << 2, 1 << 8, 1 << 9)
    for version in (2, 3, 4, 5, 6):
        for mask in (masks[version - 2], masks[version - 3], 0x1f00 | 0xff):  # each mask with two versions
            logs = []
            for way in ("plain", "watched"):
                log = machine.folder / f"{way}.log"
                log.unlink(missing_ok=True)
                machine.environment |= {
                    "NCCL_PROFILER_PLUGIN": str(machine.build / "sim/libnccl-profiler-logging.so"),
                    "LOGGING_VERSION": str(version), "LOGGING_MASK": str(mask), "LOGGING_FILE": str(log),
                    "SIM_NCCL_FILE": str(machine.gpu / f"{way}-{version}-{mask}"), "RANK": "0"}
                command = program(PROGRAM, "alone")
                ended = machine.run(*command, options=["--nccl"]) if way == "watched" else machine.plain(*command)
                expect(ended.returncode, 0, f"{way}, version {version}, mask {mask:#x}: {ended.stderr}")
                logs.append(log.read_text() if log.exists() else "")
            expect(logs[1], logs[0], f"version {version}, mask {mask:#x}")
            assert logs[0].startswith(f"init {version} "), logs[0]


def sessions_of_a_launcher_for_each_rank_are_one_answer(machine):
    machine.environment["SIM_NCCL_FILE"] = str(machine.gpu / "each")
    launchers = [subprocess.Popen(machine.command("run", "--nccl", "--rerun=never", "--hang-after", "2", "-o", "job", "--",
                                                  *program(PROGRAM, "ddp", "missing")),
                                  env={**machine.environment, "RANK": str(rank)}, cwd=machine.folder,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for rank in range(3)]
    for launcher in launchers[:2]:
        launcher.wait()
    text = expect_success(machine.cudadiag("ranks", "job")).stdout
    expect_in("cudadiag: rank 2 never reached all_reduce 4 of group world: it is on the host at ", text.splitlines()[0], text)
    expect_in(f"{PROGRAM}:{_lines()['AWAY']}, stay_away", text.splitlines()[0], text)
    expect_in("the same on rank ", text, "the other rank that waits")
    expect(text.count("\nalso:"), 0, text)
    quiet = machine.cudadiag("ranks", "-q", "job").stdout
    expect_in("cudadiag: rank 2 never reached all_reduce 4 of group world", quiet, "a quiet answer")
    found = json.loads(expect_success(machine.cudadiag("ranks", "--json", "job")).stdout)
    expect(_answer(found), ("absence", "world", "all_reduce", 4, [2]), "as JSON")
    for launcher in launchers:
        launcher.stdin.close()
        launcher.stdout.close(), launcher.stderr.close()
        launcher.terminate()
        launcher.wait()
