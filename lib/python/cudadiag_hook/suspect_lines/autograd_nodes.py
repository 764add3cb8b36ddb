"""Reports where the nodes of a backward pass were created. In its anomaly mode, PyTorch keeps the stack at which each
node was created. Each wanted node reports that stack on the thread that runs it, before it runs."""
import sys

from .. import recorder
from ..budget import guarded, state
from ..recorder import to_json
from ..stacks import MOST_FRAMES, OWN_FILE, without_own_frames
from ..tensor_data.tensors import Guard

MOST_NODES = 1 << 16
MOST_PARENTS = 4
SECONDS_A_NODE = 1e-4  # the approximate cost of keeping a stack


class Nodes:
    def __init__(self):
        self.names = frozenset()  # names of the wanted nodes; "*": all nodes
        self.kept = False  # whether the hook switched anomaly mode on
        self.counted = 0  # how many of this thread's nodes are already counted against the budget


nodes = Nodes()


def name_of(node):
    return node.name().rpartition("::")[2]


def is_looked_for(node):
    if "*" in nodes.names or name_of(node) in nodes.names:
        return True
    return "PyNode" in nodes.names and hasattr(type(node), "_forward_cls")


def frames_of(lines):
    """Returns [file, line, function] of each frame in the text of traceback.format_list, innermost first, up to the
    call that runs a graph."""
    frames = []
    for text in reversed(lines):
        file, found, rest = text.partition("\n")[0].rpartition('", line ')
        line, comma, function = rest.partition(", in ")
        if not file.startswith('  File "') or not found or not comma or not line.isdigit():
            continue
        file = file[len('  File "'):]
        if function == "_engine_run_backward" or len(frames) == MOST_FRAMES:
            break
        if file != OWN_FILE:
            frames.append([file, int(line), function])
    return frames


def stacks_of(node):
    """Returns the stack of the node, then that of the node that was running when it was created, and so on. Returns []
    if PyTorch kept none."""
    stacks = []
    while node is not None and len(stacks) < MOST_PARENTS:
        kept = node.metadata
        if "traceback_" not in kept:
            return []
        stacks.append(frames_of(kept["traceback_"]))
        node = kept.get("parent_")
    return stacks


def announce(node):
    """Registers hooks that report the node, and returns their handles; [] if the node's stacks are unknown. Adds no
    hook after the node: with one, the engine runs the node from a different place, so the stack does not identify the
    operation."""
    stacks = stacks_of(node)
    if not stacks:
        return []
    text = to_json({"kind": "forward", "node": name_of(node), "number": node._sequence_nr(), "stacks": stacks})

    def before(_):
        guarded(recorder.deliver, text)

    return [node.register_prehook(before)]


def announce_all(outputs):
    handles, seen = [], set()
    with Guard():
        todo = [getattr(each, "grad_fn", None) or getattr(each, "node", None) for each in outputs]
        while todo and len(seen) < MOST_NODES:
            node = todo.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            todo.extend(next_node for next_node, _ in node.next_functions)
            if is_looked_for(node):
                handles += announce(node)
    return handles


def keep_stacks():
    """Makes PyTorch keep stacks while an operation that the rerun waits for may come soon."""
    torch = sys.modules["torch"]
    wanted = state.on and recorder.near()
    if wanted and not torch.is_anomaly_enabled():
        torch.set_anomaly_enabled(True, False)  # without its search for NaN
        nodes.kept = True
    elif not wanted and nodes.kept:
        torch.set_anomaly_enabled(False)
        nodes.kept = False


def count_cost():
    made = sys.modules["torch.autograd"]._get_sequence_nr()
    if nodes.kept:
        state.spent += SECONDS_A_NODE * max(made - nodes.counted, 0)
    nodes.counted = made


def look_for_nodes():
    graph, autograd = sys.modules.get("torch.autograd.graph"), sys.modules.get("torch.autograd")
    engine = getattr(graph, "_engine_run_backward", None)
    if engine is None or not hasattr(autograd, "_get_sequence_nr"):
        return recorder.note("forward-pass lines are only inferred: " + (
            "PyTorch was imported after CUDA was initialised" if graph is None else
            "this version of PyTorch has no torch.autograd.graph._engine_run_backward"))

    def _engine_run_backward(outputs, *args, **kwargs):
        guarded(count_cost)
        handles = recorder.near() and guarded(announce_all, outputs) or []
        try:
            with without_own_frames:
                return engine(outputs, *args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
            keep_stacks()

    for module in (graph, autograd):
        if getattr(module, "_engine_run_backward", None) is engine:
            module._engine_run_backward = _engine_run_backward
    guarded(count_cost)
    keep_stacks()
