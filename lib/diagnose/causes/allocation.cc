// Rules for failed memory requests, and for invalid frees.

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

constexpr std::uint64_t kAbsurd = std::uint64_t{1} << 44;  // 16 TiB: more than any GPU has

void add_sizes(const Case& failed, Facts& facts) {
  facts.add("call", failed.call());
  facts.add("size", size_text(failed.refused().bytes));
  facts.add("bytes", std::to_string(failed.refused().bytes));
  if (!failed.report.gpus.empty()) facts.add("gpu", failed.report.gpus.front());
  if (failed.refused().free) facts.add("free", size_text(*failed.refused().free));
}

bool enough_was_free(const Case& failed, Facts& facts) {
  add_sizes(failed, facts);
  return failed.refused().bytes > 0 && failed.refused().free && *failed.refused().free >= failed.refused().bytes;
}

bool too_little_was_free(const Case& failed, Facts& facts) {
  add_sizes(failed, facts);
  return failed.refused().free && *failed.refused().free < failed.refused().bytes;
}

bool absurd(const Case& failed, Facts& facts) {
  add_sizes(failed, facts);
  return failed.refused().bytes >= kAbsurd;
}

bool sized(const Case& failed, Facts& facts) {
  add_sizes(failed, facts);
  return failed.refused().bytes > 0;
}

bool sized_in_pytorch(const Case& failed, Facts& facts) { return !failed.report.torch.empty() && sized(failed, facts); }

bool names_call(const Case& failed, Facts& facts) {
  facts.add("call", failed.call());
  return true;
}

bool frees_inside(const Case& failed, Facts& facts) {
  const auto& memory = failed.refused().freed;
  if (!memory || memory->is_freed || memory->offset == 0 || memory->offset >= memory->bytes) return false;
  facts.add("offset", size_text(memory->offset));
  facts.add("bytes", size_text(memory->bytes));
  add_place(facts, "allocated", memory->allocated, failed.report.working_directory);
  return names_call(failed, facts);
}

bool frees_twice(const Case& failed, Facts& facts) {
  const auto& memory = failed.refused().freed;
  if (!memory || !memory->is_freed || memory->offset != 0) return false;
  facts.add("bytes", size_text(memory->bytes));
  add_place(facts, "freed", memory->freed, failed.report.working_directory);
  return names_call(failed, facts);
}

const std::vector<std::string_view> kAllocating = {"Malloc", "MemAlloc", "HostAlloc", "MemCreate", "HostRegister"};

}  // namespace

const std::vector<Rule>& allocation_rules() {
  static const std::vector<Rule> rules = {
      {.id = "absurd-allocation",
       .sure = Sure::often,
       .codes = {2},
       .calls = kAllocating,
       .when = absurd,
       .texts = {"{call} requested {size} ({bytes} bytes), more than any GPU has, often because the size was negative "
                 "or overflowed"},
       .fix = {"check how the size is computed: use 64-bit arithmetic, and initialise every input"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "no-pinned-memory",
       .codes = {2},
       .calls = {"HostAlloc", "MallocHost", "MemAllocHost", "HostRegister"},
       .when = sized,
       .texts = {"{call} requested {size} of pinned host memory, but the system could not pin that much"},
       .fix = {"pin less{torch: (DataLoader: pin_memory=False, fewer workers)}, and check the container's memory limit "
               "and ulimit -l"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#page-locked-host-memory"},
      {.id = "out-of-memory",
       .sure = Sure::often,
       .codes = {2},
       .calls = {"MallocManaged", "MemAllocManaged"},
       .when = sized,
       .texts = {"{call} requested {size} of managed memory and failed, often because that exceeds device and host "
                 "memory combined, or the memory of a device that cannot page"},
       .fix = {"allocate less at once, free what you no longer use, and check the container's memory limit"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#unified-memory-programming"},
      {.id = "allocator-limit",
       .sure = Sure::often,
       .codes = {2},
       .calls = {"CUDACachingAllocator"},
       .when = sized,
       .texts = {"PyTorch's allocator refused to allocate {size}, although no CUDA call failed[ and the GPU had {free} "
                 "free], often because the program set a limit, or the memory that PyTorch has reserved is split into "
                 "blocks that are too small"},
       .fix = {"raise the limit (torch.cuda.set_per_process_memory_fraction), or hold fewer tensors at once",
               "if much memory is reserved but little of it is allocated, set "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
               "if you catch the exception, leave the except block before retrying: the exception keeps tensors alive"},
       .link = "https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management"},
      {.id = "allocator-limit",
       .codes = {2},
       .calls = {"cupy.cuda.MemoryPool"},
       .when = sized,
       .texts = {"CuPy's memory pool refused to allocate {size}, although no CUDA call failed[ and the GPU had {free} "
                 "free]: the request would take the pool over its limit"},
       .fix = {"raise the limit (set_limit, CUPY_GPU_MEMORY_LIMIT), or hold fewer arrays at once",
               "let the pool free the blocks that no array uses: cupy.get_default_memory_pool().free_all_blocks()"},
       .link = "https://docs.cupy.dev/en/stable/user_guide/memory.html"},
      {.id = "out-of-memory",
       .codes = {2},
       .calls = {"BFCAllocator"},
       .when = too_little_was_free,
       .texts =
           {"JAX's memory pool refused to allocate {size} because the GPU had only {free} free; no CUDA call failed"},
       .fix = {"request less at once: smaller batches, donated arguments (donate_argnums), jax.checkpoint"},
       .link = "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"},
      {.id = "allocator-limit",
       .sure = Sure::often,
       .codes = {2},
       .calls = {"BFCAllocator"},
       .when = sized,
       .texts = {"JAX's memory pool refused to allocate {size}, although no CUDA call failed[ and the GPU had {free} "
                 "free], often because the share of GPU memory that JAX reserves at startup is too small, or the pool "
                 "is fragmented"},
       .fix = {"let JAX reserve more (XLA_PYTHON_CLIENT_MEM_FRACTION=.95), or let its pool grow "
               "(XLA_PYTHON_CLIENT_PREALLOCATE=false)",
               "request less at once: smaller batches, donated arguments (donate_argnums), jax.checkpoint"},
       .link = "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"},
      {.id = "memory-refused-though-free",
       .sure = Sure::often,
       .codes = {2},
       .calls = kAllocating,
       .when = enough_was_free,
       .texts = {"{call} requested {size} and failed, although {free} was free right afterwards; this is often caused "
                 "by fragmentation, or by another process that briefly held the memory"},
       .fix = {"try again, or request less at once; nvidia-smi shows which processes hold memory"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "out-of-memory",
       .codes = {2},
       .calls = kAllocating,
       .when = sized_in_pytorch,
       .texts = {"{call} requested {size}, but the device had less free memory"},
       .fix = {"use smaller batches, gradient checkpointing, or torch.no_grad() if nothing is trained; nvidia-smi "
               "shows which other processes hold memory",
               "if much memory is reserved but little of it is allocated, set "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
               "if you catch the exception, leave the except block before retrying: the exception keeps tensors alive"},
       .link = "https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management"},
      {.id = "out-of-memory",
       .codes = {2},
       .calls = kAllocating,
       .when = sized,
       .texts = {"{call} requested {size}, but the device had less free memory"},
       .fix = {"allocate less at once, free what you no longer use, and check with nvidia-smi which other processes "
               "hold memory"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "no-memory-for-the-context",
       .sure = Sure::often,
       .codes = {2},
       .calls = {"CtxCreate", "PrimaryCtxRetain", "SetDevice", "ModuleLoad", "LibraryLoad", "GraphInstantiate",
                 "StreamCreate"},
       .when = names_call,
       .texts = {"{call} found too little memory for CUDA itself, often because other processes have filled the GPU's "
                 "memory"},
       .fix = {"check with nvidia-smi which processes hold memory, such as one left over from an earlier run, or "
               "several ranks on one GPU"},
       .link = "https://docs.nvidia.com/deploy/nvidia-smi/index.html"},
      {.id = "already-pinned",
       .codes = {712},
       .calls = {"HostRegister"},
       .when = names_call,
       .texts = {"the host memory given to {call} is pinned already, in whole or in part"},
       .fix = {"pin each block once, and unpin it before pinning it again: "
               "{cuda:cudaHostUnregister|cuMemHostUnregister}",
               "memory from {cuda:cudaMallocHost or cudaHostAlloc|cuMemAllocHost or cuMemHostAlloc} is pinned from the "
               "start{torch:, and so are tensors after pin_memory()}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#page-locked-host-memory"},
      {.id = "host-memory-not-pinned",
       .codes = {713},
       .calls = {"HostUnregister", "HostGetDevicePointer", "HostGetFlags"},
       .when = names_call,
       .texts = {"the host memory given to {call} is not registered (pinned)"},
       .fix = {"pass the address that was given to {cuda:cudaHostRegister|cuMemHostRegister}, once for each "
               "registration"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#page-locked-host-memory"},
      {.id = "size-of-variable",
       .sure = Sure::often,
       .codes = {1},
       .calls = {"MemcpyToSymbol", "MemcpyFromSymbol", "MemcpyToSymbolAsync", "MemcpyFromSymbolAsync"},
       .when = names_call,
       .texts = {"{call} refused to copy, often because the offset and the size reach past the end of the variable"},
       .fix = {"compare the size and the offset, both in bytes, with sizeof(the variable)"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "texture-refused",
       .codes = {26},
       .when = names_refusing_call,
       .texts = {"{call}: linear filtering needs a texture of floats, or of integers that are read as normalised "
                 "floats"},
       .fix = {"read the texture with cudaFilterModePoint, or convert its elements to floats"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#texture-and-surface-memory"},
      {.id = "texture-refused",
       .sure = Sure::often,
       .codes = {1},
       .calls = {"CreateTextureObject", "TexObjectCreate"},
       .when = names_call,
       .texts = {"{call} refused the description of the texture, often because the memory does not begin at a multiple "
                 "of textureAlignment, the pitch is not a multiple of texturePitchAlignment, or the filter or the read "
                 "mode does not fit the format"},
       .fix = {"allocate the image with {cuda:cudaMallocPitch|cuMemAllocPitch}, and pass the pitch that it returns",
               "linear filtering needs floats, or integers that are read as normalised floats"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#texture-and-surface-memory"},
      {.id = "invalid-free",
       .codes = {1, 17},
       .when = frees_inside,
       .texts = {"{call} was given an address that is {offset} after the beginning of its allocation ({bytes}[, "
                 "allocated at {allocated}])"},
       .fix = {"free each allocation once, with the pointer that the allocation returned and the matching call"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "invalid-free",
       .codes = {1, 17},
       .when = frees_twice,
       .texts = {"{call} was given memory that had been freed[ at {freed}]: {bytes}"},
       .fix = {"free each allocation once; after that, set the pointer to null, which may be freed again"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "invalid-free",
       .sure = Sure::often,
       .codes = {1, 17},
       .calls = {"cudaFreeAsync", "cuMemFreeAsync"},
       .when = names_call,
       .texts = {"{call} rejected the pointer, often because it is not the start of a live allocation, or because a "
                 "stream is being captured and the memory was not allocated in a graph"},
       .fix =
           {"free each allocation once, with the pointer that the allocation returned",
            "if the memory was allocated outside the graph, free it only before the capture begins or after it ends"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#stream-ordered-memory-allocator"},
      {.id = "invalid-free",
       .codes = {1, 17},
       .calls = {"cudaFree", "cuMemFree"},
       .when = names_call,
       .texts = {"the pointer given to {call} is not the start of a live allocation: it was already freed, points into "
                 "the middle of an allocation, or comes from another allocator"},
       .fix = {"free each allocation once, with the pointer that the allocation returned and the matching call"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
  };
  return rules;
}

}  // namespace cudadiag::causes
