"""Why an address was bad, deduced from the first run alone: from the kernel's code, grid and parameters. Each function is
one case."""

import targets
from harness import DATA, HERE, expect, expect_in

CUBIN = DATA / "sass/simulated.sm90.cubin"


def _with_disassembler(machine):
    machine.environment["PATH"] = f"{HERE / 'programs/toolkit'}:{machine.environment['PATH']}"


def _finding(machine, what, options=()):
    """Runs `what`, which fails while a healthy kernel runs on another stream. Returns the finding."""
    machine.plan(f"fault kernel={what.partition(':')[0]}")
    result = machine.run(machine.build / "targets/race_kernels", CUBIN, what, "elsewhere", options=options)
    return result, machine.report()["findings"][0]


def _expect_not_known(machine, what):
    result, finding = _finding(machine, what)
    expect((finding["access"], finding["cause"]), (None, None), f"{what}: access and cause")
    expect("Access  " in result.stderr, False, f"{what}: a row without content")


def a_kernel_that_must_write_past_the_end_is_told_by_the_first_run(machine):
    _with_disassembler(machine)
    result, finding = _finding(machine, "part__8_4:5000")
    access = finding["access"]
    expect([access[member] for member in ("kind", "bytes", "space", "parameter", "relation", "inferred")],
           ["store", 4, "global", 1, "past_end", True], "access")
    expect((access["distance"], access["allocation"]["bytes"]), (4 * 5031 - 4096, 4096), "distance and memory")
    expect((finding["cause"]["id"], finding["cause"]["certain"]), ("address-past-end", False), "cause, only inferred")
    text = " ".join(result.stderr.split())
    expect_in("part__8_4() writes up to 15.7 KiB past the end of parameter 1: 4.0 KiB allocated at", text, "cause")
    expect_in("Access store of 4 bytes through parameter 1 (4.0 KiB); inferred from the kernel's code, its grid and its "
              "parameters", text, "access")


def a_kernel_that_must_write_before_the_beginning_is_told_by_the_first_run(machine):
    _with_disassembler(machine)
    _, finding = _finding(machine, "part__8_8:-40")
    access = finding["access"]
    expect((access["relation"], access["distance"]), ("before", 160), "access")


def a_kernel_that_stays_inside_is_not_blamed(machine):
    _with_disassembler(machine)
    for what in ("part__8_4:992", "part__8_4:0", "write__8"):
        _expect_not_known(machine, what)


def without_a_disassembler_nothing_is_inferred(machine):
    machine.environment["CUDA_HOME"] = machine.environment["CUDA_PATH"] = str(machine.folder)
    machine.environment["PATH"] = "/usr/bin:/bin"
    _expect_not_known(machine, "part__8_4:5000")


def a_kernel_whose_name_has_two_codes_is_not_inferred(machine):
    _with_disassembler(machine)
    other = machine.folder / "other.cubin"
    code = CUBIN.read_bytes().replace(b"part__8_4", b"@@@@@@@@@").replace(b"part__8_8", b"part__8_4")
    other.write_bytes(code.replace(b"@@@@@@@@@", b"part__8_8"))
    machine.plan("fault kernel=part__8_4")
    machine.run(machine.build / "targets/race_kernels", CUBIN, "part__8_4:5000", "elsewhere", other)
    expect(machine.report()["findings"][0]["access"], None, "access")


def device_code_goes_and_the_code_of_the_failing_kernel_stays(machine):
    _with_disassembler(machine)
    _finding(machine, "part__8_4:5000")
    expect([path.name for path in machine.state.rglob("*.cubin")], [], "images in the session")
    expect([path.name for path in machine.state.rglob("kernel-code.json")], ["kernel-code.json"], "code in the session")
    machine.cudadiag("rm", "1")
    expect(machine.sessions(), [], "sessions")


def a_run_without_a_failure_leaves_no_device_code(machine):
    _with_disassembler(machine)
    result = machine.run(machine.build / "targets/race_kernels", CUBIN, "part__8_4:0", "elsewhere")
    expect((result.returncode, result.stdout, result.stderr), (0, "done\n", ""), "the program's own end")
    expect(machine.sessions(), [], "sessions")


def _table_of_rows(machine, *arguments):
    _with_disassembler(machine)
    machine.plan("fault kernel=table__8 nth=2")
    result = machine.run(machine.build / "targets/table_of_rows", DATA / "sass/tables.sm90.cubin", *arguments)
    return result, machine.report()["findings"][0]


def a_freed_pointer_that_a_kernel_read_from_a_table_is_told_by_the_first_run(machine):
    result, finding = _table_of_rows(machine)
    access = finding["access"]
    expect([access[member] for member in ("parameter", "loaded_from", "parameter_name", "relation", "inferred")],
           [1, [16], "rows[1].cells", "freed", True], "access")
    expect(finding["cause"]["id"], "use-after-free", "cause")
    expect([access["allocation"][member]["line"] for member in ("allocated", "freed")],
           [targets.marked_line("table_of_rows", mark)[1] for mark in ("ALLOCATED LINE", "FREED LINE")], "its lines")
    text = " ".join(result.stderr.split())
    expect_in("table__8() reads memory through rows[1].cells (byte 16 of parameter 1's memory): 4.0 MiB that were freed at",
              text, "cause")


def a_table_that_was_changed_after_the_copy_is_not_known(machine):
    _, finding = _table_of_rows(machine, "cleared")
    expect((finding["access"], finding["cause"]), (None, None), "access and cause")
