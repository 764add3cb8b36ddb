"""What NVIDIA's debugger and compute-sanitizer report. Each function's name says what it tests.

Scripts stand in for these external programs: they print what the real ones print, crash or hang. The simulated driver
writes no core dumps, so the programs put real dumps of an H200 where the driver would write them.
"""

import gzip
import json

from harness import DATA, SANITIZER_IS_HERE, expect, expect_in, expect_success, expect_true_line, program

# The format of cuda-gdb 13.0, with the values of data/gpucore/assert.nvcudmp.
DEBUGGER = """Opening GPU coredump: here

CUDA Exception: Warp Assert
[Current focus set to CUDA kernel 0, grid 3, block (0,0,0), thread (0,0,0), device 0, sm 124, warp 2, lane 0]
#0  0x00007f912f7a0b80 in assert_positive(int const*)<<<(2,1,1),(32,1,1)>>> () at /tmp/cases/cases.cu:LINE
LINE\tin /tmp/cases/cases.cu
"""
AGREES = DEBUGGER.replace("LINE", "17")
ALL_FIELDS = "exception, kernel, grid, block size, block, thread, line, PC"
DUMP = DATA / "gpucore/assert.nvcudmp"


def _install(machine, name, script):
    folder = machine.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n" + script)
    (folder / name).chmod(0o700)
    if not machine.environment["PATH"].startswith(str(folder)):
        machine.environment["PATH"] = f"{folder}:{machine.environment['PATH']}"


def _saying(text, then=""):
    return f"cat <<'END'\n{text}END\n{then}"


def _witness(text):
    """Returns the lines of `cudadiag core` about the debugger, and the text before them."""
    head, _, tail = text.partition("Witness ")
    return [line.strip() for line in tail.splitlines()], head


# ---- cudadiag core --cross-check


def debugger_agrees_with_what_was_read(machine):
    machine.environment["CUDA_HOME"] = str(machine.folder)
    _install(machine, "cuda-gdb", 'printf "%s\\n" "$@" >words\n' + _saying(AGREES))
    alone = expect_success(machine.cudadiag("core", DUMP)).stdout
    expect((machine.folder / "words").exists(), False, "run without a request")
    result = expect_success(machine.cudadiag("core", DUMP, "--cross-check"))
    expect(_witness(result.stdout), (["cuda-gdb agrees: " + ALL_FIELDS], alone), "text")
    expect(result.stderr, "", "stderr")
    words = (machine.folder / "words").read_text().splitlines()
    expect_in(f"target cudacore {DUMP}", words, "its arguments")
    expect_in("--batch", words, "its arguments")
    found = json.loads(expect_success(machine.cudadiag("core", DUMP, "--json", "--cross-check")).stdout)
    expect(found["cuda_gdb"], {"failed": None, "same": ALL_FIELDS.split(", "), "different": []}, "JSON")


def debugger_that_differs_is_shown_beside(machine):
    _install(machine, "cuda-gdb", _saying(DEBUGGER.replace("LINE", "18")))
    result = expect_success(machine.cudadiag("core", DUMP, "--cross-check"))
    expect(_witness(result.stdout)[0],
           ["cuda-gdb differs: line /tmp/cases/cases.cu:18 instead of /tmp/cases/cases.cu:17",
            "cuda-gdb agrees: exception, kernel, grid, block size, block, thread, PC"], "text")
    expect_in("Line    /tmp/cases/cases.cu:17\n", result.stdout, "text")


def debugger_that_fails_costs_nothing(machine):
    alone = expect_success(machine.cudadiag("core", DUMP)).stdout
    for then, why in (("kill -ABRT $$", "signal 6"), ("exit 3", "status 3"), ("kill -SEGV $$", "signal 11")):
        _install(machine, "cuda-gdb", _saying(AGREES, then))
        result = expect_success(machine.cudadiag("core", DUMP, "--cross-check"))
        expect(_witness(result.stdout), ([f"cuda-gdb failed on this dump ({why})"], alone), then)
    _install(machine, "cuda-gdb", "")
    expect(_witness(machine.cudadiag("core", DUMP, "--cross-check").stdout),
           (["cuda-gdb reported nothing that can be compared"], alone), "silence")


def debugger_that_is_missing_is_named_with_its_command(machine):
    machine.environment.update(CUDA_HOME=str(machine.folder), PATH="/usr/bin:/bin")
    strange = machine.folder / "it's a dump"
    strange.write_bytes(DUMP.read_bytes())
    result = expect_success(machine.cudadiag("core", strange, "--cross-check"))
    expect(_witness(result.stdout)[0], ["cuda-gdb is not installed here"], "text")
    expect_in(f"""cuda-gdb --batch -ex 'target cudacore {machine.folder}/it'\\''s a dump' -ex bt""", result.stderr, "stderr")


def debugger_gets_a_path_that_needs_no_quotes(machine):
    _install(machine, "cuda-gdb", 'for word; do case $word in target*) cat "${word#target cudacore }" >copy;; esac; done')
    strange = machine.folder / "it's a dump"
    strange.write_bytes(DUMP.read_bytes())
    expect_success(machine.cudadiag("core", strange, "--cross-check"))
    expect((machine.folder / "copy").read_bytes() == DUMP.read_bytes(), True, "the same dump")


def compressed_dump_is_not_given_to_the_debugger_but_a_command_that_works(machine):
    _install(machine, "cuda-gdb", _saying(AGREES))
    # With PATH set, the test can run the command that the message suggests.
    machine.environment["PATH"] = f"{machine.build}/bin:{machine.environment['PATH']}"
    for name in ("it's a dump.gz", "dump"):
        packed = machine.folder / name
        packed.write_bytes(gzip.compress(DUMP.read_bytes()))
        result = expect_success(machine.cudadiag("core", packed, "--cross-check"))
        expect(_witness(result.stdout)[0], ["cuda-gdb cannot read a compressed dump"], "text")
        command = result.stderr.partition("cudadiag: cuda-gdb cannot read a compressed dump; unpack it: ")[2]
        pasted = expect_success(machine.plain("sh", "-c", command))
        expect(_witness(pasted.stdout)[0], ["cuda-gdb agrees: " + ALL_FIELDS], "what the command says: " + command)
    (machine.folder / "bin/cuda-gdb").unlink()
    machine.environment.update(CUDA_HOME=str(machine.folder), PATH="/usr/bin:/bin")
    result = expect_success(machine.cudadiag("core", packed, "--cross-check"))
    expect_in(f"cuda-gdb is not installed here; on a machine that has it, run: gzip -dc <{packed} >{packed}.unpacked && cuda-gdb --batch "
              f"-ex 'target cudacore {packed}.unpacked' -ex bt\n", result.stderr, "if it is not installed")


# ---- a run with both tools

LOAD = "_Z8far_loadPi"
LOAD_DUMP = DATA / "gpucore/load.nvcudmp.gz"
LOAD_DEBUGGER = """CUDA Exception: Warp Illegal Address
The exception was triggered at PC 0x7f21277a0a70  far_load(int*)  (cases.cu:16)
[Current focus set to CUDA kernel 0, grid 3, block (0,0,0), thread (0,0,0), device 0, sm 124, warp 2, lane 0]
#0  0x00007f21277a0a90 in far_load(int*)<<<(2,1,1),(32,1,1)>>> () at /tmp/cases/cases.cu:16
"""

# The format of compute-sanitizer 2025.3 with --demangle no.
LOG = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at KERNEL+0x70 in /tmp/cases/cases.cu:16
=========     by thread (THREAD,0,0) in block (0,0,0)
=========     Access to 0x7f0000001010 is out of bounds
=========     and is 17 bytes after the nearest allocation at 0x7f0000000000 of size 4,096 bytes
=========
========= ERROR SUMMARY: 1 error
"""
MEMORY = "4-byte read at 0x7f0000001010, 16 bytes past the 4,096-byte allocation at 0x7f0000000000"

SANITIZER = """while [ "${1#--}" != "$1" ]; do
  [ "$1" = --log-file ] && log=$2
  [ "$1" = --kernel-name ] && echo "$2" >>"$HOME/kernels"
  shift 2
done
"""


def _log(kernel, thread=0):
    return LOG.replace("KERNEL", kernel).replace("THREAD", str(thread))


def _install_sanitizer(machine, log, then='exec "$@"\n'):
    _install(machine, "compute-sanitizer", SANITIZER + f"cat >\"$log\" <<'END'\n{log}END\n{then}")


def _run(machine, *options, kernel=LOAD, dump=LOAD_DUMP):
    """Returns the report on a run whose kernel fails every time."""
    machine.environment.update(CUDADIAG_SIM_RUNS=str(machine.runs), CUDA_HOME=str(machine.folder))
    machine.plan(f"fault kernel={kernel} nth=3 code=700")
    result = machine.run(*program("leaves_dump.py", kernel, dump), options=["--rerun=always", *options], timeout=90)
    expect(result.returncode, 3, "status, with stderr " + result.stderr)
    report = machine.report()
    expect_true_line(report, "leaves_dump.py")
    expect(report["findings"][0]["evidence"]["grade"], "proven", "grade")
    return report, result


def _outcome(report, name):
    return [each["outcome"] for each in report["passes"] if each["name"] == name]


def _device(report):
    device = report["findings"][0]["device"]
    return device and (device["file"], device["line"], device["block"], device["thread"])


DUMP_SAYS = ("/tmp/cases/cases.cu", 16, [0, 0, 0], [0, 0, 0])


def run_compares_its_dump_with_the_debugger(machine):
    _install(machine, "cuda-gdb", _saying(LOAD_DEBUGGER))
    report, result = _run(machine, "--cross-check")
    agrees = "cuda-gdb agrees: " + ALL_FIELDS
    expect(_outcome(report, "device"), ["core dump read, cuda-gdb agrees"], "pass")
    expect(report["findings"][0]["witnesses"], [agrees], "witnesses")
    expect_in("\nWitness " + agrees, result.stderr, "stderr")
    expect_in("Witness " + agrees, machine.cudadiag("report").stdout, "report")
    expect(_device(report), DUMP_SAYS, "device")


def debugger_that_differs_changes_no_answer(machine):
    _install(machine, "cuda-gdb", _saying(LOAD_DEBUGGER.replace("cases.cu:16", "cases.cu:61")))
    report, _ = _run(machine, "--cross-check")
    expect(_outcome(report, "device"), ["core dump read, cuda-gdb differs: line"], "pass")
    differs = "cuda-gdb differs: line cases.cu:61 instead of /tmp/cases/cases.cu:16"
    expect(report["findings"][0]["witnesses"][0], differs, "witnesses")
    expect_in({"code": "cuda-gdb", "text": differs}, report["notes"], "notes")
    expect(_device(report), DUMP_SAYS, "device")


def debugger_that_crashes_hangs_or_is_missing_costs_no_report(machine):
    for script, said in (("kill -ABRT $$", "cuda-gdb failed on this dump (signal 6)"),
                         ("sleep 1000 & exec sleep 1000", "cuda-gdb failed on this dump (time limit)")):
        _install(machine, "cuda-gdb", _saying(LOAD_DEBUGGER, script))
        report, _ = _run(machine, "--cross-check", "--time-limit", "5")
        expect(_outcome(report, "device"), ["core dump read, cuda-gdb failed"], "pass with " + script)
        expect(report["findings"][0]["witnesses"], [said], "witnesses")
        expect(_device(report), DUMP_SAYS, "device")
    (machine.folder / "bin/cuda-gdb").unlink()
    report, result = _run(machine, "--cross-check")
    expect(_outcome(report, "device"), ["core dump read"], "pass")
    expect_in("cuda-gdb is not installed here; on a machine that has it, run: cuda-gdb --batch -ex 'target cudacore /", result.stderr, "stderr")
    _install(machine, "cuda-gdb", _saying(LOAD_DEBUGGER))
    expect_success(machine.cudadiag("bisect", "--cross-check", timeout=60))
    report = machine.report()
    expect(_outcome(report, "device"), ["core dump read, cuda-gdb agrees"], "pass after bisect")
    expect(len(report["passes"]), 3, "passes")


# ---- --sanitize


def sanitizer_tells_what_no_dump_knows(machine):
    _install_sanitizer(machine, _log("smooth", thread=7))
    report, result = _run(machine, "--sanitize", kernel="smooth", dump="none")
    expect((machine.folder / "kernels").read_text(), "kne=smooth\n", "filter")
    folder = machine.state / "cudadiag/latest/sanitize"
    expect((folder / "output.txt").read_text(), "['1', 'disabled', None]\n", "the program's environment")
    expect(_outcome(report, "sanitize"), ["1 invalid access"], "pass")
    expect(_device(report), ("/tmp/cases/cases.cu", 16, [0, 0, 0], [7, 0, 0]), "device")
    memory = report["findings"][0]["memory"]
    expect((memory["text"], memory["mode"], memory["bytes"], memory["nearest"]),
           (MEMORY, "read", 4, {"address": "0x7f0000000000", "bytes": 4096}), "memory")
    expect_in("\nMemory  " + MEMORY, result.stderr, "stderr")
    text = machine.cudadiag("report").stdout
    expect_in("Memory  " + MEMORY, text, "report")
    expect_in("Device  compute-sanitizer: cases.cu:16  block 0,0,0 thread 7,0,0", text, "report")


def dump_that_the_driver_did_not_finish_is_told_with_what_may_tell_more(machine):
    report, result = _run(machine, dump="unfinished")
    expect(_outcome(report, "device"), ["core dump unfinished"], "pass")
    expect_in("Device  line, block, thread: unknown (the driver began a core dump but did not finish it)\n",
              machine.cudadiag("report", "-v").stdout, "report")
    expect("--sanitize" in result.stderr, SANITIZER_IS_HERE, "whether the tool is suggested, in " + result.stderr)
    result = machine.run(*program("leaves_dump.py", LOAD, "none"), options=["--rerun=always"], timeout=90)
    expect("did not finish" in result.stderr, False, "whether an unfinished dump is reported without one")


def sanitizer_is_put_beside_the_dump(machine):
    _install_sanitizer(machine, _log(LOAD))
    report, _ = _run(machine, "--sanitize")
    expect(report["findings"][0]["witnesses"], ["compute-sanitizer agrees: kernel, line, block, thread"], "witnesses")
    expect(report["findings"][0]["memory"]["text"], MEMORY, "memory")
    _install_sanitizer(machine, _log(LOAD, thread=5).replace("cases.cu:16", "cases.cu:61"))
    report, _ = _run(machine, "--sanitize")
    expect(report["findings"][0]["witnesses"],
           ["compute-sanitizer disagrees: it reports line cases.cu:61, but the GPU core dump shows cases.cu:16",
            "compute-sanitizer disagrees: it reports block 0,0,0 thread 5,0,0 first, but the GPU core dump shows block "
            "0,0,0 thread 0,0,0"],
           "witnesses")
    expect(_device(report), DUMP_SAYS, "device")
    expect([note["code"] for note in report["notes"]].count("sanitizer-differs"), 2, "notes")


def sanitizer_with_another_kernel_is_no_witness(machine):
    _install_sanitizer(machine, _log("_Z5otherPi"))
    report, _ = _run(machine, "--sanitize")
    expect(report["findings"][0]["memory"], None, "memory")
    expect_in("sanitizer-elsewhere", [note["code"] for note in report["notes"]], "notes")
    _install_sanitizer(machine, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n")
    expect(_outcome(_run(machine, "--sanitize")[0], "sanitize"), ["no invalid access"], "pass")


def sanitizer_that_crashes_hangs_or_is_missing_costs_no_report(machine):
    begun = "========= COMPUTE-SANITIZER\n"
    for log, script, said in (
            (begun, "kill -SEGV $$\n", "compute-sanitizer failed (signal 11)"),
            (begun, "exit 9\n", "compute-sanitizer failed (status 9)"),
            (begun, "exec sleep 1000\n", "compute-sanitizer failed (time limit)"),
            (begun + "========= Error: No attachable process found\n", "exit 1\n",
             "failed: Error: No attachable process found")):
        _install_sanitizer(machine, log, script)
        report, _ = _run(machine, "--sanitize", "--time-limit", "5")
        expect(_outcome(report, "sanitize"), [said], "pass with " + script)
        expect(_device(report), DUMP_SAYS, "device")
    if SANITIZER_IS_HERE:
        return
    (machine.folder / "bin/compute-sanitizer").unlink()
    report, result = _run(machine, "--sanitize")
    expect(_outcome(report, "sanitize"), [], "pass")
    session = f"{machine.state}/cudadiag/{machine.sessions()[-1]}"
    expect_in(f"compute-sanitizer is not installed here; cudadiag report {session} -v shows the command", result.stderr, "stderr")
    refused = machine.cudadiag("bisect", "--sanitize")
    expect((refused.returncode, refused.stderr.partition(", so")[0]),
           (125, "cudadiag: compute-sanitizer is not installed here"), "bisect without it")
    _install_sanitizer(machine, _log(LOAD))
    expect_success(machine.cudadiag("bisect", "--sanitize", timeout=60))
    expect(_outcome(machine.report(), "sanitize"), ["1 invalid access"], "pass after bisect")


def witnesses_that_were_not_asked_are_named_with_their_commands(machine):
    _run(machine)
    text = machine.cudadiag("report", "-v").stdout
    expect_in(f"compute-sanitizer --tool memcheck --kernel-name kne={LOAD} ", text, "report")
    expect_in("cuda-gdb --batch -ex 'target cudacore /", text, "report")
    _run(machine, kernel="smooth", dump="none")
    expect("--sanitize" in machine.cudadiag("report").stdout, SANITIZER_IS_HERE, "whether the tool is suggested")
    _install_sanitizer(machine, _log(LOAD))
    text = machine.cudadiag("report").stdout
    expect_in("cudadiag bisect --sanitize  # runs it under compute-sanitizer\n", text, "next commands if the GPU kept no line")


# ---- the failing address


def a_failing_address_is_computed_and_stays_without_the_disassembler(machine):
    code = DATA / "sass/far_load.sm90.txt"
    _install(machine, "nvdisasm", f"cat {code}\n")
    report, result = _run(machine)
    access = report["findings"][0]["access"]
    expect(access["address"], hex(0x7f211fe00000 + (1 << 40)), "the address")
    expect((access["kind"], access["bytes"], access["space"]), ("load", 4, "global"), "the access")
    expect((access["parameter"], access["parameter_byte"]), (1, 0), "the parameter")
    expect(access["first"], {"block": [0, 0, 0], "thread": [0, 0, 0]}, "the first thread")
    expect(access["threads"], 64, "threads")
    expect_in("Access  load of 4 bytes at 0x80211fe00000 by block 0,0,0 thread 0,0,0; 64 threads", result.stderr,
              "text")
    (machine.folder / "bin/nvdisasm").unlink()
    expect(machine.report()["findings"][0]["access"], access, "written again")


def without_a_disassembler_there_is_no_address(machine):
    report, result = _run(machine)
    expect(report["findings"][0]["access"], None, "access")
    expect("Access  " in result.stderr, False, "a row without content")


# ---- one rerun for the proof and the dump


def _run_with_dump(machine, kernel=LOAD, plan="dump={}", options=()):
    dump = machine.folder / "load.gpucore"
    dump.write_bytes(gzip.decompress(LOAD_DUMP.read_bytes()))
    machine.environment.update(CUDADIAG_SIM_RUNS=str(machine.runs))
    machine.plan(f"fault kernel={kernel} nth=3 code=700; {plan.format(dump)} run=2-")
    machine.run(*program("leaves_dump.py", kernel, "none"), options=["--rerun=always", *options], timeout=90)
    report = machine.report()
    expect_true_line(report, "leaves_dump.py")
    return report


def rerun_that_proves_the_line_leaves_the_dump_too(machine):
    report = _run_with_dump(machine)
    (finding,) = report["findings"]
    expect((finding["error"]["code"], finding["evidence"]["grade"]), (700, "proven"), "answer")
    expect("with code" in finding["evidence"]["because"], False, "whether another code is told")
    expect(_device(report), DUMP_SAYS, "device")
    expect([(each["name"], each["outcome"]) for each in report["passes"][1:]], [("confirm", "proven, core dump read")],
           "reruns")


def dump_is_known_from_the_driver_s_callback_if_it_has_one(machine):
    report = _run_with_dump(machine, plan="dump-callbacks; dump={}")
    expect(report["findings"][0]["evidence"]["grade"], "proven", "grade")
    expect(_outcome(report, "confirm"), ["proven, core dump read"], "reruns that confirm")


def dump_may_begin_later_than_an_operation_is_waited_for(machine):
    report = _run_with_dump(machine, plan="dump={} late", options=["--wait-limit=1"])
    expect(report["findings"][0]["evidence"]["grade"], "proven", "grade")
    expect(_outcome(report, "confirm"), ["proven, core dump read"], "reruns that confirm")


def dump_that_the_driver_loses_costs_no_proof(machine):
    report = _run_with_dump(machine, plan="dump=/no/such/dump")
    expect(report["findings"][0]["evidence"]["grade"], "proven", "grade")
    expect(_outcome(report, "confirm"), ["proven"], "reruns that confirm")
    expect(_outcome(report, "device"), ["no core dump"], "reruns for a dump")


def rerun_leaves_no_dump_if_the_user_chose_the_way_or_the_dump(machine):
    report = _run_with_dump(machine, options=["--watch-by=cupti"])
    expect(_outcome(report, "confirm"), ["proven"], "with CUPTI")
    machine.environment["CUDA_COREDUMP_FILE"] = str(machine.folder / "mine.%p")
    report = _run_with_dump(machine)
    expect(_outcome(report, "confirm"), ["proven"], "with a file of the user's own")


# ---- the address of an access whose registers are lost, from a replay of its launch

FAR = "_Z9far_storePi"
FAR_DUMP = DATA / "gpucore/far.nvcudmp.gz"
# Stands in for compute-sanitizer, and says that the replay of far_store failed where the program would have.
FAR_SANITIZER = """log=
while [ "${1#--}" != "$1" ]; do [ "$1" = --log-file ] && log=$2; shift 2; done
echo run >>"$HOME/replays"
BEFORE
"$@"
answer=$(echo "$*" | sed 's/.*--answer \\([^ ]*\\).*/\\1/')
block=$((0x$(sed -n 's/^block 0 //p' "$answer")))
cat >"$log" <<END
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at KERNEL+OFFSET in /tmp/cases/cases.cu:15
=========     by thread (5,0,0) in block (BLOCK,0,0)
=========     Access to $(printf 0x%x $((block + 4 * (1 << 40) + 20))) is out of bounds
=========
========= ERROR SUMMARY: 1 error
END
"""


def _run_far_store(machine, *options, before="", kernel=FAR, offset="0x80", block="0", size=4096):
    """Returns the finding of far_store, the report, and what cudadiag printed."""
    machine.environment.update(CUDADIAG_SIM_RUNS=str(machine.runs), CUDA_HOME=str(machine.folder))
    machine.runs.unlink(missing_ok=True)
    (machine.folder / "replays").unlink(missing_ok=True)
    _install(machine, "nvdisasm", f"cat {DATA / 'sass/far_store.sm90.txt'}\n")
    script = FAR_SANITIZER.replace("BEFORE", before).replace("KERNEL", kernel).replace("OFFSET", offset)
    script = script.replace("BLOCK", block)
    _install(machine, "compute-sanitizer", script)
    dump = machine.folder / "far.gpucore"
    dump.write_bytes(gzip.decompress(FAR_DUMP.read_bytes()))
    machine.plan(f"fault kernel={FAR} nth=3 code=700; dump={dump} run=2")
    result = machine.run(*program("far_store.py", str(size)), options=["--rerun=always", *options], timeout=90)
    report = machine.report()
    expect_true_line(report, "far_store.py")
    (finding,) = report["findings"]
    expect(finding["evidence"]["grade"], "proven", "grade")
    return finding, report, result.stderr


def _replays(machine):
    file = machine.folder / "replays"
    return len(file.read_text().split()) if file.exists() else 0


def _saved_launches(machine):
    return [str(each) for each in (machine.state / "cudadiag" / machine.sessions()[-1]).rglob("launch-*")]


def address_that_the_dump_lost_comes_from_a_replay(machine):
    finding, report, stderr = _run_far_store(machine)
    expect([(each["name"], each["outcome"]) for each in report["passes"][1:]], [("confirm", "proven, core dump read")],
           "reruns: the one that confirmed saved the launch")
    access = finding["access"]
    expect([access[each] for each in ("kind", "bytes", "space", "parameter", "relation", "replayed", "inferred")],
           ["store", 4, "global", 1, "past_end", True, False], "access")
    expect((access["distance"], access["allocation"]["bytes"]), (4 * (1 << 40) + 20 - 4096, 4096), "distance and memory")
    expect(int(access["address"], 16) - int(access["allocation"]["address"], 16), 4 * (1 << 40) + 20,
           "the address where the program had its memory")
    expect(access["first"], {"block": [0, 0, 0], "thread": [5, 0, 0]}, "thread")
    expect(finding["cause"]["id"], "address-past-end", "cause")
    expect_in("compute-sanitizer measured the address in a replay of the launch", finding["evidence"]["because"], "evidence")
    text = machine.cudadiag("report").stdout
    expect_in(f"Access  store of 4 bytes at {access['address']} by block 0,0,0 thread 5,0,0, in a replay under "
              "compute-sanitizer", " ".join(text.split("\n        ")), "report")
    expect((_replays(machine), _saved_launches(machine)), (1, []), "replays, and launches that remain")
    expect_success(machine.cudadiag("bisect", timeout=60))
    expect((_replays(machine), machine.report()["findings"][0]["access"]), (1, access), "after bisect")


def replay_that_contradicts_the_dump_gives_no_address(machine):
    for changes in ({"kernel": "_Z5otherPi"}, {"offset": "0x70"}, {"block": "1"}):
        finding, _, _ = _run_far_store(machine, **changes)
        access = finding["access"]
        expect((access["address"], access["replayed"]), (None, False), f"address, with {changes}")
        expect((_replays(machine), _saved_launches(machine)), (1, []), "replays, and launches that remain")


def replay_that_takes_too_long_is_ended(machine):
    finding, report, _ = _run_far_store(machine, before="exec sleep 1000")
    expect(finding["access"]["address"], None, "address")
    notes = [note["text"] for note in report["notes"] if "compute-sanitizer" in note["text"]]
    expect(len(notes), 1, f"notes: {report['notes']}")
    expect_in("the launch was repeated under compute-sanitizer, but ended after 10.", notes[0], "note")
    expect(_saved_launches(machine), [], "launches that remain")


def launch_that_was_saved_on_request_stays_after_its_address_is_found(machine):
    finding, report, _ = _run_far_store(machine, "--save-launch")
    expect([each["name"] for each in report["passes"][1:]], ["confirm", "launch"], "reruns")
    expect((finding["access"]["replayed"], finding["alone"]["runs"]), (True, 20), "address and replays")
    expect((_replays(machine), len(_saved_launches(machine))), (1, 1), "replays under the tool, and launches that remain")


def launch_with_much_memory_is_saved_in_a_rerun_of_its_own(machine):
    finding, report, _ = _run_far_store(machine, size=200 << 20)
    expect([(each["name"], each["outcome"]) for each in report["passes"][1:]],
           [("confirm", "proven, core dump read"), ("launch", "address found")], "reruns")
    expect((finding["access"]["distance"], finding["access"]["replayed"]), (4 * (1 << 40) + 20 - (200 << 20), True), "access")
    expect(_saved_launches(machine), [], "launches that remain")


def launch_with_too_much_memory_is_saved_only_on_request(machine):
    finding, report, _ = _run_far_store(machine, size=600 << 20)
    expect([each["name"] for each in report["passes"][1:]], ["confirm"], "reruns")
    expect((finding["access"]["address"], _replays(machine)), (None, 0), "address and replays")
    expect_success(machine.cudadiag("bisect", "--save-launch", timeout=100))
    access = machine.report()["findings"][0]["access"]
    expect((access["distance"], _replays(machine)), (4 * (1 << 40) + 20 - (600 << 20), 1), "distance and replays")


def without_reruns_or_dumps_there_is_no_replay(machine):
    finding, _, _ = _run_far_store(machine, "--no-device-pass")
    expect((_replays(machine), _saved_launches(machine)), (0, []), "replays, and launches that remain")
