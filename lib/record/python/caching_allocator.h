// PyTorch's caching allocator on a GPU, when it gives up: it then raises torch.OutOfMemoryError, and no call of CUDA need
// have failed, as the program may have set a limit, or memory that PyTorch keeps may be in pieces that are too small.
//
// Just before, it calls c10::reportOutOfMemoryToProfiler(), a function of another library. The address by which
// libc10_cuda.so calls that is replaced by one of ours, which tells the recorder and then calls the function. Nothing is
// replaced on the way of an allocation that succeeds.
#pragma once

#include <cstdint>

namespace cudadiag::record::caching_allocator {

// `bytes`: asked for. On the thread that asked, inside PyTorch's malloc().
using Refused = void (*)(std::uint64_t bytes);

// Once a process.
void listen(Refused refused);
// PyTorch may come after CUDA, and then loads its own code into the GPU: call it at such occasions. Looks at ever fewer
// of them, because each look reads a file.
void look();

}  // namespace cudadiag::record::caching_allocator
