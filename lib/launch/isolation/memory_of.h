// Reads the memory of another process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cudadiag::launch {

// Returns false if any part of the memory cannot be read.
bool read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t bytes);

// Reads NUL-terminated text. Returns nullopt if the text is longer than a page or cannot be read.
std::optional<std::string> read_text(pid_t thread, std::uint64_t address);

}  // namespace cudadiag::launch
