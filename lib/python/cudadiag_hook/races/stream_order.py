"""The order among PyTorch's streams and the host: vector clocks, updated from PyTorch's own reports of events and
waits."""

HOST = -1  # the number of the host among streams


class Order:
    def __init__(self):
        self.clocks = {HOST: {}}  # by stream: what precedes it, {stream: number of its operation}
        self.events = {}
        self.waited = set()  # (stream, another one for which it has ever waited)

    def clock(self, stream):
        clock = self.clocks.get(stream)
        if clock is None:
            clock = self.clocks[stream] = {}
        return clock

    def issue(self, stream):
        """Returns the number of an operation that is issued there now."""
        clock = self.clock(stream)
        if stream != HOST:
            merge(clock, self.clocks[HOST])  # everything on the host so far precedes it
        number = clock[stream] = clock.get(stream, 0) + 1
        return number

    def comes_after(self, stream, other, number):
        """Whether the stream's latest operation comes after that operation of another stream."""
        return self.clock(stream).get(other, 0) >= number

    def record(self, event, stream):
        self.events[event] = (stream, dict(self.clock(stream)))

    def forget(self, event):
        self.events.pop(event, None)

    def wait(self, event, stream):
        recorded = self.events.get(event)
        if recorded is not None:
            merge(self.clock(stream), recorded[1])
            self.waited.add((stream, recorded[0]))

    def host_waits_for_event(self, event):
        self.wait(event, HOST)

    def host_waits_for_stream(self, stream):
        merge(self.clocks[HOST], self.clock(stream))
        self.waited.add((HOST, stream))

    def host_waits_for_all(self):
        for stream in list(self.clocks):
            self.host_waits_for_stream(stream)


def merge(clock, other):
    for stream, number in other.items():
        if clock.get(stream, 0) < number:
            clock[stream] = number
