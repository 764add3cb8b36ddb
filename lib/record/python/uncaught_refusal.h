// Detects that a refusal of CuPy's or JAX's memory pool ended the program, although no CUDA call failed.
//
// Neither library has a function that this file could replace. The exception that ended the interpreter counts: CPython
// keeps it in `sys` before it runs the functions registered with `atexit`, and this file registers one. A refusal that
// the program caught is never examined.
//
// No Python code runs for this, and nothing is imported. In a program without these libraries, only a pending call looks
// for them in sys.modules.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "record/python/python_stack.h"
#include "record/python/refusal_message.h"

namespace cudadiag::record::uncaught_refusal {

struct Refusal {
  RefusedRequest request;
  std::string_view message;             // its first line
  std::span<const TracedFrame> frames;  // of the exception's traceback, innermost first
};

// Called on the main thread with the GIL, before the interpreter finalizes itself.
using Found = void (*)(const Refusal& refusal);

// Call it once per process.
void listen(Found found);
// The libraries may be imported after CUDA is initialised, and then load their own code into the GPU. Call it at such
// occasions. It does nothing if no library was loaded in the meantime. Needs no GIL.
void look();

}  // namespace cudadiag::record::uncaught_refusal
