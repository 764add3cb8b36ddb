// Rules for failures of the kernel itself: a failed assertion, a trap, too deep a recursion. Their error codes say
// little, so the other families are tried first.

#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

bool own_assertion(const Case& failed, Facts& facts) {
  if (failed.assertion().empty()) return false;
  facts.add("condition", failed.assertion());
  if (!failed.device().function.empty()) facts.add("function", failed.device().function);
  return true;
}

bool stopped_by(const Case& failed, Facts& facts, std::string_view exception) {
  facts.add("exception", failed.device().exception);
  return has_any(failed.device().exception, {exception});
}

bool overflowed_stack(const Case& failed, Facts& facts) { return stopped_by(failed, facts, "Stack Overflow"); }
bool overwritten_stack(const Case& failed, Facts& facts) { return stopped_by(failed, facts, "Stack Canary"); }
bool left_cluster(const Case& failed, Facts& facts) { return stopped_by(failed, facts, "Block Not Present"); }
bool outside_cluster(const Case& failed, Facts& facts) {
  return stopped_by(failed, facts, "Cluster Out-of-range Address");
}
bool trapped(const Case& failed, Facts& facts) { return stopped_by(failed, facts, "Trap Instruction"); }

bool misread(const Case& failed, Facts&) { return failed.asynchronous(); }

bool lost_dump(const Case& failed, Facts&) { return failed.asynchronous() && failed.lost_dump; }

// A refused call that no other rule explains. The driver says why it refused the call.
bool explained(const Case& failed, Facts& facts) {
  std::string explanation = failed.refused().explanation;
  while (explanation.ends_with('.')) explanation.pop_back();
  if (!explanation.empty()) facts.add("explanation", explanation);
  return names_refusing_call(failed, facts);
}

}  // namespace

const std::vector<Rule>& kernel_rules() {
  static const std::vector<Rule> rules = {
      {.id = "failed-assertion",
       .codes = {710},
       .when = own_assertion,
       .texts = {"the kernel's own assertion failed: `{condition}`[, in {function}]"},
       .fix = {"check the values that the assertion tests at this line"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#assertion"},
      {.id = "stack-overflow",
       .when = overflowed_stack,
       .texts = {"a GPU thread ran out of stack ({exception}): its recursion is too deep or infinite, or it has a "
                 "large array in local memory"},
       .fix = {"replace the recursion with a loop, or raise the stack limit before the first launch: "
               "{cuda:cudaDeviceSetLimit(cudaLimitStackSize, …)|cuCtxSetLimit(CU_LIMIT_STACK_SIZE, …)}"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html"},
      {.id = "stack-overwritten",
       .sure = Sure::often,
       .when = overwritten_stack,
       .texts = {"a GPU thread found its stack overwritten ({exception}), often because of a write past the end of a "
                 "local array"},
       .fix = {"check the indices into the local arrays of this kernel and of the functions that it calls, and the "
               "sizes passed to functions that fill such an array"},
       .link = "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html"},
      {.id = "cluster-block-ended",
       .when = left_cluster,
       .texts = {"a thread accessed shared memory of another block of its cluster, and that block had already ended "
                 "({exception})"},
       .fix = {"call cluster.sync() at the end of the kernel, so that no block ends while others use its memory"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#distributed-shared-memory"},
      {.id = "shared-out-of-range",
       .when = outside_cluster,
       .texts = {"a thread used an address outside of the shared memory of its cluster's blocks ({exception})"},
       .fix = {"compare the index with the size of the shared array, and the rank with cluster.num_blocks()"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#distributed-shared-memory"},
      {.id = "trap",
       .when = trapped,
       .texts = {"the kernel stopped itself: it executed a trap ({exception}), as __trap() and failed checks in "
                 "libraries do"},
       .fix = {"find the condition that leads to the __trap() or the failed check in the kernel; a printf before it "
               "shows the values"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#trap-function"},
      {.id = "hardware-stack-error",
       .sure = Sure::often,
       .codes = {714},
       .when = misread,
       .texts = {"the call stack of a GPU thread is corrupted, often because the recursion is too deep"},
       .fix = {"replace the recursion with a loop, or raise the stack limit before the first launch: "
               "{cuda:cudaDeviceSetLimit(cudaLimitStackSize, …)|cuCtxSetLimit(CU_LIMIT_STACK_SIZE, …)}"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__DEVICE.html"},
      {.id = "invalid-code",
       .sure = Sure::often,
       .codes = {715, 718},
       .when = misread,
       .texts = {"a GPU thread executed something that is not code, often because of an index past the end of shared "
                 "memory, a function pointer taken on the host, or a write over the stack"},
       .fix = {"compare the largest index into shared memory with the size of that memory",
               "take device function pointers on the device (a __device__ variable, copied with "
               "{cuda:cudaMemcpyFromSymbol|cuModuleGetGlobal and cuMemcpyDtoH}), and look for local arrays that are "
               "overrun"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#function-pointers"},
      {.id = "invalid-address-space",
       .sure = Sure::often,
       .codes = {717},
       .when = misread,
       .texts = {"a thread used an address in a memory space that its instruction does not accept, often because an "
                 "index, a stride or a pointer is off by gigabytes and reaches the shared or local memory window"},
       .fix = {"check the indices, strides and sizes that this kernel computes addresses from",
               "in inline PTX, make sure that ld.shared and cp.async take shared addresses (__cvta_generic_to_shared)"},
       .link = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html"},
      {.id = "core-dump-lost",
       .codes = {719},
       .when = lost_dump,
       .texts =
           {"the driver wrote no GPU core dump that can be read; without one, error 719 can mean any GPU exception, "
            "such as an illegal address (700) or a failed assertion (710)"},
       .fix = {"run the command again with --once, or without: CUDA then returns the exception's own error"},
       .link = "https://docs.nvidia.com/cuda/cuda-gdb/index.html#gpu-core-dump-support"},
      {.id = "explained-by-driver",
       .when = explained,
       .texts = {"{call}: {explanation}"},
       .fix = {"check the arguments of this call"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#error-log-management"},
      {.id = "tensor-memory-leak",
       .codes = {721},
       .texts = {"a kernel ended without freeing the tensor memory that it had allocated"},
       .fix = {"call tcgen05.dealloc on every path out of the kernel"},
       .link = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html"},
  };
  return rules;
}

}  // namespace cudadiag::causes
