// What an instruction does to memory, and to which.
#pragma once

#include <cstdint>

namespace cudadiag::sass {

enum class AccessKind : std::uint8_t { load, store, atomic, copy };
enum class Space : std::uint8_t { global, shared, local, generic };

}  // namespace cudadiag::sass
