"""The order between PyTorch's streams and the host: vector clocks, updated when PyTorch reports events and waits."""
from .whole_program import Turn

HOST = -1  # stands for the host where a stream is expected


class Order:
    """Any thread may call the methods at any time."""

    def __init__(self):
        self.clocks = {HOST: {}}  # by stream: {other stream: number of its latest operation that comes before}
        self.events = {}  # by event: (stream, its clock at the recording). Replaced, but never changed
        self.waited = set()  # (stream, another stream for which it has waited at least once)
        self.turn = Turn()

    def clock(self, stream):
        clock = self.clocks.get(stream)
        if clock is None:
            clock = self.clocks.setdefault(stream, {})
        return clock

    def issue(self, stream):
        """Returns the number of an operation that is issued to the stream now."""
        return self.turn.run(self.issue_now, stream)

    def issue_now(self, stream):
        clock = self.clock(stream)
        if stream != HOST:
            merge(clock, self.clocks[HOST])  # the operation comes after everything that the host knows to be finished
        number = clock[stream] = clock.get(stream, 0) + 1
        return number

    def comes_after(self, stream, other, number):
        """Returns whether the stream's latest operation comes after operation `number` of the stream `other`."""
        return self.clock(stream).get(other, 0) >= number

    def record(self, event, stream):
        self.events[event] = self.reached_by(stream)

    def forget(self, event):
        self.events.pop(event, None)

    def recorded(self, event):
        """Returns the point at which the event was recorded, for passes(); None if unknown."""
        return self.events.get(event)

    def reached_by(self, stream):
        """Returns the current end of the stream, for passes(): (stream, its clock)."""
        return stream, dict(self.clock(stream))

    def passes(self, reached, stream):
        """Notes that the stream, or the host, has waited for `reached`: a point in another stream."""
        if reached is not None:
            self.turn.run(merge, self.clock(stream), reached[1])
            self.waited.add((stream, reached[0]))

    def wait(self, event, stream):
        self.passes(self.recorded(event), stream)

    def host_waits_for_event(self, event):
        self.wait(event, HOST)

    def host_waits_for_stream(self, stream):
        self.passes(self.reached_by(stream), HOST)

    def host_waits_for_all(self):
        for stream in list(self.clocks):
            self.host_waits_for_stream(stream)


def merge(clock, other):
    for stream, number in dict(other).items():  # another thread may change it
        if clock.get(stream, 0) < number:
            clock[stream] = number
