# A Python error that has nothing to do with CUDA, next to correct GPU work.
from driver import Driver, check, cuda, one_block

driver = Driver()
stream = driver.stream()
check(cuda.cuLaunchKernel(*one_block(driver.kernel("scale"), stream)))
check(cuda.cuStreamSynchronize(stream))
print({"loss": 1.0}["accuracy"])
