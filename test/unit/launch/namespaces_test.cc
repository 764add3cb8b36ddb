// Tests private networks and overlays in child processes, because a process cannot leave its namespaces.
#include "launch/isolation/namespaces.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "base/files.h"
#include "launch/isolation/overlays.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using base::FileDescriptor;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kUnprivileged = 65534;
constexpr int kRefused = 77;

sockaddr_in loopback_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

FileDescriptor stream_socket() { return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// Returns a server socket that accepts connections at `port`, or at a free port if `port` is 0.
FileDescriptor server_at(std::uint16_t port) {
  FileDescriptor server = stream_socket();
  const sockaddr_in address = loopback_address(port);
  const bool listens = ::bind(server.get(), generic(address), sizeof address) == 0 && ::listen(server.get(), 1) == 0;
  return listens ? std::move(server) : FileDescriptor();
}

std::uint16_t port_of(const FileDescriptor& server) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

int error_of_connecting(std::uint16_t port) {
  const FileDescriptor client = stream_socket();
  const sockaddr_in address = loopback_address(port);
  return ::connect(client.get(), generic(address), sizeof address) == 0 ? 0 : errno;
}

void become_nobody() {
  const bool done = ::setgroups(0, nullptr) == 0 && ::setresgid(kUnprivileged, kUnprivileged, kUnprivileged) == 0 &&
                    ::setresuid(kUnprivileged, kUnprivileged, kUnprivileged) == 0;
  if (!done) ::_exit(kRefused);
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // a process that a user starts is dumpable
}

// Drops CAP_SYS_ADMIN, which root lacks in most containers.
void give_up_administration() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  if (::syscall(SYS_capget, &header, sets) != 0) ::_exit(kRefused);
  for (auto* set : {&sets[0].effective, &sets[0].permitted, &sets[0].inheritable}) *set &= ~(1u << CAP_SYS_ADMIN);
  if (::syscall(SYS_capset, &header, sets) != 0) ::_exit(kRefused);
}

enum class Who { self, nobody, root_of_container };

// Checks claims in a child. Returns the number of the first false claim, or 0 if all are true.
int status_of_child(Who who, const std::function<int()>& first_false_claim) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (who == Who::nobody && ::getuid() == 0) become_nobody();
    if (who == Who::root_of_container) give_up_administration();
    ::_exit(first_false_claim());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The same in a private network. Returns kRefused if this machine does not allow private networks.
int status_inside(Who who, const std::function<int()>& first_false_claim) {
  return status_of_child(who, [&] { return launch::enter_private_network() ? first_false_claim() : kRefused; });
}

// A session's folder, and a folder in which a program works.
struct Place {
  explicit Place(Who who = Who::self) {
    fs::create_directories(pass);
    scratch.file("work/log", "first\n");
    scratch.file("work/old/file", "old");
    scratch.file("session/secret", "secret");
    if (who != Who::nobody || ::getuid() != 0) return;
    for (const fs::path& path : {root, session, pass, work, work / "log", work / "old", work / "old/file"}) {
      REQUIRE(::chown(path.c_str(), kUnprivileged, kUnprivileged) == 0);
    }
  }
  test::ScratchFolder scratch;
  fs::path root = fs::canonical(scratch.path()), session = root / "session", pass = session / "confirm",
           work = root / "work";
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool write(const fs::path& path, const std::string& text, std::ios::openmode mode = std::ios::app) {
  std::ofstream file(path, mode);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

TEST_CASE("processes in one network cannot reach another, and both networks may use the same port") {
  const FileDescriptor server = server_at(0);
  const std::uint16_t port = port_of(server);
  REQUIRE(error_of_connecting(port) == 0);
  const auto addresses = launch::local_addresses();
  const uid_t user = ::getuid();
  for (const Who who : {Who::self, Who::nobody, Who::root_of_container}) {
    const int status = status_inside(who, [&] {
      if (error_of_connecting(port) != ECONNREFUSED) return 1;
      const FileDescriptor own = server_at(port);
      if (!own.valid()) return 2;
      if (error_of_connecting(port) != 0) return 3;
      if (launch::local_addresses() != addresses) return 4;
      if (::getuid() != (who == Who::nobody && user == 0 ? kUnprivileged : user)) return 5;
      if (!launch::is_served(::getpid(), port) || launch::is_served(::getpid(), 1)) return 6;
      return 0;
    });
    if (status == kRefused) {
      MESSAGE("skipped: nobody may make a network here");
    } else {
      CHECK(status == 0);
    }
  }
}

TEST_CASE("root in a container keeps its access to other users' files") {
  if (::getuid() != 0) return;
  test::ScratchFolder scratch;
  const auto file = scratch.file("others");
  REQUIRE(::chown(file.c_str(), kUnprivileged, kUnprivileged) == 0);
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  const int status = status_inside(Who::root_of_container, [&] {
    struct stat seen {};
    if (::stat(file.c_str(), &seen) != 0 || seen.st_uid != kUnprivileged) return 1;
    return FileDescriptor(::open(file.c_str(), O_RDWR | O_CLOEXEC)).valid() ? 0 : 2;
  });
  CHECK((status == 0 || status == kRefused));
}

TEST_CASE("a port is checked for a listener in the process's own network") {
  const FileDescriptor server = server_at(0);
  const std::uint16_t port = port_of(server);
  const pid_t outside = ::getpid();
  CHECK(launch::is_served(outside, port));
  const int status = status_inside(
      Who::self, [&] { return launch::is_served(outside, port) && !launch::is_served(::getpid(), port) ? 0 : 1; });
  CHECK((status == 0 || status == kRefused));
}

TEST_CASE("removed interfaces are no longer listed") {
  std::vector<std::string> environment = {"A=NCCL_SOCKET_IFNAME=eth0", "NCCL_SOCKET_IFNAME=eth0",
                                          "GLOO_SOCKET_IFNAME="};
  launch::name_loopback(environment);
  CHECK(environment ==
        std::vector<std::string>{"A=NCCL_SOCKET_IFNAME=eth0", "NCCL_SOCKET_IFNAME=lo", "GLOO_SOCKET_IFNAME=lo"});
}

TEST_CASE("what a rerun writes is its own, and disappears with it") {
  if (launch::entry_to_overlays() == launch::Entry::refused) {
    MESSAGE("skipped: overlays are not allowed here");
    return;
  }
  for (const Who who : {Who::self, Who::nobody, Who::root_of_container}) {
    CAPTURE(static_cast<int>(who));
    const Place place(who);
    const int status = status_of_child(who, [&] {
      fs::current_path(place.work);
      const FileDescriptor elsewhere(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
      std::string failed;
      const auto overlays = launch::Overlays::enter({1 << 20, place.pass, {place.work / "old"}, {}}, {}, failed);
      if (!overlays) return std::fprintf(stderr, "%s: %s\n", failed.c_str(), std::strerror(errno)), 10;
      if (!write("log", "rerun\n") || text_of(place.work / "log") != "first\nrerun\n") return 1;
      if (!fs::create_directory(place.work / "made") || !write("made/file", "x")) return 2;
      if (fs::exists(place.work / "old")) return 3;
      if (!fs::create_directory("old")) return 4;
      if (fs::exists(place.session / "secret") || write(place.session / "secret", "x")) return 5;
      if (!write(place.pass / "result", "kept")) return 6;
      if (!overlays->is_written(place.work / "log") || overlays->is_written(place.work / "other")) return 7;
      if (!overlays->not_hidden().empty()) return 8;
      // Bytes that other programs write do not count.
      if (elsewhere.valid() && ::posix_fallocate(elsewhere.get(), 0, 2 << 20) != 0) return 11;
      if (overlays->is_full()) return 12;
      if (write("large", std::string(2 << 20, 'x')) || !overlays->is_full()) return 13;
      if (::mkdir("/cudadiag-test-of-overlays", 0700) == 0 || ::chmod("/", 0755) == 0) return 9;
      return 0;
    });
    CHECK(status == 0);
    CHECK(text_of(place.work / "log") == "first\n");
    CHECK(!fs::exists(place.work / "made"));
    CHECK(text_of(place.work / "old/file") == "old");
    CHECK(text_of(place.session / "secret") == "secret");
    CHECK(text_of(place.pass / "result") == "kept");
  }
}

TEST_CASE("a descriptor from outside does not count as the rerun's own") {
  const Place place;
  const int status = status_of_child(Who::self, [&] {
    const FileDescriptor outside(::open((place.work / "log").c_str(), O_RDONLY | O_CLOEXEC));
    std::string failed;
    const auto overlays = launch::Overlays::enter({1 << 20, place.pass, {}, {}}, {}, failed);
    if (!overlays) return kRefused;
    struct statx seen {};
    ::statx(outside.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &seen);
    if (overlays->owns(seen.stx_mnt_id)) return 1;
    ::statx(AT_FDCWD, (place.work / "log").c_str(), 0, STATX_MNT_ID, &seen);
    return overlays->owns(seen.stx_mnt_id) ? 0 : 2;
  });
  CHECK((status == 0 || status == kRefused));
}

TEST_CASE("in a user namespace, a file of a user's second group stays as it is, and what is in such a folder in view") {
  if (::getuid() != 0) return;
  // Not 65534, which every group without a number in the namespace shows.
  constexpr gid_t kFirst = 65533, kSecond = 12345;
  const Place place(Who::nobody);
  for (const fs::path& path : {place.root, place.session, place.pass, place.work}) {
    REQUIRE(::chown(path.c_str(), kUnprivileged, kFirst) == 0);
  }
  for (const char* name : {"log", "old", "old/file"}) {
    REQUIRE(::chown((place.work / name).c_str(), kUnprivileged, kSecond) == 0);
  }
  const int status = status_of_child(Who::self, [&] {
    if (::setgroups(1, &kSecond) != 0 || ::setresgid(kFirst, kFirst, kFirst) != 0) return kRefused;
    if (::setresuid(kUnprivileged, kUnprivileged, kUnprivileged) != 0) return kRefused;
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fs::current_path(place.work);
    std::string failed;
    const fs::path shown = place.work / "old/file";
    const auto overlays = launch::Overlays::enter({1 << 20, place.pass, {shown}, {}}, {}, failed);
    if (!overlays) return kRefused;
    if (write("log", "rerun\n") || !overlays->is_fixed(place.work / "log")) return 1;
    if (!write("new", "rerun\n") || overlays->is_fixed(place.work / "new")) return 2;
    return overlays->not_hidden() == std::vector<fs::path>{shown} ? 0 : 3;
  });
  CHECK((status == 0 || status == kRefused));
}

TEST_CASE("a folder on a mount of a file server or a container has an overlay if the command names it, however") {
  if (::getuid() != 0) return;
  for (const std::string word : {"../served/out", "--out=../served/out", "--out=../served"}) {
    const Place place;
    fs::create_directory(place.root / "served");
    const int status = status_of_child(Who::self, [&] {
      const fs::path served = place.root / "served";
      if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return kRefused;
      // An overlay cannot be on another one, on which a container's folders may be.
      if (::mount("tmpfs", served.c_str(), "tmpfs", 0, nullptr) != 0) return kRefused;
      for (const char* name : {"lower", "upper", "made"}) fs::create_directory(served / name);
      const std::string in = served.string(),
                        options = "lowerdir=" + in + "/lower,upperdir=" + in + "/upper,workdir=" + in + "/made";
      if (::mount("overlay", in.c_str(), "overlay", 0, options.c_str()) != 0) return kRefused;
      fs::current_path(place.work);
      std::string failed;
      const auto overlays = launch::Overlays::enter({1 << 20, place.pass, {}, {}}, {"program", word}, failed);
      if (!overlays) return kRefused;
      const fs::path* tree = overlays->tree_of(served / "out");
      return tree != nullptr && *tree == served ? 0 : 1;
    });
    CAPTURE(word);
    CHECK((status == 0 || status == kRefused));
  }
}
