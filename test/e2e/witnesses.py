"""What NVIDIA's debugger and compute-sanitizer have to say; a function each, its name is the claim.

They are foreign programs: here scripts stand in for them, which print what the real ones print, crash or hang. The
simulated driver writes no core dumps: the programs lay real ones of an H200 where the driver would."""

import json

from harness import DATA, expect, expect_in, expect_success

# The shape of cuda-gdb 13.0, with the values of data/gpucore/assert.nvcudmp.
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
    """The lines of `cudadiag core` that tell of the debugger."""
    head, _, tail = text.partition("Witness ")
    return [line.strip() for line in tail.splitlines()], head


# ---- cudadiag core --cross-check


def debugger_agrees_with_what_was_read(machine):
    machine.environment["CUDA_HOME"] = str(machine.folder)
    _install(machine, "cuda-gdb", 'printf "%s\\n" "$@" >words\n' + _saying(AGREES))
    alone = expect_success(machine.cudadiag("core", DUMP)).stdout
    expect((machine.folder / "words").exists(), False, "asked without being told to")
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
           ["cuda-gdb differs: line /tmp/cases/cases.cu:18, here /tmp/cases/cases.cu:17",
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
           (["cuda-gdb said nothing that can be compared"], alone), "silence")


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
    packed = machine.cudadiag("core", DATA / "gpucore/load.nvcudmp.gz", "--cross-check")
    expect(_witness(packed.stdout)[0], ["cuda-gdb reads no compressed dump: unpack it first"], "a packed one")
