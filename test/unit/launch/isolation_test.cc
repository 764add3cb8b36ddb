// Passes system calls of this process to the checks for an isolated rerun.
#include "launch/isolation/isolation.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "launch/isolation/syscall_judge.h"
#include "launch/isolation/syscall_rules.h"
#include "launch/process_tree.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using launch::Isolation;
using launch::SyscallJudge;
using session::Deed;
using test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
std::uint64_t word(long number) { return static_cast<std::uint64_t>(number); }

struct Rerun {
  explicit Rerun(Isolation isolation = {}, int landlock_version = 7) {
    fs::create_directories(own);
    fs::create_directories(others);
    isolation.folders = {own};
    judge.emplace(isolation, ::getppid(), landlock_version);
  }

  SyscallJudge::Verdict ask(long number, std::vector<std::uint64_t> arguments) {
    seccomp_data call{};
    call.nr = static_cast<int>(number);
    for (std::size_t i = 0; i < arguments.size(); ++i) call.args[i] = arguments[i];
    return judge->judge(call, ::getpid());
  }
  SyscallJudge::Verdict open(const fs::path& path, int flags) {
    return ask(SYS_openat, {word(AT_FDCWD), word(path.c_str()), word(flags)});
  }

  ScratchFolder scratch;
  fs::path own = fs::canonical(scratch.path()) / "own", others = fs::canonical(scratch.path()) / "others";
  std::optional<SyscallJudge> judge;
};

}  // namespace

TEST_CASE("the settings of an isolation can be passed to another process") {
  Isolation isolation;
  isolation.folders = {"/a b", "/c"};
  isolation.devices = {"/dev/null"};
  isolation.pipes = {"/tmp/mps"};
  isolation.ports = {31415};
  isolation.shared_memory = isolation.any_interface = true;
  const Isolation again = launch::isolation_of(launch::isolation_words(isolation));
  CHECK(again.folders == isolation.folders);
  CHECK(again.devices == isolation.devices);
  CHECK(again.pipes == isolation.pipes);
  CHECK(again.ports == isolation.ports);
  CHECK(again.shared_memory);
  CHECK(again.any_interface);
}

TEST_CASE("a folder whose name begins alike is a different folder") {
  CHECK(launch::is_below("/a/b", {"/a"}));
  CHECK(launch::is_below("/a", {"/a"}));
  CHECK_FALSE(launch::is_below("/ab", {"/a"}));
  CHECK_FALSE(launch::is_below("/", {"/a"}));
}

TEST_CASE("only files below a rerun's own folders are its own") {
  Rerun rerun;
  CHECK(rerun.open(rerun.own / "new", O_WRONLY | O_CREAT).error == 0);
  const auto refused = rerun.open(rerun.others / "new", O_WRONLY | O_CREAT);
  CHECK(refused.error == EACCES);
  REQUIRE(refused.kept);
  CHECK(refused.kept->deed == Deed::write);
  CHECK(refused.kept->object == (rerun.others / "new").string());
  CHECK(rerun.open(rerun.own / ".." / "others" / "new", O_RDWR | O_CREAT).error == EACCES);
}

TEST_CASE("the kernel's own errors stay what they are") {
  Rerun rerun;
  const auto there = rerun.scratch.file("others/there");
  CHECK(rerun.open(rerun.others / "none", O_WRONLY).error == 0);
  CHECK(rerun.open(rerun.others / "none" / "new", O_WRONLY | O_CREAT).error == 0);
  CHECK(rerun.open(there, O_WRONLY | O_CREAT | O_EXCL).error == 0);
  CHECK(rerun.open(rerun.others, O_WRONLY).error == 0);
  CHECK(rerun.ask(SYS_mkdirat, {word(AT_FDCWD), word(rerun.others.c_str())}).error == 0);
  CHECK(rerun.open(there, O_WRONLY).error == EACCES);
}

TEST_CASE("a link counts as its target") {
  Rerun rerun;
  const auto there = rerun.scratch.file("others/there");
  fs::create_symlink(there, rerun.own / "link");
  fs::create_symlink(rerun.others / "none", rerun.own / "dangling");
  fs::create_directory_symlink(rerun.own, rerun.others / "back");
  CHECK(rerun.open(rerun.own / "link", O_WRONLY).error == EACCES);
  CHECK(rerun.open(rerun.own / "dangling", O_WRONLY | O_CREAT).error == EACCES);
  CHECK(rerun.open(rerun.others / "back" / "new", O_WRONLY | O_CREAT).error == 0);
  // The link itself is in the rerun's own folder, so removing it is allowed.
  CHECK(rerun.ask(SYS_unlinkat, {word(AT_FDCWD), word((rerun.own / "link").c_str())}).error == 0);
}

TEST_CASE("both paths of a move count") {
  Rerun rerun;
  const std::string mine = rerun.scratch.file("own/file").string(), theirs = rerun.scratch.file("others/file").string();
  const std::string in = (rerun.own / "new").string(), out = (rerun.others / "new").string();
  const auto rename = [&](const std::string& from, const std::string& to) {
    return rerun.ask(SYS_renameat2, {word(AT_FDCWD), word(from.c_str()), word(AT_FDCWD), word(to.c_str())}).error;
  };
  CHECK(rename(mine, in) == 0);
  CHECK(rename(mine, out) == EACCES);
  CHECK(rename(theirs, in) == EACCES);
  CHECK(rerun.ask(SYS_linkat, {word(AT_FDCWD), word(theirs.c_str()), word(AT_FDCWD), word(in.c_str())}).error ==
        EACCES);
}

TEST_CASE("modes and times are protected, by path and by descriptor") {
  Rerun rerun;
  const std::string mine = rerun.scratch.file("own/file").string(), theirs = rerun.scratch.file("others/file").string();
  CHECK(rerun.ask(SYS_fchmodat, {word(AT_FDCWD), word(mine.c_str()), 0600}).error == 0);
  CHECK(rerun.ask(SYS_fchmodat, {word(AT_FDCWD), word(theirs.c_str()), 0600}).error == EPERM);
  const base::FileDescriptor file(::open(theirs.c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(rerun.ask(SYS_fchmod, {word(file.get()), 0600}).error == EPERM);
  CHECK(rerun.ask(SYS_utimensat, {word(file.get()), 0, 0, 0}).error == EPERM);
}

TEST_CASE("a rerun may issue any ioctl to its devices and nameless objects, but only few to files") {
  constexpr std::uint64_t kSetFlags = 0x40086602, kShutDown = 0x8004587d, kSetSize = 0x5414;
  Isolation isolation;
  isolation.devices = {"/dev/null"};
  Rerun rerun(isolation);
  const auto ask = [&](const fs::path& path, std::uint64_t request) {
    const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(file.valid());
    return rerun.ask(SYS_ioctl, {word(file.get()), request}).error;
  };
  const fs::path mine = rerun.scratch.file("own/file"), theirs = rerun.scratch.file("others/file");
  // With some flags, nobody could remove the file.
  CHECK(ask(theirs, kSetFlags) == ENOTTY);
  CHECK(ask(mine, kSetFlags) == ENOTTY);
  // These concern the whole file system.
  CHECK(ask(theirs, kShutDown) == ENOTTY);
  CHECK(ask(mine, kShutDown) == ENOTTY);
  CHECK(ask(rerun.own, kShutDown) == ENOTTY);
  CHECK(ask("/dev/null", kSetSize) == 0);
  CHECK(ask("/dev/zero", kSetSize) == EPERM);
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const base::FileDescriptor from(ends[0]), to(ends[1]), socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const auto* each : {&from, &socket}) CHECK(rerun.ask(SYS_ioctl, {word(each->get()), kSetSize}).error == 0);
  CHECK(rerun.ask(SYS_ioctl, {999, kSetSize}).error == 0);  // the kernel rejects it
}

TEST_CASE("a rerun may write to its devices, but not change their attributes, remove them or rename them") {
  // Not a device of the machine, so that a judge that is wrong does no harm.
  Isolation isolation;
  const ScratchFolder scratch;
  const std::string device = fs::canonical(scratch.file("device")).string(), other = device + "2";
  isolation.devices = {device};
  Rerun rerun(isolation);
  CHECK(rerun.open(device, O_WRONLY | O_TRUNC).error == 0);
  const auto here = word(AT_FDCWD);
  CHECK(rerun.ask(SYS_fchmodat, {here, word(device.c_str()), 0600}).error == EPERM);
  CHECK(rerun.ask(SYS_fchownat, {here, word(device.c_str()), 0, 0, 0}).error == EPERM);
  CHECK(rerun.ask(SYS_utimensat, {here, word(device.c_str()), 0, 0}).error == EPERM);
  CHECK(rerun.ask(SYS_setxattr, {word(device.c_str())}).error == EPERM);
  const base::FileDescriptor file(::open(device.c_str(), O_WRONLY | O_CLOEXEC));
  CHECK(rerun.ask(SYS_fchmod, {word(file.get()), 0600}).error == EPERM);
  CHECK(rerun.ask(SYS_unlinkat, {here, word(device.c_str()), 0}).error == EACCES);
  CHECK(rerun.ask(SYS_renameat2, {here, word(device.c_str()), here, word(other.c_str())}).error == EACCES);
}

TEST_CASE("a rerun may ask how much randomness there is, but not take it away") {
  constexpr std::uint64_t kGetCount = 0x80045200, kAddToCount = 0x40045201, kClear = 0x5204;
  Isolation isolation;
  isolation.devices = {"/dev/random", "/dev/urandom"};
  Rerun rerun(isolation);
  for (const char* path : {"/dev/random", "/dev/urandom"}) {
    const base::FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    CHECK(rerun.ask(SYS_ioctl, {word(file.get()), kGetCount}).error == 0);
    CHECK(rerun.ask(SYS_ioctl, {word(file.get()), kAddToCount}).error == EPERM);
    CHECK(rerun.ask(SYS_ioctl, {word(file.get()), kClear}).error == EPERM);
  }
}

TEST_CASE("the filter passes the requests of the GPU's drivers, and those that change nothing") {
  // Without a supervisor, calls that must be checked fail with ENOSYS.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int file = ::open("/dev/null", O_RDONLY);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(77);
    const int listener = launch::install_filter(launch::filter_program());
    if (listener < 0) ::_exit(77);
    ::close(listener);
    const auto is_checked = [&](unsigned long request) {
      return ::ioctl(file, request, nullptr) != 0 && errno == ENOSYS;
    };
    int number = 0;
    for (const unsigned long passed : {0xc020462aul, 0xc00446d6ul, 0x21ul, 0x7ful, 0xc0104703ul, 0x5401ul, 0x541bul}) {
      ++number;
      if (is_checked(passed)) ::_exit(number);
    }
    const auto is_asked = [](long call, long first, long second, long third, long fourth = 0) {
      return ::syscall(call, first, second, third, fourth, 0) != 0 && errno == ENOSYS;
    };
    // Pairs of a harmless call and one that must be checked.
    if (is_asked(SYS_fcntl, file, F_GETFD, 0)) ::_exit(50);
    if (!is_asked(SYS_fcntl, file, F_SETLEASE, F_WRLCK)) ::_exit(51);
    if (is_asked(SYS_madvise, 0, 0, MADV_DONTNEED)) ::_exit(52);
    if (!is_asked(SYS_madvise, 0, 0, MADV_HWPOISON)) ::_exit(53);
    if (is_asked(SYS_perf_event_open, 0, 0, 0, -1)) ::_exit(54);
    if (!is_asked(SYS_perf_event_open, 0, 1, 0, -1)) ::_exit(55);
    if (!is_asked(SYS_mq_timedreceive, file, 0, 0)) ::_exit(56);
    for (const unsigned long checked : {0x4601ul, 0x1bul, 0x80ul, 0x5402ul, 0x5412ul, 0x5414ul, 0x4c00ul, 0x1277ul,
                                        0x40086602ul, 0x40086604ul, 0x8004587dul, 0xc0045877ul, 0x541cul}) {
      ++number;
      if (!is_checked(checked)) ::_exit(number);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
}

TEST_CASE("the working folder is protected like others if a call gives it as an empty path") {
  Rerun rerun;
  constexpr long kFchmodat2 = 452, kSetxattrat = 463;
  const char* const empty = "";
  for (const long number : {kFchmodat2, kSetxattrat, long{SYS_fchownat}, long{SYS_utimensat}}) {
    const bool flags_last = number == SYS_fchownat;
    const auto refused =
        rerun.ask(number, {word(AT_FDCWD), word(empty), 0, flags_last ? 0 : word(AT_EMPTY_PATH), word(AT_EMPTY_PATH)});
    CHECK(refused.error == EPERM);
    REQUIRE(refused.kept);
    CHECK(refused.kept->object == fs::current_path().string() + "/");
  }
  // The checks allow these calls, because the operating system rejects them anyway.
  CHECK(rerun.ask(SYS_unlinkat, {word(AT_FDCWD), word(empty), 0}).error == 0);
}

TEST_CASE("the pipes, sockets and lock in MPS's own folder can be used, but nothing there can be changed") {
  const ScratchFolder scratch;
  const fs::path folder = fs::canonical(scratch.path());
  for (const char* name : {"control", "log", "somebody's"}) {
    REQUIRE(::mkfifo((folder / name).c_str(), 0600) == 0);
  }
  for (const char* name : {"control_lock", "log.txt", "7", "nvidia-mps.out"}) scratch.file(name);
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.c_str(), 1);
  Isolation isolation = launch::usual_isolation();
  ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  Rerun rerun(isolation);
  for (const char* name : {"control", "log", "control_lock"}) {
    CHECK(rerun.open(folder / name, O_WRONLY).error == 0);
    CHECK(rerun.ask(SYS_fchmodat, {word(AT_FDCWD), word((folder / name).c_str()), 0600}).error == EPERM);
    CHECK(rerun.ask(SYS_unlinkat, {word(AT_FDCWD), word((folder / name).c_str()), 0}).error == EACCES);
  }
  // MPS's own names count only for pipes and sockets: a user may keep a log there.
  for (const char* name : {"somebody's", "log.txt", "7", "nvidia-mps.out"}) {
    CHECK(rerun.open(folder / name, O_WRONLY).error == EACCES);
  }
  CHECK(rerun.open(folder / "new", O_WRONLY | O_CREAT).error == EACCES);
}

TEST_CASE("the network is closed, but a rerun's own sockets are not") {
  Rerun rerun;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(80);
  ::inet_pton(AF_INET, "10.0.0.7", &address.sin_addr);
  const auto refused = rerun.ask(SYS_connect, {3, word(&address), sizeof address});
  CHECK(refused.error == EACCES);
  REQUIRE(refused.kept);
  CHECK(refused.kept->object == "10.0.0.7:80");
  CHECK(rerun.ask(SYS_bind, {3, word(&address), sizeof address}).error == EACCES);
  CHECK(rerun.ask(SYS_sendto, {3, 0, 0, 0, word(&address), sizeof address}).error == EACCES);
  msghdr message{};
  CHECK(rerun.ask(SYS_sendmsg, {3, word(&message), 0}).error == 0);
  message.msg_name = &address;
  message.msg_namelen = sizeof address;
  CHECK(rerun.ask(SYS_sendmsg, {3, word(&message), 0}).error == EACCES);
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  std::strcpy(local.sun_path + 1, "name");
  const std::uint64_t bytes = offsetof(sockaddr_un, sun_path) + 5;
  CHECK(rerun.ask(SYS_connect, {3, word(&local), bytes}).error == EACCES);
}

TEST_CASE("abstract socket names can be used only in a private network, except those of CUDA and the kernel") {
  for (const bool private_network : {false, true}) {
    Isolation isolation;
    isolation.private_network = private_network;
    Rerun rerun(isolation);
    for (const auto& [name, allowed] : {std::pair{"name", private_network}, {"cuda-uvmfd-4026531836-7", true}}) {
      sockaddr_un local{};
      local.sun_family = AF_UNIX;
      std::strcpy(local.sun_path + 1, name);
      const std::uint64_t bytes = offsetof(sockaddr_un, sun_path) + 1 + std::strlen(name);
      for (const long call : {SYS_bind, SYS_connect}) {
        CHECK((rerun.ask(call, {3, word(&local), bytes}).error == 0) == allowed);
      }
      CHECK(rerun.ask(SYS_bind, {3, word(&local), offsetof(sockaddr_un, sun_path)}).error == 0);
    }
  }
}

TEST_CASE("a rerun may listen on its own ports, if need be on all interfaces, but connects only through loopback") {
  Isolation isolation;
  isolation.ports = {49152};
  for (const bool any_interface : {false, true}) {
    isolation.any_interface = any_interface;
    Rerun rerun(isolation);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(49152);
    CHECK((rerun.ask(SYS_bind, {3, word(&address), sizeof address}).error == 0) == any_interface);
    CHECK(rerun.ask(SYS_connect, {3, word(&address), sizeof address}).error == EACCES);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(rerun.ask(SYS_bind, {3, word(&address), sizeof address}).error == 0);
    CHECK(rerun.ask(SYS_connect, {3, word(&address), sizeof address}).error == 0);
    address.sin_port = 0;
    CHECK(rerun.ask(SYS_bind, {3, word(&address), sizeof address}).error == 0);
    address.sin_port = htons(8080);
    CHECK(rerun.ask(SYS_bind, {3, word(&address), sizeof address}).error == EACCES);
  }
}

TEST_CASE("in a private network, only addresses outside it are denied") {
  Isolation isolation;
  isolation.private_network = true;
  Rerun rerun(isolation);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(1);
  CHECK(rerun.ask(SYS_bind, {3, word(&address), sizeof address}).error == 0);
  CHECK(rerun.ask(SYS_listen, {3, 1}).error == 0);
  CHECK(rerun.ask(SYS_connect, {3, word(&address), sizeof address}).error == 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(rerun.ask(SYS_sendto, {3, 0, 0, 0, word(&address), sizeof address}).error == 0);
  ::inet_pton(AF_INET, "192.0.2.7", &address.sin_addr);
  const auto refused = rerun.ask(SYS_connect, {3, word(&address), sizeof address});
  CHECK(refused.error == EACCES);
  REQUIRE(refused.kept);
  CHECK(refused.kept->object == "192.0.2.7:1");
}

TEST_CASE("an IPv4 address mapped into IPv6 is judged as an IPv4 address") {
  Isolation isolation;
  isolation.private_network = true;
  Rerun rerun(isolation);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(1);
  for (const auto& [text, error] :
       {std::pair{"::ffff:127.0.0.1", 0}, {"::ffff:192.0.2.7", EACCES}, {"::1", 0}, {"2001:db8::1", EACCES}}) {
    ::inet_pton(AF_INET6, text, &address.sin6_addr);
    CHECK(rerun.ask(SYS_connect, {3, word(&address), sizeof address}).error == error);
  }
}

TEST_CASE("processes outside the rerun are protected") {
  Rerun rerun;
  CHECK(rerun.ask(SYS_kill, {word(::getpid()), SIGTERM}).error == 0);
  CHECK(rerun.ask(SYS_kill, {1, SIGTERM}).error == EPERM);
  CHECK(rerun.ask(SYS_prlimit64, {1, 0, 0, 0}).error == EPERM);
  CHECK(rerun.ask(SYS_setpriority, {1, 0, 0}).error == EPERM);
  CHECK(rerun.ask(SYS_setpriority, {0, 0, 0}).error == 0);
}

TEST_CASE("the process that owns a rerun is not part of it") {
  Rerun rerun;
  const std::uint64_t owner = word(::getppid());
  CHECK(rerun.ask(SYS_kill, {owner, SIGSTOP}).error == EPERM);
  CHECK(rerun.ask(SYS_prlimit64, {owner, 0, 1, 0}).error == EPERM);
  CHECK(rerun.ask(SYS_process_vm_writev, {owner}).error == EPERM);
  const base::FileDescriptor its(static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)));
  const base::FileDescriptor ours(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  constexpr long kPidfdGetfd = 438, kProcessMadvise = 440;
  for (const long call : {kPidfdGetfd, kProcessMadvise, long{SYS_pidfd_send_signal}}) {
    CHECK(rerun.ask(call, {word(its.get()), 1}).error == EPERM);
    CHECK(rerun.ask(call, {word(ours.get()), 1}).error == 0);
    CHECK(rerun.ask(call, {999, 1}).error == 0);  // the kernel rejects it
  }
  const base::FileDescriptor folder(::open("/proc/1", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(rerun.ask(SYS_pidfd_send_signal, {word(folder.get()), 1}).error == EPERM);
}

TEST_CASE("a group may be signalled if all of its processes belong to the rerun") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const base::FileDescriptor from(ends[0]);
  base::FileDescriptor to(ends[1]);
  const pid_t member = ::fork();
  if (member == 0) {
    ::close(to.get());
    char byte = 0;
    ::_exit(static_cast<int>(::read(from.get(), &byte, 1)));
  }
  ::setpgid(member, member);
  constexpr std::uint64_t kWholeGroup = 4;
  const base::FileDescriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, member, 0)));
  for (const int version : {1, 4, 5}) {
    Rerun rerun({}, version);
    CHECK(rerun.ask(SYS_kill, {word(-member), SIGTERM}).error == 0);
    CHECK(rerun.ask(SYS_pidfd_send_signal, {word(pidfd.get()), SIGTERM, 0, kWholeGroup}).error == 0);
    // The owner of this group has this process as a child, but the group has other members.
    CHECK(rerun.ask(SYS_kill, {word(-1), SIGTERM}).error == EPERM);
    CHECK(rerun.ask(SYS_kill, {word(-::getpgid(::getppid())), SIGTERM}).error == EPERM);
  }
  to = base::FileDescriptor();
  ::waitpid(member, nullptr, 0);
}

TEST_CASE("a file in shared memory belongs to a rerun if the rerun made it, whatever it is called") {
  if (::access(launch::kSharedMemory, W_OK) != 0) return;
  Isolation isolation;
  isolation.shared_memory = true;
  Rerun rerun(isolation);
  const fs::path name = fs::path(launch::kSharedMemory) / ("cudadiag-test-" + std::to_string(::getpid()));
  const fs::path moved = name.string() + ".moved", folder = name.string() + ".folder";
  const auto made = rerun.open(name, O_CREAT | O_EXCL | O_RDWR);
  CHECK(made.error == 0);
  REQUIRE(made.file >= 0);
  CHECK(::write(made.file, "mine", 4) == 4);
  CHECK(fs::file_size(name) == 4);
  CHECK(rerun.open(name, O_RDWR | O_CREAT).file >= 0);
  fs::rename(name, moved);
  CHECK(rerun.open(moved, O_WRONLY).file >= 0);
  // Another program uses the old name.
  const base::FileDescriptor theirs(::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  CHECK(rerun.open(name, O_WRONLY).error == EACCES);
  CHECK(rerun.open(name, O_WRONLY | O_CREAT | O_TRUNC).error == EACCES);
  CHECK(rerun.ask(SYS_unlinkat, {word(AT_FDCWD), word(name.c_str()), 0}).error == EACCES);
  CHECK(rerun.ask(SYS_mkdirat, {word(AT_FDCWD), word(folder.c_str()), 0700}).done);
  CHECK(rerun.open(folder / "file", O_WRONLY | O_CREAT).error == 0);
  CHECK(rerun.ask(SYS_symlinkat, {word("/"), word(AT_FDCWD), word((name.string() + ".link").c_str())}).error == EACCES);
  rerun.judge->clean_shared_memory();
  CHECK_FALSE(fs::exists(moved));
  CHECK_FALSE(fs::exists(folder));
  CHECK(fs::exists(name));
  fs::remove(name);
}

TEST_CASE("a file in shared memory that the caller could not be given is removed") {
  if (::access(launch::kSharedMemory, W_OK) != 0) return;
  Isolation isolation;
  isolation.shared_memory = true;
  Rerun rerun(isolation);
  const fs::path name = fs::path(launch::kSharedMemory) / ("cudadiag-test-" + std::to_string(::getpid()));
  REQUIRE(rerun.open(name, O_CREAT | O_EXCL | O_RDWR).file >= 0);
  rerun.judge->undo();
  CHECK_FALSE(fs::exists(name));
}

TEST_CASE("events of a process outside the rerun, which can send it a signal, cannot be watched") {
  Rerun rerun;
  constexpr std::uint64_t kOfControlGroup = 4;
  const auto watch = [&](pid_t process, std::uint64_t flags) {
    return rerun.ask(SYS_perf_event_open, {0, word(process), word(-1), word(-1), flags});
  };
  CHECK(watch(0, 0).error == 0);
  CHECK(watch(::getpid(), 0).error == 0);
  const auto refused = watch(::getppid(), 0);
  CHECK(refused.error == EPERM);
  REQUIRE(refused.kept);
  CHECK(refused.kept->deed == Deed::trace);
  CHECK(watch(-1, 0).error == EPERM);
  CHECK(watch(0, kOfControlGroup).error == EPERM);
}

TEST_CASE("calls that the filter allowed for all arguments are denied with the harmful ones") {
  Rerun rerun;
  // Leases, hints about writes, bad memory pages.
  for (const std::uint64_t command : {1024, 1036, 1038, 1040})
    CHECK(rerun.ask(SYS_fcntl, {0, command, 1}).error == EPERM);
  for (const std::uint64_t advice : {100, 101}) {
    CHECK(rerun.ask(SYS_madvise, {0, 4096, advice}).error == EPERM);
    CHECK(rerun.ask(440 /* process_madvise */, {word(-10000), 0, 0, advice}).error == EPERM);
  }
}

TEST_CASE("changes to what all processes share are denied and reported") {
  Rerun rerun;
  const auto refused = rerun.ask(SYS_shmget, {1, 4096, 0});
  CHECK(refused.error == EPERM);
  REQUIRE(refused.kept);
  CHECK(refused.kept->object == "System V shared memory");
  // A queue can be opened as a file in /dev/mqueue, too.
  for (const long number : {SYS_mq_open, SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr}) {
    CHECK(rerun.ask(number, {3, 0}).error == EPERM);
    CHECK(rerun.ask(number, {3, 0}).kept->object == "POSIX message queues");
  }
  CHECK(rerun.ask(SYS_io_uring_setup, {1, 0}).error == ENOSYS);
}

TEST_CASE("files in /proc of the rerun's own processes may be written, those of others may not") {
  Rerun rerun;
  // The judge opens the file itself, because Landlock does not let the rerun do so.
  for (const char* own : {"/proc/self/comm", "/proc/thread-self/comm"}) {
    const auto opened = rerun.open(own, O_WRONLY | O_CREAT | O_TRUNC);
    CHECK(opened.error == 0);
    CHECK(opened.file >= 0);
  }
  // This file changes the priority of all processes of the user's session.
  if (::access("/proc/self/autogroup", W_OK) == 0) {
    CHECK(rerun.open("/proc/self/autogroup", O_WRONLY).error == EACCES);
  }
  const auto others = rerun.open("/proc/1/comm", O_WRONLY);
  CHECK((others.error == EACCES || ::access("/proc/1/comm", W_OK) != 0));
}

TEST_CASE("netlink leads to the kernel, and to other programs only in a private network") {
  Rerun rerun;
  sockaddr_nl kernel{}, other{}, group{};
  kernel.nl_family = other.nl_family = group.nl_family = AF_NETLINK;
  other.nl_pid = 4711;
  group.nl_groups = 1;
  const auto send = [&](const sockaddr_nl& to) {
    return rerun.ask(SYS_sendto, {3, 0, 0, 0, word(&to), sizeof to}).error;
  };
  CHECK(send(kernel) == 0);
  CHECK(send(other) == EACCES);
  CHECK(send(group) == EACCES);
  CHECK(rerun.ask(SYS_connect, {3, word(&other), sizeof other}).error == EACCES);
  CHECK(rerun.ask(SYS_bind, {3, word(&other), sizeof other}).error == 0);
  Isolation isolation;
  isolation.private_network = true;
  Rerun alone(isolation);
  CHECK(alone.ask(SYS_connect, {3, word(&other), sizeof other}).error == 0);
}

TEST_CASE("Landlock lets a rerun write to no file below /proc, whatever the judge says") {
  if (launch::landlock_version() == 0) return;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool confined = launch::confine_this_thread(launch::usual_isolation()) == 0;
    ::_exit(!confined ? 77 : ::open("/proc/self/comm", O_WRONLY) < 0 && errno == EACCES ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
}

TEST_CASE("a call with unreadable arguments is not let through") {
  Rerun rerun;
  CHECK(rerun.ask(SYS_fchmodat, {word(AT_FDCWD), 1, 0600}).error == EFAULT);
  CHECK(rerun.ask(SYS_unlinkat, {word(AT_FDCWD), 1, 0}).error == EFAULT);
}

TEST_CASE("ancestry is read from /proc") {
  CHECK(launch::descends_from(::getpid(), ::getppid()));
  CHECK(launch::descends_from(::getpid(), ::getpid()));
  CHECK_FALSE(launch::descends_from(::getppid(), ::getpid()));
}
