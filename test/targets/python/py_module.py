# The launch is two files and four functions away from the main module.
# Plan: fault kernel=smooth nth=5 code=700
from driver import Driver, check, cuda
from solver import Solver


def train(solver, stream):
    for epoch in range(3):
        solver.step(stream)
    check(cuda.cuStreamSynchronize(stream))  # REPORTED LINE


if __name__ == "__main__":
    driver = Driver()
    train(Solver(driver), driver.stream())
    print("done")
