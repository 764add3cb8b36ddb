// An address and a port of the internet's families, as a program hands them to the kernel.
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
  std::string text;  // with the port
};

// Nothing: another family, or too short even for the kernel. An IPv4 address that is mapped into IPv6 is an IPv4 one.
std::optional<Endpoint> endpoint_of(std::span<const char> bytes);

}  // namespace cudadiag::launch
