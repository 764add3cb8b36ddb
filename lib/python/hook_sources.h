// The source text of the Python package that runs inside the target (cudadiag_hook), and of its loader (load.py).
#pragma once

#include <span>

namespace cudadiag::python {

struct HookModule {
  const char* name;  // "tensors"
  const char* text;
};
std::span<const HookModule> hook_modules();

// Runs the package from memory. Its namespace needs `sources` and `given`.
const char* hook_loader();

// sitecustomize.py, which starts the package together with the interpreter. The loader and the modules must be next to
// it as text: load.txt, tensors.txt, …
const char* hook_start();

}  // namespace cudadiag::python
