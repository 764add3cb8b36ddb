// Rules for causes outside the program: GPU memory, links, the display's watchdog, other programs on the GPU.

#include "diagnose/causes/families.h"

namespace cudadiag::causes {
namespace {

bool may_be_another_client(const Case& failed, Facts& facts) {
  if (!failed.finding.foreign_exception.empty()) facts.add("exception", failed.finding.foreign_exception);
  return failed.asynchronous() && failed.may_be_another_client;
}

}  // namespace

const std::vector<Rule>& hardware_rules() {
  static const std::vector<Rule> rules = {
      {.id = "ecc",
       .codes = {214},
       .texts = {"the GPU reported a memory error that it could not correct: the hardware is at fault, not this line"},
       .fix = {"check nvidia-smi -q -d ECC,ROW_REMAPPER and dmesg (Xid 48, 63, 64, 94, 95); reset the GPU, and have it "
               "replaced if it happens again"},
       .link = "https://docs.nvidia.com/deploy/xid-errors/index.html"},
      {.id = "nvlink",
       .codes = {220},
       .texts =
           {"a link between GPUs had an error that could not be corrected: the hardware is at fault, not this line"},
       .fix = {"check nvidia-smi nvlink -e and dmesg (Xid 74); reset the GPUs, and have the link checked if it happens "
               "again"},
       .link = "https://docs.nvidia.com/deploy/xid-errors/index.html"},
      {.id = "memory-contained",
       .codes = {226},
       .texts = {"the GPU confined a memory error to this process and stopped the process: the hardware is at fault, "
                 "not this line"},
       .fix = {"run again; dmesg (Xid 94) and nvidia-smi -q -d ECC,ROW_REMAPPER show whether the GPU must be reset"},
       .link = "https://docs.nvidia.com/deploy/xid-errors/index.html"},
      {.id = "launch-timeout",
       .codes = {702},
       .texts = {"the kernel ran longer than this GPU's time limit for kernels, and was stopped"},
       .fix =
           {"split the work into shorter kernels, or look for a loop that never exits",
            "or use a GPU without a limit ({cuda:cudaDevAttrKernelExecTimeout|CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT} "
            "is 0): GPUs that drive a display have a time limit"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"},
      // Error 710 is missing on purpose: under MPS, a failed assertion ends only the program in which it failed (seen
      // with driver 580).
      {.id = "mps-client",
       .sure = Sure::often,
       .codes = {700, 714, 715, 716, 717, 718, 719},
       .when = may_be_another_client,
       .texts = {"under MPS, a fatal error in one program ends all programs on the GPU; in a rerun, {exception} came "
                 "from code that this program had not loaded, often because another program caused the failure",
                 "under MPS, a fatal error in one program ends all programs on the GPU; often another program caused "
                 "the failure, and nothing shows that this one did"},
       .fix = {"find out which program on this GPU failed at the same time: MPS's server.log lists all programs that "
               "it ended (in $CUDA_MPS_LOG_DIRECTORY, else /var/log/nvidia-mps)",
               "run this program without MPS, to see whether it fails on its own"},
       .link = "https://docs.nvidia.com/deploy/mps/index.html"},
  };
  return rules;
}

}  // namespace cudadiag::causes
