// Rules for pointers that do not point into live memory, offsets that overflow, and misaligned addresses.

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"
#include "diagnose/facts/kernel_name.h"

namespace cudadiag::causes {
namespace {

constexpr std::uint64_t kVector = 16;  // bytes of the widest load

template <typename Is>
const Argument* add_first(const Case& failed, Facts& facts, Is is) {
  const auto found = std::ranges::find_if(failed.finding.arguments, is);
  if (found == failed.finding.arguments.end()) return nullptr;
  facts.proof.push_back(static_cast<std::size_t>(found - failed.finding.arguments.begin()));
  facts.add("argument", found->name.empty() ? "a pointer" : found->name);
  return &*found;
}

bool is_freed(const Argument& argument) { return argument.allocation && argument.allocation->is_freed; }

// CUDA rejects a launch because of its configuration, never because of its pointers.
bool points_into_freed(const Case& failed, Facts& facts) {
  if (failed.is_launch()) return false;
  const Argument* pointer = add_first(failed, facts, is_freed);
  if (pointer == nullptr) return false;
  facts.add("bytes", size_text(pointer->allocation->bytes));
  add_place(facts, "freed", pointer->allocation->freed, failed.report.working_directory);
  return true;
}

bool is_of_host(const Case& failed, const Argument& argument) {
  return !failed.refused().host_side.empty() && argument.name == failed.refused().host_side;
}

// Returns whether only pointers into freed memory can be at fault. A kernel can also index past the end of any
// allocation, but a copy cannot.
bool only_freed(const Case& failed, Facts& facts) {
  const bool copy = !failed.asynchronous() ||
                    std::ranges::any_of(failed.finding.arguments,
                                        [](const Argument& argument) { return argument.bytes.has_value(); });
  const bool others = std::ranges::any_of(failed.finding.arguments, [&](const Argument& argument) {
    const bool past = argument.allocation && argument.allocation->offset >= argument.allocation->bytes;
    const bool unknown = argument.pointer && !argument.allocation && !is_of_host(failed, argument);
    const bool live = argument.allocation && !is_freed(argument);
    return argument.pointer == 0u || unknown || (live && (past || !copy));
  });
  return !others && points_into_freed(failed, facts);
}

bool freed_before_replay(const Case& failed, Facts& facts) {
  return failed.in_graph() && points_into_freed(failed, facts);
}

// The run's own core dump shows the failing address. This proves that the kernel used the freed memory.
bool used_freed_in_replay(const Case& failed, Facts& facts) {
  if (!failed.in_graph() || !failed.finding.access || failed.finding.access->relation != Relation::freed) return false;
  const Access& access = *failed.finding.access;
  if (!access.allocation) return false;
  add_who(failed, facts);
  facts.add("bytes", size_text(access.allocation->bytes));
  add_place(facts, "freed", access.allocation->freed, failed.report.working_directory);
  return true;
}

// If nothing failed, the pointer into freed memory is the only thing to report.
bool only_freed_before_replay(const Case& failed, Facts& facts) {
  if (!failed.in_graph() || failed.pointer_in_doubt) return false;
  return failed.finding.code == 0 ? points_into_freed(failed, facts) : only_freed(failed, facts);
}

bool copy_past_the_end(const Case& failed, Facts& facts) {
  const Argument* range = add_first(failed, facts, [](const Argument& argument) {
    return argument.bytes && argument.allocation && !argument.allocation->is_freed && argument.allocation->bytes > 0 &&
           argument.allocation->offset + *argument.bytes > argument.allocation->bytes;
  });
  if (range == nullptr) return false;
  const std::uint64_t past = range->allocation->offset + *range->bytes - range->allocation->bytes;
  add_place(facts, "allocated", range->allocation->allocated, failed.report.working_directory);
  facts.add("touched", size_text(*range->bytes));
  facts.add("bytes", size_text(range->allocation->bytes));
  facts.add("past", size_text(past));
  return true;
}

bool wrong_way(const Case& failed, Facts& facts) {
  const Argument* side = add_first(failed, facts, [&](const Argument& argument) {
    return is_of_host(failed, argument) && argument.allocation && !argument.allocation->is_freed;
  });
  if (side == nullptr) return false;
  facts.add("call", failed.call());
  facts.add("way", failed.refused().host_side == "source" ? "from the host" : "to the host");
  facts.add("bytes", size_text(side->allocation->bytes));
  add_place(facts, "allocated", side->allocation->allocated, failed.report.working_directory);
  return true;
}

// Returns true if `argument` is the only address passed to the kernel. If not, the cause may be an index into the
// memory at another address, and the kernel may never use this pointer. The pointer may be null by design, or mark the
// end of a range.
bool is_only_address(const Case& failed, const Argument& argument) {
  return std::ranges::none_of(failed.finding.arguments, [&](const Argument& other) {
    return &other != &argument && (other.allocation || other.pointer.value_or(0) != 0);
  });
}

bool past_the_end(const Case& failed, Facts& facts) {
  const Argument* pointer = add_first(failed, facts, [](const Argument& argument) {
    return argument.allocation && !argument.allocation->is_freed &&
           argument.allocation->offset >= argument.allocation->bytes && argument.allocation->bytes > 0;
  });
  if (pointer == nullptr || !is_only_address(failed, *pointer)) return false;
  const std::uint64_t past = pointer->allocation->offset - pointer->allocation->bytes;
  facts.add("bytes", size_text(pointer->allocation->bytes));
  if (past > 0) facts.add("past", size_text(past));
  return true;
}

bool of_another_gpu(const Case& failed, Facts& facts) {
  const Argument* pointer = add_first(failed, facts, [](const Argument& argument) {
    return argument.allocation && argument.allocation->out_of_reach && argument.allocation->device;
  });
  if (pointer == nullptr || !failed.launch().device) return false;
  facts.add("bytes", size_text(pointer->allocation->bytes));
  facts.add("owner", std::to_string(*pointer->allocation->device));
  facts.add("device", std::to_string(*failed.launch().device));
  add_place(facts, "allocated", pointer->allocation->allocated, failed.report.working_directory);
  return true;
}

// Returns the type of this parameter in the kernel's demangled name; empty if unknown.
std::string_view type_of(const Case& failed, const Argument& argument) {
  const auto types = diagnose::parameter_types(failed.kernel());
  const std::uint32_t number = argument.parameter;
  return number > 0 && argument.parameter_byte == 0 && number <= types.size() ? types[number - 1] : "";
}

bool is_pointer_by_type(const Case& failed, const Argument& argument) {
  return type_of(failed, argument).ends_with('*');
}

bool is_zero(const Argument& argument) {
  return argument.origin == session::NameSource::kernel && argument.pointer == 0u;
}

// Returns true if the null pointer may be the cause. A failed allocation that the program did not check leaves a null
// pointer. If no call failed, the pointer may be null by design.
bool may_be_blamed(const Case& failed, const Argument& null) {
  return !failed.finding.swallowed.empty() || is_only_address(failed, null);
}

bool null_pointer(const Case& failed, Facts& facts) {
  if (!failed.finding.swallowed.empty()) facts.add("swallowed", failed.finding.swallowed);
  return add_first(failed, facts, [&](const Argument& argument) {
           return is_zero(argument) && is_pointer_by_type(failed, argument) && may_be_blamed(failed, argument);
         }) != nullptr;
}

// Returns whether Triton or Numba may have added the parameter: Triton's scratch memory and the owner of a Numba array
// are null by design. Triton's own parameters have no names.
bool may_be_added(const Case& failed, const Argument& argument) {
  const auto has = [&](std::string_view folder) {
    return std::ranges::any_of(failed.finding.stack.python,
                               [&](const auto& frame) { return frame.file.find(folder) != std::string::npos; });
  };
  return has("/numba/") || (has("/triton/") && argument.name.starts_with("parameter "));
}

// If the kernel's name lists no parameter types, eight zero bytes may be a pointer or a number.
bool zero_of_unknown_type(const Case& failed, Facts& facts) {
  if (!diagnose::parameter_types(failed.kernel()).empty()) return false;
  if (!failed.finding.swallowed.empty()) facts.add("swallowed", failed.finding.swallowed);
  return add_first(failed, facts, [&](const Argument& argument) {
           return is_zero(argument) && !may_be_added(failed, argument) && may_be_blamed(failed, argument);
         }) != nullptr;
}

const char* host_memory_at(const Case& failed, const Argument& argument) {
  return diagnose::host_memory_at(argument.pointer.value_or(0), failed.reads_host_memory);
}

bool of_the_host(const Case& failed, Facts& facts) {
  const Argument* pointer = add_first(failed, facts, [&](const Argument& argument) {
    return argument.origin == session::NameSource::kernel && !argument.allocation &&
           is_pointer_by_type(failed, argument) && host_memory_at(failed, argument) != nullptr;
  });
  if (pointer == nullptr) return false;
  facts.add("where", host_memory_at(failed, *pointer));
  return true;
}

bool function_of_host(const Case& failed, Facts& facts) {
  return add_first(failed, facts, [&](const Argument& argument) {
           // A template argument may be a function, too. The stack has no functions. No GPU runs the host's code.
           const std::string_view type = type_of(failed, argument);
           const bool is_function = type.find("(*)(") < type.find('<');
           const char* const where = diagnose::host_memory_at(argument.pointer.value_or(0), false);
           return is_function && !argument.allocation && where != nullptr && where == std::string_view("heap");
         }) != nullptr;
}

bool fills_host(const Case& failed, Facts& facts) {
  const Argument* pointer = add_first(failed, facts, [&](const Argument& argument) {
    return !argument.allocation && host_memory_at(failed, argument) != nullptr;
  });
  if (pointer == nullptr) return false;
  facts.add("call", failed.call());
  facts.add("where", host_memory_at(failed, *pointer));
  return true;
}

bool big_tensor(const Case& failed, Facts& facts) {
  const Argument* tensor =
      add_first(failed, facts, [](const Argument& argument) { return extent(argument).value_or(0) > kMost32; });
  if (tensor == nullptr) return false;
  facts.add("elements", std::to_string(*extent(*tensor)));
  return true;
}

bool off_its_type(const Case& failed, Facts& facts) {
  const Argument* tensor = add_first(failed, facts, [](const Argument& argument) {
    const std::uint64_t size = item_size(argument.dtype);
    return size > 1 && argument.pointer.value_or(0) % size != 0;
  });
  if (tensor == nullptr) return false;
  facts.add("size", std::to_string(item_size(tensor->dtype)));
  facts.add("dtype", tensor->dtype);
  return true;
}

bool off_a_vector(const Case& failed, Facts& facts) {
  const Argument* pointer = add_first(failed, facts, [&](const Argument& argument) {
    const bool number =
        argument.origin == session::NameSource::kernel && !argument.allocation && !is_pointer_by_type(failed, argument);
    return !number && argument.pointer.value_or(0) % kVector != 0;
  });
  if (pointer == nullptr) return false;
  facts.add("remainder", std::to_string(*pointer->pointer % kVector));
  return true;
}

bool out_of_shared(const Case& failed, Facts& facts) {
  facts.add("exception", failed.device().exception);
  return failed.device().exception == "Warp Out-of-range Address";
}

const std::vector<std::string_view> kKeepForGraph = {
    "while the graph exists, do not free {torch:a tensor|memory} that the capture used, and give it new values "
    "{torch:with copy_() }instead of replacing it",
    "or capture the graph again after replacing {torch:a tensor|memory}"};
constexpr std::string_view kGraphLink =
    "{torch:https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs|"
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-graphs}";

}  // namespace

const std::vector<Rule>& pointer_rules() {
  static const std::vector<Rule> rules = {
      {.id = "stale-graph-pointer",
       .codes = {700},
       .when = used_freed_in_replay,
       .texts = {"{kernel} {verb} {bytes} that were freed[ at {freed}] before this replay: a graph keeps the addresses "
                 "that it was given"},
       .fix = kKeepForGraph,
       .link = kGraphLink},
      {.id = "stale-graph-pointer",
       .codes = {0, 700},
       .when = only_freed_before_replay,
       .texts = {"the graph still points into {bytes} that were freed[ at {freed}] before this replay ({argument}): a "
                 "graph keeps the addresses that it was given"},
       .fix = kKeepForGraph,
       .link = kGraphLink},
      {.id = "stale-graph-pointer",
       .sure = Sure::often,
       .codes = {700, 719},
       .when = freed_before_replay,
       .texts = {"the graph still points into {bytes} that were freed[ at {freed}] before this replay ({argument}), "
                 "and the replay probably used them: a graph keeps the addresses that it was given"},
       .fix = kKeepForGraph,
       .link = kGraphLink},
      {.id = "use-after-free",
       .codes = {1, 700},
       .when = only_freed,
       .texts = {"{argument} points into {bytes} that were freed[ at {freed}] before this operation was issued"},
       .fix = kFreeLater,
       .link = kFreeLaterLink},
      {.id = "use-after-free",
       .sure = Sure::often,
       .codes = {1, 700, 719},
       .when = points_into_freed,
       .texts = {"{argument} points into {bytes} that were freed[ at {freed}] before this operation was issued, and "
                 "the operation probably used them"},
       .fix = kFreeLater,
       .link = kFreeLaterLink},
      {.id = "copy-past-allocation",
       .codes = {1, 700},
       .when = copy_past_the_end,
       .texts = {"the {argument} of {touched} reaches {past} past the end of the {bytes} allocated at {allocated}",
                 "the {argument} of {touched} reaches {past} past the end of an allocation of {bytes}"},
       .fix = {"check this call's byte count, and the offset of its pointer, against the size of the allocation"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "pitch-below-width",
       .codes = {12},
       .calls = {"Memcpy2D", "Memcpy3D", "Memset2D", "Memset3D"},
       .when = names_refusing_call,
       .texts = {"{call} got a pitch that is smaller than the width of a row, or larger than the GPU allows"},
       .fix = {"pass the width and both pitches in bytes, not in elements; a pitch is the distance between two rows"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "array-too-large",
       .sure = Sure::often,
       .codes = {1},
       .calls = {"Malloc3DArray", "MallocArray", "MallocMipmappedArray", "cuArrayCreate", "cuArray3DCreate",
                 "cuMipmappedArrayCreate"},
       .when = names_refusing_call,
       .texts =
           {"{call} accepts no array of this size, format or kind: often a dimension exceeds the GPU's limit, such "
            "as 2,048 layers, or its flags do not fit its dimensions"},
       .fix = {"compare width, height and depth or layers with the device's cudaDevAttrMaxTexture and "
               "cudaDevAttrMaxSurface attributes",
               "width and height are in elements, not in bytes"},
       .link =
           "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#features-and-technical-specifications"},
      {.id = "memory-without-ipc-handle",
       .sure = Sure::often,
       .codes = {1},
       .calls = {"IpcGetMemHandle"},
       .when = names_refusing_call,
       .texts = {"{call} makes handles only of memory from cudaMalloc or cuMemAlloc; this often is mapped, managed, "
                 "stream-ordered or host memory"},
       .fix = {"allocate the memory with {cuda:cudaMalloc|cuMemAlloc}, or export memory of cuMemCreate with "
               "cuMemExportToShareableHandle",
               "PyTorch's expandable segments are mapped memory: turn them off for tensors to be shared"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#interprocess-communication"},
      {.id = "copy-direction",
       .sure = Sure::often,
       .codes = {1},
       .when = wrong_way,
       .texts = {"{call} copies {way}, but its {argument} points into {bytes} of device memory[ allocated at "
                 "{allocated}], often because the addresses are swapped, or the direction is wrong"},
       .fix = {"pass the destination before the source, and use the {cuda:cudaMemcpyKind that matches them "
               "(cudaMemcpyDefault detects it)|matching call (cuMemcpy detects the direction)}"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "memory-of-another-gpu",
       .sure = Sure::often,
       .codes = {700},
       .when = of_another_gpu,
       .texts = {"{argument} points into {bytes} on device {owner}[, allocated at {allocated}]; the kernel probably "
                 "used that memory on device {device}, which has no access to it"},
       .fix = {"{torch:launch the kernel under torch.cuda.device(tensor.device), or move the tensor with .to() "
               "first|launch the kernel on a stream of the device that owns the memory, or copy the data to the "
               "kernel's device first}",
               "or enable access to the other device's memory, if the two devices can reach each other: "
               "{cuda:cudaDeviceEnablePeerAccess|cuCtxEnablePeerAccess}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-access"},
      {.id = "pointer-past-allocation",
       .sure = Sure::often,
       .codes = {700},
       .when = past_the_end,
       .texts = {"{argument} points {past} past the end of an allocation of {bytes}, and the kernel probably "
                 "dereferenced it",
                 "{argument} points to the end of an allocation of {bytes}, and the kernel probably dereferenced it"},
       .fix = {"check how this pointer's offset was computed, and whether it counts elements or bytes"},
       .link = "https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html"},
      {.id = "host-pointer",
       .sure = Sure::often,
       .codes = {700},
       .when = of_the_host,
       .texts = {"{argument} is an address in the host's {where}, and the kernel probably used it: this GPU can only "
                 "access CUDA memory"},
       .fix = {"copy the data to GPU memory first ({cuda:cudaMalloc and cudaMemcpy|cuMemAlloc and cuMemcpyHtoD}), or "
               "allocate it with {cuda:cudaMallocHost|cuMemAllocHost}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#mapped-memory"},
      {.id = "host-function",
       .sure = Sure::often,
       .codes = {700, 715, 718, 719},
       .when = function_of_host,
       .texts = {"{argument} is the address of a function on the host, and the kernel probably called it"},
       .fix = {"take the address on the device: in a __device__ variable, copied with "
               "{cuda:cudaMemcpyFromSymbol|cuModuleGetGlobal and cuMemcpyDtoH}",
               "or pass a functor or a device lambda as a template argument"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#function-pointers"},
      {.id = "host-pointer",
       .codes = {1},
       .calls = {"Memset"},
       .when = fills_host,
       .texts = {"{call} sets GPU memory, and its {argument} is an address in the host's {where}"},
       .fix = {"pass the pointer itself, not its address (p, not &p), or use memset() for host memory"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "null-pointer",
       .sure = Sure::often,
       .codes = {700},
       .when = null_pointer,
       .texts = {"{argument} is a null pointer, and the kernel probably dereferenced it[; {swallowed} had failed "
                 "earlier on this thread]"},
       .fix = {"check that {argument} was allocated, and that the allocation succeeded"},
       .link = "https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html"},
      {.id = "null-pointer",
       .sure = Sure::often,
       .codes = {700},
       .when = zero_of_unknown_type,
       .texts = {"{argument} is 0: if it is a pointer, the kernel probably dereferenced it[; {swallowed} had failed "
                 "earlier on this thread]"},
       .fix = {"if {argument} is a pointer, check that it was allocated, and that the allocation succeeded"},
       .link = "https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html"},
      {.id = "index-overflow-32",
       .sure = Sure::often,
       .codes = {700, 717},
       .when = big_tensor,
       .texts = {"{argument} spans {elements} elements, more than a 32-bit index can count (2147483647): an offset "
                 "probably overflowed"},
       .fix = {"compute offsets in 64 bits (Triton: tl.program_id(0).to(tl.int64); CUDA: convert to size_t before "
               "multiplying)",
               "or split the call into parts of fewer than 2**31 elements"},
       .link = "https://github.com/pytorch/pytorch/issues/190857"},
      {.id = "misaligned-for-type",
       .codes = {716},
       .when = off_its_type,
       .texts = {"{argument} is not aligned to the {size} bytes that its elements ({dtype}) require"},
       .fix = {"compute the pointer from an aligned one in steps of whole elements; copy packed data to aligned memory "
               "before using it as {dtype}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#device-memory-accesses"},
      {.id = "misaligned-view",
       .sure = Sure::often,
       .codes = {716},
       .when = off_a_vector,
       .texts = {"{argument} is {remainder} bytes past a multiple of 16: a misaligned access is often caused by vector "
                 "loads (int4, float4, 128 bits) from such an address"},
       .fix = {"{torch:pass a .clone() of it to the kernel (.contiguous() would keep a view's offset)|pass an address "
               "that is a multiple of 16 to the kernel: the start of an allocation is aligned, an offset into it may "
               "not be}",
               "or make the kernel test the pointer (ptr % 16) and read single elements if it is not aligned"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#device-memory-accesses"},
      {.id = "shared-out-of-range",
       .sure = Sure::often,
       .when = out_of_shared,
       .texts = {"a thread used an address out of range ({exception}), often because of an index past the end of "
                 "shared or local memory, or a number used as an address"},
       .fix = {"compare the largest index into shared memory with the size of that memory (for dynamic shared memory, "
               "the third launch argument, in bytes)",
               "recursion and large arrays in local memory need a larger stack: "
               "{cuda:cudaDeviceSetLimit(cudaLimitStackSize, …)|cuCtxSetLimit(CU_LIMIT_STACK_SIZE, …)}",
               "check that each argument that the kernel uses as a pointer is a pointer"},
       .link = "https://docs.nvidia.com/cuda/cuda-gdb/index.html#gpu-error-reporting"},
  };
  return rules;
}

}  // namespace cudadiag::causes
