"""The part of py_module that launches."""
from driver import cuda, one_block


class Solver:
    def __init__(self, driver):
        self.kernel = driver.kernel("smooth")

    def step(self, stream):
        for sweep in range(2):
            self.smooth(stream)

    def smooth(self, stream):
        return [launch(self.kernel, stream) for _ in range(1)]


def launch(kernel, stream):
    return cuda.cuLaunchKernel(*one_block(kernel, stream))  # TRUE LINE
