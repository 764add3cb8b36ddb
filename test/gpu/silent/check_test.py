#!/usr/bin/env python3
"""The programs' numbers depend on how reports are judged, so the judgement must detect each kind of difference."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check import DUMPED, EXTRA, FALSE_ALARM, HERE, LINES, MISSED, NO_DEVICE, RIGHT, judge, marked, shortfalls, ways  # noqa: E402

LABELS = {label["program"]: label for label in json.loads((HERE / "labels.json").read_text())}


def place(label, mark, beside=0):
    line = min(marked(label["program"])[mark]) + beside if mark else None
    return {"file": f"/elsewhere/{Path(label['program']).name}", "line": line, "called_from": None}


def race(label, first, second, beside=0):
    accesses = [{"location": place(label, first)}, {"location": place(label, second, beside)}]
    return {"kind": "stream_race", "location": accesses[0]["location"], "accesses": accesses}


def at(kind, label, mark, beside=0):
    return {"kind": kind, "location": place(label, mark, beside), "accesses": []}


def said(label, *findings, way="", ranks=None, groups=None):
    return judge(label, {"findings": list(findings), "ranks": ranks, "groups": groups}, way)


class Judgement(unittest.TestCase):
    def test_a_race_needs_both_lines_in_any_order(self):
        label = LABELS["races/halves.cu"]
        self.assertEqual(said(label, race(label, "FIRST", "SECOND")), RIGHT)
        self.assertEqual(said(label, race(label, "SECOND", "FIRST")), RIGHT)
        self.assertEqual(said(label, race(label, "FIRST", "SECOND", beside=1)), LINES)
        self.assertEqual(said(label, race(label, "FIRST", "FIRST")), LINES)
        self.assertEqual(said(label), MISSED)

    def test_each_pair_of_a_program_is_right_and_a_mixed_one_is_not(self):
        label = LABELS["races/halo_exchange.cu"]
        both = race(label, "FIRST", "SECOND"), race(label, "FIRST_2", "SECOND_2")
        self.assertEqual(said(label, *both), RIGHT)
        self.assertEqual(said(label, race(label, "FIRST", "SECOND_2")), LINES)
        self.assertEqual(said(label, both[0], race(label, "FIRST", "SECOND_2")), EXTRA)

    def test_the_hosts_line_may_be_unknown_and_not_wrong(self):
        label = LABELS["races/frame_rows.cu"]
        self.assertEqual(said(label, race(label, "FIRST", "HOST")), RIGHT)
        self.assertEqual(said(label, race(label, "FIRST", None)), RIGHT)
        self.assertEqual(said(label, race(label, "FIRST", "HOST", beside=1)), LINES)

    def test_a_kernels_line_may_not_be_unknown(self):
        label = LABELS["races/halves.cu"]
        self.assertEqual(said(label, race(label, "FIRST", None)), LINES)

    def test_a_finding_in_a_twin_or_a_correct_program_is_a_false_alarm(self):
        label, correct = LABELS["races/halves.cu"], LABELS["correct/quarters.cu"]
        self.assertEqual(said(label, race(label, "FIRST", "SECOND"), way="twin"), FALSE_ALARM)
        self.assertEqual(said(correct, race(label, "FIRST", "SECOND")), FALSE_ALARM)
        self.assertEqual((said(label, way="twin"), said(correct)), (RIGHT, RIGHT))

    def test_copies_are_compared_in_programs_that_change_host_memory_their_twins_and_correct_ones(self):
        def sampled(program):
            return [(name, twin) for name, _, twin in ways(LABELS[program]) if name.startswith("sampled")]
        both = [("sampled", False), ("sampled twin", True)]
        self.assertEqual((sampled("host_memory/torn_pair.cu"), sampled("races/frame_rows.cu")), (both, both))
        self.assertEqual((sampled("correct/quarters.cu"), sampled("races/halves.cu")), ([("sampled", False)], []))
        label = LABELS["host_memory/header_then_payload.cu"]
        self.assertEqual(said(label, at("stream_race", label, "COPY"), way="sampled"), RIGHT)
        self.assertEqual(said(label, at("stream_race", label, "COPY"), way="sampled twin"), FALSE_ALARM)

    def test_a_finding_of_another_kind_does_not_count_and_is_seen(self):
        label = LABELS["races/less_or_equal.cu"]
        self.assertEqual(said(label, at("out_of_bounds", label, "OUT")), RIGHT)
        self.assertEqual(said(label, at("async_error", label, "OUT")), MISSED)
        self.assertEqual(said(label, at("out_of_bounds", label, "OUT"), at("hang", label, "OUT")), EXTRA)

    def test_a_hang_of_a_job_needs_each_ranks_line(self):
        label = LABELS["ranks/late_rank.py"]
        finding = at("hang", label, "STUCK")
        came = {"rank": 0, "has_come": True, "location": place(label, "STUCK")}
        absent = {"rank": 1, "has_come": False, "location": place(label, "ABSENT")}
        self.assertEqual(said(label, finding, ranks={"ranks": [came, absent]}), RIGHT)
        self.assertNotEqual(said(label, finding, ranks={"ranks": [came, {**absent, "has_come": True}]}), RIGHT)
        self.assertNotEqual(said(label, finding, ranks={"ranks": [came, {**absent, "location": came["location"]}]}), RIGHT)
        self.assertNotEqual(said(label, finding), RIGHT)
        self.assertEqual(said(label, finding, groups={"ranks": [came, absent], "circle": []}), RIGHT)
        self.assertNotEqual(said(label, finding, groups={"ranks": [absent, came | {"rank": 1}], "circle": []}), RIGHT)

    def test_a_dumped_hang_needs_device_line_block_and_thread(self):
        label = LABELS["hangs/lookback_gap.cu"]

        def dumped(file, line, block=(3, 0, 0), thread=(0, 0, 0)):
            device = {"file": file, "line": line, "block": list(block), "thread": list(thread)}
            return said(label, at("hang", label, "STUCK") | {"device": device}, way=DUMPED)
        program, header = (min(marked(file)["SPINS"]) for file in (label["program"], "bounded.cuh"))
        self.assertEqual(dumped("/elsewhere/lookback_gap.cu", program), RIGHT)
        self.assertEqual(dumped("/elsewhere/bounded.cuh", header), RIGHT)
        self.assertNotEqual(dumped("/elsewhere/lookback_gap.cu", program + 1), RIGHT)
        self.assertNotEqual(dumped("/elsewhere/other.cu", program), RIGHT)
        self.assertNotEqual(dumped("/elsewhere/bounded.cuh", header, block=(2, 0, 0)), RIGHT)
        self.assertNotEqual(dumped("/elsewhere/bounded.cuh", header, thread=(1, 0, 0)), RIGHT)
        self.assertEqual(said(label, at("hang", label, "STUCK") | {"device": None}, way=DUMPED), NO_DEVICE)
        self.assertEqual(said(label, at("hang", label, "WAITS") | {"device": None}, way=DUMPED), LINES)

    def test_a_dumped_hang_without_a_kernel_needs_what_it_waits_for(self):
        label = LABELS["hangs/value_never_written.cu"]
        finding = at("hang", label, "STUCK") | {"device": None, "cause": {"id": "value-never-written"}}
        self.assertEqual(said(label, finding, way=DUMPED), RIGHT)
        self.assertNotEqual(said(label, finding | {"cause": {"id": "kernel-does-not-end"}}, way=DUMPED), RIGHT)
        self.assertNotEqual(said(label, finding | {"cause": None}, way=DUMPED), RIGHT)

    def test_a_hang_that_may_fail_instead_needs_the_same_line(self):
        label = LABELS["ranks/both_send_first.py"]
        self.assertEqual(said(label, at("async_error", label, "STUCK")), RIGHT)
        self.assertEqual(said(label, at("async_error", label, "WAITS")), LINES)
        self.assertEqual(said(label), MISSED)
        late = LABELS["ranks/late_rank.py"]
        self.assertEqual(said(late, at("async_error", late, "STUCK")), MISSED)

    def test_ranks_in_a_circle_have_each_come_to_their_own_call(self):
        label = LABELS["ranks/both_receive_first.py"]
        finding = at("hang", label, "STUCK_0")
        absent = [{"rank": rank, "has_come": False, "location": None} for rank in (0, 1)]
        circle = [{"rank": rank, "location": place(label, f"STUCK_{rank}")} for rank in (0, 1)]
        self.assertEqual(said(label, finding, groups={"ranks": absent, "circle": circle}), RIGHT)
        self.assertNotEqual(said(label, finding, groups={"ranks": absent, "circle": circle[:1] + [
            {**circle[1], "location": place(label, "STUCK_0")}]}), RIGHT)

    def test_host_memory_needs_the_operations_line_and_no_wrong_one(self):
        label = LABELS["host_memory/staging_returned.cu"]
        self.assertEqual(said(label, race(label, "CAPTURE", "HOST")), RIGHT)
        self.assertEqual(said(label, race(label, "CAPTURE", "REPLAY")), RIGHT)
        self.assertEqual(said(label, race(label, "CAPTURE", None)), RIGHT)
        self.assertEqual(said(label, at("host_memory", label, "CAPTURE")), RIGHT)
        self.assertEqual(said(label, at("host_memory", label, "REPLAY")), LINES)
        self.assertEqual(said(label, race(label, "CAPTURE", "HOST", beside=1)), LINES)
        self.assertEqual(said(label), MISSED)
        self.assertEqual(said(label, at("host_memory", label, "CAPTURE"), way="twin"), FALSE_ALARM)

    def test_memory_whose_use_may_fail_needs_one_of_the_lines(self):
        label = LABELS["host_memory/flags_freed.cu"]
        self.assertEqual(said(label, at("async_error", label, "CAPTURE")), RIGHT)
        self.assertEqual(said(label, at("async_error", label, "REPLAY")), RIGHT)
        self.assertEqual(said(label, at("async_error", label, "REPLAY", beside=1)), LINES)
        self.assertEqual(said(LABELS["host_memory/scale_on_stack.cu"], at("async_error", label, "REPLAY")), MISSED)

    def test_a_race_in_a_kernel_needs_both_device_lines(self):
        label = LABELS["kernel_races/scratch_of_block.cu"]
        finding = race(label, "FIRST", "SECOND") | {"kind": "kernel_race", "location": place(label, "LAUNCH")}
        self.assertEqual(said(label, finding), RIGHT)
        self.assertEqual(said(label, race(label, "SECOND", "FIRST")), RIGHT)
        self.assertEqual(said(label, race(label, "FIRST", None)), LINES)
        self.assertEqual(said(label, race(label, "FIRST", "SECOND", beside=1)), LINES)
        self.assertEqual(said(label, at("kernel_race", label, "LAUNCH")), LINES)
        one_line = LABELS["kernel_races/transpose_of_square.cu"]
        self.assertEqual(said(one_line, race(one_line, "FIRST", "FIRST")), RIGHT)
        two_pairs = LABELS["kernel_races/swapped_twice.cu"]
        self.assertEqual(said(two_pairs, race(two_pairs, "SECOND", "SECOND")), RIGHT)
        self.assertEqual(said(two_pairs, race(two_pairs, "FIRST", "FIRST")), LINES)

    def test_a_recycled_block_needs_the_captures_line_and_no_wrong_one(self):
        label = LABELS["recycled/torch_input_of_function.py"]

        def recycled(mark="CAPTURE", **lines):
            related = [{"role": role, **place(label, *where)} for role, where in lines.items()]
            return at("graph_stale_pointer", label, mark) | {"related": related}
        full = recycled(replay=["REPLAY"], freed=["FREED"], allocated=["ALLOC"], taken=["OWNER"])
        self.assertEqual(said(label, full), RIGHT)
        self.assertEqual(said(label, recycled()), RIGHT)
        self.assertEqual(said(label, recycled("REPLAY", capture=["CAPTURE"], taken=[None])), RIGHT)
        self.assertEqual(said(label, recycled("REPLAY", taken=["OWNER"])), LINES)
        self.assertEqual(said(label, recycled("OWNER", capture=["CAPTURE"])), LINES)
        for role, mark in (("replay", "REPLAY"), ("freed", "FREED"), ("taken", "OWNER")):
            self.assertEqual(said(label, recycled(**{role: [mark, -1]})), LINES)
        self.assertEqual(said(label, recycled(freed=["OWNER"])), LINES)
        self.assertEqual(said(label, full, at("hang", label, "FREED")), EXTRA)
        self.assertEqual(said(label), MISSED)
        self.assertEqual((said(label, full, way="twin"), said(label, way="twin")), (FALSE_ALARM, RIGHT))
        block = {"allocated": place(label, "ALLOC"), "freed": place(label, "FREED")}
        self.assertEqual(said(label, full | {"access": {"allocation": block}}), RIGHT)
        self.assertEqual(said(label, full | {"access": {"allocation": block | {"freed": place(label, "OWNER")}}}), LINES)

    def test_graphs_of_correct_programs_run_with_their_memory_recorded(self):
        def options(label):
            return {name: (ours, twin) for name, ours, twin in ways(label)}
        recorded = (["run", "--graph-memory", "--rerun=never"], False)
        self.assertEqual(options(LABELS["correct/torch_pool_any_order.py"])["memory"], recorded)
        self.assertEqual(options(LABELS["recycled/torch_two_graphs.py"])["recycled"], recorded)
        self.assertEqual(options(LABELS["recycled/torch_two_graphs.py"])["twin"], (recorded[0], True))
        self.assertNotIn("memory", options(LABELS["correct/quarters.cu"]))

    def test_a_label_lacks_what_its_kind_needs(self):
        memory, kernel = LABELS["host_memory/scale_on_stack.cu"], LABELS["kernel_races/scratch_of_block.cu"]
        self.assertEqual(shortfalls(memory) + shortfalls(kernel), [])
        self.assertEqual(shortfalls({**memory, "variable": None}), ["item 2 needs a variable"])
        self.assertEqual(shortfalls({**memory, "item": 1}), ["item 1 needs HOST"])
        self.assertIn("REPLAY is marked and not used", shortfalls({**memory, "lines": ["CAPTURE"]}))
        self.assertIn("SECOND is marked and not used", shortfalls({**kernel, "pairs": [["FIRST", "FIRST"]]}))

    def test_a_label_without_its_mark_is_seen(self):
        label = LABELS["hangs/flag_never_set.cu"]
        self.assertEqual(shortfalls(label), [])
        self.assertEqual(shortfalls({**label, "waits": None}), ["WAITS is marked and not used"])
        self.assertEqual(shortfalls({**label, "also": ["CAPTURED"]}), ["CAPTURED is not marked"])


if __name__ == "__main__":
    unittest.main()
