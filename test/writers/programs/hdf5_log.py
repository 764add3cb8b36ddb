"""HDF5: appends to a resizable data set. HDF5 locks the file with flock."""
import gpu
import h5py

with h5py.File("features.h5", "a") as file:
    rows = file.require_dataset("rows", (0, 16), "f4", maxshape=(None, 16), chunks=(8, 16))
    for step in range(6):
        rows.resize(rows.shape[0] + 8, axis=0)
        rows[-8:] = step
        file.flush()
        gpu.launch(*gpu.batch(step))  # TRUE LINE
        gpu.wait()
