#include "launch/isolation/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cudadiag::launch {
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
