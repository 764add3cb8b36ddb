#include "launch/isolation/syscall_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/fsuid.h>
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
#include "launch/isolation/namespaces.h"
#include "launch/process_tree.h"

namespace cudadiag::launch {
namespace {

namespace fs = std::filesystem;
using Kind = SyscallRule::Kind;
using session::Deed;
using Verdict = SyscallJudge::Verdict;

constexpr std::size_t kMostMessages = 1024;  // the kernel's limit for one call

const Verdict kLetThrough;
// Appended to a refused address that would be allowed in a private network.
constexpr const char* kNoNetwork = " (a private network is not allowed here)";

bool is_service(const fs::path& path) {
  // These services only answer queries about user names or about the state of the GPU.
  constexpr const char* kServices[] = {"/run/nscd/socket", "/run/nvidia-persistenced/socket"};
  static const std::vector<fs::path> folders = {"/run/systemd/userdb", "/var/lib/sss/pipes"};
  return std::ranges::find(kServices, path) != std::end(kServices) || is_below(path, folders);
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

const SyscallRule* rule_of(const seccomp_data& call) {
  for (const SyscallRule& rule : call_rules()) {
    if (rule.number != call.nr) continue;
    // The other tests do not tell rules of the same call apart.
    const bool equal = rule.when != SyscallRule::When::equal ||
                       static_cast<std::uint32_t>(call.args[static_cast<std::size_t>(rule.tested)]) == rule.bits;
    if (equal) return &rule;
  }
  return nullptr;
}

// Returns the process that the pidfd `number` of `holder` refers to, and -1 if that process has exited. Returns nullopt
// if the process cannot be named: it is in another pid namespace, or the descriptor is a folder of /proc.
std::optional<pid_t> process_of(pid_t holder, int number) {
  std::ifstream information("/proc/" + std::to_string(holder) + "/fdinfo/" + std::to_string(number));
  if (!information) return -1;
  for (std::string name, value; information >> name >> value;) {
    if (name == "Pid:" && value != "0") return std::atoi(value.c_str());
  }
  return std::nullopt;
}

// Returns true if the call acts on the entry of a folder, as opposed to a file or a link.
bool is_call_on_folder(const SyscallRule& rule, const seccomp_data& data) {
#ifdef SYS_mkdir
  if (rule.number == SYS_mkdir || rule.number == SYS_rmdir) return true;
#endif
  return rule.number == SYS_mkdirat || (rule.number == SYS_unlinkat && (data.args[2] & AT_REMOVEDIR) != 0);
}

bool is_shared_entry(const SeenPath& seen) { return seen.path.parent_path() == kSharedMemory; }

FileIdentity identity_of_entry(const fs::path& path) {
  struct statx status {};
  ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME, &status);
  return identity_of(status);
}

// For the lifetime of this object, files that this process creates get the owner and mode that they would get if
// `thread` created them.
class CreateAs {
 public:
  explicit CreateAs(pid_t thread)
      : mask_(::umask(static_cast<mode_t>(std::strtoul(status_line(thread, "Umask:").c_str(), nullptr, 8)))),
        group_(::setfsgid(file_id(thread, "Gid:"))),
        user_(::setfsuid(file_id(thread, "Uid:"))) {}
  ~CreateAs() {
    ::setfsuid(static_cast<uid_t>(user_));
    ::setfsgid(static_cast<gid_t>(group_));
    ::umask(mask_);
  }
  CreateAs(const CreateAs&) = delete;
  CreateAs& operator=(const CreateAs&) = delete;

 private:
  // The line has the real, effective, saved and file system ids.
  static unsigned file_id(pid_t thread, std::string_view name) {
    const std::string ids = status_line(thread, name);
    return static_cast<unsigned>(std::strtoul(ids.c_str() + ids.rfind('\t') + 1, nullptr, 10));
  }
  mode_t mask_;
  int group_, user_;
};

std::string pid_and_name(pid_t process) {
  const std::string name = base::process_name(process);
  return "process " + std::to_string(process) + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

struct SyscallJudge::Call {
  const SyscallRule& rule;
  const seccomp_data& data;
  pid_t thread;

  std::uint64_t argument(int number) const { return data.args[static_cast<std::size_t>(number)]; }
  int integer(int number) const { return static_cast<int>(argument(number)); }
  Verdict refuse(int error, std::string object) const {
    return {error, session::KeptFrom{rule.deed, std::move(object)}};
  }
  Verdict refuse_large(const SeenPath& seen) const {
    return refuse(ENOSPC, seen.path.native() + ", which is larger than --write-limit");
  }
  // Answers a call whose path cannot be checked. The path is empty if the thread's memory cannot be read.
  Verdict refuse_unchecked(const SeenPath& seen) const {
    return seen.path.empty() ? Verdict{seen.error, {}} : refuse(seen.error, seen.path.native());
  }
};

SyscallJudge::SyscallJudge(Isolation isolation, pid_t owner, int landlock_version,
                           std::function<void(const FileIdentity&)> on_made, const Overlays* overlays)
    : isolation_(std::move(isolation)),
      overlays_(overlays),
      owner_(owner),
      landlock_version_(landlock_version),
      on_made_(std::move(on_made)) {
  if (isolation_.private_network) addresses_ = local_addresses();
}

SyscallJudge::Verdict SyscallJudge::judge(const seccomp_data& data, pid_t thread) {
  const SyscallRule* rule = rule_of(data);
  if (rule == nullptr) return {EPERM, session::KeptFrom{Deed::share, "system call " + std::to_string(data.nr)}};
  const Call call{*rule, data, thread};
  made_now_.clear();
  opened_ = base::FileDescriptor();
  switch (rule->kind) {
    case Kind::open:
      if (rule->flags < 0) return judge_open(call, O_WRONLY | O_CREAT | O_TRUNC, call.argument(1));
      return judge_open(call, call.argument(rule->flags), call.argument(rule->flags + 1));
    case Kind::open_how:
      return judge_open_how(call);
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
    case Kind::control:
      return judge_control(call);
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
      if (rule->path < 0) return judge_pidfd(call);
      return judge_process(call, call.integer(rule->path));
    case Kind::events:
      return judge_events(call);
    case Kind::group:
      return judge_group(call, call.integer(1));
    case Kind::priority:
      return judge_priority(call);
    case Kind::refuse:
      break;
  }
  return call.refuse(rule->error == 0 ? EPERM : rule->error, rule->what);
}

SeenPath SyscallJudge::see(const Call& call, int folder_argument, int path_argument, bool follows) const {
  const auto path = read_text(call.thread, call.argument(path_argument));
  if (!path) {
    SeenPath unread;
    unread.error = EFAULT;
    return unread;
  }
  const int folder = folder_argument < 0 ? AT_FDCWD : call.integer(folder_argument);
  // With AT_EMPTY_PATH, an empty path refers to the descriptor itself.
  const bool itself = path->empty() && folder_argument >= 0;
  if (itself && (folder != AT_FDCWD || call.rule.kind == Kind::change)) return see_itself(call.thread, folder);
  return see_path(call.thread, folder, *path, follows);
}

bool SyscallJudge::is_of_rerun(pid_t process) const { return process != owner_ && descends_from(process, owner_); }

// Returns true if the file is below /proc and belongs to a process of the rerun. Programs write to such files to name
// their threads, for example. The file "autogroup" changes the priority of the user's whole session.
bool SyscallJudge::is_own_process(const SeenPath& seen) const {
  const std::string& path = seen.path.native();
  constexpr std::string_view kProcesses = "/proc/";
  if (!path.starts_with(kProcesses) || seen.path.filename() == "autogroup") return false;
  const int process = std::atoi(path.c_str() + kProcesses.size());
  return process > 0 && is_of_rerun(process);
}

bool SyscallJudge::is_made(const SeenPath& seen) const {
  if (!isolation_.shared_memory || !is_below(seen.path, {kSharedMemory})) return false;
  if (is_shared_entry(seen)) return seen.exists && made_.contains(identity_of(seen.status));
  const std::string entry = seen.path.lexically_relative(kSharedMemory).begin()->native();
  return made_.contains(identity_of_entry(fs::path(kSharedMemory) / entry));
}

bool SyscallJudge::may_change(const SeenPath& seen) const {
  if (is_own_process(seen) || is_made(seen)) return true;
  // A descriptor that the rerun inherited leads to the file itself, not to the overlay.
  const bool is_outside = overlays_ != nullptr && seen.exists && !overlays_->owns(seen.status.stx_mnt_id);
  return is_below(seen.path, isolation_.folders) && !is_outside && !is_fixed(seen.path);
}

bool SyscallJudge::is_too_large(const SeenPath& seen) const {
  return overlays_ != nullptr && seen.has_type(S_IFREG) && seen.status.stx_size > overlays_->write_limit() &&
         overlays_->tree_of(seen.path) != nullptr && !overlays_->is_written(seen.path);
}

bool SyscallJudge::is_refused_anyway(const fs::path& path) const {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return false;
  return errno != EROFS || overlays_ == nullptr || overlays_->was_read_only(path);
}

bool SyscallJudge::may_use(const SeenPath& seen) const {
  const auto& pipes = isolation_.pipes;
  if (is_device(seen) || std::ranges::find(pipes, seen.path) != pipes.end()) return true;
  const bool leads_to_program = seen.has_type(S_IFIFO) || seen.has_type(S_IFSOCK);
  const bool in_overlay = overlays_ != nullptr && is_below(seen.path, overlays_->trees());
  return may_change(seen) && !(leads_to_program && in_overlay && !overlays_->is_written(seen.path));
}

bool SyscallJudge::may_make(const SeenPath& seen) const {
  return (is_below(seen.path, isolation_.folders) && !is_fixed(seen.path.parent_path())) || is_made(seen);
}

SyscallJudge::Verdict SyscallJudge::judge_open_how(const Call& call) {
  struct {
    std::uint64_t flags, mode, resolve;
  } how{};
  if (!read_memory(call.thread, call.argument(call.rule.flags), &how, sizeof how)) return {EFAULT, {}};
  if ((how.flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) == 0) return kLetThrough;
  constexpr std::uint64_t kInRoot = 0x10;  // RESOLVE_IN_ROOT
  if ((how.resolve & kInRoot) != 0) return call.refuse(EACCES, "a file in a different root folder");
  return judge_open(call, how.flags, how.mode);
}

SyscallJudge::Verdict SyscallJudge::judge_open(const Call& call, std::uint64_t flags, std::uint64_t mode) {
  if ((flags & O_PATH) != 0) return kLetThrough;
  const bool makes = (flags & O_CREAT) != 0;
  const bool alone = makes && (flags & O_EXCL) != 0;
  const SeenPath seen = see(call, call.rule.folder, call.rule.path, !alone && (flags & O_NOFOLLOW) == 0);
  if (seen.error != 0) return call.refuse_unchecked(seen);
  if (!seen.reachable || !seen.is_file) return kLetThrough;
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  // The kernel rejects these calls anyway, with its own error code.
  const bool taken = seen.exists && (alone || seen.has_type(S_IFDIR));
  if (!nameless && ((!seen.exists && !makes) || taken)) return kLetThrough;
  if (isolation_.shared_memory && nameless && seen.path == kSharedMemory) return kLetThrough;
  const bool shared = isolation_.shared_memory && is_shared_entry(seen);
  if (seen.exists ? is_own_process(seen) || (shared && is_made(seen)) : shared && !nameless) {
    return open_here(call, seen, flags, mode);
  }
  if (seen.exists ? may_use(seen) : may_make(seen)) {
    return (flags & O_TRUNC) == 0 && is_too_large(seen) ? call.refuse_large(seen) : kLetThrough;
  }
  if (is_refused_anyway(seen.exists ? seen.path : seen.path.parent_path())) return kLetThrough;
  return call.refuse(EACCES, seen.path.native());
}

SyscallJudge::Verdict SyscallJudge::open_here(const Call& call, const SeenPath& seen, std::uint64_t flags,
                                              std::uint64_t mode) {
  constexpr int kTaken = O_ACCMODE | O_APPEND | O_NONBLOCK | O_DSYNC | O_SYNC | O_DIRECT | O_NOATIME;
  const int taken = (static_cast<int>(flags) & kTaken) | O_CLOEXEC;
  const CreateAs as(call.thread);
  if (seen.exists) {
    // Opens the file that was checked, not the one that has its name by now.
    if (!seen.has_type(S_IFREG)) return kLetThrough;
    const std::string path = "/proc/self/fd/" + std::to_string(seen.file.get());
    opened_ = base::FileDescriptor(::open(path.c_str(), taken | (static_cast<int>(flags) & O_TRUNC)));
  } else {
    if ((flags & O_DIRECTORY) != 0) return {EINVAL, {}};
    const int makes = O_CREAT | O_EXCL | O_NOFOLLOW;
    opened_ = base::FileDescriptor(::open(seen.path.c_str(), taken | makes, static_cast<mode_t>(mode)));
  }
  if (!opened_.valid()) {
    const bool lost = !seen.exists && errno == EEXIST && (flags & O_EXCL) == 0;
    return lost ? call.refuse(EACCES, seen.path.native()) : Verdict{errno, {}};
  }
  if (!seen.exists) {
    struct statx status {};
    ::statx(opened_.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status);
    remember(identity_of(status));
    made_now_ = seen.path;
  }
  return {0, {}, false, opened_.get(), (flags & O_CLOEXEC) != 0};
}

// Without an identity, which statx() denies if another program has removed the file, nothing counts as created.
void SyscallJudge::remember(const FileIdentity& identity) {
  if (identity == FileIdentity{} || !made_.insert(identity).second) return;
  if (on_made_) on_made_(identity);
}

SyscallJudge::Verdict SyscallJudge::make_shared_folder(const Call& call, const SeenPath& seen) {
  const CreateAs as(call.thread);
  if (::mkdir(seen.path.c_str(), static_cast<mode_t>(call.argument(call.rule.path + 1))) != 0) return {errno, {}};
  remember(identity_of_entry(seen.path));
  made_now_ = seen.path;
  return {0, {}, true};
}

SyscallJudge::Verdict SyscallJudge::remove_shared(const SeenPath& seen) {
  if (::unlink(seen.path.c_str()) != 0) return {errno, {}};
  if (seen.status.stx_nlink == 1) made_.erase(identity_of(seen.status));
  return {0, {}, true};
}

SyscallJudge::Verdict SyscallJudge::judge_path(const Call& call) {
  const SyscallRule& rule = call.rule;
  const bool makes = rule.kind == Kind::make;
  const bool stays = rule.flags >= 0 && (call.integer(rule.flags) & AT_SYMLINK_NOFOLLOW) != 0;
  const SeenPath seen = see(call, rule.folder, rule.path, rule.follows && !stays);
  if (seen.error != 0) return call.refuse_unchecked(seen);
  if (!seen.reachable || !seen.is_file || seen.exists == makes) return kLetThrough;
  const bool on_folder = is_call_on_folder(rule, call.data);
  if (isolation_.shared_memory && is_shared_entry(seen)) {
    if (makes && on_folder) return make_shared_folder(call, seen);
    if (rule.kind == Kind::remove && !on_folder && is_made(seen) && !seen.has_type(S_IFDIR)) return remove_shared(seen);
  }
  if (rule.kind == Kind::change && copies_whole() && is_too_large(seen)) return call.refuse_large(seen);
  if (makes ? may_make(seen) : may_change(seen)) return kLetThrough;
  const bool in_folder = makes || rule.kind == Kind::remove;
  if (rule.deed != Deed::change && is_refused_anyway(in_folder ? seen.path.parent_path() : seen.path)) {
    return kLetThrough;
  }
  return call.refuse(rule.deed == Deed::change ? EPERM : EACCES,
                     seen.path.native() + (seen.has_type(S_IFDIR) || (makes && on_folder) ? "/" : ""));
}

SyscallJudge::Verdict SyscallJudge::judge_two_paths(const Call& call) {
  const bool in_folders = call.rule.folder >= 0;
  const bool links = call.rule.kind == Kind::link;
  const bool follows = links && in_folders && (call.argument(4) & AT_SYMLINK_FOLLOW) != 0;
  const SeenPath from = see(call, in_folders ? 0 : -1, call.rule.path, follows);
  const SeenPath to = see(call, in_folders ? 2 : -1, in_folders ? 3 : 1, false);
  for (const SeenPath* seen : {&from, &to}) {
    if (seen->error != 0) return call.refuse_unchecked(*seen);
  }
  if (!from.reachable || !from.exists || !to.reachable) return kLetThrough;
  if (!from.is_file && !links) return kLetThrough;
  // The file was created nameless (O_TMPFILE), and gets its first name.
  const bool first_name = links && isolation_.shared_memory && is_shared_entry(from) && from.status.stx_nlink == 0;
  // Checks the source of a link as well, because the file could be changed through its new name.
  const bool from_ours = !from.is_file || may_change(from) || first_name;
  const bool to_shared = is_shared_entry(to) && (first_name || is_made(from));
  const bool to_ours = to.exists ? may_change(to) : may_make(to) || to_shared;
  if (from_ours && to_ours) {
    if (copies_whole() && is_too_large(from)) return call.refuse_large(from);
    if (first_name) remember(identity_of(from.status));
    // Each tree is a file system of its own, even if both are on one disk. The program fails, or copies the file.
    const bool apart = overlays_ != nullptr && overlays_->tree_of(from.path) != overlays_->tree_of(to.path);
    if (apart) return {0, session::KeptFrom{call.rule.deed, to.path.native()}};
    return kLetThrough;
  }
  const SeenPath& theirs = from_ours ? to : from;
  if (is_refused_anyway(theirs.path.parent_path())) return kLetThrough;
  return call.refuse(EACCES, theirs.path.native());
}

SyscallJudge::Verdict SyscallJudge::judge_descriptor(const Call& call, int descriptor) {
  const SeenPath seen = see_itself(call.thread, descriptor);
  if (seen.error != 0) return call.refuse_unchecked(seen);
  if (copies_whole() && is_too_large(seen)) return call.refuse_large(seen);
  if (!seen.is_file || may_change(seen)) return kLetThrough;
  return call.refuse(EPERM, seen.path.native());
}

// Only requests that are not harmless on every descriptor come here. The rerun's devices, but for /dev/random, and
// objects without a name get all of them. Its own files get none: most concern the whole file system, and a flag can
// make a file impossible to remove.
SyscallJudge::Verdict SyscallJudge::judge_control(const Call& call) {
  const SeenPath seen = see_descriptor(call.thread, call.integer(0));
  if (seen.error != 0) return call.refuse_unchecked(seen);
  const bool is_random = seen.path == "/dev/random" || seen.path == "/dev/urandom";
  if (!seen.is_file || (is_device(seen) && (!is_random || call.argument(1) == RNDGETENTCNT))) return kLetThrough;
  const bool has_driver = seen.has_type(S_IFCHR) || seen.has_type(S_IFBLK);
  // Programs take ENOTTY for a file system without this request, and do without.
  return call.refuse(has_driver ? EPERM : ENOTTY, seen.path.native());
}

SyscallJudge::Verdict SyscallJudge::judge_address(const Call& call, std::uint64_t address, std::uint64_t bytes) {
  std::array<char, sizeof(sockaddr_storage)> buffer{};
  const std::size_t size = std::min<std::size_t>(static_cast<std::uint32_t>(bytes), buffer.size());
  if (address == 0 || size < sizeof(sa_family_t)) return kLetThrough;
  if (!read_memory(call.thread, address, buffer.data(), size)) return {EFAULT, {}};
  const std::span<const char> given(buffer.data(), size);
  sa_family_t family = AF_UNSPEC;
  std::memcpy(&family, given.data(), sizeof family);
  if (family == AF_UNIX) return judge_local_address(call, given);
  // AF_UNSPEC only disconnects the socket.
  if (family == AF_UNSPEC) return kLetThrough;
  if (family == AF_NETLINK) {
    sockaddr_nl to{};
    std::memcpy(&to, given.data(), std::min(size, sizeof to));
    // Port 0 is the kernel. In a private network, all other sockets are the rerun's own.
    const bool reaches = call.rule.deed != Deed::listen && !isolation_.private_network;
    if (!reaches || (to.nl_pid == 0 && to.nl_groups == 0)) return kLetThrough;
    return call.refuse(EACCES, "a netlink socket of another program");
  }
  const auto endpoint = endpoint_of(given);
  if (!endpoint) return call.refuse(EACCES, "an address of family " + std::to_string(family));
  return judge_endpoint(call, *endpoint);
}

SyscallJudge::Verdict SyscallJudge::judge_endpoint(const Call& call, const Endpoint& endpoint) {
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
  const bool allowed = near && std::ranges::find(ports, endpoint.port) != ports.end();
  return allowed ? kLetThrough : call.refuse(EACCES, endpoint.text + (near || listens ? kNoNetwork : ""));
}

SyscallJudge::Verdict SyscallJudge::judge_local_address(const Call& call, std::span<const char> address) {
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
  const std::string path(bytes.begin(), std::ranges::find(bytes, '\0'));
  const SeenPath seen = see_path(call.thread, AT_FDCWD, path, !binds);
  if (seen.error != 0) return call.refuse_unchecked(seen);
  if (!seen.reachable || seen.exists == binds) return kLetThrough;
  if (binds ? may_make(seen) : may_use(seen) || is_service(seen.path)) return kLetThrough;
  if (binds && is_refused_anyway(seen.path.parent_path())) return kLetThrough;
  return call.refuse(EACCES, seen.path.native());
}

SyscallJudge::Verdict SyscallJudge::judge_messages(const Call& call, std::uint64_t first, std::size_t count,
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
SyscallJudge::Verdict SyscallJudge::judge_listen(const Call& call) {
  if (isolation_.private_network || !isolation_.ports.empty() || is_local_socket(call.thread, call.integer(0)))
    return kLetThrough;
  return call.refuse(EACCES, std::string("a free port") + kNoNetwork);
}

SyscallJudge::Verdict SyscallJudge::judge_process(const Call& call, pid_t process) {
  const bool is_gone = ::kill(process, 0) != 0 && errno == ESRCH;
  if (process <= 0 || is_gone || is_of_rerun(process)) return kLetThrough;
  return call.refuse(EPERM, pid_and_name(process));
}

SyscallJudge::Verdict SyscallJudge::judge_processes(const Call& call, pid_t process) {
  if (process > 0) return judge_process(call, process);
  // From version 6 on, Landlock itself blocks signals to processes outside the rerun.
  if (landlock_version_ >= 6) return kLetThrough;
  if (process == -1) return call.refuse(EPERM, "all processes");
  return judge_group(call, process == 0 ? ::getpgid(call.thread) : -process);
}

SyscallJudge::Verdict SyscallJudge::judge_group(const Call& call, pid_t group) {
  for (const pid_t process : base::all_processes()) {
    if (::getpgid(process) == group && !is_of_rerun(process)) return call.refuse(EPERM, pid_and_name(process));
  }
  return kLetThrough;
}

SyscallJudge::Verdict SyscallJudge::judge_pidfd(const Call& call) {
  // Negative numbers refer to the caller itself.
  if (call.integer(0) < 0) return kLetThrough;
  const auto process = process_of(call.thread, call.integer(0));
  if (!process) return call.refuse(EPERM, "a process without a number");
  constexpr std::uint64_t kWholeGroup = 4;  // PIDFD_SIGNAL_PROCESS_GROUP
  const bool whole_group = call.rule.number == SYS_pidfd_send_signal && (call.argument(3) & kWholeGroup) != 0;
  return whole_group && *process > 0 ? judge_group(call, *process) : judge_process(call, *process);
}

// The counter of an event can send a signal to the process that it watches.
SyscallJudge::Verdict SyscallJudge::judge_events(const Call& call) {
  const bool is_one = call.integer(1) >= 0 && (call.argument(4) & PERF_FLAG_PID_CGROUP) == 0;
  return is_one ? judge_process(call, call.integer(1)) : call.refuse(EPERM, "several processes");
}

SyscallJudge::Verdict SyscallJudge::judge_priority(const Call& call) {
  const int one_process = call.rule.number == SYS_setpriority ? PRIO_PROCESS : 1;
  return call.integer(0) == one_process ? judge_process(call, call.integer(1))
                                        : call.refuse(EPERM, "several processes");
}

void SyscallJudge::undo() {
  if (made_now_.empty() || !made_.contains(identity_of_entry(made_now_))) return;
  std::error_code ignored;
  fs::remove(made_now_, ignored);
}

void SyscallJudge::remove_from_shared_memory(const std::set<FileIdentity>& made) {
  if (made.empty()) return;
  std::error_code error;
  for (fs::directory_iterator it(kSharedMemory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (made.contains(identity_of_entry(it->path()))) fs::remove_all(it->path(), ignored);
  }
}

}  // namespace cudadiag::launch
