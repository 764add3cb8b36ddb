// Detects that PyTorch's caching allocator refuses a request. It then raises torch.OutOfMemoryError, maybe without any
// failed CUDA call: the program may have set a limit, or PyTorch's free memory may be in pieces that are too small.
//
// Just before, the allocator calls c10::reportOutOfMemoryToProfiler(), a function of another library. This file
// replaces the address through which libc10_cuda.so calls it with a function that notifies the recorder, then calls the
// original. A successful allocation does not run through replaced code.
#pragma once

#include <cstdint>

namespace cudadiag::record::caching_allocator {

// `bytes`: the size requested. Called on the requesting thread, inside PyTorch's malloc().
using Refused = void (*)(std::uint64_t bytes);

// Call it once per process.
void listen(Refused refused);
// PyTorch may be loaded after CUDA, and then loads its own code into the GPU. Call it at such occasions. It looks at
// fewer and fewer of them, because each look reads a file.
void look();

}  // namespace cudadiag::record::caching_allocator
