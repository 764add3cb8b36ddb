#include "supervise/tools/kernel_modes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/file_descriptor.h"
#include "base/write_all.h"
#include "launch/command_path.h"
#include "launch/environment.h"
#include "launch/optional_thread.h"
#include "sass/sass.h"
#include "session/plain_file.h"
#include "supervise/tools/json_disassembly.h"
#include "supervise/tools/toolkit.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKernelPatience{10};  // for one kernel
constexpr std::chrono::milliseconds kTick{20};       // longer than one tick of the clock for file times
constexpr std::ptrdiff_t kMostSpecials = 16;         // most sets of zeros with which one kernel is analysed
constexpr sass::ZeroWords kAllZeros = ~sass::ZeroWords{0};
constexpr int kToDie = 1000;  // milliseconds
constexpr std::size_t kMostOutput = 64u << 20;
constexpr std::uint64_t kMostCode = std::uint64_t{1} << 30;  // of one module; the recorder's limit in total

std::string read_file(const fs::path& file) { return session::read_plain_file(file, kMostCode).value_or(""); }

evidence::Bytes bytes_of(const std::string& text) { return {text.data(), text.size()}; }

std::string read_to_end(int pipe, Clock::time_point deadline) {
  std::string output;
  char buffer[65536];
  while (output.size() < kMostOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd source{pipe, POLLIN, 0};
    if (left <= 0 || ::poll(&source, 1, static_cast<int>(left)) <= 0) return "";
    const ssize_t count = ::read(pipe, buffer, sizeof buffer);
    if (count < 0) return "";
    if (count == 0) return output;
    output.append(buffer, static_cast<std::size_t>(count));
  }
  return "";
}

// Returns the output of the tool; empty if it failed. Its exit status is unusable, because another thread may reap it.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const base::FileDescriptor in(ends[0]);
  base::FileDescriptor out(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_init(&attributes);
  sigset_t none, standard;
  ::sigemptyset(&none);
  ::sigfillset(&standard);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &standard);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  out = base::FileDescriptor();
  if (failed != 0) return "";
  const base::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  std::string output = read_to_end(in.get(), Clock::now() + kKernelPatience);
  // Uses its descriptor, because the launcher's other thread waits for any child and may have freed this pid.
  if (output.empty() && process.valid()) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  pollfd ended{process.get(), POLLIN, 0};
  siginfo_t info;
  if (process.valid() && ::poll(&ended, 1, kToDie) > 0) {
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process.get()), &info, WEXITED | WNOHANG);
  }
  return output;
}

std::string disassemble(const std::string& tool, const std::string& architecture, evidence::Bytes code) {
  const base::FileDescriptor input(::memfd_create("code", MFD_CLOEXEC));
  if (!input.valid() || !base::write_all(input.get(), code.all())) return "";
  const std::string file = fmt::format("/proc/{}/fd/{}", ::getpid(), input.get());
  // Older versions support only text.
  std::string lines = lines_of_json(output_of({tool, "--emit-json", "-b", architecture, file}));
  return lines.empty() ? output_of({tool, "-b", architecture, file}) : lines;
}

}  // namespace

KernelModes::KernelModes(fs::path modules, std::string disassembler)
    : modules_(std::move(modules)), disassembler_(std::move(disassembler)) {
  if (disassembler_.empty()) return;
  thread_ = launch::optional_thread([this] { run(); });
  if (!thread_.joinable()) disassembler_.clear();
}

KernelModes::~KernelModes() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<sass::Mode> KernelModes::mode(const std::string& kernel, std::uint32_t parameter,
                                            const sass::LaunchWords& launch) {
  if (kernel.empty()) return sass::Mode::unknown;
  const std::lock_guard lock(mutex_);
  const auto mode = known_mode({kernel, 0}, parameter, launch.live);
  if (!mode || !sass::is_near(*mode) || launch.zeros == 0) return mode;
  // A number that the kernel adds to the address may be 0 in this launch.
  const Wanted special{kernel, launch.zeros};
  if (!known_.contains(special)) {
    const auto looked_at = std::distance(known_.lower_bound({kernel, 1}), known_.upper_bound({kernel, kAllZeros}));
    if (looked_at >= kMostSpecials) return mode;
  }
  return known_mode(special, parameter, launch.live);
}

std::optional<sass::Mode> KernelModes::known_mode(const Wanted& wanted, std::uint32_t parameter,
                                                  const sass::LiveWords& live) {
  if (disassembler_.empty()) return sass::Mode::unknown;
  const fs::file_time_type newest = newest_module();
  const Known& now = known(wanted, newest);
  if (now.modules < newest) return std::nullopt;
  // It is unknown which of these codes was launched.
  std::optional<sass::Mode> mode;
  for (const sass::KernelAccesses& code : now.codes) {
    const sass::Mode its = code.mode(parameter, live);
    if (mode.value_or(its) != its) return sass::Mode::unknown;
    mode = its;
  }
  return mode.value_or(sass::Mode::unknown);
}

// Requests the answer if there are modules that were not read.
KernelModes::Known& KernelModes::known(const Wanted& wanted, fs::file_time_type newest) {
  Known& known = known_[wanted];
  if (known.modules >= newest) return known;
  if (!known.wanted) wanted_.push_back(wanted);
  known.wanted = true;
  wake_.notify_all();
  return known;
}

KernelModes::Code KernelModes::code(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  if (kernel.empty() || disassembler_.empty()) return {true};
  const Known& now = known({kernel, 0}, newest_);
  return now.modules >= newest_ ? Code{true, now.ranges} : Code{};
}

std::uint64_t KernelModes::look_for_modules() {
  const fs::file_time_type newest = newest_module();
  const std::lock_guard lock(mutex_);
  if (newest != newest_) ++generation_;
  newest_ = newest;
  return generation_;
}

void KernelModes::wait(std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, patience, [this] { return disassembler_.empty() || (wanted_.empty() && !busy_); });
}

std::size_t KernelModes::asked() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(known_.begin(), known_.end(), [](const auto& known) { return known.first.zeros == 0; }));
}

std::size_t KernelModes::understood() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [wanted, known] : known_) {
    const auto followed = [](const sass::KernelAccesses& code) { return code.known; };
    if (wanted.zeros == 0 && !known.codes.empty() && std::all_of(known.codes.begin(), known.codes.end(), followed))
      ++count;
  }
  return count;
}

std::uint64_t KernelModes::unknown_opcodes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  for (const auto& [wanted, known] : known_) {
    for (const auto& code : known.ranges) count += code->unknown_opcodes();
  }
  return count;
}

void KernelModes::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !wanted_.empty(); });
    if (stopping_) return;
    const Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    busy_ = true;
    lock.unlock();
    if (newest_module() > fs::file_time_type::clock::now() - kTick) std::this_thread::sleep_for(kTick);
    const fs::file_time_type modules = newest_module();
    const Read& read = look(wanted);
    lock.lock();
    const bool all_read = std::ranges::count(read.ranges, nullptr) == 0;
    known_[wanted] = {read.accesses, all_read ? read.ranges : Codes(), modules, false};
    busy_ = false;
    wake_.notify_all();
  }
}

// The folder's time changes with each module. Returns the lowest time if there is no folder.
fs::file_time_type KernelModes::newest_module() const {
  std::error_code error;
  return fs::last_write_time(modules_, error);
}

// ---- functions of the thread

void KernelModes::index_new_modules() {
  std::error_code error;
  for (fs::directory_iterator it(modules_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".cubin" || !indexed_.insert(it->path()).second) continue;
    const std::string text = read_file(it->path());
    const auto image = evidence::ElfImage::read(bytes_of(text));
    if (!image) continue;
    for (const std::string& kernel : kernels_of(*image)) homes_[kernel].push_back(it->path());
  }
}

const KernelModes::Read& KernelModes::look(const Wanted& wanted) {
  index_new_modules();
  const std::vector<fs::path>& homes = homes_[wanted.kernel];
  Read& so_far = read_[wanted];
  for (; so_far.looked_at < homes.size(); ++so_far.looked_at) {
    const std::string text = read_file(homes[so_far.looked_at]);
    const auto image = evidence::ElfImage::read(bytes_of(text));
    const auto code = image ? kernel_code(*image, wanted.kernel) : std::nullopt;
    const std::string all = code ? fmt::format("{} {} {} {} ", code->architecture, code->bank.offset, code->bank.size,
                                               static_cast<int>(code->calls)) +
                                       std::string(code->instructions.all())
                                 : "";
    if (!so_far.codes.insert(all).second) continue;
    if (code) {
      read(*code, wanted.zeros, so_far);
    } else {
      so_far.accesses.emplace_back();
      so_far.ranges.emplace_back();
    }
  }
  return so_far;
}

void KernelModes::read(const KernelCode& code, sass::ZeroWords zeros, Read& to) const {
  std::string text = disassemble(disassembler_, code.architecture, code.instructions);
  if (zeros == 0) {
    to.ranges.push_back(std::make_shared<const sass::ByteRanges>(std::move(text), code.bank, code.calls));
    to.accesses.push_back(to.ranges.back()->accesses());
  } else {
    to.accesses.push_back(sass::read_sass(text, code.bank, code.calls, zeros));
  }
  to.accesses.back().parameters = code.parameters;
}

std::string find_disassembler(const std::vector<std::string>& command) {
  if (std::string path = find_toolkit_program("nvdisasm"); !path.empty()) return path;
  // NVIDIA's own wheel, which the extra `device` installs, is newer than Triton's copy.
  for (const char* place : {"nvidia/cu13/bin/nvdisasm", "triton/backends/nvidia/bin/nvdisasm"}) {
    for (const fs::path& tool : launch::files_in_python_packages(command, place)) {
      if (::access(tool.c_str(), X_OK) == 0) return tool.string();
    }
  }
  return "";
}

}  // namespace cudadiag::supervise
