"""The order between PyTorch's streams and the host: vector clocks, updated when PyTorch reports events and waits."""

HOST = -1  # stands for the host where a stream is expected


class Order:
    def __init__(self):
        self.clocks = {HOST: {}}  # by stream: {stream: number of its latest operation that comes before}
        self.events = {}
        self.waited = set()  # (stream, another stream for which it has waited at least once)

    def clock(self, stream):
        clock = self.clocks.get(stream)
        if clock is None:
            clock = self.clocks[stream] = {}
        return clock

    def issue(self, stream):
        """Returns the number of an operation that is issued to the stream now."""
        clock = self.clock(stream)
        if stream != HOST:
            merge(clock, self.clocks[HOST])  # the operation comes after everything that the host knows to be finished
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
