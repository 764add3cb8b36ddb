#include "record/process/process_description.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <initializer_list>

#include "record/process/launch_blocking.h"
#include "wire/names/rank_variables.h"

namespace cudadiag::record {

namespace {

// Reads a file of /proc, truncated to the size of the buffer. The words of a command line are separated by NULs.
std::string_view read_file(const char* path, std::span<char> buffer) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t size = read(fd, buffer.data(), buffer.size());
  close(fd);
  return {buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

// Finds "580.159.04" in "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …": the
// first word that consists of digits and dots.
std::string_view driver_version(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word(text.data() + at, end - at);
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos) return word;
    at = end;
  }
  return {};
}

// Stores the value of the first of these variables that is set. Returns false if none of them is set.
bool store_first_of(Interner& interner, const char* key, std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (const char* value = getenv(variable)) return interner.property(key, value), true;
  }
  return false;
}

}  // namespace

void describe_process(Interner& interner) {
  char text[8192];
  interner.property("driver", driver_version(read_file("/proc/driver/nvidia/version", text)));
  interner.property("argv", read_file("/proc/self/cmdline", text));
  const ssize_t length = readlink("/proc/self/exe", text, sizeof text);
  if (length > 0) interner.property("exe", {text, static_cast<std::size_t>(length)});
  if (getcwd(text, sizeof text) != nullptr) interner.property("cwd", text);
  if (gethostname(text, HOST_NAME_MAX) == 0) interner.property("host", text);
  for (const auto& [size, rank] : wire::kRankVariables) {
    if (store_first_of(interner, "rank", {rank})) break;
  }
  // PyTorch also uses the first of these variables that is set.
  store_first_of(interner, "flight_recorder", {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"});
  // These variables change CUDA's behaviour. Stores the values that they have when CUDA is initialised.
  for (const char* variable : {"CUDA_VISIBLE_DEVICES", LaunchBlocking::kVariable}) {
    const char* value = getenv(variable);
    if (value == nullptr) continue;
    char key[64];
    snprintf(key, sizeof key, "env.%s", variable);
    interner.property(key, value);
  }
}

}  // namespace cudadiag::record
