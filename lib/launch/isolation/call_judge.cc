#include "launch/isolation/call_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/processes.h"
#include "launch/isolation/endpoint.h"
#include "launch/isolation/memory_of.h"
#include "launch/isolation/private_network.h"
#include "launch/supervised/process_tree.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;
using Kind = CallRule::Kind;
using session::Deed;
using Verdict = CallJudge::Verdict;

constexpr std::size_t kMostMessages = 1024;  // the kernel's limit for one call

const Verdict kLetThrough;
// Appended to a refused address that would be allowed in a private network.
constexpr const char* kNoNetwork = " (a private network is not allowed here)";

// Returns true if the kernel refuses writes to this file anyway, because the user lacks the rights or the file system
// is read-only.
bool is_refused_anyway(const fs::path& path) { return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0; }

bool is_service(const fs::path& path) {
  // These services only answer queries about user names or about the state of the GPU.
  constexpr const char* kServices[] = {"/run/nscd/socket", "/run/nvidia-persistenced/socket"};
  static const std::vector<fs::path> folders = {"/run/systemd/userdb", "/var/lib/sss/pipes"};
  return std::find(std::begin(kServices), std::end(kServices), path) != std::end(kServices) || is_below(path, folders);
}

// Returns true if descriptor `number` of `process` is an AF_UNIX socket.
bool is_local_socket(pid_t process, int number) {
  const SeenPath seen = see_descriptor(process, number);
  const std::string& name = seen.path.native();
  if (!name.starts_with("socket:[")) return false;
  const std::string inode = " " + name.substr(8, name.size() - 9);
  std::ifstream table("/proc/" + std::to_string(process) + "/net/unix");
  for (std::string line; std::getline(table, line);) {
    // A line ends in "INODE PATH", or in "INODE" if the socket has no path.
    const std::size_t at = line.find(inode);
    if (at == std::string::npos) continue;
    const std::size_t end = at + inode.size();
    if (end == line.size() || line[end] == ' ') return true;
  }
  return false;
}

// If a program binds a socket without a name, the kernel chooses a name of five hexadecimal digits (autobind, unix(7)).
bool is_given_by_kernel(const std::string& name) {
  return name.size() == 5 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Returns true if CUDA chose this socket name. CUDA binds one such socket in each process, with the process id in its
// name.
bool is_of_cuda(const std::string& name) { return name.starts_with("cuda-uvmfd-"); }

// Returns the file that a call with an empty path refers to: the file of the descriptor, or the working folder.
SeenPath see_itself(pid_t process, int folder) {
  return folder == AT_FDCWD ? see_path(process, AT_FDCWD, ".", true) : see_descriptor(process, folder);
}

const CallRule* rule_of(const seccomp_data& call) {
  for (const CallRule& rule : call_rules()) {
    if (rule.number != call.nr) continue;
    const bool equal = rule.when != CallRule::When::equal ||
                       static_cast<std::uint32_t>(call.args[static_cast<std::size_t>(rule.tested)]) == rule.bits;
    if (equal) return &rule;
  }
  return nullptr;
}

// Returns the process that the pidfd `number` of `holder` refers to; 0 if that process has exited.
pid_t process_of(pid_t holder, int number) {
  std::ifstream information("/proc/" + std::to_string(holder) + "/fdinfo/" + std::to_string(number));
  for (std::string name, value; information >> name >> value;) {
    if (name == "Pid:") return std::max(std::atoi(value.c_str()), 0);
  }
  return 0;
}

bool makes_folder(const CallRule& rule) {
#ifdef SYS_mkdir
  if (rule.number == SYS_mkdir) return true;
#endif
  return rule.number == SYS_mkdirat;
}

std::string pid_and_name(pid_t process) {
  const std::string name = base::process_name(process);
  return "process " + std::to_string(process) + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

struct CallJudge::Call {
  const CallRule& rule;
  const seccomp_data& data;
  pid_t thread;

  std::uint64_t argument(int number) const { return data.args[static_cast<std::size_t>(number)]; }
  int integer(int number) const { return static_cast<int>(argument(number)); }
  Verdict refuse(int error, std::string object) const {
    return {error, session::KeptFrom{rule.deed, std::move(object)}};
  }
};

CallJudge::CallJudge(Isolation isolation, pid_t owner, int landlock_version)
    : isolation_(std::move(isolation)), owner_(owner), landlock_version_(landlock_version) {
  for (const auto* paths : {&isolation_.folders, &isolation_.devices}) {
    writable_.insert(writable_.end(), paths->begin(), paths->end());
  }
  if (isolation_.private_network) addresses_ = local_addresses();
}

CallJudge::Verdict CallJudge::judge(const seccomp_data& data, pid_t thread) {
  const CallRule* rule = rule_of(data);
  if (rule == nullptr) return {EPERM, {}};
  const Call call{*rule, data, thread};
  switch (rule->kind) {
    case Kind::open:
      return judge_open(call, rule->flags < 0 ? O_WRONLY | O_CREAT | O_TRUNC : call.argument(rule->flags));
    case Kind::open_how: {
      std::uint64_t flags = 0;
      if (!read_memory(thread, call.argument(rule->flags), &flags, sizeof flags)) return kLetThrough;
      const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;
      return writes ? judge_open(call, flags) : kLetThrough;
    }
    case Kind::change:
      if (rule->folder >= 0 && call.argument(rule->path) == 0)
        return judge_descriptor(call, call.integer(rule->folder));
      return judge_path(call);
    case Kind::make:
    case Kind::remove:
      return judge_path(call);
    case Kind::move:
    case Kind::link:
      return judge_two_paths(call);
    case Kind::descriptor:
      return judge_descriptor(call, call.integer(0));
    case Kind::address:
    case Kind::datagram:
      return judge_address(call, call.argument(rule->path), call.argument(rule->path + 1));
    case Kind::message:
      return judge_messages(call, call.argument(1), 1, sizeof(msghdr));
    case Kind::messages:
      return judge_messages(call, call.argument(1), std::min<std::size_t>(call.argument(2), kMostMessages),
                            sizeof(mmsghdr));
    case Kind::listen:
      return judge_listen(call);
    case Kind::signal:
      return judge_process(call, call.integer(rule->path));
    case Kind::processes:
      return judge_processes(call, call.integer(0));
    case Kind::process:
      if (rule->path < 0) return judge_process(call, process_of(thread, call.integer(0)));
      return judge_process(call, call.integer(rule->path));
    case Kind::priority:
      return judge_priority(call);
    case Kind::refuse:
      break;
  }
  return call.refuse(rule->error == 0 ? EPERM : rule->error, rule->what);
}

SeenPath CallJudge::see(const Call& call, int folder_argument, int path_argument, bool follows) const {
  const auto path = read_text(call.thread, call.argument(path_argument));
  if (!path) return {};
  const int folder = folder_argument < 0 ? AT_FDCWD : call.integer(folder_argument);
  // With AT_EMPTY_PATH, an empty path refers to the descriptor itself.
  const bool itself = path->empty() && folder_argument >= 0;
  if (itself && (folder != AT_FDCWD || call.rule.kind == Kind::change)) return see_itself(call.thread, folder);
  return see_path(call.thread, folder, *path, follows);
}

// Returns true if the file is below /proc and belongs to a process of the rerun. Programs write to such files to name
// their threads, for example.
bool CallJudge::is_own_process(const SeenPath& seen) const {
  const std::string& path = seen.path.native();
  constexpr std::string_view kProcesses = "/proc/";
  if (!path.starts_with(kProcesses)) return false;
  const int process = std::atoi(path.c_str() + kProcesses.size());
  return process > 0 && process != owner_ && descends_from(process, owner_);
}

bool CallJudge::may_change(const SeenPath& seen) {
  if (is_own_process(seen)) return true;
  if (is_below(seen.path, writable_)) return true;
  return isolation_.shared_memory && is_below(seen.path, {kSharedMemory}) &&
         shared_.contains(seen.path.lexically_relative(kSharedMemory).begin()->native());
}

bool CallJudge::may_use(const SeenPath& seen) {
  const auto& pipes = isolation_.pipes;
  return may_change(seen) || std::find(pipes.begin(), pipes.end(), seen.path) != pipes.end();
}

bool CallJudge::may_make(const SeenPath& seen) {
  if (is_below(seen.path, isolation_.folders)) return true;
  if (!isolation_.shared_memory || !is_below(seen.path, {kSharedMemory})) return false;
  const fs::path relative = seen.path.lexically_relative(kSharedMemory);
  const std::string entry = relative.begin()->native();
  if (std::next(relative.begin()) != relative.end()) return shared_.contains(entry);
  shared_.insert(entry);
  return true;
}

CallJudge::Verdict CallJudge::judge_open(const Call& call, std::uint64_t flags) {
  const bool makes = (flags & O_CREAT) != 0;
  const bool alone = makes && (flags & O_EXCL) != 0;
  const SeenPath seen = see(call, call.rule.folder, call.rule.path, !alone && (flags & O_NOFOLLOW) == 0);
  if (!seen.reachable || !seen.is_file) return kLetThrough;
  struct stat status {};
  const bool is_folder = ::stat(seen.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  // The kernel rejects these calls anyway, with its own error code.
  if (!nameless && ((!seen.exists && !makes) || (seen.exists && (alone || is_folder)))) return kLetThrough;
  if (nameless && isolation_.shared_memory && seen.path == kSharedMemory) return kLetThrough;
  if (seen.exists ? may_use(seen) : may_make(seen)) return kLetThrough;
  if (is_refused_anyway(seen.exists ? seen.path : seen.path.parent_path())) return kLetThrough;
  return call.refuse(EACCES, seen.path.native());
}

CallJudge::Verdict CallJudge::judge_path(const Call& call) {
  const CallRule& rule = call.rule;
  const bool makes = rule.kind == Kind::make;
  const bool stays = rule.flags >= 0 && (call.integer(rule.flags) & AT_SYMLINK_NOFOLLOW) != 0;
  const SeenPath seen = see(call, rule.folder, rule.path, rule.follows && !stays);
  if (!seen.reachable || !seen.is_file || seen.exists == makes) return kLetThrough;
  if (makes ? may_make(seen) : may_change(seen)) {
    if (rule.kind == Kind::remove && isolation_.shared_memory && seen.path.parent_path() == kSharedMemory) {
      shared_.erase(seen.path.filename().native());
    }
    return kLetThrough;
  }
  const bool in_folder = makes || rule.kind == Kind::remove;
  if (rule.deed != Deed::change && is_refused_anyway(in_folder ? seen.path.parent_path() : seen.path)) {
    return kLetThrough;
  }
  struct stat status {};
  const bool is_folder = !makes && ::lstat(seen.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  return call.refuse(rule.deed == Deed::change ? EPERM : EACCES,
                     seen.path.native() + (is_folder || makes_folder(rule) ? "/" : ""));
}

CallJudge::Verdict CallJudge::judge_two_paths(const Call& call) {
  const bool in_folders = call.rule.folder >= 0;
  const int from_folder = in_folders ? 0 : -1, to_folder = in_folders ? 2 : -1;
  const SeenPath from = see(call, from_folder, call.rule.path, false);
  const SeenPath to = see(call, to_folder, in_folders ? 3 : 1, false);
  if (!from.reachable || !from.exists || !to.reachable) return kLetThrough;
  if (!from.is_file && call.rule.kind != Kind::link) return kLetThrough;
  // Checks the source of a link as well, because the call could give a name to a file opened with O_TMPFILE.
  const bool from_ours = !from.is_file || may_change(from) || from.path == fs::path(kSharedMemory);
  const bool to_ours = to.exists ? may_change(to) : may_make(to);
  if (from_ours && to_ours) {
    if (call.rule.kind == Kind::move && from.path.parent_path() == kSharedMemory) {
      shared_.erase(from.path.filename().native());
    }
    return kLetThrough;
  }
  const SeenPath& theirs = from_ours ? to : from;
  if (is_refused_anyway(theirs.path.parent_path())) return kLetThrough;
  return call.refuse(EACCES, theirs.path.native());
}

CallJudge::Verdict CallJudge::judge_descriptor(const Call& call, int descriptor) {
  const SeenPath seen = see_itself(call.thread, descriptor);
  if (!seen.is_file || may_change(seen)) return kLetThrough;
  return call.refuse(EPERM, seen.path.native());
}

CallJudge::Verdict CallJudge::judge_address(const Call& call, std::uint64_t address, std::uint64_t bytes) {
  std::array<char, sizeof(sockaddr_storage)> buffer{};
  const std::size_t size = std::min<std::size_t>(static_cast<std::uint32_t>(bytes), buffer.size());
  if (address == 0 || size < sizeof(sa_family_t)) return kLetThrough;
  if (!read_memory(call.thread, address, buffer.data(), size)) return {EFAULT, {}};
  const std::span<const char> given(buffer.data(), size);
  sa_family_t family = AF_UNSPEC;
  std::memcpy(&family, given.data(), sizeof family);
  if (family == AF_UNIX) return judge_local_address(call, given);
  // AF_UNSPEC only disconnects the socket, and AF_NETLINK reaches only the kernel.
  if (family == AF_UNSPEC || family == AF_NETLINK) return kLetThrough;
  const auto endpoint = endpoint_of(given);
  if (!endpoint) return call.refuse(EACCES, "an address of family " + std::to_string(family));
  return judge_endpoint(call, *endpoint);
}

CallJudge::Verdict CallJudge::judge_endpoint(const Call& call, const Endpoint& endpoint) {
  const bool listens = call.rule.deed == Deed::listen;
  if (isolation_.private_network) {
    if (listens) return kLetThrough;
    const bool own = endpoint.loopback || endpoint.any_address || addresses_.contains(endpoint.address);
    if (!own) return call.refuse(EACCES, endpoint.text);
    // If nothing listens on this port in the rerun's network, the program may need a server on the host. Checks each
    // port only once: clients retry often, and the host's table of sockets can be long.
    if (!met_ports_.insert(endpoint.port).second) return kLetThrough;
    const bool missed = !is_served(owner_, endpoint.port) && is_served(parent_of(owner_), endpoint.port);
    return missed ? Verdict{0, session::KeptFrom{call.rule.deed, endpoint.text}} : kLetThrough;
  }
  // Allows binding port 0, for which the kernel chooses a free port. Some programs do this only to find a free port.
  // They accept no connections before listen(), which is checked separately.
  if (listens && endpoint.port == 0) return kLetThrough;
  const auto& ports = isolation_.ports;
  const bool near = endpoint.loopback || (isolation_.any_interface && listens);
  const bool allowed = near && std::find(ports.begin(), ports.end(), endpoint.port) != ports.end();
  return allowed ? kLetThrough : call.refuse(EACCES, endpoint.text + (near || listens ? kNoNetwork : ""));
}

CallJudge::Verdict CallJudge::judge_local_address(const Call& call, std::span<const char> address) {
  const bool binds = call.rule.deed == Deed::listen;
  constexpr std::size_t kNameAt = offsetof(sockaddr_un, sun_path);
  if (address.size() <= kNameAt) return kLetThrough;
  const std::span<const char> bytes = address.subspan(kNameAt);
  if (bytes[0] == '\0') {
    const std::string name(bytes.begin() + 1, bytes.end());
    // Binding this name could make clients of the real program connect to the rerun. The rerun may bind a name only in
    // a private network, or if CUDA chose the name.
    if (binds && (isolation_.private_network || is_of_cuda(name))) sockets_.insert(name);
    const bool known = sockets_.contains(name) || (landlock_version_ >= 6 && is_given_by_kernel(name));
    return known ? kLetThrough : call.refuse(EACCES, "@" + name.substr(0, name.find('\0')));
  }
  const std::string path(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
  const SeenPath seen = see_path(call.thread, AT_FDCWD, path, !binds);
  if (!seen.reachable || seen.exists == binds) return kLetThrough;
  if (binds ? may_make(seen) : may_use(seen) || is_service(seen.path)) return kLetThrough;
  if (binds && is_refused_anyway(seen.path.parent_path())) return kLetThrough;
  return call.refuse(EACCES, seen.path.native());
}

CallJudge::Verdict CallJudge::judge_messages(const Call& call, std::uint64_t first, std::size_t count,
                                             std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    msghdr message{};
    if (!read_memory(call.thread, first + i * stride, &message, sizeof message)) return {EFAULT, {}};
    const auto name = reinterpret_cast<std::uint64_t>(message.msg_name);
    Verdict verdict = judge_address(call, name, message.msg_namelen);
    if (verdict.error != 0 || verdict.kept) return verdict;
  }
  return kLetThrough;
}

// If the socket has no address yet, listen() binds it to a free port.
CallJudge::Verdict CallJudge::judge_listen(const Call& call) {
  if (isolation_.private_network || !isolation_.ports.empty() || is_local_socket(call.thread, call.integer(0)))
    return kLetThrough;
  return call.refuse(EACCES, std::string("a free port") + kNoNetwork);
}

CallJudge::Verdict CallJudge::judge_process(const Call& call, pid_t process) {
  const bool is_gone = ::kill(process, 0) != 0 && errno == ESRCH;
  if (process <= 0 || is_gone || descends_from(process, owner_)) return kLetThrough;
  return call.refuse(EPERM, pid_and_name(process));
}

CallJudge::Verdict CallJudge::judge_processes(const Call& call, pid_t process) {
  if (process > 0) return judge_process(call, process);
  // From version 6 on, Landlock itself blocks signals to processes outside the rerun.
  if (landlock_version_ >= 6) return kLetThrough;
  if (process == -1) return call.refuse(EPERM, "all processes");
  const pid_t group = process == 0 ? ::getpgid(call.thread) : -process;
  return judge_process(call, group);
}

CallJudge::Verdict CallJudge::judge_priority(const Call& call) {
  const int which = call.integer(0), who = call.integer(1);
  const bool is_ioprio = call.rule.number != SYS_setpriority;
  const int one_process = is_ioprio ? 1 : PRIO_PROCESS;
  if (which == one_process) return who == 0 ? kLetThrough : judge_process(call, who);
  return call.refuse(EPERM, "several processes");
}

void CallJudge::clean_shared_memory() {
  for (const std::string& entry : shared_) {
    std::error_code ignored;
    fs::remove_all(fs::path(kSharedMemory) / entry, ignored);
  }
  shared_.clear();
}

}  // namespace cudadiag::launch
