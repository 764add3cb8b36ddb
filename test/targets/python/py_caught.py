# The program swallows the error and continues.
# Plan: fault kernel=scale nth=1 code=710
from driver import Driver, check, cuda, one_block

driver = Driver()
stream = driver.stream()
cuda.cuLaunchKernel(*one_block(driver.kernel("scale"), stream))  # TRUE LINE
try:
    check(cuda.cuStreamSynchronize(stream))  # REPORTED LINE
except RuntimeError as error:
    print("going on without the GPU:", error)
print("done")
