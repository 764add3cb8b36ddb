#include "launch/isolation/private_network.h"

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

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/file_descriptor.h"
#include "launch/children.h"
#include "launch/isolation/namespaces.h"

namespace cudadiag::launch {
namespace {

using base::FileDescriptor;

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

}  // namespace cudadiag::launch
