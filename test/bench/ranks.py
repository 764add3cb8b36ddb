#!/usr/bin/env python3
"""Measures how long `cudadiag ranks` takes for a large job, and how much memory it uses.

Usage: ranks.py [--build BUILD] [--sessions N] [--json FILE]

One rank is recorded on the simulated driver: 16,400 launches, 400 collectives in its own group and 5 of the whole job.
Each other session is a copy with a different rank number. One rank has not called the job's last collective.
"""

import argparse
import json
import os
import re
import struct
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/e2e"))
from harness import Machine  # noqa: E402

import rows  # noqa: E402

RANK = b"7777"  # the rank of the recorded process: four digits, which the copies replace
PID = 16  # offset in an area's header
REGIONS, COMMUNICATORS = 1024, 14  # offset of the table of regions, and the index of one of them
GROUP_RANK, GROUP_CALLS = 4, 32  # offsets in an entry of that region
CALLED = 208  # offset in an area's header: how many collectives were called
OWN = 400  # collectives of the rank's own group

PROGRAM = """
import ctypes, sys
import cuda
nccl = ctypes.CDLL("libnccl.so.2")
nccl.sim_nccl_join.restype = ctypes.c_void_p
nccl.sim_nccl_join.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
cuda.start()
stream, side = cuda.stream(), cuda.stream()
launches = [cuda.kernel(f"gemm_{number}") for number in range(40)]
world = ctypes.c_void_p(nccl.sim_nccl_join(b"world", int(sys.argv[1]), 0))
own = ctypes.c_void_p(nccl.sim_nccl_join(b"own", 1, 0))
def all_reduce(group, stream):
    cuda.check(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1024), 7, 0, group, stream))
for step in range(400):
    for launch, parameters in launches:
        launch(side, parameters, None)
    all_reduce(own, side)
    cuda.driver.cuStreamSynchronize(side)
for _ in range(5):
    all_reduce(world, stream)
cuda.driver.cuStreamSynchronize(stream)
"""


def record(machine, ranks):
    """Records the session of one rank that waits for the others."""
    program = machine.folder / "rank.py"
    program.write_text(PROGRAM)
    machine.environment |= {"RANK": RANK.decode(), "SIM_NCCL_FILE": str(machine.gpu / "job"),
                            "PYTHONPATH": str(ROOT / "test/e2e/programs")}
    machine.run(sys.executable, str(program), str(ranks), options=["--nccl", "-o", "one", "--hang-after", "1"])
    return next((machine.folder / "one").glob("*/manifest.json")).parent


def pieces(data):
    """(offset, bytes) of everything that is not zero, in whole pages."""
    found, start = [], None
    for at in range(0, len(data) + 4096, 4096):
        if any(data[at:at + 4096]):
            start = at if start is None else start
        elif start is not None:
            found.append((start, data[start:at]))
            start = None
    return found


def copy(one, folder, ranks):
    area = next((one / "record").glob("*.area")).read_bytes()
    group, _ = struct.unpack_from("<QQ", area, REGIONS + 16 * COMMUNICATORS)
    manifest = (one / "manifest.json").read_text()
    pid, = struct.unpack_from("<I", area, PID)
    named = [found.start() for found in re.finditer(re.escape(RANK), area)]
    written = pieces(area)
    for rank in range(ranks):
        session = folder / f"{one.name}-{rank:04}"
        (session / "record").mkdir(parents=True)
        (session / "manifest.json").write_text(re.sub(rf"\b{pid}\b", str(10000 + rank), manifest))
        changes = [(at, b"%04d" % rank) for at in named]
        changes += [(PID, struct.pack("<I", 10000 + rank)), (group + GROUP_RANK, struct.pack("<i", rank))]
        if rank == ranks // 2:
            changes += [(group + GROUP_CALLS, bytes(8)), (CALLED, struct.pack("<Q", OWN))]
        with (session / "record" / f"{10000 + rank}.area").open("wb") as to:
            for at, data in written + changes:
                to.seek(at)
                to.write(data)
            to.truncate(len(area))


def measure(machine, job):
    """Seconds, MB, and the first line of the output."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        words = machine.command("ranks", str(job))
        os.execve(words[0], [str(word) for word in words], machine.environment)
    os.close(write)
    with os.fdopen(read) as text:
        answer = text.read()
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(answer)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, answer.splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--sessions", type=int, default=1024)
    parser.add_argument("--json", type=Path, help="write rows with these numbers to it")
    options = parser.parse_args()
    machine = Machine(options.build.resolve())
    try:
        job = machine.folder / "job"
        copy(record(machine, options.sessions), job, options.sessions)
        found = [measure(machine, job) for _ in range(3)]
    finally:
        machine.close()
    seconds, megabytes = min(each[0] for each in found), max(each[1] for each in found)
    print(f"{options.sessions} sessions: {seconds:.2f} s of processor time, {megabytes:.0f} MB\n{found[0][2]}")
    if options.json:
        case = f"ranks of {options.sessions} sessions"
        rows.merge(options.json, [rows.row(case, "processor time", [each[0] for each in found], "s"),
                                  rows.row(case, "memory", [each[1] for each in found], "MB")])


main()
