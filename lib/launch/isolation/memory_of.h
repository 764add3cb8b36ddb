// Reads the memory of another process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cudadiag::launch {

// False: not all of it is there.
bool read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t bytes);

// Up to its null byte. Nothing: it is longer than a page, or not there.
std::optional<std::string> read_text(pid_t thread, std::uint64_t address);

}  // namespace cudadiag::launch
