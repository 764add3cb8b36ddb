#include "launch/isolation/isolation.h"

#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <future>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "launch/gpu_usage.h"
#include "launch/isolation/syscall_rules.h"
#include "launch/spawn.h"
#include "wire/environment.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;
using base::FileDescriptor;

// The kernel's constants and layouts. Declared here, because the build machine's <linux/landlock.h> may be older than
// the running kernel.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kRulePath = 1, kRulePort = 2;

struct RulesetAttributes {
  std::uint64_t file_access = 0, net_access = 0, scoped = 0;
};

struct [[gnu::packed]] PathRule {
  std::uint64_t access;
  std::int32_t folder;
};

struct PortRule {
  std::uint64_t access, port;
};

constexpr std::uint64_t kWriteFile = 1u << 1, kRefer = 1u << 13, kTruncate = 1u << 14, kIoctlDevice = 1u << 15;
constexpr std::uint64_t kMakeCharacter = 1u << 6, kMakeBlock = 1u << 11;
constexpr std::uint64_t kRemoveAndMake = 0x1ff0;  // bits 4 to 12: removing and creating entries of every kind
constexpr std::uint64_t kBindTcp = 1u << 0, kConnectTcp = 1u << 1;
constexpr std::uint64_t kScopeAbstractSockets = 1u << 0, kScopeSignals = 1u << 1;

// Returns the rights that Landlock restricts: only those that this version supports, because Landlock rejects a ruleset
// with an unknown right.
RulesetAttributes handled_by(int version, const Isolation& isolation) {
  RulesetAttributes handled;
  handled.file_access = kWriteFile | kRemoveAndMake;
  if (version >= 2) handled.file_access |= kRefer;
  if (version >= 3) handled.file_access |= kTruncate;
  if (version >= 4 && !isolation.private_network) handled.net_access = kBindTcp | kConnectTcp;
  if (version >= 5) handled.file_access |= kIoctlDevice;
  if (version >= 6) handled.scoped = kScopeAbstractSockets | kScopeSignals;
  return handled;
}

std::size_t attribute_bytes(int version) { return version >= 6 ? sizeof(RulesetAttributes) : version >= 4 ? 16 : 8; }

// Succeeds if the path does not exist, because nothing can be written there.
int allow_path(int ruleset, const fs::path& path, std::uint64_t access) {
  const base::FileDescriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid()) return 0;
  struct stat status {};
  if (::fstat(place.get(), &status) != 0) return errno;
  if (!S_ISDIR(status.st_mode)) access &= kWriteFile | kTruncate | kIoctlDevice;
  const PathRule rule{access, place.get()};
  return ::syscall(kAddRule, ruleset, kRulePath, &rule, 0) == 0 ? 0 : errno;
}

int allow_paths(int ruleset, const Isolation& isolation, std::uint64_t handled) {
  const std::uint64_t devices = kMakeCharacter | kMakeBlock;
  const auto allow = [&](const std::vector<fs::path>& paths, std::uint64_t access) {
    for (const fs::path& path : paths) {
      if (const int error = allow_path(ruleset, path, access & handled)) return error;
    }
    return 0;
  };
  if (const int error = allow(isolation.folders, handled & ~(devices | kIoctlDevice))) return error;
  if (const int error = allow(isolation.devices, kWriteFile | kTruncate | kIoctlDevice)) return error;
  if (const int error = allow(isolation.pipes, kWriteFile)) return error;
  if (!isolation.shared_memory) return 0;
  return allow({kSharedMemory}, handled & ~(devices | kIoctlDevice | kRefer));
}

void add_existing(const char* pattern, std::vector<fs::path>& paths) {
  glob_t found{};
  if (::glob(pattern, 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
}

// Returns true if MPS has a pipe or socket of this name. Users choose the MPS folder, so it may also contain unrelated
// files.
bool is_pipe_of_mps(const std::string& name) {
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return is_number || name == "control" || name == "control_privileged" || name == "log" ||
         name.starts_with("nvidia-mps");
}

std::vector<fs::path> pipes_of_mps() {
  std::error_code error;
  const fs::path folder = fs::canonical(mps_folder(), error);
  std::vector<fs::path> pipes;
  if (error) return pipes;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const fs::file_type type = it->symlink_status(ignored).type();
    const std::string name = it->path().filename();
    const bool is_pipe = (type == fs::file_type::socket || type == fs::file_type::fifo) && is_pipe_of_mps(name);
    // The control daemon's lock is its only regular file.
    if (is_pipe || (type == fs::file_type::regular && name == "control_lock")) pipes.push_back(it->path());
  }
  return pipes;
}

constexpr const char *kFolderWord = "--folder=", *kDeviceWord = "--device=", *kPipeWord = "--pipe=",
                     *kPortWord = "--port=", *kSharedMemoryWord = "--shared-memory",
                     *kAnyInterfaceWord = "--any-interface",
                     *kWriteLimitWord = "--write-limit=", *kPassWord = "--pass=", *kHiddenWord = "--hidden=";

}  // namespace

int landlock_version() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

Isolation usual_isolation() {
  Isolation isolation;
  for (const char* pattern : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nvidia*",
                              "/dev/dxg", "/dev/dri", "/dev/gdrdrv"}) {
    add_existing(pattern, isolation.devices);
  }
  isolation.pipes = pipes_of_mps();
  return isolation;
}

std::optional<std::string> missing_isolation() {
  if (landlock_version() == 0) return "no Landlock";
  if (can_filter()) return std::nullopt;
  const base::FileDescriptor one_more(::open("/", O_PATH | O_CLOEXEC));
  return one_more.valid() || errno != EMFILE ? "no seccomp user notification" : "too few descriptors: ulimit -n";
}

int confine_this_thread(const Isolation& isolation) {
  const int version = landlock_version();
  if (version == 0) return ENOSYS;
  const RulesetAttributes handled = handled_by(version, isolation);
  const base::FileDescriptor ruleset(
      static_cast<int>(::syscall(kCreateRuleset, &handled, attribute_bytes(version), 0)));
  if (!ruleset.valid()) return errno;
  if (const int error = allow_paths(ruleset.get(), isolation, handled.file_access)) return error;
  // Allows binding port 0, for which the kernel chooses a free port (see syscall_judge.cc).
  const PortRule any_free{kBindTcp, 0};
  if (handled.net_access != 0 && ::syscall(kAddRule, ruleset.get(), kRulePort, &any_free, 0) != 0) return errno;
  for (const std::uint16_t port : isolation.ports) {
    if (handled.net_access == 0) break;
    const PortRule rule{handled.net_access, port};
    if (::syscall(kAddRule, ruleset.get(), kRulePort, &rule, 0) != 0) return errno;
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return ::syscall(kRestrictSelf, ruleset.get(), 0) == 0 ? 0 : errno;
}

std::vector<std::string> isolation_words(const Isolation& isolation) {
  std::vector<std::string> words;
  const auto add = [&](const char* word, const std::vector<fs::path>& paths) {
    for (const fs::path& path : paths) words.push_back(word + path.string());
  };
  add(kFolderWord, isolation.folders);
  add(kDeviceWord, isolation.devices);
  add(kPipeWord, isolation.pipes);
  for (const std::uint16_t port : isolation.ports) words.push_back(kPortWord + std::to_string(port));
  if (isolation.shared_memory) words.emplace_back(kSharedMemoryWord);
  if (isolation.any_interface) words.emplace_back(kAnyInterfaceWord);
  if (const auto& overlays = isolation.overlays) {
    words.push_back(kWriteLimitWord + std::to_string(overlays->write_limit));
    words.push_back(kPassWord + overlays->pass.string());
    add(kHiddenWord, overlays->hidden);
  }
  return words;
}

Isolation isolation_of(const std::vector<std::string>& words) {
  Isolation isolation;
  OverlayRequest overlays;
  for (const std::string& word : words) {
    const auto value = [&](std::string_view prefix) { return word.substr(prefix.size()); };
    if (word.starts_with(kFolderWord)) isolation.folders.emplace_back(value(kFolderWord));
    if (word.starts_with(kDeviceWord)) isolation.devices.emplace_back(value(kDeviceWord));
    if (word.starts_with(kPipeWord)) isolation.pipes.emplace_back(value(kPipeWord));
    if (word.starts_with(kPortWord)) {
      isolation.ports.push_back(static_cast<std::uint16_t>(std::strtoul(value(kPortWord).c_str(), nullptr, 10)));
    }
    if (word == kSharedMemoryWord) isolation.shared_memory = true;
    if (word == kAnyInterfaceWord) isolation.any_interface = true;
    if (word.starts_with(kWriteLimitWord)) {
      overlays.write_limit = std::strtoull(value(kWriteLimitWord).c_str(), nullptr, 10);
    }
    if (word.starts_with(kPassWord)) overlays.pass = value(kPassWord);
    if (word.starts_with(kHiddenWord)) overlays.hidden.emplace_back(value(kHiddenWord));
  }
  overlays.kept = isolation.pipes;
  if (!overlays.pass.empty()) isolation.overlays = std::move(overlays);
  return isolation;
}

namespace {

// The child's report to its parent, in memory that child and parent share until the child calls exec.
struct Told {
  enum class Stage : int { none, filter, exec };
  int listener = -1;
  int error = 0;
  Stage stage = Stage::none;
};

void close_on_exec_from(unsigned first) {
  constexpr unsigned kCloseOnExec = 1u << 2;
  if (::syscall(SYS_close_range, first, ~0u, kCloseOnExec) == 0) return;
  constexpr int kMost = 4096;
  for (int number = static_cast<int>(first); number < kMost; ++number) ::fcntl(number, F_SETFD, FD_CLOEXEC);
}

// Everything that the child needs, prepared before the fork, because the child must not allocate memory.
struct Prepared {
  const char* path;
  char* const* arguments;
  char* const* shell_arguments;
  char* const* environment;
  const sigset_t* blocked;
  const std::vector<sock_filter>* filter;  // null if it is not isolated
  pid_t parent;
  Told* told;
};

// Runs in the child, which has a copy of the parent's memory but shares its descriptor table. May call only
// async-signal-safe functions.
[[noreturn]] void become_target(const Prepared& prepared) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != prepared.parent) ::_exit(125);
  Told& told = *prepared.told;
  // Closes the descriptors that the first run inherited. Without this, a rerun could write to them again.
  close_on_exec_from(3);
  if (prepared.filter != nullptr) {
    told.stage = Told::Stage::filter;
    told.listener = install_filter(*prepared.filter);
    if (told.listener < 0) {
      told.error = errno;
      ::_exit(125);
    }
  }
  told.stage = Told::Stage::exec;
  restore_signals_for_target(*prepared.blocked);
  ::execve(prepared.path, prepared.arguments, prepared.environment);
  // A script without a #! line runs in a shell, as with execvp().
  if (errno == ENOEXEC) ::execve("/bin/sh", prepared.shell_arguments, prepared.environment);
  told.error = errno;
  ::_exit(127);
}

ConfinedTarget start_here(ConfinedStart& start) {
  if (start.isolation) {
    if (const int error = confine_this_thread(*start.isolation)) return {-1, -1, error, "cannot confine it (Landlock)"};
  }
  if (start.arena >= 0) {
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/task/" + std::to_string(::gettid()) + "/fd/" +
                             std::to_string(start.arena);
    start.environment.push_back(std::string(wire::environment::kArena) + "=" + path);
  }
  void* shared = ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return {-1, -1, errno, "cannot share memory with it"};
  Told* told = new (shared) Told;
  std::vector<std::string> shell = {"sh", start.path};
  if (!start.arguments.empty()) shell.insert(shell.end(), start.arguments.begin() + 1, start.arguments.end());
  const auto arguments = base::c_strings(start.arguments), shell_arguments = base::c_strings(shell),
             environment = base::c_strings(start.environment);
  const std::vector<sock_filter> filter = filter_program();
  const Prepared prepared{start.path.c_str(),
                          arguments.data(),
                          shell_arguments.data(),
                          environment.data(),
                          &start.blocked,
                          start.isolation ? &filter : nullptr,
                          ::getpid(),
                          told};
  // CLONE_FILES shares the descriptor table, so this process also gets the listener's descriptor. CLONE_VFORK blocks
  // this thread until exec() gives the child its own table.
  const long child = ::syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) become_target(prepared);
  if (child < 0) return {-1, -1, errno, "cannot create a process (fork)"};
  ConfinedTarget target{static_cast<pid_t>(child), told->listener, told->error};
  if (told->error != 0) {
    if (told->stage == Told::Stage::filter) target.failed = "cannot watch its system calls (seccomp)";
    ::waitpid(target.process, nullptr, 0);
    target.process = -1;
  }
  return target;
}

}  // namespace

ConfinedTarget start_confined(ConfinedStart start) {
  std::promise<ConfinedTarget> promise;
  std::future<ConfinedTarget> target = promise.get_future();
  // This thread must never exit, because the kernel would then kill the target. The target also opens the arena through
  // this thread's /proc entry.
  std::thread([start = std::move(start), promise = std::move(promise)]() mutable {
    promise.set_value(start_here(start));
    while (true) ::pause();
  }).detach();
  return target.get();
}

}  // namespace cudadiag::launch
