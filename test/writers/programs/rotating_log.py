"""Python's logging with rotation by size: the files of earlier runs are renamed, and the oldest is removed."""
import logging.handlers

import gpu

log = logging.getLogger("train")
log.setLevel(logging.INFO)
log.addHandler(logging.handlers.RotatingFileHandler("train.log", maxBytes=200, backupCount=3))
for step in range(6):
    for number in range(10):
        log.info("step %d, batch %d, loss %.3f", step, number, 1 / (step + 1))
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
