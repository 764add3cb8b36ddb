# Four threads launch, each through its own function; the fault is in one of them.
# Plan: fault kernel=worker_2 nth=10 code=700
import threading

from driver import Driver, check, cuda, one_block


def healthy(driver, kernel, stream):
    check(cuda.cuCtxSetCurrent(driver.context))
    for _ in range(20):
        cuda.cuLaunchKernel(*one_block(kernel, stream))


def faulty(driver, kernel, stream):
    check(cuda.cuCtxSetCurrent(driver.context))
    for _ in range(20):
        cuda.cuLaunchKernel(*one_block(kernel, stream))  # TRUE LINE


driver = Driver()
threads = []
for number in range(4):
    work = faulty if number == 2 else healthy
    arguments = (driver, driver.kernel(f"worker_{number}"), driver.stream())
    threads.append(threading.Thread(target=work, args=arguments))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check(cuda.cuCtxSynchronize())  # REPORTED LINE
print("done")
