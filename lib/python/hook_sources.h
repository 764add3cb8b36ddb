// The source text of the Python package that runs inside the target (cudadiag_hook), and of its loader (load.py).
#pragma once

#include <span>

namespace cudadiag::python {

struct HookModule {
  const char* name;  // "tensors"
  const char* text;
};
std::span<const HookModule> hook_modules();

// Returns load.py, which runs the package from memory. The caller must define `sources` and `given` in its namespace.
const char* hook_loader();

// Returns start.py, which starts the package when the interpreter starts. Expects the loader and the modules as
// text files in its folder: load.txt, tensors.txt, …
const char* hook_start();

}  // namespace cudadiag::python
