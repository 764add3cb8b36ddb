"""Why an address was bad, deduced from the first run alone: from the kernel's code, grid and parameters. Each function is
one case."""

import ctypes
import json
import struct

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


def single_run_without_its_dump_tells_as_much_as_a_first_run(machine):
    _with_disassembler(machine)
    answers = [_finding(machine, "part__8_4:5000", options)[1] for options in ([], ["--once"])]
    first, once = ((finding["location"]["line"], finding["cause"], finding["access"]["distance"]) for finding in answers)
    expect(once, first, "answer with --once")


def _fat_binary(*entries):
    """Each entry is an architecture, code, flags, and the size of the code when it is decompressed."""
    body = b"".join(struct.pack("<HHIQIIIIIIQQQ", 2, 0x101, 64, len(code), len(code), 0, 0, architecture, 0, 0, flags, 0,
                                size) + code for architecture, code, flags, size in entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def _compressed(code):
    """Returns None, aloud, if the library that compresses is missing."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        print("not tested: libzstd.so.1 is missing, so no code can be compressed")
        return None
    library.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(2 * len(code))
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), code, ctypes.c_size_t(len(code)), 3)
    return room.raw[:size]


def hooks_find_the_code_in_every_form_of_an_image(machine):
    _with_disassembler(machine)
    code = CUBIN.read_bytes()
    other = code.replace(b"part__8_4", b"part__8_5")
    images = {"cubin": code, "code for one GPU": _fat_binary((90, code, 0x11, 0)),
              "code for three GPUs": _fat_binary((80, other, 0x11, 0), (90, code, 0x11, 0), (100, other, 0x11, 0))}
    compressed = _compressed(code)
    if compressed is not None:
        images["compressed"] = _fat_binary((90, compressed, 0x8011, len(code)))
    for form, image in images.items():
        for call in "data", "file":
            path = machine.folder / "image"
            path.write_bytes(image)
            machine.plan("fault kernel=part__8_4")
            machine.run(machine.build / "targets/race_kernels", path if call == "data" else f"file:{path}",
                        "part__8_4:5000", "elsewhere", options=["--watch-by=hooks"])
            finding = machine.report()["findings"][0]
            expect(finding["launch"]["watched_by"], "hooks", f"{form}, {call}: way")
            access = finding["access"] or {}
            expect((access.get("relation"), access.get("distance"), (finding["cause"] or {}).get("id")),
                   ("past_end", 4 * 5031 - 4096, "address-past-end"), f"{form}, {call}: access and cause")


def hooks_find_no_code_in_an_image_without_code_for_this_gpu(machine):
    _with_disassembler(machine)
    code = CUBIN.read_bytes()
    for architecture in 80, 91, 100:
        path = machine.folder / "image"
        path.write_bytes(_fat_binary((architecture, code, 0x11, 0)))
        machine.plan("fault kernel=part__8_4")
        machine.run(machine.build / "targets/race_kernels", path, "part__8_4:5000", "elsewhere",
                    options=["--watch-by=hooks"])
        expect(machine.report()["findings"][0]["access"], None, f"access, code for architecture {architecture}")


def a_kernel_that_must_write_before_the_beginning_is_told_by_the_first_run(machine):
    _with_disassembler(machine)
    _, finding = _finding(machine, "part__8_8:-40")
    access = finding["access"]
    expect((access["relation"], access["distance"]), ("before", 160), "access")


def a_node_of_a_graph_is_told_by_the_first_run(machine):
    _with_disassembler(machine)
    machine.plan("fault kernel=part__8_4")
    machine.run(machine.build / "targets/race_kernels", CUBIN, "graph", "part__8_4:5000")
    finding = machine.report()["findings"][0]
    expect((finding["kind"], finding["launch"]["kernel"], finding["candidates"]), ("graph_node", "part__8_4", []), "node")
    expect_in("according to their code, write__8() used only live memory", finding["evidence"]["because"], "evidence")
    expect((finding["access"]["distance"], finding["cause"]["id"]), (4 * 5031 - 4096, "address-past-end"), "cause")


def recorded_parameters_of_a_node_that_kernels_may_change_prove_nothing(machine):
    _with_disassembler(machine)
    machine.plan("fault kernel=part__8_4")
    machine.run(machine.build / "targets/race_kernels", CUBIN, "graph_updatable", "part__8_4:5000")
    finding = machine.report()["findings"][0]
    expect((finding["access"], finding["cause"], finding["launch"]["grid"]), (None, None, [0, 0, 0]), "access, cause and grid")


def mapped_memory_proves_nothing_unless_a_call_made_it_writable(machine):
    _with_disassembler(machine)
    for memory, relation in (("mapped", "past_end"), ("mapped_only", None)):
        machine.plan("fault kernel=copy__8_8")
        machine.run(machine.build / "targets/race_kernels", CUBIN, memory, "copy_from:5000")
        access = machine.report()["findings"][0]["access"]
        expect((access or {}).get("relation"), relation, memory)


def a_kernel_that_stays_inside_is_not_blamed(machine):
    _with_disassembler(machine)
    for what in ("part__8_4:992", "part__8_4:0", "write__8"):
        _expect_not_known(machine, what)


def _without_markers(machine, first, second):
    machine.plan("fault kernel=part__8_4")
    machine.run(machine.build / "targets/race_kernels", CUBIN, first, second, options=["--markers=off"])
    return machine.report()["findings"][0]


def kernels_whose_code_stays_inside_live_memory_are_no_candidates(machine):
    _with_disassembler(machine)
    finding = _without_markers(machine, "elsewhere", "part__8_4:5000")
    expect([candidate["launch"]["kernel"] for candidate in finding["candidates"]], [], "other candidates")
    expect((finding["launch"]["kernel"], finding["evidence"]["grade"]), ("part__8_4", "inferred"), "launch and grade")
    expect_in("according to their code, write__8() used only live memory", finding["evidence"]["because"], "evidence")
    expect((finding["access"]["distance"], finding["cause"]["id"]), (4 * 5031 - 4096, "address-past-end"), "cause")
    session = json.loads(machine.cudadiag("report", "--json").stdout)
    expect(session["findings"][0]["evidence"], finding["evidence"], "evidence in a later report")


def kernels_remain_candidates_if_all_stay_inside_or_if_their_code_is_unknown(machine):
    _with_disassembler(machine)
    finding = _without_markers(machine, "elsewhere", "part__8_4:0")
    expect((len(finding["candidates"]), finding["access"]), (2, None), "candidates and access, if all stay inside")
    machine.environment["CUDA_HOME"] = machine.environment["CUDA_PATH"] = str(machine.folder)
    machine.environment["PATH"] = "/usr/bin:/bin"
    finding = _without_markers(machine, "elsewhere", "part__8_4:5000")
    expect((len(finding["candidates"]), finding["access"]), (2, None), "candidates and access, without the code")


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
           [None, {"parameter": 1, "parameter_byte": 0, "bytes": [16]}, "rows[1].cells", "freed", True], "access")
    expect(finding["cause"]["id"], "use-after-free", "cause")
    expect([access["allocation"][member]["line"] for member in ("allocated", "freed")],
           [targets.marked_line("table_of_rows", mark)[1] for mark in ("ALLOCATED LINE", "FREED LINE")], "its lines")
    text = " ".join(result.stderr.split())
    expect_in("table__8() reads memory through rows[1].cells (byte 16 of parameter 1's memory): 4.0 MiB that were freed at",
              text, "cause")


def a_freed_pointer_in_a_table_was_probably_used_by_a_kernel_whose_code_is_unknown(machine):
    machine.environment["CUDA_HOME"] = machine.environment["CUDA_PATH"] = str(machine.folder)
    machine.environment["PATH"] = "/usr/bin:/bin"
    machine.plan("fault kernel=table__8 nth=2")
    command = [machine.build / "targets/table_of_rows", DATA / "sass/tables.sm90.cubin"]
    machine.run(*command)
    finding = machine.report()["findings"][0]
    expect((finding["access"], finding["cause"]["id"], finding["cause"]["certain"]), (None, "use-after-free", False),
           "access and cause")
    freed = targets.marked_line("table_of_rows", "FREED LINE")[1]
    expect([each["line"] for each in finding["related"] if each["role"] == "freed"], [freed], "related line")
    text = finding["cause"]["text"]
    expect_in("rows[1].cells (byte 16 of parameter 1's memory) points into 4.0 MiB that were freed at", text, "cause")
    expect_in(f"table_of_rows.cc:{freed}, main before this operation was issued, and the operation probably used them",
              text, "cause")
    machine.run(*command, "cleared")
    expect(machine.report()["findings"][0]["cause"], None, "cause, if a memset changed the table")


def a_table_that_was_changed_after_the_copy_is_not_known(machine):
    _, finding = _table_of_rows(machine, "cleared")
    expect((finding["access"], finding["cause"]), (None, None), "access and cause")
