"""Jobs that leave dumps of PyTorch's Flight Recorder, and about which NCCL reports nothing."""

import json
import pathlib
import re

from harness import FAULT, expect, expect_in, expect_success, program

PROGRAM = "flight_recorder.py"


def _lines():
    """Returns the marked lines of the program, by mark."""
    text = pathlib.Path(program(PROGRAM, "none")[1]).read_text().splitlines()
    return {found[1]: number for number, line in enumerate(text, 1) if (found := re.search(r"  # ([A-Z ]+)$", line))}


def _run(machine, fault, *options, dumps="dumps/rank_"):
    machine.environment["SIM_NCCL_FILE"] = str(machine.gpu / f"{fault}-{len(list(machine.folder.iterdir()))}")
    machine.environment["TORCH_FR_DUMP_TEMP_FILE"] = dumps
    return machine.run(*program(PROGRAM, fault), options=["-o", fault, *options])


def _ranks(machine, fault, *options):
    return expect_success(machine.cudadiag("ranks", *options, fault))


def _groups(machine, fault, *options):
    return json.loads(_ranks(machine, fault, "--json", *options).stdout)["groups"]


def rank_that_does_not_come_is_named_by_the_dumps(machine):
    _run(machine, "missing", "--hang-after", "2")
    text = _ranks(machine, "missing").stdout
    lines, place = _lines(), program(PROGRAM)[1]
    expect_in("cudadiag: rank 2 never reached all_reduce 4 of group tp1: it is on the host at "
              f"{place}:{lines['AWAY']}, stay_away\n", text, "the answer")
    expect_in(f"\n  rank 1: all_reduce 4 of 1,024 float32 at {place}:{lines['ALL REDUCE']}, all_reduce\n", text, "who waits")
    expect_in("\n  from PyTorch's Flight Recorder [inferred]: ", text, "the source")
    expect_in(f"{machine.folder}/dumps/rank_0 and 2 others\n", text, "the files")
    found = _groups(machine, "missing")
    expect((found["kind"], found["group"], found["number"], len(found["dumps"])), ("absence", "tp1", 4, 3), "as JSON")


def dumps_can_lie_where_the_user_says(machine):
    _run(machine, "missing", "--hang-after", "2")
    (machine.folder / "dumps").rename(machine.folder / "moved")
    expect(_groups(machine, "missing"), None, "without the dumps")
    for place in ("moved", "moved/rank_"):
        expect(_groups(machine, "missing", "--flight-recorder", place)["group"], "tp1", place)
    (machine.folder / "moved/older_2").write_bytes(b"")
    expect(_groups(machine, "missing", "--flight-recorder", "moved/rank_")["group"], "tp1", "a prefix is exact")
    refused = machine.cudadiag("ranks", "--flight-recorder", "moved", "missing")
    expect_in("rank 2 has two files: ", refused.stderr, "two files")
    expect(set(refused.stderr.rpartition("--flight-recorder ")[2].split()), {"moved/older_", "or", "moved/rank_"}, "what to give")
    expect(refused.returncode, 125, "status")
    refused = machine.cudadiag("ranks", "--flight-recorder", "nowhere/rank_", "missing")
    expect_in("no Flight Recorder dump found at nowhere/rank_", refused.stderr, "no files")


def differing_calls_are_named_by_the_dumps(machine):
    lines = _lines()
    _run(machine, "size", "--hang-after", "2")
    found = _groups(machine, "size")
    expect((found["kind"], found["difference"], found["number"]), ("mismatch", "count", 4), "size")
    expect({rank["rank"]: rank["call"] for rank in found["ranks"]},
           {1: "all_reduce 4 of 1,024 float32", 2: "all_reduce 4 of 64 float32"}, "sizes")
    _run(machine, "order", "--hang-after", "2")
    found = _groups(machine, "order")
    expect((found["kind"], found["difference"]), ("mismatch", "function"), "order")
    expect({rank["rank"]: rank["location"]["line"] for rank in found["ranks"]},
           {1: lines["ALL REDUCE"], 2: lines["ALL GATHER"]}, "lines of the calls")


def healthy_job_with_dumps_is_silent(machine):
    result = _run(machine, "none")
    expect((result.returncode, result.stderr), (0, ""), "report of the run")
    assert (machine.folder / "dumps/rank_2").exists()
    ended = _ranks(machine, "none")
    expect((ended.stdout, ended.stderr), ("cudadiag: no CUDA failure in this session\n", ""), "ranks")
    expect(_groups(machine, "none"), None, "as JSON")


def record_of_the_plugin_leads(machine):
    _run(machine, "missing", "--hang-after", "2", "--nccl")
    found = _groups(machine, "missing")
    expect((found["kind"], found["group"], found["dumps"]), ("absence", "tensors", []), "by NCCL")


def dumps_of_another_run_are_refused(machine):
    _run(machine, "missing", "--hang-after", "2", dumps="others/rank_")
    _run(machine, "size", "--hang-after", "2", dumps="own/rank_")
    for rank in range(3):
        (machine.folder / f"own/rank_{rank}").write_bytes((machine.folder / f"others/rank_{rank}").read_bytes())
    ended = _ranks(machine, "size", "--json")
    expect(json.loads(ended.stdout)["groups"], None, "groups")
    expect_in("own/rank_2 is not used: it contains calls from before the run", ended.stderr, "why")


def dump_that_is_broken_is_refused(machine):
    _run(machine, "missing", "--hang-after", "2")
    file = machine.folder / "dumps/rank_2"
    whole = file.read_bytes()
    for bytes, why in ((whole[:-40], "it ends within a "), (b"\x80\x02cos\nsystem\n.", "it has the opcode 0x63"),
                       (whole.replace(b"2.10", b"3.10"), "its format version is 3.10, but cudadiag reads only version 2")):
        file.write_bytes(bytes)
        ended = _ranks(machine, "missing")
        expect_in("dumps/rank_2 is not used: " + why, ended.stderr, "why")
        expect_in("rank 1 of group tp1 was not recorded, and the others wait in all_reduce 4 for it", ended.stdout, why)


def dumps_are_not_read_if_a_rank_failed_by_itself(machine):
    machine.plan(FAULT)
    machine.run(*program("probe.py"), options=["-o", "job"])
    told = expect_success(machine.cudadiag("ranks", "-o", "job", "--flight-recorder", "nowhere"))
    expect_in("cudadiag: --flight-recorder was not used: a rank failed by itself", told.stderr, "message")
