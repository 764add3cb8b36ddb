"""Copies from pinned memory that the host changes before the copies begin, and cases that only look like this."""

import json
import sys
from pathlib import Path

import targets
from harness import DATA, HERE, expect, expect_in

CUBIN = DATA / "sass/simulated.sm90.cubin"

RACING = {"refilled": (100, 1000), "registered": (100, 1000), "rows": (50 * 1024, 64), "batch": (100, 1000)}


def _report(machine, which, *options, plan=True, program="race_host"):
    machine.plan(targets.plan(program) if plan else "")
    file = machine.folder / "races.json"
    command = [machine.build / "targets" / program, *which.split()]
    result = machine.cudadiag("races", "--json", file, *options, "--", *command)
    expect((result.returncode, result.stdout), (0, "done\n"), f"{which}: the program continues: {result.stderr}")
    return result, json.loads(file.read_text())


def _finding(machine, which, **how):
    result, report = _report(machine, which, **how)
    expect([finding["kind"] for finding in report["findings"]], ["stream_race"], which + result.stderr)
    return result, report["findings"][0]


def a_source_that_the_host_fills_again_is_a_race(machine):
    for which, (offset, length) in RACING.items():
        _, finding = _finding(machine, which)
        copy, host = finding["accesses"]
        expect((copy["operation"], copy["mode"], host["mode"], host["stream"]), ("copy", "read", "write", None), which)
        expect(host["location"]["line"], None, f"{which}: the host's line")
        begin, end = (int(address, 16) for address in host["range"])
        expect((begin - int(copy["range"][0], 16), end - begin), (offset, length), f"{which}: the bytes that changed")
        expect(finding["evidence"]["grade"], "inferred", which)


def the_copy_and_what_the_host_must_wait_for_are_named(machine):
    result, finding = _finding(machine, "refilled")
    line, allocated = (targets.marked_line("race_host", mark) for mark in ("COPY LINE", "ALLOCATED LINE"))
    expect((finding["location"]["file"], finding["location"]["line"]), line, "the copy's line leads")
    related = {each["role"]: (each["file"], each["line"]) for each in finding["related"]}
    expect((set(related), related["allocated"]), ({"allocated", "unchanged", "changed"}, allocated), "related")
    text = " ".join(result.stderr.split())
    expect_in("race between a copy and the host: ", text, "headline")
    expect_in("1,000 B, the first at byte 100 of the source", text, "the bytes")
    expect_in("cuEventRecord and cuEventSynchronize", finding["fix"][0], "fix")
    if len(result.stderr.splitlines()) > 22:
        raise AssertionError(f"more than 22 lines:\n{result.stderr}")


def a_write_while_the_copy_is_kept_is_proven(machine):
    _, finding = _finding(machine, "held", plan=False)
    expect(finding["evidence"]["grade"], "proven", finding["evidence"]["because"])


def a_host_that_waits_or_reads_or_writes_beside_the_copy_is_none(machine):
    for which in ("waited", "read", "beside", "beside_rows", "pageable", "batch_at_once"):
        _, report = _report(machine, which)
        expect(report["findings"], [], which)


def a_source_that_ordered_work_fills_is_none(machine):
    for which in ("written_by_copy", "written_by_function", "waits_for_word"):
        _, report = _report(machine, which)
        expect(report["findings"], [], which)


def write_combined_memory_is_not_read(machine):
    _, report = _report(machine, "write_combined")
    expect(report["findings"], [], "findings")


def sources_are_left_alone_on_request(machine):
    _, report = _report(machine, "refilled", "--no-host-writes")
    expect(report["findings"], [], "findings")


def a_session_keeps_what_the_host_wrote(machine):
    _, finding = _finding(machine, "refilled")
    again = json.loads(machine.cudadiag("report", "--json").stdout)
    expect(again["findings"][0]["accesses"][1], finding["accesses"][1], "the host's access")
    expect_in("code on the CPU", machine.cudadiag("report", "--html", "-").stdout, "page")


def _sampled(machine, which, every=1, way="cupti", program="race_host_sampled"):
    machine.plan(targets.plan(program))
    file = machine.folder / "sampled.json"
    result = machine.cudadiag("run", "--check-copies", str(every), "--watch-by", way, "--rerun=never", "--json", file,
                              "--", machine.build / "targets" / program, *which.split())
    expect((result.returncode, result.stdout), (0, "done\n"), f"{which} by {way}: {result.stderr}")
    return result, json.loads(file.read_text())["findings"]


def a_run_finds_a_source_that_is_filled_too_early(machine):
    line, allocated = (targets.marked_line("race_host_sampled", mark) for mark in ("COPY LINE", "ALLOCATED LINE"))
    for way in ("cupti", "hooks"):
        for which in ("again", "device_kernel", "thread", "second"):
            result, findings = _sampled(machine, which, way=way)
            expect([each["kind"] for each in findings], ["stream_race"], f"{which} by {way}: {result.stderr}")
            (finding,) = findings
            copy, host = finding["accesses"]
            expect((copy["operation"], copy["mode"], host["mode"]), ("copy", "read", "write"), which)
            begin, end = (int(address, 16) for address in host["range"])
            first, length = (0, 1) if which == "second" else (100, 1000)
            expect((begin - int(copy["range"][0], 16), end - begin), (first, length), f"{which}: the bytes that changed")
            expect((finding["location"]["file"], finding["location"]["line"]), line, f"{which}: the copy's line leads")
            related = {each["role"]: (each["file"], each["line"]) for each in finding["related"]}
            expect(related["allocated"], allocated, f"{which}: the memory")
            expect(finding["evidence"]["grade"], "inferred", which)
            expect_in("before the copy had finished", " ".join(result.stderr.split()), which)


def a_run_names_the_calls_around_the_change(machine):
    for way in ("cupti", "hooks"):
        result, (finding,) = _sampled(machine, "two_statements", way=way, program="race_host_line")
        lines = {each["role"]: (each["file"], each["line"]) for each in finding["related"]}
        for role, mark in (("unchanged", "CALL"), ("changed", "RECORD")):
            expect(lines[role], targets.marked_line("race_host_line", f"{mark} LINE two_statements"), f"{way}: {role}")
        expect(finding["accesses"][1]["location"]["line"], None, f"{way}: {result.stderr}")
        if "other threads" in result.stderr:
            raise AssertionError(f"{way}: nothing is known of other threads: {result.stderr}")


def a_run_finds_a_source_that_is_filled_before_a_replay_has_copied_it(machine):
    for way in ("cupti", "hooks"):
        for which in ("refilled", "other_awaited", "child", "moved", "late"):
            result, findings = _sampled(machine, which + " queried", way=way, program="race_host_graph")
            expect([each["kind"] for each in findings], ["stream_race"], f"{which} by {way}: {result.stderr}")
            (finding,) = findings
            replay = [(each["file"], each["line"]) for each in finding["related"] if each["role"] == "replay"]
            expect(replay, [targets.marked_line("race_host_graph", "REPLAY LINE")], f"{which} by {way}: the replay")
            line = targets.marked_line("race_host_graph", "MOVED LINE" if which == "moved" else "CAPTURE LINE")
            expect((finding["location"]["file"], finding["location"]["line"]), line, f"{which} by {way}: the copy's line")
            expect_in("before the graph had finished", " ".join(result.stderr.split()), which)


def a_run_compares_only_one_copy_in_some(machine):
    for every, count in ((2, 0), (1, 1)):
        _, findings = _sampled(machine, "second", every)
        expect(len(findings), count, f"one copy in {every}")


def a_run_says_nothing_about_memory_that_may_be_filled_again(machine):
    for way in ("cupti", "hooks"):
        for which in ("waited", "queried", "event", "two_buffers", "other_thread", "other_stream", "told", "late",
                      "written", "filled_by_function", "host_kernel", "before_words", "after_words", "not_freed", "kept_by_kernel", "kept_by_copy",
                      "kept_by_header", "kept_by_rows",
                      "released", "observed", "nccl", "shareable", "mapped_twice"):
            result, findings = _sampled(machine, which, way=way)
            expect(findings, [], f"{which} by {way}: {result.stderr}")
        for which in ("waited", "read", "beside", "beside_rows", "pageable", "write_combined", "batch_at_once",
                      "written_by_copy", "written_by_function", "waits_for_word"):
            result, findings = _sampled(machine, which, way=way, program="race_host")
            expect(findings, [], f"{which} by {way}: {result.stderr}")
        for which in ("waited", "beside", "moved_away", "told", "written", "pageable", "released queried", "awaits queried"):
            result, findings = _sampled(machine, which, way=way, program="race_host_graph")
            expect(findings, [], f"{which} by {way}: {result.stderr}")


def a_run_does_not_compare_copies_without_being_asked(machine):
    machine.plan(targets.plan("race_host_sampled"))
    result = machine.run(machine.build / "targets/race_host_sampled", "again")
    expect((result.returncode, result.stderr), (0, ""), "a run without the option")


def _of_graph(machine, which):
    result, finding = _finding(machine, which, program="race_host_graph")
    copy, host = finding["accesses"]
    expect((copy["mode"], host["mode"], host["location"]["line"]), ("read", "write", None), which)
    begin, end = (int(address, 16) for address in host["range"])
    expect((begin - int(copy["range"][0], 16), end - begin), (100, 1000), f"{which}: the bytes that changed")
    replay = [(each["file"], each["line"]) for each in finding["related"] if each["role"] == "replay"]
    expect(replay, [targets.marked_line("race_host_graph", "REPLAY LINE")], f"{which}: the replay")
    line = targets.marked_line("race_host_graph", "MOVED LINE" if which == "moved" else "CAPTURE LINE")
    expect((finding["location"]["file"], finding["location"]["line"]), line, f"{which}: the copy's line leads")
    return result, finding


def a_source_that_is_filled_before_a_replay_has_copied_it_is_a_race(machine):
    for which in ("refilled", "other_awaited", "child", "moved", "pageable"):
        _of_graph(machine, which)


def a_source_that_is_filled_under_a_running_graph_is_a_race(machine):
    result, finding = _of_graph(machine, "late")
    expect(finding["evidence"]["grade"], "inferred", finding["evidence"]["because"])
    expect_in("before the graph had finished", " ".join(result.stderr.split()), "text")
    expect_in("after the graph's launch", finding["fix"][0], "fix")


def a_replay_whose_copy_has_read_its_source_is_none(machine):
    for which in ("waited", "beside", "moved_away", "told", "written"):
        _, report = _report(machine, which, program="race_host_graph")
        expect(report["findings"], [], which)


def _ended(machine, which, mark="COPY LINE"):
    file = machine.folder / "races.json"
    result = machine.cudadiag("races", "--rerun=never", "--json", file, "--",
                              machine.build / "targets/race_host_ended", which)
    report = json.loads(file.read_text())
    found = [each for each in report["findings"] if each["kind"] == "graph_stale_pointer"]
    expect(len(found), 1, which + result.stderr)
    (finding,) = found
    line = targets.marked_line("race_host_ended", mark)
    expect((finding["location"]["file"], finding["location"]["line"]), line, f"{which}: the node's line")
    return " ".join(result.stderr.split()), {each["role"]: each["line"] for each in finding["related"]}


def a_graph_with_a_variable_of_a_function_that_returned_is_found(machine):
    text, lines = _ended(machine, "returned")
    expect(lines, {"replay": targets.marked_line("race_host_ended", "REPLAY LINE")[1]}, "lines")
    expect_in(f"race_host_ended.cc:{lines['replay']}, replay, reads 4,096 B of the local variable table, whose function",
              text, "text")


def a_graph_with_a_variable_of_a_thread_that_ended_is_found(machine):
    text, _ = _ended(machine, "thread_ended")
    expect_in("4,096 B of the local variable table, whose thread has ended", text, "text")


def a_graph_with_freed_pinned_memory_is_found(machine):
    _, lines = _ended(machine, "pinned")
    expect(lines["freed"], targets.marked_line("race_host_ended", "FREED LINE")[1], "the call that freed it")


def a_graph_whose_host_memory_still_exists_is_none(machine):
    for which in ("kept", "in_use", "thread_lives", "pinned_kept"):
        _, report = _report(machine, which, program="race_host_ended", plan=False)
        expect(report["findings"], [], which)


def _with_disassembler(machine):
    machine.environment["PATH"] = f"{HERE / 'programs/toolkit'}:{machine.environment['PATH']}"


def host_memory_that_is_filled_before_a_kernel_has_read_it_is_a_race(machine):
    _with_disassembler(machine)
    result, finding = _finding(machine, f"{CUBIN} refilled", program="race_host_kernel")
    line = targets.marked_line("race_host_kernel", "LAUNCH LINE")
    expect((finding["location"]["file"], finding["location"]["line"]), line, "the launch leads")
    kernel, host = finding["accesses"]
    expect((kernel["kernel"], kernel["mode"], host["mode"]), ("copy__8_8", "read", "write"), "accesses")
    begin, end = (int(address, 16) for address in host["range"])
    expect((begin - int(kernel["range"][0], 16), end - begin), (16, 64), "the bytes that changed")
    expect_in("race between a kernel and the host: ", " ".join(result.stderr.split()), "headline")


def host_memory_that_no_unfinished_kernel_reads_may_change(machine):
    _with_disassembler(machine)
    for which in ("waited", "beside"):
        _, report = _report(machine, f"{CUBIN} {which}", program="race_host_kernel")
        expect(report["findings"], [], which)


def host_memory_of_a_kernel_with_unknown_code_may_change(machine):
    _, report = _report(machine, f"{CUBIN} refilled", program="race_host_kernel")
    expect(report["findings"], [], "without a disassembler")


def _line_of(machine, program, which):
    command = [sys.executable, HERE.parent / "targets/python/py_host_line.py"] if program.startswith("py_") else \
        [machine.build / "targets" / program]
    machine.plan(targets.plan(program))
    file = machine.folder / "races.json"
    result = machine.cudadiag("races", "--rerun=never", "--json", file, "--", *command, *which.split())
    expect((result.returncode, result.stdout), (0, "done\n"), f"{program} {which}: {result.stderr}")
    findings = json.loads(file.read_text())["findings"]
    expect(len(findings), 0 if "corrected" in which else 1, f"{program} {which}: {result.stderr}")
    return (findings[0] if findings else None), " ".join(result.stderr.split())


HOST_LINES = ("race_host_line", "py_host_line")


def the_only_statement_that_writes_between_two_calls_is_the_host_s_line(machine):
    for program in HOST_LINES:
        for which in ("statement", "loop", "function"):
            for _ in range(20):  # threads of the simulated driver may run between the calls, too
                finding, text = _line_of(machine, program, which)
                if "while other threads ran, too" not in text:
                    break
            copy, host = (targets.marked_line(program, f"{mark} LINE {which}") for mark in ("COPY", "HOST"))
            place = finding["accesses"][1]["location"]
            expect((place["file"], place["line"]), host, f"{program} {which}: {text}")
            expect((finding["location"]["file"], finding["location"]["line"]), copy, f"{program} {which}: the copy")
            expect(finding["evidence"]["grade"], "inferred", which)
            function = place["function"].partition("(")[0]
            expect_in(f"{Path(host[0]).name}:{host[1]}, {function} writes memory in between (inferred)", text, "text")


def a_change_between_two_calls_is_bracketed_if_its_line_is_unclear(machine):
    for program in HOST_LINES:
        for which in ("two_statements", "called"):
            finding, text = _line_of(machine, program, which)
            expect(finding["accesses"][1]["location"]["line"], None, f"{program} {which}: {text}")
            lines = {each["role"]: (each["file"], each["line"]) for each in finding["related"]}
            for role, mark in (("unchanged", "CALL"), ("changed", "RECORD")):
                expect(lines[role], targets.marked_line(program, f"{mark} LINE {which}"), f"{program} {which}: {role}")


def a_change_by_another_thread_has_no_line(machine):
    for program in HOST_LINES:
        finding, text = _line_of(machine, program, "thread")
        expect(finding["accesses"][1]["location"]["line"], None, f"{program}: {text}")
        expect_in("while other threads ran, too", text, program)


def a_host_that_waits_before_it_writes_has_no_line(machine):
    for program in HOST_LINES:
        for which in ("statement", "loop", "function", "two_statements", "called", "thread"):
            _line_of(machine, program, which + " corrected")
