// Writes bytes as hexadecimal text, two lowercase digits each, and reads such text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::base {

std::string hex_of(std::span<const std::byte> bytes);

// Accepts digits of both cases. Returns nullopt for any other text.
std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view digits);

}  // namespace cudadiag::base
