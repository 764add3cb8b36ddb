// Passes system calls of this process to the checks for an isolated rerun.
#include "launch/isolation/isolation.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/isolation/call_judge.h"
#include "launch/isolation/seen_path.h"
#include "launch/supervised/process_tree.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using launch::CallJudge;
using launch::Isolation;
using session::Deed;
using test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

std::uint64_t word(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
std::uint64_t word(long number) { return static_cast<std::uint64_t>(number); }

struct Rerun {
  explicit Rerun(Isolation isolation = {}) {
    fs::create_directories(own);
    fs::create_directories(others);
    isolation.folders = {own};
    judge.emplace(isolation, ::getppid(), 7);
  }

  CallJudge::Verdict ask(long number, std::vector<std::uint64_t> arguments) {
    seccomp_data call{};
    call.nr = static_cast<int>(number);
    for (std::size_t i = 0; i < arguments.size(); ++i) call.args[i] = arguments[i];
    return judge->judge(call, ::getpid());
  }
  CallJudge::Verdict open(const fs::path& path, int flags) {
    return ask(SYS_openat, {word(AT_FDCWD), word(path.c_str()), word(flags)});
  }

  ScratchFolder scratch;
  fs::path own = fs::canonical(scratch.path()) / "own", others = fs::canonical(scratch.path()) / "others";
  std::optional<CallJudge> judge;
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
  CHECK(rerun.ask(SYS_ioctl, {word(file.get()), 0x40086602}).error == EPERM);
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
  scratch.file("control_lock");
  scratch.file("log.txt");
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.c_str(), 1);
  Isolation isolation = launch::usual_isolation();
  ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  Rerun rerun(isolation);
  for (const char* name : {"control", "log", "control_lock"}) {
    CHECK(rerun.open(folder / name, O_WRONLY).error == 0);
    CHECK(rerun.ask(SYS_fchmodat, {word(AT_FDCWD), word((folder / name).c_str()), 0600}).error == EPERM);
    CHECK(rerun.ask(SYS_unlinkat, {word(AT_FDCWD), word((folder / name).c_str()), 0}).error == EACCES);
  }
  CHECK(rerun.open(folder / "somebody's", O_WRONLY).error == EACCES);
  CHECK(rerun.open(folder / "log.txt", O_WRONLY).error == EACCES);
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

TEST_CASE("changes to what all processes share are denied and reported") {
  Rerun rerun;
  const auto refused = rerun.ask(SYS_shmget, {1, 4096, 0});
  CHECK(refused.error == EPERM);
  REQUIRE(refused.kept);
  CHECK(refused.kept->object == "System V shared memory");
  CHECK(rerun.ask(SYS_io_uring_setup, {1, 0}).error == ENOSYS);
}

TEST_CASE("files in /proc of the rerun's own processes may be written, those of others may not") {
  Rerun rerun;
  CHECK(rerun.open("/proc/self/comm", O_WRONLY).error == 0);
  CHECK(rerun.open("/proc/thread-self/comm", O_WRONLY).error == 0);
  const auto others = rerun.open("/proc/1/comm", O_WRONLY);
  CHECK((others.error == EACCES || ::access("/proc/1/comm", W_OK) != 0));
}

TEST_CASE("a path with /proc/self is resolved as the rerun's process sees it") {
  const auto seen = launch::see_path(::getpid(), AT_FDCWD, "/proc/self/status", true);
  CHECK(seen.path == "/proc/" + std::to_string(::getpid()) + "/status");
  CHECK(seen.exists);
  CHECK(launch::see_path(::getpid(), AT_FDCWD, ".", true).path == fs::canonical("."));
  CHECK_FALSE(launch::see_path(::getpid(), AT_FDCWD, "/nowhere/file", true).reachable);
}

TEST_CASE("ancestry is read from /proc") {
  CHECK(launch::descends_from(::getpid(), ::getppid()));
  CHECK(launch::descends_from(::getpid(), ::getpid()));
  CHECK_FALSE(launch::descends_from(::getppid(), ::getpid()));
}
