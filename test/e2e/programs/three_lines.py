"""Three kernels, one per line, each launched many times. The program waits for them one after the other."""

import sys

import cuda

TIMES = 60

cuda.start()
one, parameters = cuda.kernel("one")
two, _ = cuda.kernel("two")
three, _ = cuda.kernel("three")
stream = cuda.stream()


def wait():
    if cuda.driver.cuStreamSynchronize(stream):
        sys.exit(3)


for step in range(TIMES):
    one(stream, parameters, None)  # LINE one
wait()
for step in range(TIMES):
    two(stream, parameters, None)  # LINE two
wait()
for step in range(TIMES):
    three(stream, parameters, None)  # LINE three
wait()
