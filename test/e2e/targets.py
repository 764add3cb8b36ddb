"""The expectation for each program in test/targets. The program's source has the marked lines and the plan.
NAME:ARGUMENT is a program with an argument; the marks of its lines end in the argument."""

import pathlib
import sys
import typing

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "targets"
MARKS = ("// ", "# ")


class Failing(typing.NamedTuple):
    """What is expected of a program with a finding."""

    grade: str = "bracketed"
    kind: str = "async_error"
    by_chance: str = ""  # another correct grade, if a marker happens to be right before the operation
    source: str = ""  # the file of the true line, if it is not the program's own source
    candidates: bool = False  # the report lists several candidates
    leads: bool = True  # the true line is the first candidate
    confirmed: str = "proven"  # the grade after a rerun; empty if there is none
    confirmed_line: str = "TRUE LINE"  # the mark of the headline's line after the reruns
    cause: str = ""  # the cause that a rule names; empty if no rule matches


def broke_capture(cause):
    return Failing("proven", "capture_violation", confirmed="", cause=cause)


FAILING = {
    "third_of_ten": Failing(),
    "two_streams": Failing("inferred", candidates=True),
    "two_threads": Failing(),
    "event_wait": Failing(),
    "event_recorded_anew": Failing(),
    "event_captured": Failing("inferred", candidates=True, leads=False),
    "event_elsewhere:gone": Failing(),
    "event_elsewhere:context": Failing(),
    "event_elsewhere:graph": Failing(),
    "caught_and_goes_on": Failing(),
    "invalid_argument": Failing("proven", "sync_error", confirmed=""),
    "refused_launch": Failing("proven", "sync_error", confirmed="", cause="block-too-large"),
    "refused_after_others": Failing("proven", "sync_error", confirmed=""),
    "destroyed_event:waits": Failing("proven", "sync_error", confirmed=""),
    "asked_late:copy": Failing("proven", "sync_error", confirmed=""),
    "asked_late:all_well": Failing("suspected", "unchecked_error", confirmed=""),
    "asked_late:peeked": Failing("inferred", "sync_error", confirmed=""),
    "asked_late:launch": Failing("proven", "sync_error", confirmed="", cause="block-too-large"),
    "asked_late:two_sites": Failing("proven", "sync_error", confirmed="", cause="block-too-large"),
    "refused_copy:freed": Failing("proven", "sync_error", confirmed="", cause="use-after-free"),
    "refused_copy:past": Failing("proven", "sync_error", confirmed="", cause="copy-past-allocation"),
    "refused_copy:exchanged": Failing("proven", "sync_error", confirmed="", cause="copy-direction"),
    "refused_copy:unmade": Failing("proven", "sync_error", confirmed="", cause="after-failed-call"),
    "alloc_fails_fatal": Failing("proven", "out_of_memory", confirmed="", cause="memory-refused-though-free"),
    "three_holders": Failing("proven", "out_of_memory", confirmed="", cause="out-of-memory"),
    "freed_pointer": Failing(cause="use-after-free"),
    "null_pointer": Failing(cause="null-pointer"),
    "past_the_end": Failing(cause="pointer-past-allocation"),
    "peers": Failing(cause="memory-of-another-gpu"),
    "peers:given": Failing(),
    "copy_past_the_end": Failing(cause="copy-past-allocation"),
    "freed_in_structure": Failing(cause="use-after-free"),
    "freed_in_buffer": Failing(cause="use-after-free"),
    "freed_launched_by_kernel": Failing(cause="use-after-free"),
    "device_reset": Failing(),
    "reset_after_failure": Failing(),
    "reset_unasked": Failing(),
    "many_resets": Failing(),
    "forked_child": Failing(),
    "dlopened_kernel": Failing(source="plugin.cc"),
    "async_copy_bad": Failing(cause="copy-past-allocation"),
    "memset_bad": Failing(cause="copy-past-allocation"),
    "per_thread_stream": Failing(),
    "per_thread_stream:5000": Failing(),
    "graph_replay": Failing(candidates=True, confirmed_line="CAPTURED LINE"),
    "graph_added": Failing(kind="graph_node"),
    "graph_conditional": Failing(candidates=True),
    "graph_conditional:cloned": Failing(candidates=True),
    "graph_updated": Failing(kind="graph_node"),
    "graph_thousand": Failing("inferred", kind="graph_node"),  # the line is known, but not the node
    "graph_changed:kernel": Failing(kind="graph_node"),
    "graph_changed:memset": Failing(kind="graph_node"),
    "graph_changed:copy": Failing(kind="graph_node"),
    "graph_changed:child": Failing(kind="graph_node"),
    "graph_changed:later": Failing("bracketed", kind="graph_stale_pointer", cause="stale-graph-pointer"),
    "graph_changed_in_loop": Failing("inferred", kind="graph_node"),  # the line is known, but not the node
    "graph_stale:freed": Failing("inferred", kind="graph_stale_pointer", candidates=True, cause="stale-graph-pointer"),
    "graph_stale:reused": Failing("suspected", kind="graph_stale_pointer", confirmed="", cause="stale-graph-pointer"),
    "many_streams": Failing("inferred", by_chance="bracketed"),
    "streams_met_together": Failing(),
    "threads_begin_together": Failing(),
    "many_threads": Failing("inferred", candidates=True),  # one line, but one kernel per thread
    "strict_filter": Failing(),
    "large_frame": Failing("inferred", by_chance="bracketed"),
    "exit_without_sync": Failing(),
    "libraries_come_and_go": Failing(),
    "libraries_alike": Failing(source="plugins_alike.cc"),
    "libraries_alike:bare": Failing(source="plugins_bare.cc"),
    "libraries_alike:nameless": Failing(source="plugins_bare.cc"),
    "contexts_come_and_go": Failing(),
    "children_of_all_kinds": Failing(),
    "signals": Failing(),
    "interrupted_launch": Failing(),
    "jumps": Failing(),
    "coroutines": Failing(),
    "many_coroutines": Failing(),
    "stack_in_anothers_place": Failing(),
    "thread_destructor:fails": Failing(),
    "embedded_python": Failing(),
    "coroutine_bottom": Failing(),
    "coroutine_bottom:1234": Failing(),
    "fork_between_launches": Failing(),
    "tiny_stacks": Failing("inferred", confirmed="inferred"),  # there are too many threads to record every operation
    "unrecorded_thread:graph": Failing("inferred", confirmed="inferred"),
    "unrecorded_thread:capture": Failing(),
    "unrecorded_thread:stream": Failing(),
    "cancelled_thread": Failing(),
    "stream_given_up": Failing(),
    "stream_finds_room_late": Failing("inferred", confirmed="inferred"),  # an earlier operation has no known stream
    "closes_descriptors": Failing(),
    "ends_abruptly": Failing(),
    "million_launches": Failing("inferred", by_chance="bracketed"),  # one line, but several launches since a marker
    "capture_not_begun": Failing(),
    "captures_beyond_room": Failing(),
    "capture_destroyed": Failing(),
    "capture_destroyed:context": Failing(),
    "capture_synced": broke_capture("capture-unsupported"),
    "capture_other_thread": broke_capture("capture-by-another-thread"),
    "capture_default_stream": broke_capture("capture-implicit"),
    "capture_twice": broke_capture("capture-unsupported"),
    "capture_wrong_thread": broke_capture("capture-wrong-thread"),
    "capture_on_two_threads": broke_capture("capture-unsupported"),
    "capture_broken_unseen": Failing("inferred", "capture_violation", confirmed="", cause="capture-invalidated"),
    "unchecked_launch": Failing("suspected", "unchecked_error", confirmed="", cause="block-too-large"),
    "kernel_without_code": Failing("suspected", "unchecked_error", confirmed="", cause="no-kernel-image"),
    "kernel_without_code:asked": Failing("suspected", "unchecked_error", confirmed="", cause="no-kernel-image"),
    "second_runtime:linked": Failing("suspected", "unchecked_error", confirmed="", cause="block-too-large"),
    "second_runtime": Failing("suspected", "unchecked_error", confirmed="", cause="block-too-large"),
    "second_runtime:alone": Failing("suspected", "unchecked_error", confirmed="", cause="block-too-large"),
    "py_third_of_ten": Failing(),
    "py_caught": Failing(),
    "py_four_billion": Failing(),
    "py_four_billion:events": Failing(),
    "py_four_billion:capture": Failing(),
    "py_capture_item": broke_capture("capture-unsupported"),
    "py_module": Failing(source="python/solver.py"),
    "py_threads": Failing("inferred", candidates=True, leads=False),
}

CLEAN = ("healthy", "thread_destructor", "graph_kept", "alloc_fails_handled", "refused_often", "capture_beside_launches", "capture_given_up", "host_segfault", "no_cuda",
         "py_exception", "hanging_kernel", "destroyed_event:continues", "destroyed_event:releases", "destroyed_event:late", "second_runtime:asked")


def source(name):
    name = name.partition(":")[0]
    folder = TARGETS / "python" if name.startswith("py_") else TARGETS
    return folder / (name + (".py" if name.startswith("py_") else ".cc"))


def command(build, name):
    program, _, argument = name.partition(":")
    command = [sys.executable, source(name)] if name.startswith("py_") else [build / "targets" / program]
    return [*command, argument] if argument else command


def plan(name):
    for line in source(name).read_text().splitlines():
        for mark in MARKS:
            if line.startswith(mark + "Plan: "):
                return line.removeprefix(mark + "Plan: ")
    return ""


def marked_line(name, words, where=""):
    """Returns the path and number of the line that ends with the mark; None if there is none."""
    path = TARGETS / where if where else source(name)
    ends = [mark + words for mark in MARKS]
    ends += [end + " " + name.partition(":")[2] for end in ends]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if any(line.endswith(end) for end in ends):
            return str(path), number
    return None
