"""Launches that a library issues in threads. The third may be planned to fail: library_threads.py CASE"""

import pathlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

sys.path.append(str(pathlib.Path(__file__).parent / "site-packages"))

import cuda
import kernels


def own(start, launch, stream, parameters, all_rows):
    start()
    for rows in all_rows:
        kernels.apply(launch, stream, parameters, rows)  # TRUE LINE own


def in_thread(function):
    thread = threading.Thread(target=function, args=work)
    thread.start()  # TRUE LINE thread
    thread.join()


def in_pool():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(kernels.apply_to_all, *work[:-1], []).result()
        pool.submit(kernels.apply_to_all, *work).result()  # TRUE LINE pool


cuda.start()
launch, parameters = cuda.kernel("smooth")
work = cuda.start, launch, cuda.stream(), parameters, 10 * ["rows"]
if sys.argv[1] == "pool":
    in_pool()
else:
    in_thread({"thread": kernels.apply_to_all, "nested": kernels.apply_to_all_in_a_thread, "own": own}[sys.argv[1]])
sys.exit(3 if cuda.driver.cuCtxSynchronize() else 0)
