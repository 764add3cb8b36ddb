"""Worker processes fill named shared memory, which the trainer copies to a file before it removes the name."""
import multiprocessing
from multiprocessing import shared_memory

import gpu


def fill(name, part):
    memory = shared_memory.SharedMemory(name)
    memory.buf[part * 100 : part * 100 + 100] = bytes([part]) * 100
    memory.close()


if __name__ == "__main__":
    memory = shared_memory.SharedMemory(create=True, size=400)
    workers = [multiprocessing.Process(target=fill, args=(memory.name, part)) for part in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with open("batch.bin", "wb") as file:
        file.write(memory.buf)
    assert memory.buf[399] == 3
    memory.close()
    memory.unlink()
    gpu.launch(*gpu.batch(3))  # TRUE LINE
    gpu.wait()
