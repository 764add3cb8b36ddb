// Detects when the program ends because CuPy's or JAX's memory pool has rejected a request (a refusal). In this case,
// no CUDA call has failed.
//
// Neither library has a function that this file could replace. Instead, this file registers a function with `atexit`,
// which examines the exception that ended the interpreter. CPython stores this exception in `sys` before it runs the
// registered functions. A refusal that the program has caught is never examined.
//
// The examination runs no Python code, and imports nothing. In a program without these libraries, it only makes pending
// calls, which look for the libraries in sys.modules.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "record/python/python_stack.h"
#include "record/python/refusal_message.h"

namespace cudadiag::record::uncaught_refusal {

struct Refusal {
  RefusedRequest request;
  std::string_view message;             // the first line of the exception's message
  std::span<const TracedFrame> frames;  // the exception's traceback, innermost frame first
};

// Called on the main thread with the GIL, before the interpreter finalizes itself.
using Found = void (*)(const Refusal& refusal);

// Must be called once per process.
void listen(Found found);
// Call this whenever device code is loaded. CuPy and JAX load device code when they are imported, possibly long after
// CUDA was initialised. Does nothing if the process has loaded no library since the last call. Needs no GIL.
void look();

}  // namespace cudadiag::record::uncaught_refusal
