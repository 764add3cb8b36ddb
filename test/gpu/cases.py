"""The expected result of each target. The lines themselves are marked in the sources:

    TRUE LINE   issued the failing operation (several: any of them is accepted)
    BLAMED      the latest line at which the program notices it; any line from TRUE LINE to this one is accepted
    CANDIDATE   must be listed too
    CALLER      the Python line that called a native one
    FORWARD     the line of the forward pass to which a backward kernel belongs
    BACKWARD    the line that began the backward pass
    EAGER       the line of a compiled function that fails without torch.compile
    CAPTURE     the line that began the broken capture, or that created a graph node that was changed later
    ALLOCATED   the line that allocated memory to which an argument must not point
    FREED       the line that freed that memory
    HOLDER      a line that allocated memory that was missing later

A word after the mark restricts it to the case with that `mark`. A line may have several marks, separated by commas. If
a program ends with a traceback, the traceback shows where it noticed, and BLAMED is not used.
"""

from dataclasses import dataclass
from typing import Optional, Tuple

ASYNC, SYNC, UNCHECKED, GRAPH = "async_error", "sync_error", "unchecked_error", "graph_node"
STALE = "graph_stale_pointer"
MEMORY = "out_of_memory"
CAPTURE = "capture_violation"


@dataclass(frozen=True)
class Case:
    name: str
    command: Tuple[str, ...]  # binary in the build's gpu/ folder, or script in python/; "@x" is a file of gpu/
    sources: Tuple[str, ...] = ()
    mark: str = ""
    verdict: str = "no_cuda_failure"
    kinds: Tuple[str, ...] = ()
    codes: Tuple[int, ...] = ()  # empty: any code is right
    grade: str = "suspected"  # the lowest acceptable grade of the first run
    first: bool = True  # the true line must lead; otherwise it may be any of the candidates
    any_line: bool = False  # any location is right
    kernel: str = ""
    hardware_decides: bool = False  # the hardware decides whether a run fails; if it succeeds, nothing may be reported
    endings: Tuple[int, ...] = ()  # the possible exit statuses, with and without cudadiag, if they vary
    needs: Tuple[str, ...] = ()  # Python modules that the case needs
    gpus: int = 1
    session_mib: Optional[int] = None
    argument: Tuple[Tuple[str, object], ...] = ()  # members of one of the finding's arguments after a rerun
    replay: str = ""  # the result of the script that repeats the failing call
    watched: Tuple[str, ...] = ()  # names that must have values when the watched line last runs
    options: Tuple[str, ...] = ()  # options of cudadiag run; "@x" is a file in the case's scratch folder
    rerun: str = "proven"  # the outcome of the last rerun of an asynchronous failure; empty: there is none
    cause: Tuple[str, ...] = ()  # any of these is right, "" if none may be reported; empty: not judged
    unseen: bool = False  # the rules were written before this case, so a missing cause is only counted

    @property
    def is_framework_failure(self):
        return bool(self.needs) and self.verdict == "cuda_failure"


def native(name, command=None, source=None, mark="", **expected):
    words = tuple((command or name).split())
    return Case(name, words, ("cuda/" + (source or words[0] + ".cu"),), mark, **expected)


def python(name, command=None, needs=("torch",), sources=(), mark="", **expected):
    words = tuple((command or name).split())
    script = words[0] + ".py"
    return Case(name, (script,) + words[1:], tuple(sources) + ("python/" + script,), mark, needs=needs, **expected)


def fails(codes, kinds=(ASYNC,), grade="bracketed", **rest):
    codes = codes if isinstance(codes, tuple) else (codes,)
    return dict(verdict="cuda_failure", kinds=kinds, codes=codes, grade=grade, **rest)


def fault(kind, codes, kernel, **rest):
    return native("fault_" + kind, "faults " + kind, mark=kind, **fails(codes, kernel=kernel, **rest))


def broken_capture(kind, code, **rest):
    return native("capture_" + kind, "broken_captures " + kind, mark=kind, **fails(code, (CAPTURE,), "proven", **rest))


def value(kind, cause="index-out-of-range", **argument):
    return python("value_" + kind, "values " + kind, mark=kind, argument=tuple(argument.items()),
                  **fails(710, cause=(cause,)))


def one_of(script, kind, code=710, cause=("index-out-of-range",), unseen=True, needs=("torch",), **rest):
    return python(f"{script}_{kind}", f"{script} {kind}", needs, mark=kind,
                  **fails(code, cause=cause, unseen=unseen, **rest))


FAR_LOAD = fails(700, kernel="far_load")
FAR_STORE = fails(700, kernel="far_store")
OUT_OF_RANGE = fails(710, cause=("index-out-of-range",))
UNSEEN_OUT_OF_RANGE = {**OUT_OF_RANGE, "unseen": True}
PAST_END = ("address-past-end", "")  # no cause if the thread had exited before the dump
REFUSED = fails((1, 9), (SYNC,), "inferred")

CASES = [
    # Native programs that fail.
    native("third_of_ten", **FAR_LOAD),
    native("third_of_ten_shared", source="third_of_ten.cu", **FAR_LOAD),
    native("third_of_ten_per_thread", source="third_of_ten.cu", **FAR_LOAD),
    native("third_of_ten_unoptimised", source="third_of_ten.cu", **FAR_LOAD),
    fault("far_store", 700, "far_store"),
    fault("assert", 710, "assert_positive"),
    fault("misaligned", 716, "misaligned_store"),
    fault("trap", 719, "trap_here"),
    fault("stack", (700, 719), "overflow_stack"),
    fault("shared", (700, 715, 719), "shared_out_of_range"),
    fault("freed", 700, "fill"),
    native("unchecked_block", "refused unchecked_block", mark="unchecked_block",
           **fails((1, 9), (UNCHECKED,), "suspected")),
    native("refused_block", "refused block", mark="block", **REFUSED),
    native("refused_shared", "refused shared", mark="shared", **REFUSED),
    native("refused_device", "refused device", mark="device", **fails(101, (SYNC,), "inferred")),
    native("refused_and_thrown", "refused thrown", mark="thrown", **REFUSED),
    # These use a runtime whose launches cudadiag watches only in the driver.
    native("refused_block_shared", "refused_shared block", source="refused.cu", mark="block", **REFUSED),
    native("unchecked_block_shared", "refused_shared unchecked_block", source="refused.cu", mark="unchecked_block",
           **fails((1, 9), (UNCHECKED,), "suspected")),
    # These do not fail on Turing GPUs.
    *[native(f"{program}_{kind}", f"{program} {kind}", source="no_image.cu", mark=kind,
             **fails(209, (kind_of_failure,), grade))
      for program in ("no_image", "no_image_shared")
      for kind, kind_of_failure, grade in (("checked", SYNC, "inferred"), ("unchecked", UNCHECKED, "suspected"))],
    # Depending on driver and hardware, the use of a freed address fails at once, faults later, or succeeds.
    native("bad_copy", "refused copy", mark="copy", hardware_decides=True,
           **fails((), (ASYNC, SYNC, UNCHECKED), "suspected")),
    native("bad_memset", "refused memset", mark="memset", hardware_decides=True,
           **fails((), (ASYNC, SYNC, UNCHECKED), "suspected")),
    native("copy_freed", "refused freed", mark="freed", hardware_decides=True,
           **fails((), (ASYNC, SYNC, UNCHECKED), "suspected", cause=("use-after-free",))),
    native("copy_exchanged", "refused exchanged", mark="exchanged", **fails(1, (SYNC,), "inferred",
                                                                            cause=("copy-direction",))),
    native("copy_to_nothing", "refused nothing", mark="nothing", **fails(1, (SYNC,), "inferred",
                                                                         cause=("after-failed-call",))),
    native("late_copy", "refused late_copy", mark="late_copy", **fails(1, (SYNC,), "inferred")),
    native("late_launch", "refused late_launch", mark="late_launch", **REFUSED),
    native("late_launch_shared", "refused_shared late_launch", source="refused.cu", mark="late_launch", **REFUSED),
    native("streams_apart", "two_streams apart", mark="apart", options=("--rerun=never",), rerun="",
           **fails(700, grade="inferred", first=False)),
    native("streams_confirmed", "two_streams apart", source="two_streams.cu", mark="confirmed",
           **fails(700, grade="inferred")),
    native("streams_ordered", "two_streams ordered", mark="ordered", **FAR_LOAD),
    native("event_gone", "event_elsewhere gone", options=("--rerun=never",), rerun="", **FAR_LOAD),
    native("event_in_graph", "event_elsewhere graph", options=("--rerun=never",), rerun="", **FAR_LOAD),
    native("two_threads", **fails(700, grade="inferred")),
    Case("plugin", ("plugin_host", "@libplugin.so"), ("cuda/plugin.cu", "cuda/plugin_host.cu"), **FAR_STORE),
    Case("static_library", ("solver_host",), ("cuda/solver_library.cu", "cuda/solver_host.cu"), **FAR_STORE),
    native("forked_child", "children fork", **FAR_STORE),
    native("executed_child", "children exec", **FAR_STORE),
    native("device_reset", **FAR_STORE),
    native("lambdas", **fails(719, grade="inferred", cause=("trap",))),
    *[native("memory_" + kind, "memory " + kind, mark=kind, **fails(700))
      for kind in ("freed", "freed_member", "freed_in_buffer")],
    # The driver's layout of memory determines what follows an allocation.
    native("memory_past_end", "memory past_end", mark="past_end", hardware_decides=True, **fails(700)),
    native("memory_kernel_handle", "kernel_handle", **fails(700, kernel="store_there")),
    native("memory_full", "memory full", mark="full", **fails(2, (MEMORY,), "proven")),
    native("error_caught", "unwatched caught", mark="caught", **FAR_STORE),
    native("error_swallowed", "unwatched swallowed", mark="swallowed", **FAR_STORE),
    native("error_unasked", "unwatched unasked", mark="unasked",
           **fails(700, (ASYNC, UNCHECKED), kernel="far_store")),
    native("reset_unasked", "unwatched reset", **fails(700, (ASYNC, UNCHECKED), kernel="far_store")),
    native("driver_api", **fails(700, kernel="stray_store")),
    native("graph_kernel", "graph_replay kernel", mark="kernel", **fails(700, (ASYNC, GRAPH, STALE))),
    native("graph_copy", "graph_replay copy", mark="copy", hardware_decides=True,
           **fails((), (ASYNC, GRAPH, STALE, SYNC, UNCHECKED), "suspected")),
    native("graph_memory_stale", "graph_memory stale", mark="stale", **fails(700, (STALE,))),
    # The driver may or may not return the same address.
    native("graph_memory_reused", "graph_memory reused", mark="reused", rerun="", **fails(0, (STALE,), "suspected")),
    *[native("graph_" + shape, "graphs " + shape, mark=shape, **fails(700, (ASYNC, GRAPH)))
      for shape in ("captured", "added", "thousand", "updated", "child", "conditional", "branches")],
    native("graph_changed", "graphs changed", mark="changed", **fails(700, (GRAPH,), kernel="fill")),
    # One rerun, which does not fail; three reruns, ending with a failure; and one rerun that gives up waiting.
    native("race", "reruns race", mark="race", rerun="did not fail",
           **fails(700, grade="inferred", first=False)),
    native("sometimes", "reruns sometimes @runs", source="reruns.cu", mark="sometimes",
           options=("--rerun=always", "--repeat=3"), **FAR_LOAD),
    native("needs_later", "reruns needs_later", source="reruns.cu", mark="needs_later",
           options=("--wait-limit=0.5",), **FAR_STORE),
    broken_capture("synchronised", 900),
    broken_capture("default_stream", 906),
    broken_capture("allocated", 900),
    broken_capture("thread", 900),
    # Whether a query breaks the capture depends on the driver.
    broken_capture("event", 907, hardware_decides=True),
    broken_capture("unjoined", 904),
    native("million", session_mib=80, **fails(700, grade="inferred", first=False)),
    # Python programs that fail.
    python("embedding", **OUT_OF_RANGE),
    python("late_embedding", **fails(710, grade="inferred", first=False, cause=("index-out-of-range",))),
    python("cross_entropy", **fails(710, cause=("label-out-of-range",))),
    python("index_select", "out_of_range index_select", mark="index_select", **OUT_OF_RANGE),
    python("gather", "out_of_range gather", mark="gather", **OUT_OF_RANGE),
    python("getitem", "out_of_range getitem", mark="getitem", **OUT_OF_RANGE),
    value("embedding", name="idx", shape=[8, 512], min=-1, max=30050, bound=30000, outside=2, first_outside=[0, 77],
          first_value=30050),
    value("gather", name="columns", max=10, bound=10, outside=5, first_outside=[10, 0], first_value=10),
    value("scatter", name="columns", max=10, bound=10, outside=1, first_outside=[5, 1], first_value=10),
    value("label", "label-out-of-range", name="labels", shape=[4, 6], max=10, bound=10, outside=1,
          first_outside=[2, 3], first_value=10),
    value("one_hot", name="classes", max=4, bound=4, outside=1, first_outside=[2], first_value=4),
    value("multinomial", "bad-probabilities", name="p", nan=1, outside=1, first_outside=[1, 2]),
    value("bce", "bce-input-outside-0-1", name="p", max=1.5, outside=1, first_outside=[42], first_value=1.5),
    value("view", name="rows", max=4, bound=4, outside=1, first_outside=[2], first_value=4),
    value("positions", "position-past-table", name="position", max=39, bound=32, outside=8, first_outside=[32],
          first_value=32),
    python("value_late", "values late", mark="late", argument=(("name", "idx"), ("max", 100), ("outside", 1)),
           **fails(710, grade="inferred", first=False, cause=("index-out-of-range",))),
    python("custom_forward", "custom_autograd forward", mark="forward", **OUT_OF_RANGE),
    python("custom_backward", "custom_autograd backward", mark="backward", **OUT_OF_RANGE),
    python("saved_call", "embedding", options=("--save-inputs",), replay="reproduces", **OUT_OF_RANGE),
    python("watched", "out_of_range gather", mark="gather", rerun="", watched=("far",),
           options=("--rerun=never", "--watch=out_of_range.py:12"), **OUT_OF_RANGE),
    *[python("backward_" + shape, "backward_lines " + shape, mark=shape, **OUT_OF_RANGE)
      for shape in ("gather", "retained", "hook", "checkpointed")],
    python("ctypes_library", "ctypes_library @libsmooth.so", needs=(), sources=("cuda/smooth.cu",),
           **fails(700, kernel="smooth_kernel")),
    python("compiled", needs=("torch", "triton"), **fails((700, 710), cause=("index-out-of-range",))),
    python("triton_load", needs=("torch", "triton"), **fails(700, kernel="read_far", cause=PAST_END)),
    python("cupy_raw_kernel", needs=("cupy",), **fails(700, kernel="stray_store", cause=PAST_END)),
    python("numba_kernel", needs=("numba",), **fails(700, kernel="stray_store", cause=PAST_END)),
    python("torch_graph", "torch_graph graph", **fails(710, (GRAPH,), "inferred", cause=("index-out-of-range",))),
    python("torch_graph_compiled", "torch_graph compiled", mark="compiled", needs=("torch", "triton"),
           **fails(710, (ASYNC, GRAPH), "inferred", cause=("index-out-of-range",))),
    python("caught", **OUT_OF_RANGE),
    python("in_thread", **OUT_OF_RANGE),
    python("module_hooks", **UNSEEN_OUT_OF_RANGE),
    python("compiled_module", needs=("torch", "triton"),
           **fails((700, 710), cause=("index-out-of-range",), unseen=True)),
    python("triton_wrapper", needs=("torch", "triton"), **fails(700, kernel="shift", cause=PAST_END)),
    # Even without cudadiag, this program sometimes ends with its exception, and sometimes with SIGABRT.
    python("loader_bad_index", endings=(1, -6), **UNSEEN_OUT_OF_RANGE),
    python("decorated_partial", **UNSEEN_OUT_OF_RANGE),
    python("pipeline", **UNSEEN_OUT_OF_RANGE),
    python("pytest_function", needs=("torch", "pytest"), **UNSEEN_OUT_OF_RANGE),
    python("given_with_c", **UNSEEN_OUT_OF_RANGE),
    python("async_tasks", **UNSEEN_OUT_OF_RANGE),
    python("cupy_elementwise", needs=("cupy",), **fails(700, kernel="stray_gather", cause=PAST_END, unseen=True)),
    python("torch_memory_full", "memory_full", **fails(2, (MEMORY,), "proven", cause=("out-of-memory",))),
    python("torch_capture_item", "broken_capture item", mark="item",
           **fails(900, (CAPTURE,), "proven", cause=("capture-reads-result",))),
    python("torch_capture_thread", "broken_capture thread", mark="thread",
           **fails(900, (CAPTURE,), "proven", cause=("capture-by-another-thread",))),
    # Failures in frameworks, as users report them.
    *[one_of("losses", kind, cause=("label-out-of-range",)) for kind in ("from_one", "smoothed", "void", "margin")],
    one_of("losses", "mask", cause=("bce-target-outside-0-1",)),
    one_of("sampling", "overflow", cause=("bad-probabilities",)),
    one_of("sampling", "masked", cause=("zero-probabilities",), unseen=False),
    one_of("sampling", "bernoulli", cause=("bernoulli-outside-0-1",)),
    one_of("sampling", "poisson", cause=("poisson-rate-negative",)),
    python("bags_index", "bags index", **OUT_OF_RANGE),
    python("bags_offsets", "bags offsets", **fails(710, cause=("bag-offsets-decrease",), unseen=True)),
    *[one_of("aggregate", kind) for kind in ("edges", "votes", "highest", "take")],
    one_of("aggregate", "accumulate", unseen=False),
    *[one_of("lookups", kind) for kind in ("weights", "beams", "clusters", "fill", "put")],
    python("key_cache", **fails(710, grade="inferred", cause=("index-out-of-range",), unseen=True)),
    python("placeholders", **fails(710, cause=("masked-scatter-too-short",), unseen=True)),
    python("unpool", **fails(710, cause=("unpool-index-out-of-range",), unseen=True)),
    python("transformer_positions", "tiny_transformer positions",
           **fails(710, grade="inferred", cause=("position-past-table", "index-out-of-range"))),
    python("transformer_tokens", "tiny_transformer tokens", **{**OUT_OF_RANGE, "grade": "inferred"}),
    python("vmapped", **UNSEEN_OUT_OF_RANGE),
    python("replicas", **fails(710, grade="inferred", cause=("index-out-of-range",), unseen=True)),
    python("compiled_embedding", needs=("torch", "triton"),
           **fails((700, 710), grade="inferred", cause=("index-out-of-range",), unseen=True)),
    one_of("triton_rows", "mask", 700, PAST_END, unseen=False, needs=("torch", "triton"), kernel="increment"),
    one_of("triton_rows", "overflow", 700, ("address-before-allocation", "index-overflow-32"), unseen=False, needs=("torch", "triton"),
           kernel="increment"),
    one_of("cupy_launches", "pitch", 700, PAST_END, needs=("cupy",), kernel="shade"),
    one_of("cupy_launches", "block", (1, 9), ("block-too-large",), needs=("cupy",), kinds=(SYNC, UNCHECKED),
           grade="suspected"),
    one_of("cupy_launches", "memory", 2, ("out-of-memory",), needs=("cupy",), kinds=(MEMORY,), grade="suspected"),
    python("device_number", **fails(101, (SYNC, UNCHECKED), "suspected", cause=("invalid-device",), unseen=True)),
    python("activations", **fails(2, (MEMORY,), "suspected", cause=("out-of-memory",), unseen=True)),
    python("sorted_order", **UNSEEN_OUT_OF_RANGE),
    python("collate", **UNSEEN_OUT_OF_RANGE),
    python("per_sample", **UNSEEN_OUT_OF_RANGE),
    python("scripted", **UNSEEN_OUT_OF_RANGE),
    python("adjacency", **fails(710, cause=("", "failed-assertion", "index-out-of-range"), unseen=True)),
    python("cupy_jit", needs=("cupy",), **fails(700, kernel="stray_store", cause=PAST_END, unseen=True)),
    # One of the runtime's threads may issue the allocation.
    python("jax_memory", needs=("jax",), **fails(2, (MEMORY,), "suspected", cause=("out-of-memory",), unseen=True)),
    # JAX may raise the exception at a later line than the one that needed the memory.
    python("jax_pool", needs=("jax",), **fails(2, (MEMORY,), "inferred", cause=("allocator-limit",))),
    python("cupy_pool", needs=("cupy",), **fails(2, (MEMORY,), "proven", cause=("allocator-limit",))),
    python("repeats", **fails(710, cause=("repeat-lengths",))),
    python("experts", **fails(710, cause=("group-offsets",))),
    *[one_of("hf_trainer", kind, needs=("torch", "transformers", "accelerate"))
      for kind in ("train", "own_loss", "generate")],
    one_of("hf_trainer", "positions", cause=("position-past-table", "index-out-of-range"),
           needs=("torch", "transformers")),
    *[one_of("lightning_fit", kind, cause=("label-out-of-range",), needs=("torch", "lightning"))
      for kind in ("fit", "validate")],
    python("accelerate_loop", needs=("torch", "accelerate"), **UNSEEN_OUT_OF_RANGE),
    python("registered_twice", **fails(712, (SYNC,), "inferred", cause=("already-pinned",), unseen=True)),
    python("shards", **fails(700, first=False, grade="inferred", cause=PAST_END, unseen=True)),
    *[one_of("geometric", layer, needs=("torch", "torch_geometric")) for layer in ("gcn", "sage", "own")],
    python("image_labels", needs=("torch", "timm"),
           **fails(710, cause=("label-out-of-range", "index-out-of-range"), unseen=True)),
    # Several GPUs and ranks.
    *[native("two_gpus_" + way, "two_gpus " + way, mark=way, gpus=2, **expected) for way, expected in (
        ("second", fails(700, kernel="add")),
        ("unasked", fails(700, kernel="add")),
        ("threads", fails(700, kernel="add")),
        ("peer", fails(700, kernel="add", cause=("memory-of-another-gpu",))),
        ("copy", dict(hardware_decides=True, **fails((), (ASYNC, SYNC, UNCHECKED), "suspected"))),
        ("stream", fails(700, grade="inferred", kernel="fill", cause=("memory-of-another-gpu",))),
        ("well", {}))],
    *[python(f"ranks_{what}_{how}", f"ranks {what} {how}", mark=what, gpus=2, **expected)
      for how in ("spawned", "torchrun") for what, expected in (
          ("labels", dict(endings=(1, -6), **fails(710, cause=("label-out-of-range",), grade="inferred"))),
          ("raises", {}),
          ("well", {}))],
    # The first run has only library lines; a rerun finds the line that started the thread.
    python("hf_trainer_replicated", "hf_trainer replicated", ("torch", "transformers", "accelerate"), mark="replicated",
           gpus=2, **fails(710, cause=("index-out-of-range",), grade="inferred")),
    *[python("stages_" + way, "stages " + way, gpus=2, **fails(710, cause=("index-out-of-range",), grade="inferred"))
      for way in ("staged", "replicas")],
    # Correct CUDA: nothing may be reported.
    native("inference", **fails(700, grade="inferred", first=False, kernel="embed")),
    native("many_threads"),
    native("captures"),
    native("capture_given_up", "broken_captures given_up", mark="given_up"),
    native("capture_probing", "broken_captures probing", mark="probing"),
    native("capture_local_thread", "broken_captures local_thread", mark="local_thread"),
    *[native("graph_memory_" + shape, "graph_memory " + shape, mark=shape)
      for shape in ("repointed", "pooled", "kept")],
    native("out_of_memory", "handled out_of_memory"),
    native("probing", "handled probing"),
    native("exit_three", "handled exit_three"),
    native("abort", "handled abort"),
    native("thousand_streams"),
    native("fork_without_cuda"),
    native("reset_loop"),
    python("training"),
    *[python(kind, "beside " + kind) for kind in ("profiled", "checkpointed")],
    python("torch_out_of_memory", "out_of_memory"),
    python("torch_capture", "capture"),
    python("torch_capture_given_up", "broken_capture given_up", mark="given_up"),
    python("loader"),
    python("key_error", "unrelated_error key"),
    python("shape_error", "unrelated_error shape"),
]
