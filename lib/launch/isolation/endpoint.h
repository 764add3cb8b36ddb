// Decodes the socket address that a program passes to the kernel: IPv4 or IPv6, with the port.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cudadiag::launch {

struct Endpoint {
  std::uint16_t port = 0;
  bool loopback = false;
  bool any_address = false;
  std::string address;
  std::string text;  // the address and the port
};

// Returns nullopt for other address families, or if there are too few bytes. An IPv4-mapped IPv6 address is returned as
// IPv4.
std::optional<Endpoint> endpoint_of(std::span<const char> bytes);

}  // namespace cudadiag::launch
