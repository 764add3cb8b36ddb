#include "record/process/process_start.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <initializer_list>

#include "wire/names/core_dump.h"
#include "wire/names/environment.h"

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

namespace {

// Returns the variable's value. Returns null if the variable has no effect, because it is unset, empty or "0".
const char* value_in_effect() {
  const char* value = getenv(LaunchBlocking::kVariable);
  return value == nullptr || *value == '\0' || strcmp(value, "0") == 0 ? nullptr : value;
}

}  // namespace

void LaunchBlocking::context_made() {
  if (value_in_effect() != nullptr) may_block_ = true;
}

void LaunchBlocking::note_if_set_late(Interner& interner) const {
  const char* value = may_block_ ? nullptr : value_in_effect();
  if (value != nullptr) interner.property("late.CUDA_LAUNCH_BLOCKING", value);
}

// Uses the driver's functions instead of environment variables, because the program's children would inherit the
// variables.
const char* CoreDump::arm(const DriverApi& driver, Interner& interner, const char* folder, std::uint64_t start) {
  namespace core_dump = wire::core_dump;
  const auto make_path = [&](std::span<char> path, const char* suffix) {
    const auto name = core_dump::file_name(static_cast<std::uint32_t>(getpid()), start, suffix);
    const int written = folder == nullptr ? -1 : snprintf(path.data(), path.size(), "%s/%s", folder, name.text);
    return written >= 0 && static_cast<std::size_t>(written) < path.size();
  };
  if (!make_path(file_, core_dump::kSuffix) || !make_path(pipe_, core_dump::kPipeSuffix) ||
      !make_path(request_, core_dump::kRequestSuffix)) {
    interner.note("core-dump-off", "no GPU core dump was possible without a session folder");
    return nullptr;
  }
  if (driver.coredump_set_attribute_global == nullptr) {
    interner.note("core-dump-off",
                  "the driver is too old to write a GPU core dump on request (needs CUDA 12.1 or later)");
    return nullptr;
  }
  const auto set = [&](CUcoredumpSettings setting, void* value, std::size_t size) {
    return driver.coredump_set_attribute_global(setting, value, &size);
  };
  // In our tests, the driver never finished a dump that included the constant banks.
  int left_out = CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES | CU_COREDUMP_SKIP_GLOBAL_MEMORY |
                 CU_COREDUMP_SKIP_SHARED_MEMORY | CU_COREDUMP_SKIP_LOCAL_MEMORY | CU_COREDUMP_SKIP_CONSTBANK_MEMORY;
  bool yes = true;
  CUresult result = set(CU_COREDUMP_FILE, file_, strlen(file_) + 1);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_GENERATION_FLAGS, &left_out, sizeof left_out);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, sizeof yes);
  if (result != CUDA_SUCCESS) {
    char text[64];
    snprintf(text, sizeof text, "the driver cannot write GPU core dumps (error %d)", static_cast<int>(result));
    interner.note("core-dump-off", text);
    return nullptr;
  }
  // The driver does not change the pipe once requests are enabled. Without the pipe, only requests are impossible.
  if (set(CU_COREDUMP_PIPE, pipe_, strlen(pipe_) + 1) == CUDA_SUCCESS) {
    set(CU_COREDUMP_ENABLE_USER_TRIGGER, &yes, sizeof yes);
  }
  interner.property(core_dump::kProperty, core_dump::kArmed);
  return file_;
}

bool CoreDump::take_request(Interner& interner) {
  if (was_requested_) return true;
  if (access(request_, F_OK) != 0) return false;
  interner.property(wire::core_dump::kProperty, wire::core_dump::kRequested);
  was_requested_ = unlink(request_) == 0;
  return was_requested_;
}

}  // namespace cudadiag::record
