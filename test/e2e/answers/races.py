"""Races between streams: which are found, which are not reported, and how. Each function's name says what it tests."""

import json
import resource

import targets
from harness import DATA, HERE, expect, expect_in, expect_success, program, true_line

CUBIN = DATA / "sass/simulated.sm90.cubin"
IMAGES = DATA / "sass/images/images.sm90.cubin"
TILES = DATA / "sass/tiles/tiles.sm90.cubin"


def _races(machine, program, which, options=(), **how):
    report = machine.folder / "races.json"
    command = [machine.build / "targets" / program, *which.split()]
    result = machine.cudadiag("races", "--json", report, *options, "--", *command, **how)
    return result, json.loads(report.read_text())


def _expect_race(machine, program, which):
    result, report = _races(machine, program, which)
    expect((result.returncode, result.stdout), (0, "done\n"), f"{which}: the program continues")
    expect([finding["kind"] for finding in report["findings"]], ["stream_race"], which)
    return result, report["findings"][0]


def _expect_none(machine, program, which):
    result, report = _races(machine, program, which)
    expect(report["findings"], [], which)
    expect_in("race was found between ", result.stderr, which)
    expect_in("done", result.stdout, which)
    return result


def what_nothing_orders_is_a_race(machine):
    for which in ("nothing", "nothing_between", "event_too_early", "event_destroyed", "wrong_stream_synchronize"):
        _expect_race(machine, "race_streams", which)


def what_is_ordered_is_none(machine):
    for which in ("event", "stream_synchronize", "context_synchronize", "legacy_between", "elsewhere"):
        _expect_none(machine, "race_streams", which)


def a_stream_is_one_whatever_context_is_current(machine):
    machine.plan(targets.plan("stream_elsewhere"))
    _expect_none(machine, "stream_elsewhere", "devices=2")
    machine.cudadiag("run", "-o", "here", "--", machine.build / "targets/stream_elsewhere")
    dump = machine.cudadiag("dump", "-o", "here").stdout
    used = [line for line in dump.splitlines() if line.startswith("stream ") and "issued=2" in line]
    expect(len(used), 1, "streams with both operations in " + dump)


def where_nothing_was_recorded_no_race_is_denied(machine):
    for command, why in ((["true"], "the program did not use CUDA, as far as the recording shows"),
                         ([machine.build / "targets/healthy"], "nothing was recorded: ")):
        result = machine.cudadiag("races", "--watch-by=cupti", "--", *command)
        expect(result.returncode, 0, "status")
        expect_in("cudadiag: " + why, result.stderr, "what is said")
        expect(len(result.stderr.splitlines()), 1, "lines of " + result.stderr)
        machine.plan("cupti=held")


def memory_that_meets_is_a_race(machine):
    for which in ("overlapping_slices", "overlapping_batch", "pinned", "freed_in_use", "copied_on_device", "freed_without_waiting"):
        _expect_race(machine, "race_memory", which)


def memory_that_does_not_meet_is_none(machine):
    for which in ("slices", "batch_of_halves", "two_readers", "pageable", "pageable_by_address", "freed_after_use", "copied_to_device",
                  "copied_by_address", "copied_on_host", "pinned_set"):
        _expect_none(machine, "race_memory", which)


def a_batch_that_reads_out_of_order_is_a_race_in_one_stream(machine):
    lines = [targets.marked_line("race_memory", mark) for mark in ("WRITTEN LINE", "BATCH LINE")]
    for which in ("any_order", "during_call"):
        result, finding = _expect_race(machine, "race_memory", which)
        places = [(access["location"]["file"], access["location"]["line"]) for access in finding["accesses"]]
        expect(places, lines, which)
        expect([access["mode"] for access in finding["accesses"]], ["write", "read"], which)
        expect(finding["evidence"]["grade"], "proven", which)
        text = " ".join(result.stderr.split())
        expect_in("race in one stream: ", text, which)
        expect_in("the copy may read its source out of stream order", text, which)
        expect_in("set srcAccessOrder of this copy to CU_MEMCPY_SRC_ACCESS_ORDER_STREAM", finding["fix"][0], which)
    for which in ("in_order", "any_order_after_wait"):
        _expect_none(machine, "race_memory", which)


def what_graphs_and_events_order_is_none(machine):
    for which in ("graph_event", "graph_waits_for_event", "elapsed"):
        _expect_none(machine, "race_order", which)


def a_copy_between_devices_waits_for_both(machine):
    machine.plan("devices=2")
    _expect_none(machine, "race_order", "copy_between_devices")
    result, _ = _expect_race(machine, "race_order", "devices")
    expect_in("the default stream of another context never waited for the default stream",
              " ".join(result.stderr.split()), "missing edge")


def what_only_the_host_or_a_word_tells_is_no_certain_race(machine):
    for which in ("graph_function", "graph_word", "context_event", "function_behind", "callback"):
        _, finding = _expect_race(machine, "race_order", which)
        expect(finding["evidence"]["grade"], "suspected", which)


def a_race_is_told_with_both_lines_and_the_missing_edge(machine):
    result, finding = _expect_race(machine, "race_streams", "nothing")
    first, then, allocated = (targets.marked_line("race_streams", mark)
                              for mark in ("FIRST LINE", "THEN LINE", "ALLOCATED LINE"))
    lines = [(access["location"]["file"], access["location"]["line"]) for access in finding["accesses"]]
    expect(lines, [first, then], "lines")
    expect([access["operation"] for access in finding["accesses"]], ["memset", "kernel"], "operations")
    expect([access["mode"] for access in finding["accesses"]], ["write", "unknown"], "modes")
    expect([access["exact"] for access in finding["accesses"]], [True, False], "exact")
    expect(finding["evidence"]["grade"], "inferred", "grade")
    expect((finding["location"]["file"], finding["location"]["line"]), then, "the later one leads")
    ((role, place),) = [(each["role"], (each["file"], each["line"])) for each in finding["related"]]
    expect((role, place), ("allocated", allocated), "related")
    text = " ".join(result.stderr.split())
    expect_in("race between two streams: ", text, "headline")
    expect_in("stream B never waited for stream A", text, "missing edge")
    expect_in("call cuEventRecord(event, first) after the first operation and cuStreamWaitEvent(second, event, 0) before the second",
              finding["fix"][0], "fix, in the words of the API that the program uses")
    if len(result.stderr.splitlines()) > 22:
        raise AssertionError(f"more than 22 lines:\n{result.stderr}")


def a_late_wait_is_told_as_one(machine):
    result, _ = _expect_race(machine, "race_streams", "event_too_early")
    expect_in("waited only for earlier work on stream A", " ".join(result.stderr.split()), "missing edge")


def a_session_keeps_its_races(machine):
    _expect_race(machine, "race_streams", "nothing")
    again = json.loads(expect_success(machine.cudadiag("report", "--json")).stdout)
    expect([finding["kind"] for finding in again["findings"]], ["stream_race"], "report of the session")


def races_are_findings_for_an_exit_status(machine):
    result, _ = _races(machine, "race_streams", "nothing", ["--error-exitcode", "7"])
    expect(result.returncode, 7, "exit status")
    result, _ = _races(machine, "race_streams", "event", ["--error-exitcode", "7"])
    expect(result.returncode, 0, "exit status")


def a_run_looks_for_races_when_asked(machine):
    program = machine.build / "targets/race_streams"
    expect_in("race between two streams", machine.run(program, "nothing", options=["--races"]).stderr, "with --races")
    expect(machine.run(program, "nothing").stderr, "", "without")
    expect(machine.run(program, "event", options=["--races"]).stderr, "", "no race")


def _racing(machine, *words, options=()):
    command = program("racing.py", *words)
    result = machine.cudadiag("races", *(options or ["--rerun=auto"]), "--", *command, timeout=60)
    expect((result.returncode, result.stdout), (0, "done\n"), "what the program says")
    report = machine.report()
    return result, report, report["findings"][0]


def a_rerun_names_what_races(machine):
    result, report, finding = _racing(machine)
    expect([each["name"] for each in report["passes"]], ["record", "races"], "passes")
    expect([(each["location"]["file"], each["location"]["line"]) for each in finding["accesses"]],
           [true_line("racing.py", "FIRST LINE"), true_line("racing.py", "THEN LINE")], "lines")
    for access in finding["accesses"]:
        tensor = access["tensor"]
        expect((tensor["name"], tensor["role"], tensor["dtype"], tensor["shape"], tensor["written"]),
               ("x", "variable", "float32", [1 << 18], None), "tensor")
        begin, end = (int(each, 16) for each in tensor["range"])
        expect((begin, end - begin), (int(access["range"][0], 16), 1 << 20), "address in the first run")
    expect([access["operator"] for access in finding["accesses"]], [None, None], "operators")
    expect_in("x float32[262144]: used by the memset (written); used by the kernel", result.stderr, "text")
    expect_in("x is written on stream A", " ".join(machine.cudadiag("report").stdout.split()), "text of the report")
    kept = sorted(path.name for path in machine.state.glob("cudadiag/latest/races/*"))
    expect([name.partition(".")[2] for name in kept], ["area", "values", "txt", "json"], "files")


def a_rerun_that_shows_no_race_changes_nothing(machine):
    result, report, finding = _racing(machine, "once")
    expect([each["outcome"] for each in report["passes"]], ["1 race", "0 races"], "passes")
    expect([access["tensor"] for access in finding["accesses"]], [None, None], "tensors")
    expect(finding["evidence"]["grade"], "inferred", "grade")
    expect_in("a rerun did not show the race again", finding["evidence"]["because"], "because")
    expect_in("a rerun did not show the race again", result.stderr, "text")


def pairs_that_a_rerun_cannot_judge_leave_no_session(machine):
    machine.environment["CUDA_HOME"] = machine.environment["CUDA_PATH"] = str(machine.folder)
    machine.environment["PATH"] = "/usr/bin:/bin"
    result = machine.cudadiag("races", "--rerun=auto", "--", *program("racing.py", "kernels"), timeout=60)
    expect((result.returncode, result.stdout), (0, "done\n"), "what the program says")
    first, _, announced, second, count = result.stderr.splitlines()[-5:]
    expect_in("100 unordered pairs of kernels on the same memory are not reported", first, "first run")
    expect_in("running the command again to see which operations race: usually 1 run", announced, "announcement")
    expect(count, "cudadiag: the command ran 2 times in all", "count")
    expect_in("is inconclusive: 100 unordered pairs", second, "rerun")
    expect(machine.sessions(), [], "sessions")
    kept = machine.cudadiag("races", "--rerun=auto", "-o", "kept", "--", *program("racing.py", "kernels"), timeout=60)
    expect(kept.returncode, 0, "status")
    report = machine.report("-o", machine.folder / "kept")
    expect([each["name"] for each in report["passes"]], ["record", "races"], "passes of a requested session")


def races_are_rerun_later_when_they_were_not(machine):
    result, report, _ = _racing(machine, options=["--rerun=never"])
    expect_in("# names the tensors, in ", result.stderr, "what to do")
    expect_in("; it changes no files\n", result.stderr, "limits")
    expect_in(" --isolated  # ", result.stderr, "command")
    expect(len(report["passes"]), 1, "passes")
    text = expect_success(machine.cudadiag("bisect", "--no-values", timeout=60)).stdout
    expect_in("x float32[262144]", text, "bisect's line, without a value")
    again = machine.cudadiag("bisect", timeout=60)
    expect_in("a rerun would add nothing", again.stderr, "a second race")


def _with_disassembler(machine):
    machine.environment["PATH"] = f"{HERE / 'programs/toolkit'}:{machine.environment['PATH']}"


def kernels_are_judged_by_their_code(machine):
    _with_disassembler(machine)
    for which in ("write__8 copy_from", "copy_from write__8", "copy_to count__8", "write__8 write__8"):
        _, finding = _expect_race(machine, "race_kernels", f"{CUBIN} {which}")
        expect(finding["evidence"]["grade"], "proven", which)
        expect({access["operation"] for access in finding["accesses"]}, {"kernel"}, which)
    for which in ("copy_from copy_from", "count__8 count__8"):
        _expect_none(machine, "race_kernels", f"{CUBIN} {which}")


def warps_of_a_block_race_without_a_barrier(machine):
    _with_disassembler(machine)
    result, report = _races(machine, "race_kernels", f"{CUBIN} shift:32 elsewhere")
    expect([finding["kind"] for finding in report["findings"]], ["kernel_race"], "kinds")
    finding = report["findings"][0]
    place = (finding["location"]["file"], finding["location"]["line"])
    expect(place, targets.marked_line("race_kernels", "LAUNCH LINE"), "launch")
    read, write = finding["accesses"]
    expect([read["mode"], write["mode"]], ["read", "write"], "modes")
    expect(read["range"], write["range"], "bytes")
    expect([each["block"] for each in (read, write)], [[0, 0, 0], [0, 0, 0]], "blocks")
    expect((read["thread"], write["thread"]), ([0, 0, 0], [32, 0, 0]), "threads")
    expect(finding["evidence"]["grade"], "inferred", "grade")
    text = " ".join(result.stderr.split())
    expect_in("race between two warps of one block: ", text, "headline")
    expect_in("call __syncthreads() between the two accesses", text, "fix")
    expect_in("block 0,0,0 thread 32,0,0 writes", text, "thread")
    _expect_none(machine, "race_kernels", f"{CUBIN} shift:0 elsewhere")
    _expect_none(machine, "race_kernels", f"{CUBIN} shift:64 elsewhere")


def kernels_that_were_not_checked_inside_are_counted(machine):
    machine.environment["CUDA_HOME"] = machine.environment["CUDA_PATH"] = str(machine.folder)
    machine.environment["PATH"] = "/usr/bin:/bin"
    result = _expect_none(machine, "race_kernels", f"{CUBIN} shift:32 shift:0")
    expect_in("1 of 1 kernel was not completely checked for races between its own threads, because the code of no kernel "
              "could be read\ncudadiag: nvdisasm, which reads kernel code, was not found: ", result.stderr, "count, and remedy")


def a_texture_or_surface_races_with_what_uses_its_memory(machine):
    _with_disassembler(machine)
    for which, marks, grade in (("copied_then_sampled", ("COPY LINE", "SAMPLE LINE"), "inferred"),
                                ("drawn_then_sampled", ("DRAW LINE", "SAMPLE LINE"), "inferred"),
                                ("drawn_over_halves", ("DRAW LINE", "DRAW LINE"), "proven"),
                                ("fetched_then_set", ("FETCH LINE", "SET LINE"), "proven")):
        result, finding = _expect_race(machine, "race_images", f"{IMAGES} {which}")
        expect(finding["evidence"]["grade"], grade, which)
        places = [(access["location"]["file"], access["location"]["line"]) for access in finding["accesses"]]
        expect(places, [targets.marked_line("race_images", mark) for mark in marks], which)
        in_array = which != "fetched_then_set"
        expect([access["array"] is not None for access in finding["accesses"]], [in_array] * 2, which)
        expect("of array 0x" in result.stderr, in_array, which)


def other_parts_of_a_texture_or_surface_are_none(machine):
    _with_disassembler(machine)
    for which in ("copied_and_waited", "copied_in_part", "drawn_and_waited", "drawn_in_part", "drawn_in_halves",
                  "set_elsewhere"):
        _expect_none(machine, "race_images", f"{IMAGES} {which}")


def a_tensor_copy_uses_the_boxes_of_its_blocks(machine):
    _with_disassembler(machine)
    _, finding = _expect_race(machine, "race_images", f"{TILES} loaded_then_set")
    expect(finding["evidence"]["grade"], "proven", "grade")
    places = [(access["location"]["file"], access["location"]["line"]) for access in finding["accesses"]]
    expect(places, [targets.marked_line("race_images", mark) for mark in ("TILES LINE", "SET ROW LINE")], "lines")
    _expect_none(machine, "race_images", f"{TILES} loaded_beside")


def kernels_stay_unread_where_a_small_stack_ends_the_disassembler(machine):
    """Only the disassembler fails, because the launcher's threads have stacks of a fixed size."""
    _with_disassembler(machine)
    small = 32 << 10
    result, report = _races(machine, "race_kernels", f"{CUBIN} write__8 copy_from",
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (small, small)))
    expect((result.returncode, result.stdout, report["findings"]), (0, "done\n", []), "result")
    expect_in("the code of only 0 of 2 kernels could be read", result.stderr, "what is missing")


def parts_of_a_buffer_race_where_they_overlap(machine):
    """Each kernel uses 32 elements of 4 bytes, starting at the given element."""
    _with_disassembler(machine)
    for which in ("part__8_4:0 copy_from", "part__8_4:31 part__8_4:0", "part__8_8:0 copy_from", "copy_from part__8_8:31"):
        _, finding = _expect_race(machine, "race_kernels", f"{CUBIN} {which}")
        expect(finding["evidence"]["grade"], "proven", which)
    for which in ("part__8_4:32 part__8_4:0", "part__8_4:32 part__8_4:64", "copy_from part__8_4:32",
                  f"part__8_8:{1 << 32} copy_from", f"part__8_8:{1 << 32} part__8_8:0"):
        result = _expect_none(machine, "race_kernels", f"{CUBIN} {which}")
        expect("unordered pair" in result.stderr, False, f"pairs that are not reported in {which}")


def a_kernel_that_leaves_its_buffer_is_told_although_nothing_fails(machine):
    """The buffer has 1,024 elements."""
    _with_disassembler(machine)
    _expect_none(machine, "race_kernels", f"{CUBIN} part__8_4:992 part__8_4:0")
    result, report = _races(machine, "race_kernels", f"{CUBIN} part__8_4:993 part__8_4:0")
    expect((result.returncode, result.stdout), (0, "done\n"), "the program continues")
    expect([(finding["kind"], finding["evidence"]["grade"]) for finding in report["findings"]],
           [("out_of_bounds", "suspected")], "findings")
    finding = report["findings"][0]
    access = finding["access"]
    expect((access["kind"], access["relation"], access["allocation"]["bytes"]), ("store", "past_end", 4096), "access")
    expect_in("4 B past the end of the allocation", " ".join(result.stderr.split()), "what is said")


def kernels_of_unknown_code_are_no_race(machine):
    machine.environment["CUDA_HOME"] = machine.environment["CUDA_PATH"] = str(machine.folder)
    machine.environment["PATH"] = "/usr/bin:/bin"
    result = _expect_none(machine, "race_kernels", f"{CUBIN} write__8 write__8")
    expect_in("1 unordered pair of kernels on the same memory is not reported", result.stderr, "what is missing")
    expect(result.stderr.count("pip install nvidia-cuda-nvdisasm"), 1, f"how often the remedy is in {result.stderr}")


def kernels_of_one_name_in_two_modules_are_not_taken_for_each_other(machine):
    _with_disassembler(machine)
    other = machine.folder / "other.cubin"
    code = CUBIN.read_bytes().replace(b"write__8", b"@@@@@@@@").replace(b"count__8", b"write__8")
    other.write_bytes(code.replace(b"@@@@@@@@", b"count__8"))
    for which in ("write__8 write__8", "count__8 count__8"):
        result = _expect_none(machine, "race_kernels", f"{CUBIN} {which} {other}")
        expect_in("1 unordered pair of kernels on the same memory is not reported", result.stderr, which)
    _expect_race(machine, "race_kernels", f"{CUBIN} write__8 copy_from {CUBIN}")


def branches_of_a_graph_race(machine):
    _with_disassembler(machine)
    result, finding = _expect_race(machine, "race_kernels", f"{CUBIN} graph copy_from")
    expect([access["mode"] for access in finding["accesses"]], ["write", "read"], "modes")
    expect_in("branches of one graph", " ".join(result.stderr.split()), "missing edge")
    _expect_none(machine, "race_kernels", f"{CUBIN} graph elsewhere")


def device_code_is_not_kept(machine):
    _with_disassembler(machine)
    _races(machine, "race_kernels", f"{CUBIN} write__8 write__8")
    expect(len(machine.sessions()), 1, "sessions")
    expect([path.name for path in machine.state.rglob("*.cubin")], [], "device code in the session")


def _large_device_code(machine, size):
    code = CUBIN.read_bytes()
    sections = int.from_bytes(code[40:48], "little")
    large = machine.folder / "large.cubin"
    large.write_bytes(code[:40] + size.to_bytes(8, "little") + code[48:sections] + bytes(size - sections) +
                      code[sections:])
    return large


def device_code_that_is_loaded_again_is_kept_once(machine):
    _with_disassembler(machine)
    code = CUBIN.read_bytes()
    table = len(code) - int.from_bytes(code[40:48], "little")
    large = _large_device_code(machine, (1 << 30) // 9 - table)  # cudadiag keeps at most nine times this size
    large.write_bytes(large.read_bytes().replace(b"write__8", b"........").replace(b"copy__8_8", b"........."))
    _expect_race(machine, "race_kernels", f"{CUBIN} write__8 copy_from" + f" {large}" * 9)


def device_code_beyond_the_limit_of_files_does_not_end_the_target(machine):
    large = _large_device_code(machine, 70 << 20)
    command = machine.command("races", "--", machine.build / "targets/race_kernels", large, "write__8", "elsewhere")
    limit = 68 << 20  # the recording of one process takes 64 MiB of this
    process = machine.start(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    output, errors = process.communicate(timeout=60)
    expect((process.returncode, output), (0, "done\n"), "status and stdout, with stderr " + errors)


def the_first_race_can_end_the_program(machine):
    _with_disassembler(machine)
    process = machine.start(*machine.command("races", "--stop-on-race", "--", machine.build / "targets/race_streams",
                                             "until_ended"))
    output, errors = process.communicate(timeout=60)
    expect((process.returncode, output), (-15, ""), "status and stdout")
    expect_in("race between two streams", errors, "report")
    ended = "cudadiag: two operations race: ending the program because of --stop-on-race\n"
    expect_in(ended, errors.partition("race between two streams")[0], "what is said during the run")
    assert "something outside the program ended it" not in errors, errors
    notes = [note["code"] for note in machine.report()["notes"]]
    assert "unrelated-end" not in notes, notes
