#include "record/saving/lz4.h"

#include <string.h>

namespace cudadiag::record {

// A block is a list of sequences:
//   token (upper 4 bits: length of the literals; lower 4 bits: length of the match minus 4), literals, distance of the
//   match (2 bytes). A length of 15 is continued in further bytes. The last sequence ends after its literals.
bool decompress_lz4(std::span<const std::byte> from, std::span<std::byte> to) {
  std::size_t in = 0, out = 0;
  const auto length = [&](std::size_t first) {
    std::size_t total = first;
    for (std::size_t more = 255; first == 15 && more == 255 && in < from.size();) {
      more = static_cast<std::size_t>(from[in++]);
      total += more;
    }
    return total;
  };
  while (in < from.size()) {
    const auto token = static_cast<std::size_t>(from[in++]);
    const std::size_t literals = length(token >> 4);
    if (literals > from.size() - in || literals > to.size() - out) return false;
    memcpy(to.data() + out, from.data() + in, literals);
    in += literals, out += literals;
    if (in == from.size()) break;
    if (from.size() - in < 2) return false;
    const std::size_t distance = static_cast<std::size_t>(from[in]) | static_cast<std::size_t>(from[in + 1]) << 8;
    in += 2;
    const std::size_t match = length(token & 15) + 4;
    if (distance == 0 || distance > out || match > to.size() - out) return false;
    // Copies byte by byte, because a match may overlap its own output.
    for (std::size_t i = 0; i < match; ++i, ++out) to[out] = to[out - distance];
  }
  return out == to.size();
}

}  // namespace cudadiag::record
