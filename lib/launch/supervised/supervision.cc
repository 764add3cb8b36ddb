#include "launch/supervised/supervision.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cudadiag::launch::supervision {
namespace {

struct Header {
  Packet::Kind kind;
  std::int32_t number;
};

constexpr std::size_t kMostText = 4096;

bool send(int socket, const Packet& packet, int flags) {
  std::array<char, sizeof(Header) + kMostText> bytes{};
  const Header header{packet.kind, packet.number};
  const std::size_t size = std::min(packet.text.size(), kMostText);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, packet.text.data(), size);
  while (true) {
    const ssize_t sent = ::send(socket, bytes.data(), sizeof header + size, MSG_NOSIGNAL | flags);
    if (sent >= 0 || errno != EINTR) return sent >= 0;
  }
}

}  // namespace

bool send(int socket, const Packet& packet) { return send(socket, packet, 0); }

bool send_at_once(int socket, const Packet& packet) { return send(socket, packet, MSG_DONTWAIT); }

std::optional<Packet> receive(int socket, bool& closed) {
  std::array<char, sizeof(Header) + kMostText> bytes{};
  const ssize_t size = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0) {
    closed = errno != EAGAIN && errno != EINTR;
    return std::nullopt;
  }
  Header header{};
  closed = static_cast<std::size_t>(size) < sizeof header;
  if (closed) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  return Packet{header.kind, header.number,
                std::string(bytes.data() + sizeof header, static_cast<std::size_t>(size) - sizeof header)};
}

}  // namespace cudadiag::launch::supervision
