// Rules for failures in CUDA's libraries, which return a status of their own instead of the CUDA error. Also has rules
// for failures caused by a peer process.

#include "diagnose/causes/case.h"
#include "diagnose/causes/rule.h"
#include "wire/name_patterns.h"

namespace cudadiag::causes {
namespace {

bool in_library(const Case& failed, Facts& facts) {
  const std::string library = cuda_library(failed.finding.stack);
  facts.add("library", library);
  facts.add("call", failed.call());
  if (failed.refused().bytes > 0) facts.add("size", size_text(failed.refused().bytes));
  return !failed.asynchronous() &&
         has_any(library, {"libcublas", "libcudnn", "libcusolver", "libcusparse", "libcufft"});
}

bool failed_collective(const Case& failed, Facts&) {
  return failed.asynchronous() && wire::is_of_nccl(failed.kernel());
}

bool peer_failed(const Case& failed, Facts& facts) {
  if (!failed_collective(failed, facts) || failed.failed_elsewhere() == 0) return false;
  facts.add("pid", std::to_string(failed.failed_elsewhere()));
  return true;
}

}  // namespace

const std::vector<Rule>& library_rules() {
  static const std::vector<Rule> rules = {
      {.id = "library-out-of-memory",
       .codes = {2},
       .when = in_library,
       .texts = {"{library} ran out of memory for its workspace ({call}, {size}); its own status "
                 "(CUBLAS_STATUS_ALLOC_FAILED, NOT_INITIALIZED or similar) gives no further detail",
                 "{library} ran out of memory for its workspace ({call}); its own status (CUBLAS_STATUS_ALLOC_FAILED, "
                 "NOT_INITIALIZED or similar) gives no further detail"},
       .fix = {"leave the library some memory: {torch:use smaller batches or "
               "torch.cuda.set_per_process_memory_fraction(0.9)|allocate less}, or create its handle before filling "
               "the GPU"},
       .link = "https://docs.nvidia.com/cuda/cublas/index.html#cublasstatus-t"},
      {.id = "collective-after-peer",
       .sure = Sure::often,
       .when = peer_failed,
       .texts = {"a collective failed after process {pid} of the same job had failed: often that failure is the cause, "
                 "because the peers lost access to that process's memory"},
       .fix = {"read the finding on process {pid} first"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"},
      {.id = "collective",
       .sure = Sure::often,
       .codes = {700, 719},
       .when = failed_collective,
       .texts = {"an NCCL kernel failed, often because another rank failed, buffers were freed or differ in size "
                 "between ranks, or a link between the GPUs is faulty"},
       .fix = {"find the rank that failed first; compare the collective's sizes on all ranks",
               "NCCL_DEBUG=INFO prints what NCCL does; a run with NCCL_P2P_DISABLE=1 shows whether the direct link is "
               "at fault"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"},
  };
  return rules;
}

}  // namespace cudadiag::causes
