"""Writes to fixed names in /tmp and /dev/shm, whatever $TMPDIR says."""
import gpu

NAME = "cudadiag-writers-status"
for step in range(6):
    for folder in ("/tmp", "/dev/shm"):
        with open(f"{folder}/{NAME}", "a") as file:
            print("step", step, file=file)
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
