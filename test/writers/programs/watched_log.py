"""A WatchedFileHandler, which opens its log again if the path leads to another file. The log existed before."""
import logging.handlers
import os

import gpu

handler = logging.handlers.WatchedFileHandler("train.log")
logging.getLogger().addHandler(handler)
for step in range(6):
    logging.warning("step %d", step)
    held, named = os.fstat(handler.stream.fileno()), os.stat("train.log")
    assert (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
