// Finds processes of the target that use a GPU, through /proc. Also finds out whether programs share the GPUs through MPS.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace cudadiag::launch {

// Returns whether /proc shows that the process has opened a GPU through the CUDA driver: it has mapped libcuda, and has
// open the files of a GPU and of its memory manager. A process that only links the driver, or that uses only NVML, does
// not count. Returns false if this process may not inspect it.
bool has_opened_gpu(pid_t process);
// Returns whether the process has mapped a file whose path contains this text.
bool has_mapped(pid_t process, const std::string& path);

// Returns the folder with the pipes of the MPS daemon, whether or not it exists.
std::filesystem::path mps_folder();

// Returns whether programs that this process starts may share a GPU through MPS: a daemon listens in mps_folder(), or a
// variable such as CUDA_MPS_ACTIVE_THREAD_PERCENTAGE configures them as its clients. A fault under MPS can end all
// programs on the GPU, so the result is false only if nothing points to MPS.
bool may_use_mps();

}  // namespace cudadiag::launch
