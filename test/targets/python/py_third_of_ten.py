# One of ten launches faults; a later call, which is correct itself, reports it.
# Plan: fault kernel=scale nth=3 code=700
from driver import Driver, check, cuda, one_block


def forward(kernel, stream):
    cuda.cuLaunchKernel(*one_block(kernel, stream))
    cuda.cuLaunchKernel(*one_block(kernel, stream))
    cuda.cuLaunchKernel(*one_block(kernel, stream))  # TRUE LINE
    for _ in range(7):
        cuda.cuLaunchKernel(*one_block(kernel, stream))


def main():
    driver = Driver()
    stream = driver.stream()
    forward(driver.kernel("scale"), stream)
    check(cuda.cuStreamSynchronize(stream))  # REPORTED LINE
    print("done")


main()
