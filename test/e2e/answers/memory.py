"""What reports say about memory: invalid pointers, and who holds how much. Each function's name says what it tests."""

import os

import targets
from harness import HERE, expect, expect_in, expect_success, program, true_line


def _memory_program(machine, name, options=()):
    machine.plan(targets.plan(name))
    result = machine.run(*targets.command(machine.build, name), options=options)
    return result, machine.report()["findings"][0]


def pointer_into_freed_memory_is_told_with_its_lines(machine):
    result, finding = _memory_program(machine, "freed_pointer", ["--rerun=always"])
    pointer, value = finding["arguments"]
    expect([pointer[member] for member in ("name", "origin", "value")], ["parameter 1", "kernel", None], "pointer")
    allocation = pointer["allocation"]
    expect([allocation[member] for member in ("bytes", "offset", "device", "state")], [4096, 0, 0, "freed"],
           "allocation")
    expect((value["name"], value["value"], value["pointer"]), ("parameter 2", "7", None), "value")
    expect_in("Why parameter 1 points into 4.0 KiB that were freed at ", " ".join(result.stderr.split()), "message")
    text = " ".join(expect_success(machine.cudadiag("report", "-v")).stdout.split())
    freed, allocated = (targets.marked_line("freed_pointer", mark) for mark in ("FREED LINE", "ALLOCATED LINE"))
    expect_in(f"Args parameter 1 points into 4.0 KiB that had been freed at {freed[0]}:{freed[1]}, main, "
              f"allocated at {allocated[0]}:{allocated[1]}, main", text, "report")
    expect_in("it is unknown whether the failing access used that address", text, "report")


def pointer_past_the_end_is_told_with_how_far(machine):
    _, finding = _memory_program(machine, "past_the_end", ["--rerun=always"])
    allocation = finding["arguments"][0]["allocation"]
    expect((allocation["state"], allocation["offset"], allocation["bytes"]), ("live", 4352, 4096), "allocation")
    text = " ".join(expect_success(machine.cudadiag("report", "-v")).stdout.split())
    expect_in("parameter 1 points 256 bytes past the end of 4.0 KiB allocated at", text, "report")


def copy_past_the_end_is_told_by_the_first_run(machine):
    result, finding = _memory_program(machine, "copy_past_the_end")
    expect([(each["name"], each["bytes"]) for each in finding["arguments"]], [("destination", 4608), ("source", 4608)],
           "arguments")
    expect_in("the destination of 4.5 KiB reaches 512 bytes past the end of the 4.0 KiB allocated at ",
              " ".join(result.stderr.split()), "report")
    expect(finding["cause"]["id"], "copy-past-allocation", "cause")


def refused_copy_is_told_with_what_it_was_given(machine):
    result, finding = _memory_program(machine, "refused_copy:freed")
    freed, allocated = (targets.marked_line("refused_copy", mark) for mark in ("FREED LINE", "ALLOCATED LINE"))
    expect({each["role"]: (each["file"], each["line"]) for each in finding["related"]},
           {"freed": freed, "allocated": allocated}, "related lines")
    expect_in(f"Why destination points into 4.0 KiB that were freed at {freed[0]}:{freed[1]}, main before this operation "
              "was issued", " ".join(result.stderr.split()), "report")
    _, finding = _memory_program(machine, "invalid_argument")
    expect((finding["cause"], [each["allocation"] for each in finding["arguments"]]), (None, [None, None]),
           "addresses in no allocation")


def allocation_that_had_failed_is_told_with_what_was_given_none(machine):
    for name, options in (("refused_copy:unmade", []), ("null_pointer", ["--rerun=always"])):
        result, finding = _memory_program(machine, name, options)
        failed = targets.marked_line(name.partition(":")[0], "FAILED LINE")
        (earlier,) = [each for each in finding["related"] if each["role"] == "swallowed"]
        expect((earlier["file"], earlier["line"]), failed, "line of the allocation")
        expect_in("cuMemAlloc had failed earlier on this thread", " ".join(result.stderr.split()), "message")
        expect(finding["cause"]["certain"], False, "certain")


def pointers_in_structures_are_found(machine):
    result, finding = _memory_program(machine, "freed_in_structure", ["--rerun=always"])
    expect([(each["name"], each["allocation"] and each["allocation"]["state"]) for each in finding["arguments"]],
           [("rows.from (parameter 1 at byte 8)", "live"), ("rows.to (parameter 1 at byte 16)", "freed"),
            ("factor (parameter 2)", None)], "arguments")
    expect_in("Why     rows.to (parameter 1 at byte 16) points into 8.0 KiB", result.stderr, "message")


def memory_of_a_device_that_was_not_asked_for_it_is_told(machine):
    result, finding = _memory_program(machine, "peers", ["--rerun=always"])
    expect((finding["cause"]["id"], finding["cause"]["certain"]), ("memory-of-another-gpu", False), "cause")
    allocation = finding["arguments"][0]["allocation"]
    expect((allocation["device"], allocation["out_of_reach"], finding["launch"]["device"]), (1, True, 0), "devices")
    path, line = targets.marked_line("peers", "MADE LINE")
    expect([(each["file"], each["line"]) for each in finding["related"] if each["role"] == "allocated"], [(path, line)],
           "related")
    expect_in(f"parameter 1 points into 4.0 KiB on device 1, allocated at {path}:{line}, main; the kernel probably "
              "used that memory on device 0, which has no access to it", " ".join(result.stderr.split()), "message")
    _, finding = _memory_program(machine, "peers:given", ["--rerun=always"])
    expect((finding["cause"], finding["arguments"][0]["allocation"]["out_of_reach"]), (None, False), "with access")


def holders_of_memory_are_told_by_line(machine):
    result, finding = _memory_program(machine, "three_holders")
    mebibyte = 1 << 20
    memory = finding["memory_use"]
    expect([memory[member] // mebibyte for member in ("asked", "free", "total", "held", "peak")], [32, 21, 64, 43, 47],
           "MiB requested, free, in all, held, held at the peak")
    expect([(each["bytes"] // mebibyte, each["count"], (each["location"]["file"], each["location"]["line"]))
            for each in memory["holders"]],
           [(size, count, targets.marked_line("three_holders", mark)) for size, count, mark in
            ((24, 1, "FIRST LINE"), (16, 1, "SECOND LINE"), (3, 3, "THIRD LINE"))], "holders")
    expect((memory["of"], memory["whole"]), ("device", True), "what is known")
    text = " ".join(result.stderr.split())
    expect_in("Held 32.0 MiB requested, 21.0 MiB of 64.0 MiB free; this process held 43.0 MiB, at its peak 47.0 MiB "
              "24.0 MiB from ", text, "report")


def allocations_of_many_threads_are_kept_while_they_live(machine):
    kept = ["-o", machine.folder / "kept"]
    expect(machine.run(machine.build / "targets/many_allocations", options=kept).stdout, "done\n", "stdout")
    dump = expect_success(machine.cudadiag("dump", *kept)).stdout.splitlines()
    (dropped,) = [line for line in dump if line.startswith("dropped ")]
    expect_in(" allocations=0 forgotten_allocations=7237", dropped, "of 40,005 are kept 32,768")
    entries = [dict(word.split("=") for word in line.split()[2:]) for line in dump if line.startswith("allocation ")]
    expect((len(entries), [entry["bytes"] for entry in entries if entry["freed"] == "0"]),
           (32768, ["4096", "8192", "12288", "16384", "20480"]), "entries and those that live")
    expect({entry["freed_site"] == "0" for entry in entries if entry["freed"] != "0"}, {False}, "unknown ends")


def others_on_the_gpu_are_told_where_memory_is_missing(machine):
    machine.environment["CUDADIAG_SIM_GPU_PROCESS"] = "4194305:104857600"  # a pid that no process has
    result, finding = _memory_program(machine, "three_holders")
    expect(finding["memory_use"]["others"], [{"pid": 4194305, "name": None, "bytes": 104857600}], "others")
    expect_in("100.0 MiB held by process 4194305 after this one had ended", result.stderr, "report")


def allocator_of_pytorch_is_asked_in_a_rerun(machine):
    machine.environment["CUDADIAG_SIM_RUNS"] = str(machine.runs)
    result = machine.run(*program("tensors.py"), options=["--rerun=always"], timeout=60)
    report = machine.report()
    expect([(each["name"], each["outcome"]) for each in report["passes"]],
           [("record", "proven"), ("memory", "allocator reported")], "passes")
    finding = report["findings"][0]
    expect((finding["location"]["file"], finding["location"]["line"]), true_line("tensors.py"), "true line")
    tensors = finding["memory_use"]["tensors"]
    expect((tensors["allocated"], tensors["reserved"], tensors["largest_free"], tensors["times"]),
           (24 << 20, 25 << 20, 1 << 20, 1), "sizes")
    (holder,) = tensors["holders"]
    expect((holder["location"]["file"], holder["location"]["line"]), true_line("tensors.py", "HOLDER"), "holder")
    expect((holder["bytes"], holder["count"]), (24 << 20, 3), "memory that the line holds")
    expect_in("24.0 MiB in 3 tensors from", result.stderr, "what the rerun says")
    expect_in("PyTorch had reserved 25.0 MiB and allocated 24.0 MiB of it", machine.cudadiag("report").stdout, "text")


def allocator_is_not_asked_where_values_are_not_wanted(machine):
    machine.run(*program("tensors.py"), options=["--rerun=always", "--no-values"], timeout=60)
    report = machine.report()
    expect([each["name"] for each in report["passes"]], ["record"], "passes")
    expect(report["findings"][0]["memory_use"]["tensors"], None, "tensors")


def refusal_of_pytorchs_allocator_is_out_of_memory_without_a_cuda_failure(machine):
    for order in ([], ["late"]):
        result = machine.run(*program("refuses.py"), "fails", *order, options=["--rerun=never"])
        expect(result.returncode, 1, "status")
        expect_in("OutOfMemoryError: tried to allocate 5000 MiB", result.stderr, "the program's own message")
        finding, = machine.report()["findings"]
        expect((finding["kind"], finding["location"]["line"], finding["error"]["code"]),
               ("out_of_memory", true_line("refuses.py")[1], 2), "finding")
        expect(finding["memory_use"]["asked"], 5000 << 20, "requested bytes")
        expect(finding["cause"]["id"], "allocator-limit", "cause")


def refusal_of_pytorchs_allocator_that_was_caught_is_none(machine):
    result = machine.run(*program("refuses.py"), "caught", options=["--rerun=never"])
    expect(result.returncode, 3, "status")
    expect_in("cudadiag: no CUDA failure is known to have ended the program; 1 call of CUDACachingAllocator::malloc ", result.stderr,
              "what is said")


def _refused(machine, library, how):
    folder = machine.folder / f"{library}-{how}"
    result = machine.run(*program("pools.py"), library, how, options=["--rerun=never", "-o", folder])
    expect(result.stdout, "", "what the program prints")
    return result, machine.report(folder)["findings"]


def _expect_refusal(machine, library, how, asked, cause="allocator-limit"):
    result, (finding,) = _refused(machine, library, how)
    expect((result.returncode, "Traceback (most recent call last):" in result.stderr), (1, True), f"the end, {how}")
    expect((finding["kind"], finding["location"]["file"], finding["location"]["line"], finding["error"]["code"]),
           ("out_of_memory", *true_line("pools.py", f"{library.upper()} LINE"), 2), f"finding, {how}")
    expect((finding["memory_use"]["asked"], finding["cause"]["id"]), (asked, cause), f"cause, {how}")
    return result, finding


def refusal_of_cupys_pool_that_ends_the_program_is_out_of_memory(machine):
    for how in ("first", "chained", "within", "late", "fails"):
        result, finding = _expect_refusal(machine, "cupy", how, 24 << 20)
    (holder,) = finding["memory_use"]["holders"]
    expect((holder["bytes"], holder["location"]["line"]), (48 << 20, true_line("pools.py", "HOLDER")[1]), "holder")
    expect((finding["evidence"]["grade"], finding["cause"]["certain"]), ("proven", True), "what is known")
    expect_in("CuPy's memory pool refused to allocate 24.0 MiB, although no CUDA call failed",
              " ".join(result.stderr.split()), "report")
    expect_in("/cupy/cuda/memory.pyx", finding["stack"]["python"][0]["file"], "innermost frame")
    expect_in("CuPy says: Out of memory allocating 25,165,824 bytes (allocated so far: 50,331,648 bytes, limit set to: "
              "67,108,864 bytes).", finding["error"]["text"], "CuPy's message")


def refusal_of_jaxs_pool_that_ends_the_program_is_out_of_memory(machine):
    for how in ("first", "chained", "within", "late", "fails"):
        result, finding = _expect_refusal(machine, "jax", how, 4 << 30)
    expect((finding["evidence"]["grade"], finding["cause"]["certain"]), ("inferred", False), "what is known")
    expect(finding["memory_use"]["held"], 48 << 20, "bytes of the pool")
    expect_in("XLA_PYTHON_CLIENT_MEM_FRACTION", result.stderr, "fix")
    expect_in("[executable_name='jit__reduce_sum']", finding["error"]["text"], "JAX's message")
    expect("BufferAssignment" in finding["error"]["text"], False, "only its first line")
    _expect_refusal(machine, "jax", "huge", 32 << 30, "out-of-memory")  # the simulated GPU has 8 GiB


def refusal_that_did_not_end_the_program_is_no_finding(machine):
    for library in ("cupy", "jax"):
        for how in ("caught", "exits", "later", "hidden"):
            result, findings = _refused(machine, library, how)
            expect((findings, result.returncode), ([], int(how != "caught")), f"findings, {library} {how}")
    _, findings = _refused(machine, "jax", "other")
    expect(findings, [], "findings for another error of JAX")


def xid_stands_beside_the_failure(machine):
    machine.environment["CUDADIAG_SIM_XID"] = "79"
    note = ("NVIDIA's kernel driver reported Xid 79 (the GPU has fallen off the bus) for the GPU 00000000:01:00.0 during "
            "this run, for this or another program")
    for plan, notes in (("fault kernel=scale nth=3 code=700", [note]), ("", [])):
        machine.plan(plan)
        machine.run(machine.build / "targets/third_of_ten", options=["-o", "here", "--rerun=never"])
        found = [each["text"] for each in machine.report("-o", "here")["notes"] if "Xid" in each["text"]]
        expect(found, notes, f"notes with the plan {plan!r}")


def memory_that_the_gpu_refused_is_reported_once(machine):
    for library in ("cupy", "jax"):
        _, (finding,) = _refused(machine, library, "lacks")
        expect((finding["cause"]["id"], finding["memory_use"]["asked"]), ("absurd-allocation", 1 << 50), library)


def _behind_kernel(machine, how, watch_by):
    nth = 1 if how == "unlaunched" else 2
    machine.plan("" if how == "parameter" else f"fault kernel=scale__24_4 nth={nth}")
    # Without markers, the kernel before the graph is also a candidate.
    machine.run(machine.build / "targets/graph_behind_kernel", how,
                options=["--markers=off", f"--watch-by={watch_by}"])
    finding = machine.report()["findings"][0]
    lines = [finding["location"]["line"], *(other["location"]["line"] for other in finding["candidates"][1:])]
    return finding, lines


def _line_of(mark):
    return targets.marked_line("graph_behind_kernel", mark)


def graph_that_points_to_freed_memory_leads_before_a_kernel_of_its_stream(machine):
    for watch_by in ("cupti", "hooks"):
        for how in ("freed", "parameter"):
            finding, lines = _behind_kernel(machine, how, watch_by)
            mark, node, word = (("TRUE LINE", 2, "the word at byte 16 of its parameters") if how == "freed" else
                                ("STORE LINE", 3, "the parameter at byte 0"))
            expect(lines, [_line_of(mark)[1], _line_of("FIRST LINE")[1]], f"{how}: lines by likelihood")
            expect((finding["kind"], finding["evidence"]["grade"], finding["launch"]["watched_by"]),
                   ("graph_stale_pointer", "inferred", watch_by), how)
            expect(finding["launch"]["graph_node"]["index"], node, "node")
            related = {each["role"]: (each["file"], each["line"]) for each in finding["related"]}
            expect([related[role] for role in ("replay", "freed", "allocated")],
                   [_line_of(mark) for mark in ("REPLAY LINE", "FREED LINE", "ALLOCATED LINE")], "related lines")
            expect((finding["cause"]["id"], finding["cause"]["certain"]), ("stale-graph-pointer", False), "cause")
            freed = ":".join(map(str, _line_of("FREED LINE")))
            expect_in(f"the graph still points into 8.0 KiB that were freed at {freed}, main before this replay ({word}), "
                      "and the replay probably used them", finding["cause"]["text"], "cause")


def graph_is_not_preferred_for_memory_that_lives_or_a_word_that_may_be_a_leftover(machine):
    for watch_by in ("cupti", "hooks"):
        for how in ("living", "anew", "unlaunched", "both"):
            finding, lines = _behind_kernel(machine, how, watch_by)
            expect((lines[0], finding["kind"]), (_line_of("FIRST LINE")[1], "async_error"), f"{watch_by}, {how}")
            expect(lines[1:], [_line_of("REPLAY LINE")[1]], f"{watch_by}, {how}: the other candidate")


def _recycled(machine, what, watch_by="hooks"):
    machine.environment["PATH"] = f"{HERE / 'programs/toolkit'}:{os.environ['PATH']}"
    return machine.run(*program("recycled.py", what), options=["--graph-memory", f"--watch-by={watch_by}"])


def a_replay_with_memory_of_another_tensor_is_told_with_all_lines(machine):
    result = _recycled(machine, "recycled")
    expect((result.returncode, result.stdout), (0, "done\n"), "the program's own end")
    finding = _recycled_finding(machine, "TRUE")
    expect(finding["evidence"]["grade"], "suspected", "grade")
    expect((finding["launch"]["kernel"], finding["launch"]["graph_node"]), ("sim_store_u32", {"index": 1, "of": 1, "replay": None}),
           "node")
    text = " ".join(result.stderr.split())
    expect_in("node 1 of the graph uses 4.0 KiB that were given back to PyTorch's allocator at", text, "cause")


def a_replay_whose_kernel_gets_the_address_in_a_structure_is_told_if_its_code_uses_the_word(machine):
    for watch_by in ("cupti", "hooks"):
        _recycled(machine, "structure", watch_by)
        finding = _recycled_finding(machine, "STRUCTURE")
        expect(finding["evidence"]["grade"], "inferred", "grade")
        expect_in("according to its code, the kernel uses it", finding["evidence"]["because"], "evidence")
        sessions = machine.sessions()
        result = _recycled(machine, "leftover", watch_by)
        expect((result.returncode, result.stdout, result.stderr), (0, "done\n", ""), "the program's own end")
        expect(machine.sessions(), sessions, "sessions")


def _recycled_finding(machine, mark):
    finding, = machine.report()["findings"]
    lines = [true_line("recycled.py", f"{mark} LINE")[1] for mark in (mark, "FREED", "TAKEN", "REPLAY")]
    related = {each["role"]: each["line"] for each in finding["related"]}
    expect([finding["location"]["line"], *(related.get(role) for role in ("freed", "taken", "replay"))], lines, "lines")
    expect((finding["kind"], finding["cause"]["id"]), ("graph_stale_pointer", "recycled-graph-memory"), "finding")
    return finding


def a_replay_with_memory_that_nobody_else_has_is_not_told(machine):
    for what in ("kept", "pool"):
        result = _recycled(machine, what)
        expect((result.returncode, result.stdout, result.stderr), (0, "done\n", ""), f"{what}: the program's own end")
        expect(machine.sessions(), [], f"{what}: sessions")


def block_that_exceeds_the_bounds_of_its_kernel_is_told_with_the_limit(machine):
    machine.run(machine.build / "targets/refused_launch", "bounds")
    cause = machine.report()["findings"][0]["cause"]
    expect((cause["id"], cause["text"]),
           ("block-too-large-for-kernel", "a block of 512,1,1 has 512 threads, and this kernel allows at most 256, because "
            "of its __launch_bounds__ or its registers"), "cause")
