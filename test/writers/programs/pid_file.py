"""A pid file that must not exist. It is removed at exit, also after the failure."""
import atexit
import os

import gpu

descriptor = os.open("trainer.pid", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
atexit.register(os.unlink, "trainer.pid")
os.write(descriptor, f"{os.getpid()}\n".encode())
os.close(descriptor)
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
