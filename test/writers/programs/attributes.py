"""Extended attributes with the checksum of a data set and of each checkpoint. One file existed before."""
import os

import gpu

os.setxattr("data.bin", "user.checksum", b"abc")
for step in range(6):
    with open("model.bin", "wb") as file:
        file.write(bytes([step]) * 1000)
    os.setxattr("model.bin", "user.step", str(step).encode())
    assert os.getxattr("model.bin", "user.step") == str(step).encode()
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
