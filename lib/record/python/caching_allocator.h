// Detects when PyTorch's caching allocator rejects a request. The allocator then raises torch.OutOfMemoryError,
// possibly without a failed CUDA call. For example, the program may have set a limit, or PyTorch's free memory may be
// in pieces that are too small.
//
// Just before it raises the exception, the allocator calls c10::reportOutOfMemoryToProfiler(), a function of another
// library. This file replaces the address that libc10_cuda.so uses for this call. The new function notifies the
// recorder, then calls the original. A successful allocation does not go through replaced code.
#pragma once

#include <cstdint>

namespace cudadiag::record::caching_allocator {

// `bytes` is the requested size. Called on the requesting thread, inside PyTorch's malloc().
using Refused = void (*)(std::uint64_t bytes);

// Must be called once per process.
void listen(Refused refused);
// Call this whenever device code is loaded, because PyTorch may be loaded after CUDA and then loads device code of its
// own. Looking for PyTorch reads a file, so most calls do nothing.
void look();

}  // namespace cudadiag::record::caching_allocator
