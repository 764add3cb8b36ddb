"""Random programs, made of steps that script.cc runs. They are valid; some accesses are ordered and others are not. The
same seed gives the same program."""

import random

from happens_before import LEGACY, LEGACY_BY_NAME, OWN, Step

PLACES, THREADS = 64, 3
PART = 64  # bytes; ranges begin and end at multiples of this, so that many overlap and many only touch

# The weight of each step in the programs that contain this step.
USES = {"set": 6, "set_words": 2, "copy": 3, "copy_on": 3, "copy_out": 2, "copy_in": 2, "write__8": 4, "count__8": 4,
        "copy__8_8": 4, "set_now": 2, "copy_now": 2, "copy_on_now": 2, "copy_out_now": 1, "copy_in_now": 1}
CAPTURED = {"set", "set_words", "copy_on", "write__8", "count__8", "copy__8_8"}
ORDERS = {"hand_on": 10, "record": 6, "wait": 6, "see_stream": 2, "ask_stream": 2, "see_event": 3, "ask_event": 3,
          "ask_time": 1, "see_context": 1, "function": 1, "callback": 1, "write_word": 2, "wait_word": 2, "graph": 2,
          "launch": 4, "graph_gone": 1, "stream": 1, "stream_gone": 1, "event": 1, "event_gone": 1, "ordered": 3, "free": 3,
          "memory": 1, "memory_gone": 1}


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.steps = []
        self.streams, self.events, self.graphs, self.memories, self.ordered = [], [], [], [], []
        self.pinned, self.pageable = [], []
        self.recorded = set()
        self.words = {}  # by word number: the stream that writes the word, and its value
        self.next = {"stream": 0, "event": 0, "graph": 0, "memory": 0, "place": 0}
        self.busy = set()  # streams that are being captured
        self.threads = self.random.choice([1, 1, 2, THREADS])
        self.chosen = self.some(USES), self.some(ORDERS)
        self.repeats = self.random.random() < 0.3  # whether lines repeat, as in a loop
        self.parts = self.random.choice([1, 2, 4, 8])

    def some(self, weights):
        return {name: weight for name, weight in weights.items() if self.random.random() < 0.6} or weights

    def pick(self, weights):
        return self.random.choices(list(weights), list(weights.values()))[0]

    def step(self, what, stream=0, place=0, thread=None, **arguments):
        thread = self.random.randrange(self.threads) if thread is None else thread
        self.steps.append(Step(thread, what, place, stream, **arguments))

    def number(self, kind):
        self.next[kind] += 1
        return self.next[kind]

    def place(self):
        used = self.number("place")
        return 1 + self.random.randrange(6) if self.repeats else used

    def has_room(self):
        return self.repeats or self.next["place"] < PLACES

    def any_stream(self):
        free = [stream for stream in self.streams if stream not in self.busy]
        return self.random.choice([stream for stream in free if not (self.busy and stream in (LEGACY, LEGACY_BY_NAME))])

    def do_stream(self):
        number = self.number("stream")
        self.step("stream", number, to=self.random.randrange(2))
        self.streams.append(number)

    def do_event(self):
        self.events.append(self.number("event"))
        self.step("event", to=self.events[-1])

    def make_memory(self, what, among):
        number = self.number("memory")
        self.step(what, to=number, bytes=self.parts * PART)
        among.append(number)
        return number

    def use(self, what, stream):
        # Stream-ordered memory may be freed before a captured graph is launched.
        known = self.memories + ([] if self.busy else self.ordered)
        to, origin = self.random.choice(known + self.pinned), self.random.choice(known + self.pinned)
        if what.startswith("copy_on"):
            to, origin = self.random.choice(known), self.random.choice(known + self.pinned)
        elif what.startswith("copy_out"):
            to, origin = self.random.choice(self.pinned + self.pageable), self.random.choice(known)
        elif what.startswith("copy_in"):
            to, origin = self.random.choice(known), self.random.choice(self.pinned + self.pageable)
        elif what in ("copy", "copy_now"):
            to, origin = self.random.sample(known + self.pinned + self.pageable, 2)
            if to in self.pageable and origin in self.pageable:
                to = self.random.choice(known)
        begin = self.random.randrange(self.parts)
        size = self.random.randint(1, self.parts - begin) * PART
        start = self.random.randrange(self.parts - size // PART + 1) * PART
        arguments = dict(to=to, to_offset=begin * PART, bytes=size)
        if what.startswith("copy"):
            if to == origin:  # not a copy onto itself
                origin = next(each for each in known if each != to)
            arguments.update(origin=origin, origin_offset=start)
        self.step(what, stream, self.place(), **arguments)

    def use_somewhere(self):
        what = self.pick(self.chosen[0])
        defaults = [stream for stream in self.streams if stream < 0]
        if not what.endswith("_now"):
            self.use(what, self.any_stream())
        elif defaults and not self.busy:
            self.use(what, self.random.choice(defaults))

    def order(self):
        what = self.pick(self.chosen[1])
        if what in ("see_stream", "ask_stream", "function", "callback"):
            self.step(what, self.any_stream())
        elif what == "see_context":
            self.step(what)
        elif what == "memory":
            self.make_memory(what, self.memories)
        elif what in ("wait", "see_event", "ask_event"):
            if self.events:
                self.step(what, self.any_stream() if what == "wait" else 0, to=self.random.choice(self.events))
        else:
            getattr(self, "do_" + what)()

    def do_hand_on(self):
        """Hands work from one stream to another by an event, as a correct program would."""
        if not self.events:
            return self.do_event()
        event, first, second = self.random.choice(self.events), self.any_stream(), self.any_stream()
        thread = self.random.randrange(self.threads)
        self.step("record", first, thread=thread, to=event)
        self.recorded.add(event)
        self.step("wait", second, thread=thread, to=event)

    def do_record(self):
        if self.events:
            self.step("record", self.any_stream(), to=self.random.choice(self.events))
            self.recorded.add(self.steps[-1].to)

    def do_ask_time(self):
        if self.recorded:
            first, second = (self.random.choice(sorted(self.recorded)) for _ in range(2))
            self.step("ask_time", to=first, origin=second)

    def do_write_word(self):
        """Only one stream writes each word, with increasing values, so that no wait lasts for ever."""
        own = [stream for stream in self.streams if stream > 0]
        if not self.words or self.random.random() < 0.3:
            self.words[self.make_memory("memory", [])] = [self.random.choice(own), 0]
        word = self.random.choice(list(self.words))
        stream = self.words[word][0]
        if stream in own:
            self.words[word][1] += 1
            self.step("write_word", stream, to=word, bytes=self.words[word][1])

    def do_wait_word(self):
        written = [word for word, (_, value) in self.words.items() if value]
        if written:
            word = self.random.choice(written)
            self.step("wait_word", self.any_stream(), to=word, bytes=self.random.randint(1, self.words[word][1]))

    def do_stream_gone(self):
        named = [stream for stream in self.streams if stream > 0]
        if len(named) > 1:
            gone = self.random.choice(named)
            self.streams.remove(gone)
            self.step("stream_gone", gone)

    def do_event_gone(self):
        if self.events:
            event = self.events.pop(self.random.randrange(len(self.events)))
            self.recorded.discard(event)
            self.step("event_gone", to=event)

    def do_ordered(self):
        if self.has_room():
            number = self.number("memory")
            self.step("allocate", self.any_stream(), self.place(), to=number, bytes=self.parts * PART)
            self.ordered.append(number)

    def do_free(self):
        if self.ordered and self.has_room():
            memory = self.ordered.pop(self.random.randrange(len(self.ordered)))
            self.step("free", self.any_stream(), self.place(), to=memory)

    def do_memory_gone(self):
        among = self.random.choice([self.ordered, self.memories[2:]])
        in_graphs = {number for step in self.steps for number in (step.to, step.origin)} if self.graphs else ()
        if among:
            memory = self.random.choice(among)
            if memory not in in_graphs:  # a replay might use the memory
                (self.ordered if memory in self.ordered else self.memories).remove(memory)
                self.step("memory_gone", to=memory)

    # ---- graphs

    def do_graph(self):
        """Captures a graph from several streams, while the other streams continue."""
        own = [stream for stream in self.streams if stream > 0]
        if not own or not self.has_room():
            return
        allowed = {name: weight for name, weight in self.chosen[0].items() if name in CAPTURED} or {"set": 1}
        begun = self.random.choice(own)
        self.step("capture", begun)
        self.busy.add(begun)
        self.use(self.pick(allowed), begun)
        made = []

        def hand_on(first, second):
            made.append(self.number("event"))
            self.step("event", to=made[-1])
            self.step("record", first, to=made[-1])
            self.step("wait", second, to=made[-1])

        for _ in range(self.random.randint(2, 10)):
            others = [stream for stream in own if stream not in self.busy]
            if others and self.random.random() < 0.3:
                added = self.random.choice(others)
                hand_on(self.random.choice(sorted(self.busy)), added)
                self.busy.add(added)
            elif len(self.busy) > 1 and self.random.random() < 0.3:
                hand_on(*self.random.sample(sorted(self.busy), 2))
            elif self.has_room() and self.random.random() < 0.2 and (others or OWN in self.streams):
                self.use(self.pick(allowed), self.any_stream())
            elif self.has_room():
                self.use(self.pick(allowed), self.random.choice(sorted(self.busy)))
        for stream in sorted(self.busy - {begun}):
            hand_on(stream, begun)
        self.busy.clear()
        self.graphs.append(self.number("graph"))
        self.step("captured", begun, to=self.graphs[-1])
        for event in made:
            self.step("event_gone", to=event)

    def do_launch(self):
        if self.graphs:
            self.step("launch", self.any_stream(), to=self.random.choice(self.graphs))

    def do_graph_gone(self):
        if self.graphs:
            self.step("graph_gone", to=self.graphs.pop(self.random.randrange(len(self.graphs))))

    def make(self):
        for _ in range(self.random.randint(2, 4)):
            self.make_memory("memory", self.memories)
        for _ in range(2):
            self.make_memory("pinned", self.pinned)
        self.make_memory("pageable", self.pageable)
        self.streams += self.random.sample([LEGACY, LEGACY_BY_NAME, OWN], self.random.randint(0, 3))
        for _ in range(self.random.choice([2, 3, 4, 4, 12, 80])):
            self.do_stream()
        for _ in range(self.random.randint(1, 3)):
            self.do_event()
        used = self.random.choice([0.2, 0.35, 0.5])
        for _ in range(self.random.choice([15, 30, 60, 100, 300])):
            if self.random.random() >= used:
                self.order()
            elif self.has_room():
                self.use_somewhere()
        return self.steps
