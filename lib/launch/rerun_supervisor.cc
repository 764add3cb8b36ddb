// The supervisor of a rerun.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/processes.h"
#include "launch/isolation/isolation.h"
#include "launch/isolation/namespaces.h"
#include "launch/isolation/syscall_judge.h"
#include "launch/process_tree.h"
#include "launch/standard_descriptors.h"
#include "launch/supervised_rerun.h"
#include "wire/environment.h"

namespace cudadiag::launch {
namespace {

using supervision::Packet;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long to wait for killed processes. A process that is stuck in the GPU driver dies only when the driver returns.
constexpr auto kUnkillable = std::chrono::seconds(10);
// How long to wait for an answer to a system call when all processes are gone. Resolving its path can block for ever.
constexpr auto kAnswering = milliseconds(500);
// How long killed processes have to die once the launcher waits no longer.
constexpr auto kDying = milliseconds(300);
constexpr auto kLook = milliseconds(20);
constexpr std::size_t kMostKept = 64;  // the maximum number of distinct refusals to report for a rerun

struct Arguments {
  int socket = -1;
  int arena = -1;
  int remove = -1;  // a folder
  std::optional<Isolation> isolation;
  std::string path;
  std::vector<std::string> command;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> words;
  bool isolate = false;
  int next = 2;
  for (; next < argc && std::string_view(argv[next]) != "--"; ++next) {
    const std::string word = argv[next];
    const auto value = [&](std::string_view prefix) { return word.substr(prefix.size()); };
    if (word.starts_with(supervision::kSocketWord))
      arguments.socket = std::atoi(value(supervision::kSocketWord).c_str());
    if (word.starts_with(supervision::kArenaWord)) arguments.arena = std::atoi(value(supervision::kArenaWord).c_str());
    if (word.starts_with(supervision::kRemoveWord))
      arguments.remove = std::atoi(value(supervision::kRemoveWord).c_str());
    isolate |= word == supervision::kIsolateWord;
    words.push_back(word);
  }
  if (isolate) arguments.isolation = isolation_of(words);
  if (++next < argc) arguments.path = argv[next++];
  for (; next < argc; ++next) arguments.command.emplace_back(argv[next]);
  return arguments;
}

std::vector<std::string> environment_but_arena() {
  std::vector<std::string> result = base::own_environment();
  const std::string arena = std::string(wire::environment::kArena) + "=";
  std::erase_if(result, [&](const std::string& variable) { return variable.starts_with(arena); });
  return result;
}

// Opens the input through the overlays. Through the descriptor that the launcher opened, the rerun could change the
// mode of the file itself.
void reopen_input() {
  struct stat before {
  }, after{};
  if (::fstat(STDIN_FILENO, &before) != 0 || !S_ISREG(before.st_mode)) return;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/fd/0", error);
  const base::FileDescriptor again(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const bool same = again.valid() && ::fstat(again.get(), &after) == 0 && after.st_size == before.st_size &&
                    after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
  if (!same) return;
  ::lseek(again.get(), ::lseek(STDIN_FILENO, 0, SEEK_CUR), SEEK_SET);
  ::dup2(again.get(), STDIN_FILENO);
}

// Answers the system calls that are waiting at the filter's listener. Does so on a thread of its own, because a path
// that leads to a file server which does not answer blocks the thread that resolves it. The supervisor must
// nevertheless end the rerun. Call finish() instead of destroying an object of this class.
class SyscallDesk {
 public:
  SyscallDesk(int listener, const Isolation& isolation, const Overlays* overlays, int launcher)
      : listener_(listener),
        launcher_(launcher),
        overlays_(overlays),
        judge_(
            isolation, ::getpid(), landlock_version(), [this](const FileIdentity& made) { tell(made); }, overlays) {
    std::thread([this] { work(); }).detach();
  }
  SyscallDesk(const SyscallDesk&) = delete;
  SyscallDesk& operator=(const SyscallDesk&) = delete;

  // Call this when no process of the rerun is left. Removes the files that the rerun created in shared memory. If the
  // thread still waits for a file server, it is inside the kernel and changes nothing until this process exits.
  void finish() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(finishing_.get(), &one, sizeof one);
    pollfd finished{finished_.get(), POLLIN, 0};
    ::poll(&finished, 1, static_cast<int>(kAnswering.count()));
    judge_.clean_shared_memory();
    report_full();
  }

 private:
  void work() {
    std::array<pollfd, 2> sources = {{{listener_.get(), POLLIN, 0}, {finishing_.get(), POLLIN, 0}}};
    while (sources[1].revents == 0) {
      ::poll(sources.data(), sources.size(), -1);
      const bool none_left = (sources[0].revents & POLLIN) == 0 && sources[0].revents != 0;
      if (none_left || ((sources[0].revents & POLLIN) != 0 && !answer())) break;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(finished_.get(), &one, sizeof one);
  }

  // Returns false if no process with this filter is left.
  bool answer() {
    // A union with extra room: a newer kernel may write more bytes than seccomp_notif has here.
    union {
      seccomp_notif call;
      std::array<char, 1024> room{};
    };
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &room) != 0) return errno == EINTR || errno == ENOENT;
    const SyscallJudge::Verdict verdict = judge_.judge(call.data, static_cast<pid_t>(call.pid));
    // If the process has stopped waiting, its pid may have been reused, and the memory just read may belong to another
    // process.
    const bool waits = ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) == 0;
    if (waits && verdict.kept) report(*verdict.kept);
    report_full();
    if (!waits || !send(call.id, verdict)) judge_.undo();
    return true;
  }

  // Returns false if the process did not get the result of a call that the judge executed.
  bool send(std::uint64_t call, const SyscallJudge::Verdict& verdict) {
    seccomp_notif_resp response{};
    response.id = call;
    response.error = -verdict.error;
    const bool executed = verdict.done || verdict.file >= 0;
    if (verdict.error == 0 && !executed) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (verdict.file >= 0) {
      seccomp_notif_addfd given{};
      given.id = call;
      given.flags = SECCOMP_ADDFD_FLAG_SEND;
      given.srcfd = static_cast<std::uint32_t>(verdict.file);
      given.newfd_flags = verdict.close_on_exec ? O_CLOEXEC : 0;
      if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &given) >= 0) return true;
      // Linux 5.13 cannot answer the call at the same time.
      given.flags = 0;
      const int number = errno == EINVAL ? ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &given) : -1;
      response.val = std::max(number, 0);
      response.error = number >= 0 ? 0 : -errno;
    }
    return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) == 0 && (!executed || response.error == 0);
  }

  // The launcher removes these files if this process is killed. If it is too slow to be told of a file, only this
  // process removes that file.
  void tell(const FileIdentity& made) const {
    const auto* bytes = reinterpret_cast<const char*>(made.data());
    supervision::send_at_once(launcher_, {Packet::Kind::made, 0, std::string(bytes, sizeof made)});
  }

  // Without this, nobody would know why the program failed: each program has its own message for a full disk.
  void report_full() {
    if (overlays_ == nullptr || !overlays_->is_full()) return;
    report(
        {session::Deed::write, "more than " + std::to_string(overlays_->write_limit() >> 20) + " MiB (--write-limit)"});
  }

  void report(const session::KeptFrom& kept) {
    if (kept_.size() == kMostKept || std::ranges::find(kept_, kept) != kept_.end()) return;
    kept_.push_back(kept);
    supervision::send(launcher_, {Packet::Kind::kept, static_cast<std::int32_t>(kept.deed), kept.object});
  }

  const base::FileDescriptor listener_;
  const base::FileDescriptor finishing_{::eventfd(0, EFD_CLOEXEC)}, finished_{::eventfd(0, EFD_CLOEXEC)};
  const int launcher_;
  const Overlays* const overlays_;
  SyscallJudge judge_;
  std::vector<session::KeptFrom> kept_;
};

class Supervisor {
 public:
  Supervisor(int launcher, int signals, pid_t target) : launcher_(launcher), signals_(signals), target_(target) {}

  void run() {
    while (!is_over()) {
      wait();
      take_ends();
      hear_launcher();
      if (ending_) end_all();
    }
    for (const pid_t process : descendants_of(::getpid())) {
      supervision::send(launcher_, {Packet::Kind::left, process, ""});
    }
  }

 private:
  bool is_over() const { return childless_ || (ending_ && Clock::now() > give_up_); }

  void wait() {
    std::array<pollfd, 2> sources = {{{launcher_gone_ ? -1 : launcher_, POLLIN, 0}, {signals_, POLLIN, 0}}};
    ::poll(sources.data(), sources.size(), ending_ ? static_cast<int>(kLook.count()) : -1);
    if (sources[1].revents != 0) take_signals();
  }

  void take_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo != SIGCHLD) begin_end(milliseconds(0));
    }
  }

  // Reaps the target and the orphans that this process adopted.
  void take_ends() {
    int status = 0;
    pid_t process = 0;
    while ((process = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
      if (process != target_) continue;
      if (WIFSTOPPED(status)) {
        const int signal = WSTOPSIG(status);
        if (signal != SIGTTIN && signal != SIGTTOU) continue;
        supervision::send(launcher_, {Packet::Kind::stopped, signal, ""});
      } else {
        supervision::send(launcher_, {Packet::Kind::ended, status, ""});
      }
      // Kills everything that the target started.
      begin_end(milliseconds(0));
    }
    childless_ = process < 0 && errno == ECHILD;
  }

  void hear_launcher() {
    while (!launcher_gone_) {
      const auto packet = supervision::receive(launcher_, launcher_gone_);
      if (launcher_gone_) begin_end(milliseconds(0));
      if (!packet) return;
      if (packet->kind == Packet::Kind::end) begin_end(milliseconds(packet->number));
      if (packet->kind == Packet::Kind::give_up) {
        begin_end(milliseconds(0));
        give_up_ = Clock::now() + kDying;
      }
      if (packet->kind == Packet::Kind::halt) signal_all(SIGSTOP);
      if (packet->kind == Packet::Kind::resume) signal_all(SIGCONT);
    }
  }

  void begin_end(milliseconds grace) {
    const auto kill_at = Clock::now() + grace;
    if (ending_ && kill_at >= kill_at_) return;
    if (!ending_ && grace.count() > 0) {
      signal_all(SIGTERM);
      signal_all(SIGCONT);
    }
    ending_ = true;
    kill_at_ = kill_at;
    give_up_ = kill_at + kUnkillable;
  }

  void end_all() {
    if (Clock::now() >= kill_at_) signal_all(SIGKILL);
  }

  void signal_all(int signal) {
    const pid_t own = ::getpid();
    for (const pid_t process : descendants_of(own)) {
      signal_process(process, signal, [&](pid_t which) { return descends_from(which, own); });
    }
  }

  int launcher_, signals_;
  pid_t target_;
  bool launcher_gone_ = false;
  bool childless_ = false;
  bool ending_ = false;
  Clock::time_point kill_at_{}, give_up_{};
};

// Blocks SIGCHLD and the signals that ask this process to exit, and returns a signalfd that receives them. A request to
// exit also terminates the rerun.
int take_over_signals(sigset_t& before) {
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&taken, signal);
  ::pthread_sigmask(SIG_BLOCK, &taken, &before);
  return ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

int supervise(int argc, char** argv) {
  Arguments arguments = read_arguments(argc, argv);
  if (arguments.socket < 0 || arguments.command.empty()) return 125;
  const std::array<int, 3> inherited = {arguments.socket, arguments.arena, arguments.remove};
  for (const int number : inherited) {
    if (number >= 0) ::fcntl(number, F_SETFD, FD_CLOEXEC);
  }
  // The libraries that read the program's symbols leave their files open for children.
  close_all_but(inherited);
  const base::FileDescriptor removed(arguments.remove);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  std::optional<Overlays> overlays;
  if (arguments.isolation && arguments.isolation->overlays) {
    std::string failed;
    overlays = Overlays::enter(*arguments.isolation->overlays, arguments.command, failed);
    if (!overlays) {
      supervision::send(arguments.socket, {Packet::Kind::failed, errno, failed});
      return 125;
    }
    reopen_input();
    for (const auto& path : overlays->not_hidden()) {
      supervision::send(arguments.socket, {Packet::Kind::seen, 0, path.string()});
    }
    auto& folders = arguments.isolation->folders;
    folders.insert(folders.end(), overlays->trees().begin(), overlays->trees().end());
  }
  if (arguments.isolation) {
    arguments.isolation->private_network = enter_private_network();
    // The filter lets calls that set this limit succeed without effect, so a script with `ulimit -c` runs on.
    constexpr rlimit kNoCore{1, 1};
    ::setrlimit(RLIMIT_CORE, &kNoCore);
  }
  ConfinedStart start;
  const base::FileDescriptor signals(take_over_signals(start.blocked));
  start.path = arguments.path;
  start.arguments = arguments.command;
  start.environment = environment_but_arena();
  if (arguments.isolation && arguments.isolation->private_network) name_loopback(start.environment);
  start.isolation = arguments.isolation;
  start.arena = arguments.arena;
  const ConfinedTarget target = start_confined(std::move(start));
  std::optional<SyscallDesk> desk;
  if (target.process < 0) {
    supervision::send(arguments.socket, {Packet::Kind::failed, target.error, target.failed});
  } else {
    supervision::send(arguments.socket, {Packet::Kind::started, target.process, ""});
    const Overlays* const written = overlays ? &*overlays : nullptr;
    if (target.listener >= 0) desk.emplace(target.listener, *arguments.isolation, written, arguments.socket);
    Supervisor(arguments.socket, signals.get(), target.process).run();
    if (desk) desk->finish();
  }
  base::remove_folder(removed);
  supervision::send(arguments.socket, {Packet::Kind::over, 0, ""});
  // Skips destructors, because two threads may never exit: the one that started the target, and that of the desk.
  std::_Exit(0);
}

namespace supervision {
namespace {

struct Header {
  Packet::Kind kind;
  std::int32_t number;
};

constexpr std::size_t kMostText = 4096;

bool send(int socket, const Packet& packet, int flags) {
  std::array<char, sizeof(Header) + kMostText> bytes{};
  const Header header{packet.kind, packet.number};
  const std::size_t size = std::min(packet.text.size(), kMostText);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, packet.text.data(), size);
  while (true) {
    const ssize_t sent = ::send(socket, bytes.data(), sizeof header + size, MSG_NOSIGNAL | flags);
    if (sent >= 0 || errno != EINTR) return sent >= 0;
  }
}

}  // namespace

bool send(int socket, const Packet& packet) { return send(socket, packet, 0); }

bool send_at_once(int socket, const Packet& packet) { return send(socket, packet, MSG_DONTWAIT); }

std::optional<Packet> receive(int socket, bool& closed) {
  std::array<char, sizeof(Header) + kMostText> bytes{};
  const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0) {
    closed = errno != EAGAIN && errno != EINTR;
    return std::nullopt;
  }
  Header header{};
  closed = static_cast<std::size_t>(size) < sizeof header;
  if (closed) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  return Packet{header.kind, header.number,
                std::string(bytes.data() + sizeof header, static_cast<std::size_t>(size) - sizeof header)};
}

}  // namespace supervision

}  // namespace cudadiag::launch
