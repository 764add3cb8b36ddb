#include "record/calls/driver_log.h"

#include <string.h>

#include <algorithm>

#include "record/operations/threads.h"
#include "record/this_thread.h"

namespace cudadiag::record::driver_log {

namespace {

// Strips the prefix of a line of the driver's log: "[08:28:00.739][140398069522432][CUDA][E] One or more …".
std::string_view without_head(std::string_view line) {
  while (line.starts_with('[')) {
    const std::size_t end = line.find(']');
    if (end == line.npos) break;
    line.remove_prefix(end + 1);
  }
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

void say(void*, int, char* message, std::size_t length) {
  const std::string_view line = without_head({message, strnlen(message, length)});
  // Skips lines such as "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLaunchKernel", which repeat what the record of
  // the call contains. The first remaining line gives the cause.
  if (t_this.inside || t_this.explained || line.empty() || line.starts_with("Returning ")) return;
  if (t_this.state == nullptr) return;
  auto& said = t_this.state->said;
  const std::size_t size = std::min(line.size(), said.size() - 1);
  memcpy(said.data(), line.data(), size);
  said[size] = '\0';
  t_this.explained = true;
}

}  // namespace

void start(const DriverApi& driver) {
  void* handle = nullptr;
  if (driver.logs_register_callback != nullptr) driver.logs_register_callback(say, nullptr, &handle);
}

void forget() { t_this.explained = false; }

std::string_view explanation() { return t_this.explained ? t_this.state->said.data() : std::string_view(); }

}  // namespace cudadiag::record::driver_log
