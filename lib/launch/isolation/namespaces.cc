#include "launch/isolation/namespaces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/files.h"
#include "launch/process_tree.h"

namespace cudadiag::launch {
namespace {

using base::FileDescriptor;

bool write_text(const char* path, const std::string& text) {
  const FileDescriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.valid() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Returns an id map in which every user or group of `map` keeps its number.
std::string same_numbers(const char* map) {
  std::string same;
  std::ifstream ranges(map);
  for (std::string first, outside, count; ranges >> first >> outside >> count;) {
    same.append(first).append(" ").append(first).append(" ").append(count).append("\n");
  }
  return same;
}

// Starts a child that maps the users of the parent's future namespace. Only a process outside the new namespace may map
// several users. The child waits until `ready` is closed, then writes the maps. It exits with 0 on success.
pid_t start_map_writer(const FileDescriptor& ready, const FileDescriptor& keep_open) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::close(keep_open.get());
  char byte = 0;
  ::read(ready.get(), &byte, 1);
  const std::string folder = "/proc/" + std::to_string(parent);
  const bool written = write_text((folder + "/uid_map").c_str(), same_numbers("/proc/self/uid_map")) &&
                       write_text((folder + "/gid_map").c_str(), same_numbers("/proc/self/gid_map"));
  ::_exit(written ? 0 : 1);
}

// Maps all users. Without this, root would lose its access to other users' files.
bool enter_as_root(int kind) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  FileDescriptor ready(ends[0]), begun(ends[1]);
  const pid_t writer = start_map_writer(ready, begun);
  const bool entered = ::unshare(CLONE_NEWUSER | kind) == 0;
  begun = FileDescriptor();
  return succeeds(writer) && entered;
}

// Maps only this user and group. Their access to files does not change.
bool enter_as_user(int kind) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | kind) != 0) return false;
  const std::string number = std::to_string(user), group_number = std::to_string(group);
  return write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", number + " " + number + " 1") &&
         write_text("/proc/self/gid_map", group_number + " " + group_number + " 1");
}

}  // namespace

Entry enter_namespace(int kind) {
  if (::unshare(kind) == 0) return Entry::direct;
  const bool entered = ::geteuid() == 0 ? enter_as_root(kind) : enter_as_user(kind);
  return entered ? Entry::in_user_namespace : Entry::refused;
}

namespace {

constexpr const char* kLoopback = "lo";
constexpr const char* kInterfaceVariables[] = {"NCCL_SOCKET_IFNAME=", "GLOO_SOCKET_IFNAME=", "TP_SOCKET_IFNAME=",
                                               "OMPI_MCA_btl_tcp_if_include=", "OMPI_MCA_oob_tcp_if_include="};

// The machine's IPv4 and IPv6 addresses, except link-local ones.
struct Addresses {
  std::vector<in_addr> v4;
  std::vector<in6_addr> v6;
};

Addresses addresses_here() {
  Addresses found;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    if (each->ifa_addr->sa_family == AF_INET) {
      sockaddr_in address{};
      std::memcpy(&address, each->ifa_addr, sizeof address);
      found.v4.push_back(address.sin_addr);
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 address{};
      std::memcpy(&address, each->ifa_addr, sizeof address);
      if (!IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr)) found.v6.push_back(address.sin6_addr);
    }
  }
  return found;
}

bool start_loopback() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, kLoopback);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return socket.valid() && ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

void add_to_loopback(const in_addr& address, int number) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s:%d", kLoopback, number);
  sockaddr_in value{};
  value.sin_family = AF_INET;
  value.sin_addr = address;
  std::memcpy(&request.ifr_addr, &value, sizeof value);
  if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0) return;
  // Without this mask, the interface would claim the whole address class.
  value.sin_addr.s_addr = INADDR_NONE;
  std::memcpy(&request.ifr_netmask, &value, sizeof value);
  ::ioctl(socket.get(), SIOCSIFNETMASK, &request);
}

void add_to_loopback(const in6_addr& address) {
  // Declared here, because <linux/ipv6.h> conflicts with <netinet/in.h>.
  struct Request {
    in6_addr address;
    std::uint32_t prefix;
    int interface;
  };
  const FileDescriptor socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Request request{address, 128, static_cast<int>(::if_nametoindex(kLoopback))};
  ::ioctl(socket.get(), SIOCSIFADDR, &request);
}

bool make_network() {
  const Addresses addresses = addresses_here();
  if (enter_namespace(CLONE_NEWNET) == Entry::refused || !start_loopback()) return false;
  int number = 0;
  for (const in_addr& address : addresses.v4) {
    if ((ntohl(address.s_addr) >> 24) != 127) add_to_loopback(address, ++number);
  }
  for (const in6_addr& address : addresses.v6) add_to_loopback(address);
  return true;
}

// Searches a table such as /proc/net/tcp. Its lines have the form "number: address:port address:port state …" in
// hexadecimal.
bool is_served(const std::string& table, std::uint16_t port, unsigned state) {
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string number, local, remote, found_state;
    if (!(words >> number >> local >> remote >> found_state)) continue;
    const std::size_t colon = local.rfind(':');
    if (colon == std::string::npos) continue;
    if (std::strtoul(local.c_str() + colon + 1, nullptr, 16) != port) continue;
    if (std::strtoul(found_state.c_str(), nullptr, 16) == state) return true;
  }
  return false;
}

}  // namespace

bool can_have_private_network() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(make_network() ? 0 : 1);
  return succeeds(child);
}

bool enter_private_network() { return can_have_private_network() && make_network(); }

void name_loopback(std::vector<std::string>& environment) {
  for (std::string& variable : environment) {
    for (const char* name : kInterfaceVariables) {
      if (variable.starts_with(name)) variable = std::string(name) + kLoopback;
    }
  }
}

std::set<std::string> local_addresses() {
  std::set<std::string> texts;
  const Addresses addresses = addresses_here();
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const in_addr& address : addresses.v4) texts.insert(::inet_ntop(AF_INET, &address, text.data(), text.size()));
  for (const in6_addr& address : addresses.v6) texts.insert(::inet_ntop(AF_INET6, &address, text.data(), text.size()));
  return texts;
}

bool is_served(pid_t process, std::uint16_t port) {
  constexpr unsigned kListens = 0x0a, kUnconnected = 0x07;
  const std::string folder = "/proc/" + std::to_string(process) + "/net/";
  return is_served(folder + "tcp", port, kListens) || is_served(folder + "tcp6", port, kListens) ||
         is_served(folder + "udp", port, kUnconnected) || is_served(folder + "udp6", port, kUnconnected);
}

namespace {

constexpr std::size_t kLeastAddress6 = 24;  // the least that the kernel accepts: without the scope id

Endpoint endpoint_of(const in_addr& address, std::uint16_t port) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const std::string name = ::inet_ntop(AF_INET, &address, text.data(), text.size());
  const std::uint32_t number = ntohl(address.s_addr);
  return {port, (number >> 24) == 127, number == INADDR_ANY, name, name + ":" + std::to_string(port)};
}

Endpoint endpoint_of(const in6_addr& address, std::uint16_t port) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr old{};
    std::memcpy(&old, address.s6_addr + 12, sizeof old);
    return endpoint_of(old, port);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  const std::string name = ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  return {port, IN6_IS_ADDR_LOOPBACK(&address) != 0, IN6_IS_ADDR_UNSPECIFIED(&address) != 0, name,
          "[" + name + "]:" + std::to_string(port)};
}

}  // namespace

std::optional<Endpoint> endpoint_of(std::span<const char> bytes) {
  sa_family_t family = AF_UNSPEC;
  if (bytes.size() < sizeof family) return std::nullopt;
  std::memcpy(&family, bytes.data(), sizeof family);
  if (family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
    sockaddr_in address{};
    std::memcpy(&address, bytes.data(), sizeof address);
    return endpoint_of(address.sin_addr, ntohs(address.sin_port));
  }
  if (family == AF_INET6 && bytes.size() >= kLeastAddress6) {
    sockaddr_in6 address{};
    std::memcpy(&address, bytes.data(), std::min(bytes.size(), sizeof address));
    return endpoint_of(address.sin6_addr, ntohs(address.sin6_port));
  }
  return std::nullopt;
}

}  // namespace cudadiag::launch
