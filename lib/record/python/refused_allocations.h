// Detects that a memory allocator of PyTorch, CuPy or JAX has rejected a request, although no CUDA call has failed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "record/python/python_stack.h"

namespace cudadiag::record {

enum class Refuser : std::uint8_t { none, cupy, jax };

// `module` and `type` are the exception class's module and name: "cupy.cuda.memory", "OutOfMemoryError".
Refuser refuser_of(std::string_view module, std::string_view type);

struct RefusedRequest {
  const char* pool = nullptr;  // a name from wire/error.h; null if the pool did not reject a request
  std::uint64_t bytes = 0;     // JAX may round the number to a hundredth of its unit
};

// Parses the message of the exception that CuPy or JAX raises when its memory pool rejects a request. If CuPy's message
// shows that the GPU itself ran out of memory, the result names no pool: the failed CUDA call has already been
// recorded.
RefusedRequest refused_request(Refuser refuser, std::string_view message);

// Detects when the program ends because CuPy's or JAX's memory pool has rejected a request (a refusal). In this case,
// no CUDA call has failed.
//
// Neither library has a function that this file could replace. Instead, this file registers a function with `atexit`,
// which examines the exception that ended the interpreter. CPython stores this exception in `sys` before it runs the
// registered functions. A refusal that the program has caught is never examined.
//
// The examination runs no Python code, and imports nothing. In a program without these libraries, it only makes pending
// calls, which look for the libraries in sys.modules.
namespace uncaught_refusal {

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

}  // namespace uncaught_refusal

// Detects when PyTorch's caching allocator rejects a request. The allocator then raises torch.OutOfMemoryError,
// possibly without a failed CUDA call. For example, the program may have set a limit, or PyTorch's free memory may be
// in pieces that are too small.
//
// Just before it raises the exception, the allocator calls c10::reportOutOfMemoryToProfiler(), a function of another
// library. This file replaces the address that libc10_cuda.so uses for this call. The new function notifies the
// recorder, then calls the original. A successful allocation does not go through replaced code.
namespace caching_allocator {

// `bytes` is the requested size. Called on the requesting thread, inside PyTorch's malloc().
using Refused = void (*)(std::uint64_t bytes);

// Must be called once per process.
void listen(Refused refused);
// Call this whenever device code is loaded, because PyTorch may be loaded after CUDA and then loads device code of its
// own. Looking for PyTorch reads a file, so most calls do nothing.
void look();

}  // namespace caching_allocator

}  // namespace cudadiag::record
