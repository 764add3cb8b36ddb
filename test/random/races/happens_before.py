"""The order of a script's steps (script.cc) according to CUDA's documentation: a graph of everything that happens,
which shows what comes before what. It shares no code with lib/races.

Every edge has a strength. SURE: the order is documented. TOLD: a host function or a word in memory may have told the
program; races that this may have prevented are possible ones. OPEN: the documentation says that the driver may wait, or
says nothing; whatever is reported is accepted.
"""

import collections

Step = collections.namedtuple("Step", "thread what place stream to to_offset origin origin_offset bytes",
                              defaults=(0,) * 7)
Access = collections.namedtuple("Access", "buffer begin end mode exact")
Pair = collections.namedtuple("Pair", "first second verdict")  # indices of happenings

READ, WRITE, ATOMIC = "read", "write", "atomic"
SURE, TOLD, OPEN = 1, 2, 4
ORDERED, RACE, POSSIBLE = "ordered", "race", "possible"
DOUBTED = "doubted"  # a race or a possible race
EITHER = "either"    # may be reported or not
LEGACY, LEGACY_BY_NAME, OWN = -1, -2, -3

COPIES = {"copy", "copy_on", "copy_out", "copy_in"}
HOSTS = {"pinned", "pageable"}


def accesses_of(step, sizes):
    """A kernel has one thread, which uses at most one part, so the first byte of the part is enough."""
    name = step.what.removesuffix("_now")
    to = (step.to, step.to_offset, step.to_offset + step.bytes)
    origin = (step.origin, step.origin_offset, step.origin_offset + step.bytes)
    if name in ("set", "set_words"):
        return [Access(*to, WRITE, True)]
    if name in COPIES:
        return [Access(*origin, READ, True), Access(*to, WRITE, True)]
    if name in ("allocate", "free"):
        return [Access(step.to, 0, sizes[step.to], WRITE, True)]
    at, read = (step.to, step.to_offset, step.to_offset + 1), (step.origin, step.origin_offset, step.origin_offset + 1)
    return {"write__8": [Access(*at, WRITE, False)], "count__8": [Access(*at, ATOMIC, False)],
            "copy__8_8": [Access(*at, WRITE, False), Access(*read, READ, False)]}[name]


def disturb(a, b):
    modes = {a.mode, b.mode}
    return a.buffer == b.buffer and a.begin < b.end and b.begin < a.end and modes not in ({READ}, {ATOMIC})


class Happening:
    def __init__(self, step, accesses=(), launch=None):
        self.step, self.accesses, self.launch = step, accesses, launch
        self.vague = False  # a wait for a word, which more than one write may have satisfied
        # The predecessors as bit sets: along SURE edges only, along SURE and TOLD, along SURE and OPEN, and along all
        # edges.
        self.before = {}


class Story:
    """Everything that happens, in the order in which it is issued. Edges only lead forwards."""

    def __init__(self):
        self.happenings = []
        self.host = None          # the host's latest happening; its threads take turns
        self.last = {}            # the latest happening of each stream
        self.blocking = set()
        self.made, self.gone = {LEGACY}, set()  # streams
        self.events = {}          # what each event recorded
        self.words = {}           # what wrote each word, by value
        self.graphs, self.launched = {}, {}
        self.captures = {}        # by stream: its capture, and the nodes that the next node follows
        self.sizes, self.kinds = {}, {}

    # ---- the graph

    def happens(self, step, edges, **more):
        new = Happening(step, **more)
        for strengths in (SURE, SURE | TOLD, SURE | OPEN, SURE | TOLD | OPEN):
            reached = 0
            for number, strength in edges:
                if number is not None and strength & strengths:
                    reached |= self.happenings[number].before[strengths] | 1 << number
            new.before[strengths] = reached
        self.happenings.append(new)
        return len(self.happenings) - 1

    def host_sees(self, step, numbers, strength=SURE):
        self.host = self.happens(step, [(self.host, SURE)] + [(number, strength) for number in numbers])

    def tails(self, streams):
        return [self.last.get(stream) for stream in streams]

    def stream_of(self, step):
        if step.stream == OWN:
            self.blocking.add(("own", step.thread))
            return ("own", step.thread)
        stream = LEGACY if step.stream == LEGACY_BY_NAME else step.stream
        if stream not in self.made - self.gone:
            raise ValueError(f"no stream {stream}")
        return stream

    def issues(self, step, stream, also=(), **more):
        """Issues a step on a stream: after what was issued to it, and after everything that the host has seen. The
        legacy stream waits for all blocking streams, and they wait for it. The documentation does not say whether this
        includes a stream that was destroyed with unfinished work."""
        edges = [(self.host, SURE), (self.last.get(stream), SURE), *also]
        if stream == LEGACY:
            edges += [(number, SURE) for number in self.tails(self.blocking - self.gone)]
            edges += [(number, OPEN) for number in self.tails(self.blocking & self.gone)]
        elif stream in self.blocking:
            edges.append((self.last.get(LEGACY), SURE))
        self.last[stream] = self.happens(step, edges, **more)
        return self.last[stream]

    # ---- steps

    def tell(self, step, answer=True):
        """`answer`: whether the answer to a query was yes."""
        if step.place:
            self.uses(step)
        elif not step.what.startswith("ask_") or answer:
            getattr(self, step.what.replace("ask_", "see_"))(step)

    def uses(self, step):
        stream = self.stream_of(step)
        if step.what == "allocate":
            self.sizes[step.to], self.kinds[step.to] = step.bytes, "ordered"
        accesses = [access for access in accesses_of(step, self.sizes) if self.kinds[access.buffer] != "pageable"]
        if stream in self.captures:
            capture, follows = self.captures[stream]
            capture.append((step, accesses, follows))
            self.captures[stream] = capture, {len(capture) - 1}
            return
        before = self.tails([stream])
        if stream == LEGACY:
            before += self.tails(self.blocking)
        number = self.issues(step, stream, accesses=accesses)
        kinds = self.kinds.get(step.origin), self.kinds.get(step.to)
        if step.what.removesuffix("_now") in COPIES:
            self.returns(step, kinds, before, number)
        elif step.what == "set_now" and kinds[1] == "pinned":
            self.host_sees(step, [number])

    def returns(self, step, kinds, before, number):
        """Notes what the host has seen when a copy's call returns."""
        now, (origin, to) = step.what.endswith("_now"), kinds
        if HOSTS >= {origin, to}:
            # "fully synchronous with respect to the host", even if the call's name ends in Async.
            self.host_sees(step, [number])
        elif to == "pageable" or (now and "pinned" in kinds):
            # For an asynchronous call, this is certain until CUDA 11; later it "might be synchronous".
            self.host_sees(step, [number])
        elif origin == "pageable":
            # "A stream sync is performed before the copy is initiated". This is certain only for synchronous calls.
            # When the call returns, the data have left the host's memory, but may not have reached the device's.
            self.host_sees(step, before, SURE if now else OPEN)
            self.host_sees(step, [number], OPEN)
        # For copies within one device, "no host-side synchronization is performed".

    def stream(self, step):
        self.made.add(step.stream)
        if step.to == 0:
            self.blocking.add(step.stream)

    def stream_gone(self, step):
        self.gone.add(step.stream)

    def event(self, step):
        self.events.pop(step.to, None)

    event_gone = event

    def record(self, step):
        stream = self.stream_of(step)
        if stream in self.captures:
            self.events[step.to] = self.captures[stream]
        else:
            self.events[step.to] = self.issues(step, stream)

    def wait(self, step):
        stream, event = self.stream_of(step), self.events.get(step.to)
        if isinstance(event, tuple):
            capture, follows = event
            self.captures[stream] = capture, follows | self.captures.get(stream, (None, set()))[1]
        else:
            self.issues(step, stream, [(event, SURE)])

    def see_stream(self, step):
        stream = self.stream_of(step)
        if stream == LEGACY:  # undocumented: which blocking streams this waits for if the legacy stream has no work
            self.host_sees(step, self.tails(self.blocking), OPEN)
        self.host_sees(step, self.tails([stream]))

    def see_event(self, step):
        self.host_sees(step, [self.events.get(step.to)])

    def see_time(self, step):
        self.host_sees(step, [self.events.get(step.to), self.events.get(step.origin)])

    def see_context(self, step):
        self.host_sees(step, list(self.last.values()))

    def function(self, step):
        self.host_sees(step, [self.issues(step, self.stream_of(step))], TOLD)

    callback = function

    def write_word(self, step):
        self.function(step)
        self.words[step.to, step.bytes] = self.last[self.stream_of(step)]

    def wait_word(self, step):
        number = self.issues(step, self.stream_of(step), [(self.words[step.to, step.bytes], SURE)])
        self.happenings[number].vague = True

    def capture(self, step):
        self.captures[self.stream_of(step)] = [], set()

    def captured(self, step):
        self.graphs[step.to] = self.captures[self.stream_of(step)][0]
        self.captures.clear()
        self.launched.pop(step.to, None)

    def graph_gone(self, step):
        del self.graphs[step.to]

    def launch(self, step):
        """Launches a graph. Launches of one executable graph follow each other."""
        stream = self.stream_of(step)
        begin = self.issues(step, stream, [(self.launched.get(step.to), SURE)])
        nodes = []
        for node, accesses, follows in self.graphs[step.to]:
            edges = [(begin, SURE)] + [(nodes[each], SURE) for each in follows]
            nodes.append(self.happens(node, edges, accesses=accesses, launch=begin))
        self.launched[step.to] = self.issues(step, stream, [(node, SURE) for node in nodes], launch=begin)

    def memory(self, step):
        self.sizes[step.to], self.kinds[step.to] = step.bytes, step.what

    pinned = pageable = memory

    def memory_gone(self, step):
        """Freeing "may perform implicit synchronization"; freeing stream-ordered memory does not."""
        if self.kinds[step.to] != "ordered":
            self.host_sees(step, list(self.last.values()), OPEN)

    # ---- the answer

    def pairs(self):
        """Yields all pairs that conflict, with the verdict on each."""
        users = [number for number, each in enumerate(self.happenings) if each.accesses]
        vague = sum(1 << number for number, each in enumerate(self.happenings) if each.vague)
        for at, second in enumerate(users):
            for first in users[:at]:
                if any(disturb(a, b) for a in self.happenings[first].accesses for b in self.happenings[second].accesses):
                    yield Pair(first, second, self.verdict(first, second, vague))

    def verdict(self, first, second, vague):
        leads = {strengths: bits >> first & 1 for strengths, bits in self.happenings[second].before.items()}
        if leads[SURE]:
            return ORDERED
        if leads[SURE | OPEN] or (leads[SURE | TOLD | OPEN] and not leads[SURE | TOLD]):
            return EITHER
        if vague & ((1 << second) - 1):
            return DOUBTED
        return POSSIBLE if leads[SURE | TOLD] else RACE
