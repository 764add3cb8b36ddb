#include "run/gpu_checks.h"

#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "base/text.h"
#include "diagnose/session_state.h"
#include "session/process_record.h"
#include "session/session_reader.h"

namespace cudadiag::command {

namespace {

// The few driver functions that the child processes of `cudadiag doctor` call, looked up at run time.
class CudaCalls {
 public:
  CudaCalls() : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  bool loaded() const { return library_ != nullptr; }

  // Usage: cuda.get<decltype(cuInit)>("cuInit"). Returns null if the driver has no such function.
  template <typename Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }

 private:
  void* library_;
};

namespace fs = std::filesystem;

// A kernel that writes through a null pointer unless its argument is 0.
constexpr const char* kProgram = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry planted(.param .u32 bad)
{
  .reg .u32 %r<3>;
  .reg .u64 %a;
  .reg .pred %p;
  ld.param.u32 %r1, [bad];
  setp.eq.u32 %p, %r1, 0;
  @%p bra DONE;
  mov.u64 %a, 0;
  mov.u32 %r2, 1;
  st.global.u32 [%a], %r2;
DONE:
  ret;
}
)";

constexpr unsigned kLaunches = 5;
constexpr unsigned kBadLaunch = 3;

struct ChildResult {
  int status = -1;
  std::string output;
};

// Runs cudadiag itself with `arguments`. Returns its stdout and discards its stderr.
ChildResult run_self(std::vector<std::string> arguments, const std::vector<std::pair<std::string, std::string>>& set) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return {};
  arguments.insert(arguments.begin(), "/proc/self/exe");
  const std::vector<char*> pointers = base::c_strings(arguments);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::close(STDERR_FILENO);
    for (const auto& [name, value] : set) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  ChildResult result;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(pipe[0], buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR);) {
    if (got > 0) result.output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(pipe[0]);
  while (pid > 0 && ::waitpid(pid, &result.status, 0) < 0 && errno == EINTR) continue;
  return result;
}

int print_driver() {
  const CudaCalls cuda;
  if (!cuda.loaded()) {
    const char* reason = ::dlerror();
    std::printf("missing %s\n", reason == nullptr ? "" : reason);
    return 0;
  }
  ::alarm(30);  // a broken driver may never return
  auto* init = cuda.get<decltype(cuInit)>("cuInit");
  const CUresult initialised = init == nullptr ? CUDA_ERROR_NOT_FOUND : init(0);
  if (initialised != CUDA_SUCCESS) {
    std::printf("problem cuInit returned %d\n", initialised);
    return 0;
  }
  int version = 0;
  int count = 0;
  if (auto* get = cuda.get<decltype(cuDriverGetVersion)>("cuDriverGetVersion")) get(&version);
  std::printf("version %d.%d\n", version / 1000, version % 1000 / 10);
  if (auto* get = cuda.get<decltype(cuDeviceGetCount)>("cuDeviceGetCount")) get(&count);
  auto* get_name = cuda.get<decltype(cuDeviceGetName)>("cuDeviceGetName");
  auto* get_attribute = cuda.get<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  for (int device = 0; get_name != nullptr && device < count; ++device) {
    std::array<char, 256> name{};
    if (get_name(name.data(), static_cast<int>(name.size() - 1), device) == CUDA_SUCCESS) {
      std::printf("gpu %s\n", name.data());
    }
    int shared = 0;
    if (get_attribute != nullptr) get_attribute(&shared, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device);
    if (shared != 0) std::printf("mps\n");
  }
  return 0;
}

// Captures a graph on one stream while another stream has outstanding launches, then runs a failing kernel. Returns 0
// if the capture succeeded and CUDA reported the failure.
int run_planted_fault() {
  const CudaCalls cuda;
  if (!cuda.loaded()) return 2;
  CUcontext context{};
  CUmodule module{};
  CUfunction kernel{};
  CUstream stream{};
  CUstream capturing{};
  CUgraph graph{};
  CUdevice device = 0;
  auto* launch = cuda.get<decltype(cuLaunchKernel)>("cuLaunchKernel");
  if (cuda.get<decltype(cuInit)>("cuInit")(0) != CUDA_SUCCESS) return 2;
  if (cuda.get<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, device) != CUDA_SUCCESS)
    return 2;
  if (cuda.get<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context) != CUDA_SUCCESS) return 2;
  if (cuda.get<decltype(cuModuleLoadData)>("cuModuleLoadData")(&module, kProgram) != CUDA_SUCCESS) return 3;
  if (cuda.get<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(&kernel, module, "planted") != CUDA_SUCCESS)
    return 3;
  auto* create = cuda.get<decltype(cuStreamCreate)>("cuStreamCreate");
  if (create(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return 2;
  if (create(&capturing, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return 2;

  unsigned bad = 0;
  void* arguments[] = {&bad};
  auto* begin = cuda.get<decltype(cuStreamBeginCapture)>("cuStreamBeginCapture_v2");
  if (begin(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL) != CUDA_SUCCESS) return 4;
  launch(kernel, 1, 1, 1, 1, 1, 1, 0, capturing, arguments, nullptr);
  for (unsigned i = 1; i < kBadLaunch; ++i) launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  if (cuda.get<decltype(cuStreamEndCapture)>("cuStreamEndCapture")(capturing, &graph) != CUDA_SUCCESS) return 4;
  if (cuda.get<decltype(cuGraphDestroy)>("cuGraphDestroy")(graph) != CUDA_SUCCESS) return 4;

  for (unsigned i = kBadLaunch; i <= kLaunches; ++i) {
    bad = i == kBadLaunch ? 1 : 0;
    launch(kernel, i, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  }
  return cuda.get<decltype(cuStreamSynchronize)>("cuStreamSynchronize")(stream) == CUDA_SUCCESS ? 5 : 0;
}

// Why the test program failed, by its exit status, and what to do.
struct FaultExit {
  int status;
  const char *why, *fix;
};

constexpr FaultExit kFaultExits[] = {
    {2, "no context could be created on GPU 0",
     "check with nvidia-smi that GPU 0 exists, has free memory, and allows more than one process"},
    {3, "the driver rejected the test kernel",
     "the test kernel needs compute capability 5.0 or later: update the driver, or check that nvidia-smi shows such a "
     "GPU"},
    {4, "a graph capture failed while the recorder was active", "file a bug report with the output of cudadiag doctor"},
    {5, "the planted fault raised no error",
     "a real GPU faults when a kernel stores through a null pointer, but a simulated GPU, or a GPU without NVIDIA's "
     "own "
     "driver, may not: run this on a machine with an NVIDIA GPU"},
};
constexpr FaultExit kOtherExit = {-1, "the test program did not finish",
                                  "file a bug report with the output of: cudadiag run -- cudadiag doctor-child fault"};

const FaultExit& fault_exit(int status) {
  const auto* found = std::ranges::find(kFaultExits, WIFEXITED(status) ? WEXITSTATUS(status) : -1, &FaultExit::status);
  return found == std::end(kFaultExits) ? kOtherExit : *found;
}

void judge_recording(const session::Session& session, std::vector<Proof>& proofs) {
  bool marked = false;
  for (const session::Process& process : session.processes) {
    for (const session::Stream& stream : process.record.streams) marked = marked || stream.marker > 0;
  }
  proofs.push_back(marked ? Proof{"markers", "the GPU writes completion markers", ""}
                          : Proof{"markers", "the GPU wrote no completion markers",
                                  "file a bug report with the output of cudadiag dump"});
  diagnose::SessionState state(session);
  const diagnose::Diagnosis& found = state.diagnosis();
  const auto named = [](const diagnose::Finding& finding) {
    return finding.launch && finding.launch->grid[0] == kBadLaunch && finding.launch->mangled == "planted";
  };
  if (!found.findings.empty() && named(found.findings.front())) {
    proofs.push_back({"first failure", "cudadiag found the failing launch", ""});
  } else {
    proofs.push_back({"first failure", "cudadiag did not find the failing launch",
                      "record a failing program, then run: cudadiag report -v"});
  }
}

void prove_recording(const fs::path& scratch, std::vector<Proof>& proofs) {
  const ChildResult child =
      run_self({"run", "-q", "-o", scratch.string(), "--", "/proc/self/exe", "doctor-child", "fault"}, {});
  if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0) {
    proofs.push_back({"recording", fault_exit(child.status).why, fault_exit(child.status).fix});
    return;
  }
  proofs.push_back({"captures", "graph capture works while the recorder is active", ""});
  const auto sessions = session::sessions_in(scratch);
  if (sessions.empty()) {
    proofs.push_back({"recording", "no session was written", "see what cudadiag run -- COMMAND prints"});
    return;
  }
  const auto opened = session::open_session(sessions.front());
  if (const auto* session = std::get_if<session::Session>(&opened)) judge_recording(*session, proofs);
}

void prove_core_dump(const fs::path& scratch, std::vector<Proof>& proofs) {
  const fs::path file = scratch / "gpu.core";
  const ChildResult child =
      run_self({"doctor-child", "fault"},
               {{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"},
                {"CUDA_COREDUMP_FILE", file.string()},
                {"CUDA_COREDUMP_GENERATION_FLAGS", "skip_global_memory,skip_shared_memory,skip_local_memory"}});
  std::error_code error;
  if (fs::file_size(file, error) > 0 && !error) {
    proofs.push_back({"core dumps", "the driver writes GPU core dumps", ""});
  } else if (WIFEXITED(child.status) && WEXITSTATUS(child.status) != 0) {
    const std::string why = fault_exit(child.status).why;
    const bool named = std::ranges::any_of(proofs, [&](const Proof& proof) { return proof.found == why; });
    proofs.push_back({"core dumps", "not tested: " + why, named ? "" : fault_exit(child.status).fix,
                      named ? Proof::Outcome::not_known : Proof::Outcome::problem});
  } else {
    proofs.push_back(
        {"core dumps", "no GPU core dump was written",
         "reports will not show the failing line in a kernel; check that the temporary folder is writable and "
         "that no debugger is attached"});
  }
}

}  // namespace

DriverReport ask_driver() {
  DriverReport report;
  const ChildResult child = run_self({"doctor-child", "driver"}, {{"CUDA_INJECTION64_PATH", ""}});
  report.library_found = true;
  std::istringstream lines(child.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    if (key == "missing") report.library_found = false;
    if (key == "missing" || key == "problem") report.problem = value;
    if (key == "version") report.version = value;
    if (key == "gpu") report.gpus.push_back(value);
    if (key == "mps") report.mps = true;
  }
  if (report.version.empty() && report.problem.empty())
    report.problem = "the driver crashed or did not answer when it was queried";
  return report;
}

CuptiReport ask_recorder() {
  CuptiReport report;
  report.problem = "the run for this check could not be recorded";
  const base::ScratchFolder scratch("doctor");
  if (scratch.path().empty()) return report;
  // A run that looks for races uses CUPTI if it can, and otherwise hooks.
  run_self({"races", "-q", "-o", scratch.path().string(), "--", "/proc/self/exe", "doctor-child", "driver"}, {});
  const auto sessions = session::sessions_in(scratch.path());
  if (!sessions.empty()) {
    const auto opened = session::open_session(sessions.front());
    const auto* session = std::get_if<session::Session>(&opened);
    if (session != nullptr && !session->processes.empty()) {
      const session::ProcessRecord& record = session->processes.front().record;
      report.by_hooks = !analyse::is_unrecorded(session->processes.front());
      for (const session::Note& note : record.notes) {
        const analyse::NoteCode code = analyse::note_code(note.code);
        if (!analyse::is_about_cupti(code)) continue;
        report.problem = note.text;
        report.note = code;
      }
      if (session::has(record, session::Property::cupti_path)) {
        report = {session::value_of(record, session::Property::cupti_path),
                  session::value_of(record, session::Property::cupti), "", analyse::NoteCode::other, false};
      }
    }
  }
  return report;
}

std::vector<Proof> prove_with_planted_fault() {
  std::vector<Proof> proofs;
  const base::ScratchFolder scratch("doctor");
  if (scratch.path().empty())
    return {{"planted fault", "cannot create a temporary folder", "set TMPDIR to a writable folder"}};
  prove_recording(scratch.path(), proofs);
  prove_core_dump(scratch.path(), proofs);
  return proofs;
}

int doctor_child(const std::string& mode) { return mode == "driver" ? print_driver() : run_planted_fault(); }

}  // namespace cudadiag::command
