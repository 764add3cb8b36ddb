"""Generates scripts for work.cc from a number: correct CUDA programs with a few threads, streams, events and graphs."""

import collections
import random
import typing

SITES = 32
KERNELS = ("scale", "fill", "reduce", "smooth")
# Calls that wait for their operation. The driver checks the addresses before it queues the work, so the work never
# faults.
NOW = ("sync", "in_now", "out_now", "within_now", "out_page")

# Calls that can fail immediately. The program then ends, or ignores the error.
REFUSED = {"plain": "cuLaunchKernel", "ex": "cuLaunchKernelEx", "cooperative": "cuLaunchCooperativeKernel",
           "bytes": "cuMemsetD8Async", "words": "cuMemsetD32Async", "in": "cuMemcpyHtoDAsync_v2",
           "within": "cuMemcpyDtoDAsync_v2", "any": "cuMemcpyAsync", "replay": "cuGraphLaunch"}


class Operation(typing.NamedTuple):
    """The operation with a given size: the line at which it was issued or created, and how many times it runs."""

    site: int
    verb: str  # kernel, set or copy
    kernel: str
    thread: int
    context: int
    ordinals: list  # positions of its launches among all calls on the line, if only this thread uses the line
    node: int  # node number in its graph, from 1; 0: none, or not reported
    launches: list  # for nodes: (line, number) of each launch that runs it
    can_fail: bool


class Exec(typing.NamedTuple):
    index: int
    context: int
    types: list  # types of its nodes; None for nodes in a child graph
    sizes: list  # like `types`
    origins: list  # the size by which the program knows each node
    replays: list


class Script:
    def __init__(self, seed, length=None):
        self.random = random.Random(seed)
        self.lines = []
        self.operations = {}
        self.last_size = 1000
        self.calls = {}
        self.called = collections.Counter()  # number of calls of each kind
        self.graphs = self.execs_made = self.words = 0
        self.behind = []  # sizes of operations issued right after their stream was made to wait for another
        self.lay_out()
        for _ in range(length or self.random.choice((20, 60, 150, 400))):
            self.step()
        self.lines.append("end " + self.ending)

    # Creates the contexts, the streams of one thread or of all threads, and the events.
    def lay_out(self):
        pick = self.random
        self.threads = pick.choice((1, 1, 2, 3, 4))
        self.ending = pick.choice(("stop", "stop", "exit", "ignore", "abort", "unasked"))
        self.devices = pick.choice((1, 1, 1, 2))
        self.contexts = self.devices
        self.lines += [f"context {device}" for device in range(self.devices)]
        if pick.random() < 0.15:
            self.lines.append("context own")
            self.contexts += 1
        self.streams = []  # (context, kind, owner; None: shared by all threads)
        self.events = []  # (context, owner)
        for context in range(self.contexts):
            self.add_stream(context, "default", None)
            self.add_stream(context, pick.choice(("thread", "legacy")), None)
            for _ in range(pick.randint(0, 3)):
                self.add_stream(context, pick.choice(("blocking", "apart", "apart")), None)
            for thread in range(self.threads):
                for _ in range(pick.randint(0, 2)):
                    self.add_stream(context, pick.choice(("blocking", "apart")), thread)
                self.add_event(context, thread)
            self.add_event(context, None)
        self.capturing = {}  # for each thread: its context, and two streams and two events that nothing else uses
        for thread in range(self.threads):
            context = pick.randrange(self.contexts)
            streams = [self.add_stream(context, "apart", "captures") for _ in range(2)]
            self.capturing[thread] = context, streams, [self.add_event(context, "captures") for _ in range(2)]
        self.execs = {thread: [] for thread in range(self.threads)}
        self.children = {thread: [] for thread in range(self.threads)}
        self.recorded = set()
        style = pick.choice(("own", "own", "shared", "few"))
        each = SITES // self.threads
        self.sites = {thread: {"own": range(each * thread, each * (thread + 1)), "shared": range(SITES),
                               "few": range(2)}[style] for thread in range(self.threads)}
        self.own_lines = style == "own" or self.threads == 1
        self.busy = pick.choice((0.3, 0.6, 0.85))  # the share of operations among the steps
        self.patient = pick.choice((0.02, 0.2, 1))  # how often the host waits, as a weight
        self.ordered = pick.choice((2, 6, 25))  # how often a stream waits for another, as a weight
        self.floods = pick.random() < 0.15  # whether the program issues more than a ring holds

    def add_stream(self, context, kind, owner):
        self.streams.append((context, kind, owner))
        self.lines.append(f"stream {context} {kind}")
        return len(self.streams) - 1

    def add_event(self, context, owner):
        self.events.append((context, owner))
        self.lines.append(f"event {context}")
        return len(self.events) - 1

    # Steps.
    def step(self):
        thread = self.random.randrange(self.threads)
        if self.random.random() < self.busy:
            return self.issue(thread)
        steps = {self.order: self.ordered, self.graph: 2, self.replay: 5, self.change: 2, self.wait: 5 * self.patient,
                 self.ask: 3 * self.patient, self.values: 1, self.renew: 0.5, self.meet: 0.5 if self.threads > 1 else 0}
        return self.random.choices(list(steps), list(steps.values()))[0](thread)

    def say(self, thread, *words):
        self.lines.append(" ".join(map(str, (thread, *words))))

    def stream_for(self, thread, context=None):
        ours = [index for index, (of, _, owner) in enumerate(self.streams)
                if owner in (None, thread) and context in (None, of)]
        return self.random.choice(ours)

    def event_for(self, thread, context):
        return self.random.choice([index for index, (of, owner) in enumerate(self.events)
                                   if of == context and owner in (None, thread)])

    def made(self, thread, verb, kernel, context, node=0, can_fail=True):
        """Creates an operation with a new size, at one of the thread's lines."""
        self.last_size += 4
        site = self.random.choice(self.sites[thread])
        self.operations[self.last_size] = Operation(site, verb, kernel, thread, context, [], node, [], can_fail)
        return site, self.last_size

    def issue(self, thread, stream=None, captured=False, verb=None):
        stream = self.stream_for(thread) if stream is None else stream
        context, kind, _ = self.streams[stream]
        verb = verb or self.random.choices(("kernel", "set", "copy"), (6, 1, 2))[0]
        kernel = self.random.choice(KERNELS) if verb == "kernel" else ""
        hows = {"kernel": ("plain", "plain", "ex", "cooperative"), "set": ("bytes", "words"),
                "copy": ("in", "out", "within", "any")}[verb]
        if not captured and self.random.random() < 0.3:
            hows += {"kernel": (), "set": ("sync",) if kind == "default" else (),
                     "copy": ("in_page", *(("out_page",) if self.patient == 1 else ()),
                              *(NOW[1:4] if kind == "default" and self.patient == 1 else ()))}[verb]
        how = self.random.choice(hows)
        count = 1
        if not captured and self.random.random() < 0.05:
            count = self.random.choice((2, 40, 3000) if self.floods and how not in NOW else (2, 3, 40))
        site, size = self.made(thread, verb, kernel, context, can_fail=how not in NOW)
        self.say(thread, verb, *filter(None, (kernel, how)), site, stream, size, count)
        self.called[how] += count
        key = thread, site, verb, kernel, how
        before = self.calls.get(key, 0)
        self.calls[key] = before + count
        if not captured:
            self.operations[size].ordinals.extend(range(before + 1, before + count + 1))
        return size

    def order(self, thread):
        stream = self.stream_for(thread)
        event = self.event_for(thread, self.streams[stream][0])
        if event in self.recorded and self.random.random() < 0.6:
            self.say(thread, "wait", event, stream)
            return self.follow(thread, stream)
        self.recorded.add(event)
        self.say(thread, "record", event, stream)
        if self.random.random() < 0.5:
            other = self.stream_for(thread, self.streams[stream][0])
            self.say(thread, "wait", event, other)
            self.follow(thread, other)

    def follow(self, thread, stream):
        if self.random.random() < 0.5:
            self.behind.append(self.issue(thread, stream))

    def wait(self, thread):
        what = self.random.random()
        if what < 0.4:
            self.say(thread, "sync_stream", self.stream_for(thread))
        elif what < 0.7:
            self.say(thread, "sync_event", self.event_for(thread, self.random.randrange(self.contexts)))
        elif what < 0.9:
            self.say(thread, "sync_context", self.random.randrange(self.contexts))
        else:
            self.say(thread, "memory", self.random.randrange(self.contexts))

    def ask(self, thread):
        if self.random.random() < 0.5:
            self.say(thread, "ask_stream", self.stream_for(thread))
        else:
            self.say(thread, "ask_event", self.event_for(thread, self.random.randrange(self.contexts)))

    def values(self, thread):
        stream = self.stream_for(thread)
        if self.words == 4096 or self.random.random() < 0.3:
            return self.say(thread, "host", stream)
        other = self.stream_for(thread, self.streams[stream][0])
        self.say(thread, "signal", stream, self.words)
        self.issue(thread)
        self.say(thread, "await", other, self.words)
        self.words += 1
        self.follow(thread, other)

    def renew(self, thread):
        streams = [index for index, (_, _, owner) in enumerate(self.streams) if owner == thread]
        events = [index for index, (_, owner) in enumerate(self.events) if owner == thread]
        if streams and self.random.random() < 0.5:
            return self.say(thread, "remake_stream", self.random.choice(streams))
        event = self.random.choice(events)
        self.recorded.discard(event)
        self.say(thread, "remake_event", event)

    def meet(self, _):
        for thread in range(self.threads):
            self.say(thread, "meet")

    # Graphs.
    def graph(self, thread):
        context = self.capturing[thread][0]
        if self.random.random() < 0.6:
            graph, types, sizes = self.capture(thread)
        else:
            graph, types, sizes = self.build(thread)
        if self.random.random() < 0.2 and None not in types:
            self.children[thread].append((graph, types, sizes))
            return
        self.lines.append("exec")
        self.say(thread, "instantiate", graph, self.execs_made)
        origins = [size if kind else None for kind, size in zip(types, sizes)]
        self.execs[thread].append(Exec(self.execs_made, context, types, sizes, origins, [0]))
        self.execs_made += 1
        self.replay(thread)

    def new_graph(self):
        self.lines.append("graph")
        self.graphs += 1
        return self.graphs - 1

    def capture(self, thread, types=None):
        context, streams, events = self.capturing[thread]
        graph = self.new_graph()
        verbs = types or self.random.choices(("kernel", "set", "copy"), (6, 1, 1), k=self.random.randint(1, 6))
        forks = len(verbs) > 2 and self.random.random() < 0.4
        own = [index for index, (of, _, owner) in enumerate(self.streams) if (of, owner) == (context, thread)]
        if own and self.random.random() < 0.5:  # a stream that has its own work joins the capture
            streams = [streams[0], self.random.choice(own)]
            event = self.event_for(thread, context)
            if self.events[event][1] == thread:
                events = [event, events[1]]
        self.say(thread, "begin", streams[0])
        sizes = []
        for index, verb in enumerate(verbs):
            if forks and index == 1:
                self.say(thread, "record", events[0], streams[0])
                self.say(thread, "wait", events[0], streams[1])
            stream = self.random.choice(streams) if forks and index > 0 else streams[0]
            sizes.append(self.issue(thread, stream, True, verb))
            self.number(sizes[-1], index + 1)
        if forks:
            self.say(thread, "record", events[1], streams[1])
            self.say(thread, "wait", events[1], streams[0])
        self.say(thread, "end", streams[0], graph)
        self.say(thread, "named", graph, *sizes)
        if forks and self.events[events[0]][1] == thread:  # a captured event cannot be queried
            self.say(thread, "record", events[0], streams[1])
            self.recorded.add(events[0])
        return graph, list(verbs), sizes

    def number(self, size, index):
        self.operations[size] = self.operations[size]._replace(node=index)

    def build(self, thread):
        context = self.capturing[thread][0]
        graph = self.new_graph()
        self.say(thread, "new_graph", graph)
        types, sizes, inner = [], [], []
        before = 0
        for _ in range(self.random.randint(1, 6)):
            if self.children[thread] and self.random.random() < 0.2 and not inner:
                child, _, inner = self.children[thread].pop()
                self.say(thread, "add_child", graph, child)
                types.append(None)
                sizes.append(0)
                continue
            verb = self.random.choice(("kernel", "kernel", "set"))
            kernel = self.random.choice(KERNELS) if verb == "kernel" else ""
            site, size = self.made(thread, verb, kernel, context, len(types) + 1)
            self.say(thread, "add_" + verb, *([kernel] if kernel else []), site, graph, context, size, before)
            before = size if self.random.random() < 0.7 else 0
            types.append(verb)
            sizes.append(size)
        for size in inner:
            types.append(None)
            sizes.append(size)
            self.number(size, 0)
        return graph, types, sizes

    def replay(self, thread):
        if not self.execs[thread]:
            return
        exec_ = self.random.choice(self.execs[thread])
        for _ in range(self.random.choice((1, 1, 2, 5))):
            site = self.random.choice(self.sites[thread])
            self.say(thread, "replay", site, exec_.index, self.stream_for(thread, exec_.context))
            self.called["replay"] += 1
            exec_.replays[0] += 1
            for size in filter(None, exec_.sizes):
                self.operations[size].launches.append((site, exec_.replays[0]))

    def change(self, thread):
        if not self.execs[thread]:
            return
        exec_ = self.random.choice(self.execs[thread])
        if self.random.random() < 0.2 and None not in exec_.types:
            graph, _, sizes = self.capture(thread, exec_.types)
            self.say(thread, "update", graph, exec_.index)
            exec_.sizes[:] = sizes
            return
        nodes = [index for index, kind in enumerate(exec_.types) if kind in ("kernel", "set")]
        if not nodes:
            return
        node = self.random.choice(nodes)
        verb = exec_.types[node]
        kernel = self.random.choice(KERNELS) if verb == "kernel" else ""
        site, size = self.made(thread, verb, kernel, exec_.context, node + 1)
        self.say(thread, "change_" + verb, *([kernel] if kernel else []), site, exec_.index, exec_.context, size,
                 exec_.origins[node])
        exec_.sizes[node] = size

    # The planned failures.
    def runs(self, size):
        operation = self.operations[size]
        return len(operation.launches) or len(operation.ordinals)

    def plan(self, with_fault=True):
        pick = self.random
        rules = [f"devices={self.devices}"]
        if pick.random() < 0.75:
            rules.append(f"shuffle={pick.randrange(1, 1 << 30)}")
        hows = sorted(set(self.called) & set(REFUSED))
        if with_fault and hows and pick.random() < 0.1:
            how = pick.choice(hows)
            rules.append(f"fail api={REFUSED[how]} nth={pick.randint(1, self.called[how])} code={pick.choice((1, 2, 701))}")
            return "; ".join(rules)
        code = pick.choice((700, 700, 719, 710, 716))
        able = [size for size in self.operations
                if self.runs(size) and self.operations[size].can_fail and
                (code in (700, 719) or self.operations[size].verb == "kernel")]
        nodes = [size for size in able if self.operations[size].launches]
        behind = [size for size in self.behind if size in able]
        now = pick.choice(("", " when=now", " when=unseen"))
        for i in range(2 if pick.random() < 0.15 else 1):
            if not able or not with_fault:
                return "; ".join(rules)
            size = pick.choice(pick.choices((nodes or able, behind or able, able), (4, 3, 3))[0])
            rules.append(f"fault size={size} nth={pick.randint(1, self.runs(size))} code={code}{now}")
            able = [other for other in able if self.operations[other].context == self.operations[size].context]
            nodes, behind = ([other for other in some if other in able] for some in (nodes, behind))
        return "; ".join(rules)

    def plan_of_hang(self, pick):
        """Returns (size, nth, plan) for an operation that never finishes: its size, which of its runs hangs, and the
        plan. Size 0 means that no operation can hang."""
        rules = [f"devices={self.devices}"]
        if pick.random() < 0.75:
            rules.append(f"shuffle={pick.randrange(1, 1 << 30)}")
        able = [size for size in self.operations if self.runs(size) and self.operations[size].can_fail]
        if not able:
            return 0, 0, ""
        nodes = [size for size in able if self.operations[size].launches]
        behind = [size for size in self.behind if size in able]
        size = pick.choice(pick.choices((nodes or able, behind or able, able), (3, 3, 4))[0])
        nth = pick.randint(1, self.runs(size))
        return size, nth, "; ".join([*rules, f"hang size={size} nth={nth}"])

    def text(self):
        """Returns the script's text. Definitions come first, because the threads' steps refer to them."""
        steps = [line for line in self.lines if line[0].isdigit()]
        return "\n".join([line for line in self.lines if not line[0].isdigit()] + steps) + "\n"
