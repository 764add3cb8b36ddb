// `cudadiag doctor`: checks what works on this machine.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/notes.h"
#include "base/text.h"
#include "commands/commands.h"
#include "launch/arena.h"
#include "launch/environment.h"
#include "launch/gpu_usage.h"
#include "launch/isolation/isolation.h"
#include "launch/isolation/namespaces.h"
#include "launch/libraries.h"
#include "launch/spawn.h"
#include "run/gpu_checks.h"
#include "session/session_folders.h"
#include "supervise/toolkit_programs.h"
#include "terminal.h"
#include "wire/area.h"

namespace cudadiag::command {

namespace {

// Returns the release of the running kernel on the Windows Subsystem for Linux 2 (WSL2), where programs use the Windows
// NVIDIA driver; otherwise nullopt.
std::optional<std::string> wsl_kernel() {
  std::ifstream file("/proc/sys/kernel/osrelease");
  std::string release;
  std::getline(file, release);
  // For example, "5.15.167.4-microsoft-standard-WSL2".
  if (release.find("microsoft") == std::string::npos && release.find("WSL") == std::string::npos) return std::nullopt;
  return release;
}

// Prints one line for each check, or one JSON object at the end. Remembers whether any check found a problem.
class Checklist {
 public:
  explicit Checklist(bool json) : json_(json) {}
  void good(const char* what, const std::string& found) { add("ok", what, found); }
  void known(const char* what, const std::string& found, const std::string& fix = "") { add("note", what, found, fix); }
  void bad(const char* what, const std::string& found, const std::string& fix) {
    add("problem", what, found, fix);
    ++problems_;
  }
  bool healthy() const { return problems_ == 0; }
  void close(bool gpu_was_tried) const {
    if (json_) {
      const Json all = {{"schema", "cudadiag.doctor/1"}, {"healthy", healthy()}, {"checks", checks_}};
      return print(all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    }
    std::string verdict = problems_ == 1 ? "1 problem was found" : fmt::format("{} problems were found", problems_);
    if (healthy())
      verdict = gpu_was_tried ? "cudadiag works here" : "cudadiag should work here; to test it: cudadiag doctor --gpu";
    std::printf("\n%s\n", verdict.c_str());
  }

 private:
  using Json = nlohmann::ordered_json;

  // A row without a name belongs to the previous row.
  void add(std::string_view result, const std::string& what, const std::string& found, const std::string& fix = "") {
    if (json_) {
      const Json name = what.empty() ? checks_.back()["name"] : Json(what);
      checks_.push_back({{"name", name}, {"result", result}, {"found", found}, {"fix", fix}});
      return;
    }
    const char* verdict = result == "ok" ? "OK" : result == "problem" ? "PROBLEM" : "";
    print_row(verdict, what, found);
    if (!fix.empty()) print_row("", "", "fix: " + fix);
    std::fflush(stdout);
  }

  static void print_row(const char* verdict, const std::string& what, const std::string& text) {
    const std::string lead = fmt::format("{:<7} {:<17} ", verdict, what);  // the longest label is "compute-sanitizer"
    std::printf("%s%s\n", lead.c_str(), fitted(base::printable(text), STDOUT_FILENO, lead.size()).c_str());
  }

  bool json_;
  int problems_ = 0;
  Json checks_ = Json::array();
};

// Checks the libraries that run inside the program. Returns true if the recorder works.
bool check_libraries(Checklist& checks) {
  const auto recorder = launch::usable_recorder(false);
  if (const auto* fault = std::get_if<base::Error>(&recorder)) {
    checks.bad("recorder", fault->what, fault->hint);
    return false;
  }
  const auto& path = std::get<std::filesystem::path>(recorder);
  checks.good("recorder", path.string());
  if (const auto fault = launch::fault_in_preload(path)) {
    checks.bad("preload library", fault->what, fault->hint);
  } else {
    checks.good("preload library", launch::preload_library(path).string());
  }
  if (const auto fault = launch::fault_in_profiler(path)) checks.bad("NCCL plugin", fault->what, fault->hint);
  return true;
}

// Returns true if programs may share a GPU through MPS.
bool check_mps(Checklist& checks, const DriverReport& driver) {
  const std::string folder = launch::mps_folder().string();
  if (!driver.mps && !launch::may_use_mps()) {
    checks.known("MPS", "not in use: no daemon listens in " + folder);
    return false;
  }
  checks.known("MPS", "in use (pipe folder " + folder +
                          "), so a program that fails can end the others on its GPU, and cudadiag reruns a command "
                          "only on request");
  return true;
}

void check_mig(Checklist& checks) {
  std::string found;
  for (const std::optional<bool>& mode : launch::mig_modes()) {
    found += found.empty() ? "" : ", ";
    found += mode ? (*mode ? "on" : "off") : "not supported";
  }
  checks.known("MIG", found.empty() ? "unknown: libnvidia-ml.so.1 was not found, or failed"
                                    : found + " (for each GPU, in the order of nvidia-smi)");
}

bool check_driver(Checklist& checks, const DriverReport& driver) {
  if (!driver.library_found) {
    checks.bad("driver", "libcuda.so.1 was not found: " + driver.problem,
               wsl_kernel()
                   ? "install NVIDIA's driver in Windows, not in Linux: WSL2 then provides it in /usr/lib/wsl/lib"
                   : "install NVIDIA's driver; in a container, start it with --gpus all");
    return false;
  }
  if (!driver.problem.empty()) {
    checks.bad("driver", driver.problem,
               "check that nvidia-smi works for this user and that CUDA_VISIBLE_DEVICES names a GPU");
    return false;
  }
  checks.good("driver", "CUDA " + driver.version);
  for (const std::string& gpu : driver.gpus) checks.good("GPU", gpu);
  return true;
}

bool lies_in(const std::filesystem::path& file, const std::string& folder) {
  return !folder.empty() && file.string().starts_with(folder.back() == '/' ? folder : folder + "/");
}

// Returns why the recorder uses this copy of CUPTI. Checks the places in the order in which the recorder searches them.
std::string why_taken(const std::filesystem::path& file, const std::vector<std::string>& python) {
  const auto in_list = [](const char* variable, const auto& holds) {
    const auto listed = launch::listed_paths(variable);
    return std::ranges::any_of(listed, holds);
  };
  if (in_list("CUDADIAG_CUPTI", [&](const std::string& named) { return file == named; })) {
    return "CUDADIAG_CUPTI names it";
  }
  if (in_list("LD_LIBRARY_PATH", [&](const std::string& folder) { return file.parent_path() == folder; })) {
    return "it was found through LD_LIBRARY_PATH";
  }
  for (const std::filesystem::path& folder : launch::python_packages(python)) {
    if (lies_in(file, folder.string())) return "it is in one of python3's packages";
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && lies_in(file, value)) return std::string("it was found through ") + variable;
  }
  return lies_in(file, "/usr/local") ? "it is in the CUDA Toolkit" : "it is in a system folder";
}

// `lacking` names the first thing that the GPU test needs but this machine lacks; empty if it lacks nothing.
void check_cupti(Checklist& checks, const std::string& lacking) {
  const std::string install = std::string(analyse::remedy_for(analyse::NoteCode::cupti_not_found)) +
                              "; a program that brings its own copy, such as PyTorch, does not need it";
  const auto python3 = launch::find_command("python3");
  const std::vector<std::string> python = python3.path.empty() ? std::vector<std::string>{} : std::vector{python3.path};
  const auto found = launch::find_cupti(python);
  for (const std::string& missing : launch::missing_cupti()) checks.bad("CUPTI", missing, launch::kCorrectCupti);
  const char* instead = "; without it, cudadiag misses errors inside statically linked CUDA runtimes; ";
  if (!lacking.empty()) {
    if (found.empty()) return checks.known("CUPTI", std::string("no libcupti found") + instead + install);
    for (const auto& path : found) checks.known("CUPTI", path.string() + " (not tested: no " + lacking + ")");
    return;
  }
  const CuptiReport taken = ask_recorder();
  if (!taken.problem.empty()) {
    const char* remedy = analyse::remedy_for(taken.note);
    const std::string fix = taken.note == analyse::NoteCode::other ? "see what cudadiag run -- COMMAND prints"
                            : remedy == nullptr || taken.note == analyse::NoteCode::cupti_not_found ? install
                                                                                                    : remedy;
    if (taken.by_hooks) {
      checks.known("CUPTI", taken.problem + instead + fix);
    } else {
      checks.bad("CUPTI", taken.problem, fix);
    }
  } else {
    checks.good("CUPTI", taken.path + " (version " + taken.version + ") is used: " + why_taken(taken.path, python) +
                             "; a program that has already loaded a different copy uses that one");
  }
  for (const auto& path : found) {
    if (path != taken.path) checks.known("", path.string() + " is not used");
  }
}

// Checks the programs of the CUDA Toolkit. A missing program is not reported as a problem, because all are optional.
void check_tools(Checklist& checks) {
  const auto python3 = launch::find_command("python3");
  const auto check = [&](const char* name, const std::string& path, const char* lacking) {
    if (!path.empty()) return checks.good(name, path);
    checks.known(name, std::string("not found: ") + lacking);
  };
  check("nvdisasm", supervise::find_disassembler({python3.path}),
        "without it, reports have no row Access, and cudadiag races cannot tell what kernels read and write; "
        "run pip install nvidia-cuda-nvdisasm, or install the CUDA Toolkit or Triton");
  check("cuda-gdb", supervise::find_toolkit_program("cuda-gdb"), "--cross-check needs it; install the CUDA Toolkit");
  check("compute-sanitizer", supervise::find_toolkit_program("compute-sanitizer"),
        "--sanitize needs it; install the CUDA Toolkit");
}

void check_memory(Checklist& checks) {
  auto arena = launch::Arena::create();
  if (const auto* failure = std::get_if<base::Error>(&arena)) {
    return checks.bad("memory", failure->what, failure->hint);
  }
  const std::string path = std::get<launch::Arena>(arena).path();
  if (::access(path.c_str(), R_OK | W_OK) != 0) {
    return checks.bad("memory", path + " cannot be opened",
                      "mount /proc so that processes of this user can see each other");
  }
  checks.good("memory", "memfd, reachable through /proc");
}

void check_reruns(Checklist& checks) {
  if (const auto missing = launch::missing_isolation()) {
    checks.known("reruns",
                 "not isolated (" + *missing + "), so cudadiag reruns a command only on request; use cudadiag bisect");
  } else if (!launch::can_have_private_network()) {
    checks.known("reruns",
                 "isolated, but without a network, because the kernel or container does not allow network namespaces; "
                 "use cudadiag bisect for torchrun, NCCL and MPI");
  } else {
    checks.good("reruns", "isolated, with a private network");
  }
  if (launch::missing_isolation()) return;
  if (launch::entry_to_overlays() != launch::Entry::refused) {
    checks.good("writing", fmt::format("reruns may write up to {} MiB, which is thrown away (--write-limit)",
                                       launch::usual_write_limit() >> 20));
  } else {
    checks.known("writing",
                 "reruns cannot write, because the kernel or container does not allow mount namespaces with overlays; "
                 "for programs that must write before they fail, use cudadiag bisect");
  }
}

// Returns an error if the disk has no room for a recording.
std::optional<base::Error> lack_of_room(std::filesystem::path folder) {
  std::error_code error;
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const auto space = std::filesystem::space(folder, error);
  if (error || space.available >= 2 * wire::area::kAreaSize) return std::nullopt;
  return base::Error{folder.string() + " is on a disk without room for the " +
                         std::to_string(wire::area::kAreaSize >> 20) + " MB recording",
                     "free some space, or choose a folder on another disk with CUDADIAG_DIR"};
}

void check_sessions(Checklist& checks) {
  const auto roots = session::roots(std::nullopt);
  if (roots.empty()) return checks.bad("sessions", "found no folder to keep sessions in", "set CUDADIAG_DIR");
  std::optional<base::Error> first;
  for (const session::Root& root : roots) {
    auto obstacle = session::obstacle_in(root);
    if (obstacle && !first) first = obstacle;
    if (obstacle) continue;
    const std::string why = first ? first->what + ", so sessions go to " + root.folder.string() : "";
    // A small session may still fit, so cudadiag uses this folder.
    if (const auto full = lack_of_room(root.folder)) {
      return checks.bad("sessions", why + (first ? "; " : "") + full->what, full->hint);
    }
    return first ? checks.bad("sessions", why, first->hint) : checks.known("sessions", root.folder.string());
  }
  checks.bad("sessions", first->what + ", so no session can be written", first->hint);
}

void check_environment(Checklist& checks) {
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  checks.known("core limit", (core.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(core.rlim_cur)) +
                                 " (for CPU core dumps; GPU core dumps do not depend on it)");
  if (std::getenv("CUDA_LAUNCH_BLOCKING") != nullptr && std::string(std::getenv("CUDA_LAUNCH_BLOCKING")) != "0") {
    checks.bad("launches", "CUDA_LAUNCH_BLOCKING is set: the program waits until each kernel has finished",
               "unset it; cudadiag does not need it");
  }
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_INJECTION64_PATH"}) {
    if (const char* value = std::getenv(name)) checks.known(name, value);
  }
  if (const auto kernel = wsl_kernel()) {
    checks.known("WSL2", *kernel + ": cudadiag has never been tested on WSL2; cudadiag doctor --gpu shows what works");
  }
  const auto python = launch::find_command("python3");
  checks.known("python3", python.path.empty() ? "not found" : python.path);
  checks.known(
      "out of reach",
      "programs that clear their environment, run as another user, or run in another container; to record such "
      "a program, start cudadiag in the same environment and container, as the same user");
}

int carry_out(bool gpu, bool json) {
  Checklist checks(json);
  const bool recorder_works = check_libraries(checks);
  const DriverReport driver = ask_driver();
  const bool driver_works = check_driver(checks, driver);
  const std::string lacking = !driver_works ? "working driver" : !recorder_works ? "working recorder" : "";
  const bool mps = check_mps(checks, driver);
  check_mig(checks);
  check_cupti(checks, lacking);
  check_tools(checks);
  check_memory(checks);
  check_reruns(checks);
  check_sessions(checks);
  check_environment(checks);
  const bool plants = gpu && lacking.empty() && !mps;
  if (gpu && !lacking.empty()) checks.known("planted fault", "not tested: no " + lacking);
  if (gpu && lacking.empty() && mps) {
    checks.known("planted fault",
                 "not tested: under MPS, it could end the other programs on the GPU; to test it, stop the MPS daemon");
  }
  if (plants) {
    for (const Proof& proof : prove_with_planted_fault()) {
      if (proof.outcome == Proof::Outcome::works) checks.good(proof.what.c_str(), proof.found);
      if (proof.outcome == Proof::Outcome::not_known) checks.known(proof.what.c_str(), proof.found);
      if (proof.outcome == Proof::Outcome::problem) checks.bad(proof.what.c_str(), proof.found, proof.fix);
    }
  }
  checks.close(plants);
  return checks.healthy() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto gpu = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("doctor", "check what works on this machine");
  command->add_flag("--gpu", *gpu, "also plant a fault: run a small kernel that fails on purpose");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([gpu, json, &status] { status = carry_out(*gpu, *json); });
  auto mode = std::make_shared<std::string>();
  auto* child = app.add_subcommand("doctor-child")->group("");
  child->add_option("mode", *mode)->required();
  child->callback([mode, &status] { status = doctor_child(*mode); });
}

}  // namespace cudadiag::command
