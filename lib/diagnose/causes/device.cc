// Rules for devices, drivers and code that are missing or do not fit the GPU, and for processes that cannot use CUDA.

#include <fmt/core.h>

#include <algorithm>

#include "diagnose/causes/rule.h"
#include "diagnose/facts/place.h"

namespace cudadiag::causes {
namespace {

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

const std::string* visible(const Case& failed) {
  const auto found = failed.environment.find(kVisible);
  return found == failed.environment.end() ? nullptr : &found->second;
}

void add_machine(const Case& failed, Facts& facts) {
  facts.add("call", failed.call());
  if (!failed.report.gpus.empty()) facts.add("gpu", failed.report.gpus.front());
  if (!failed.report.driver.empty()) facts.add("driver", failed.report.driver);
  if (!failed.report.cuda.empty()) facts.add("cuda", failed.report.cuda);
  if (const std::string* devices = visible(failed)) facts.add("visible", *devices);
}

bool refused(const Case& failed, Facts& facts) {
  add_machine(failed, facts);
  return !failed.asynchronous();
}

// The device number must be wrong, because these calls take no other input.
bool chooses_device(const Case& failed, Facts& facts) {
  return refused(failed, facts) && (failed.call() == "cudaSetDevice" || failed.call() == "cuDeviceGet");
}

bool all_hidden(const Case& failed, Facts& facts) {
  const std::string* devices = visible(failed);
  return refused(failed, facts) && devices != nullptr &&
         (devices->empty() || *devices == "-1" || *devices == "NoDevFiles");
}

bool forked(const Case& failed, Facts& facts) {
  if (!refused(failed, facts) || failed.forked_from == 0) return false;
  facts.add("parent", std::to_string(failed.forked_from));
  const auto& related = failed.finding.related;
  const auto fork = std::ranges::find(related, diagnose::Role::fork, &diagnose::Related::role);
  if (fork != related.end()) facts.add("fork", diagnose::place(fork->location, failed.report.working_directory));
  return true;
}

constexpr std::string_view kVisibleLink =
    "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html";
constexpr std::string_view kArchitectures =
    "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#gpu-feature-list";
constexpr std::string_view kCompatibility = "https://docs.nvidia.com/deploy/cuda-compatibility/index.html";

}  // namespace

const std::vector<Rule>& device_rules() {
  static const std::vector<Rule> rules = {
      // These calls also fail for an existing device that cannot page managed memory.
      {.id = "invalid-device",
       .sure = Sure::often,
       .codes = {101},
       .calls = {"MemPrefetch", "MemAdvise"},
       .when = refused,
       .texts = {"{call} could not use the device, often because the device cannot page managed memory (as under WSL "
                 "or on virtual GPUs), or this process has no device with that number"},
       .fix = {"call it only if the device's "
               "{cuda:cudaDevAttrConcurrentManagedAccess|CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS} is 1; the "
               "program also works without this call"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "invalid-device",
       .codes = {101},
       .when = chooses_device,
       .texts = {"this process has no device with the number given to {call}[ (CUDA_VISIBLE_DEVICES={visible}, "
                 "numbered from 0)]"},
       .fix = {"start no more ranks than GPUs (torchrun --nproc-per-node, LOCAL_RANK), and count devices from 0 among "
               "those that CUDA_VISIBLE_DEVICES selects"},
       .link = kVisibleLink},
      {.id = "invalid-device",
       .sure = Sure::often,
       .codes = {101},
       .when = refused,
       .texts = {"{call} could not use the device, most often because this process has no device with the given "
                 "number[ (CUDA_VISIBLE_DEVICES={visible}, numbered from 0)], or because the device lacks a feature "
                 "that the call needs"},
       .fix =
           {"count devices from 0 in the order of CUDA_VISIBLE_DEVICES, and start no more ranks than GPUs",
            "check first with {cuda:cudaDeviceGetAttribute|cuDeviceGetAttribute} whether the device has the feature"},
       .link = kVisibleLink},
      {.id = "devices-hidden",
       .codes = {100},
       .when = all_hidden,
       .texts = {"CUDA_VISIBLE_DEVICES=\"{visible}\" hides every GPU from this process"},
       .fix = {"unset CUDA_VISIBLE_DEVICES, or set it to numbers that nvidia-smi -L shows"},
       .link = kVisibleLink},
      {.id = "no-device",
       .sure = Sure::often,
       .codes = {100},
       .when = refused,
       .texts = {"the driver found no GPU, often because the container was started without GPUs, or the kernel module "
                 "is not loaded"},
       .fix = {"check nvidia-smi; start the container with --gpus all, or ask the scheduler for a GPU"},
       .link = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/index.html"},
      {.id = "cuda-after-fork",
       .codes = {3},
       .when = forked,
       .texts = {"process {parent}, which had already used CUDA, forked this process[ at {fork}]; CUDA does not work "
                 "in a process that was forked after its parent used CUDA"},
       .fix = {"start new worker processes instead of forking them{python:, with "
               "multiprocessing.set_start_method(\"spawn\")}{torch: or DataLoader(multiprocessing_context=\"spawn\")}",
               "or use CUDA in the parent only after all forks{torch:, and keep tensors on the CPU in DataLoader "
               "workers}"},
       .link = "https://docs.pytorch.org/docs/stable/notes/multiprocessing.html"},
      {.id = "driver-too-old",
       .codes = {35, 36},
       .when = refused,
       .texts = {"the driver ({driver}) is too old for the program's CUDA runtime",
                 "the driver is too old for the program's CUDA runtime, or is not installed"},
       .fix = {"update the driver, or install a build for the CUDA version that nvidia-smi shows{torch: (PyTorch: the "
               "wheels from another cuXXX index)}"},
       .link = kCompatibility},
      {.id = "no-kernel-image",
       .codes = {209},
       .when = refused,
       .texts = {"the program contains no code for this GPU[ ({gpu})]: it was built for other architectures"},
       .fix =
           {"build for this GPU: nvcc -gencode arch=compute_XX,code=sm_XX or -arch=native{torch:, "
            "TORCH_CUDA_ARCH_LIST for extensions}",
            "{torch:torch.cuda.get_arch_list() shows what PyTorch was built for; a newer wheel may support more GPUs}"},
       .link = kArchitectures},
      {.id = "kernel-not-in-module",
       .sure = Sure::often,
       .codes = {98},
       .when = refused,
       .texts = {"the loaded code does not contain the kernel, often because it was not built for this GPU[ ({gpu})], "
                 "or because the kernel is registered with another library's copy of the runtime"},
       .fix = {"build for this GPU (nvcc -arch=native, TORCH_CUDA_ARCH_LIST), and link the runtime once "
               "(-cudart shared)"},
       .link = kArchitectures},
      {.id = "ptx-too-new",
       .sure = Sure::often,
       .codes = {222},
       .when = refused,
       .texts =
           {"the driver[ ({driver})] does not support this version of PTX, often because a newer toolkit generated it"},
       .fix = {"update the driver, build with an older toolkit, or include machine code for this GPU (code=sm_XX); for "
               "Triton, set TRITON_PTXAS_PATH to the ptxas of an older toolkit"},
       .link = kCompatibility},
      {.id = "invalid-ptx",
       .codes = {218},
       .when = refused,
       .texts = {"the driver's compiler rejected the PTX of a module"},
       .fix = {"compile the PTX with ptxas to see the faulty line, or pass CU_JIT_ERROR_LOG_BUFFER when loading the "
               "module"},
       .link = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html"},
      {.id = "no-ptx-compiler",
       .codes = {221, 223},
       .when = refused,
       .texts = {"the program has only PTX and no machine code for this GPU, and the driver cannot compile PTX here"},
       .fix = {"install the driver's libnvidia-ptxjitcompiler (a container needs the driver capability \"compute\"), "
               "unset CUDA_DISABLE_PTX_JIT, or build machine code for this GPU"},
       .link = kVisibleLink},
      {.id = "invalid-symbol",
       .codes = {13},
       .when = refused,
       .texts = {"{call} was given a symbol that is not a __device__ or __constant__ variable of a loaded module"},
       .fix = {"pass the variable itself, not its name or host address; it must be in the same library as the call, "
               "and built for this GPU"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
      {.id = "function-not-found",
       .codes = {500},
       .calls = {"GetFunction", "GetKernel", "GetGlobal"},
       .when = refused,
       .texts = {"the module has no function or variable with the name given to {call}"},
       .fix = {"declare it extern \"C\", or look it up by its mangled name (cuobjdump -symbols; NVRTC: "
               "nvrtcGetLoweredName)"},
       .link = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MODULE.html"},
      {.id = "device-busy",
       .sure = Sure::often,
       .codes = {46},
       .when = refused,
       .texts = {"the device is not available at the moment, often because it is in prohibited mode, or in exclusive "
                 "mode and used by another process"},
       .fix =
           {"nvidia-smi -q -d COMPUTE shows the mode; end the process that uses the device, or choose another device"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-modes"},
      {.id = "stub-library",
       .codes = {34},
       .when = refused,
       .texts = {"the program loaded the toolkit's stub of libcuda instead of the driver's library; the stub cannot "
                 "run anything"},
       .fix = {"remove the toolkit's lib64/stubs from LD_LIBRARY_PATH and the rpath: stubs are only for linking"},
       .link = kCompatibility},
      {.id = "driver-mismatch",
       .codes = {803},
       .when = refused,
       .texts = {"the driver's kernel module and the driver's libraries have different versions"},
       .fix = {"restart the machine after a driver update, or reload the module; in a container, remove the "
               "container's own libcuda"},
       .link = kCompatibility},
      {.id = "fabric-not-ready",
       .sure = Sure::often,
       .codes = {802},
       .when = refused,
       .texts = {"the system is not ready for CUDA yet, often because the NVSwitch fabric is not set up, or another "
                 "driver daemon is not running"},
       .fix = {"on machines with NVSwitch, start the fabric manager that matches the driver's version (systemctl "
               "status nvidia-fabricmanager)",
               "under confidential computing, set the GPUs to ready (nvidia-smi conf-compute -srs 1)"},
       .link = "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html"},
      {.id = "compatibility-package",
       .codes = {804},
       .when = refused,
       .texts = {"the program loaded a forward-compatibility libcuda that does not work with this GPU"},
       .fix = {"remove the cuda-compat folder from LD_LIBRARY_PATH, or update the driver"},
       .link = kCompatibility},
  };
  return rules;
}

// ---- causes outside the program: GPU memory, links, the display's watchdog, other programs on the GPU

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
