#include "record/process/core_dump.h"

#include <stdio.h>
#include <unistd.h>

#include <climits>
#include <cstddef>

#include "wire/names/core_dump.h"

namespace cudadiag::record {

// Uses the driver's functions instead of environment variables, because the program's children would inherit the
// variables.
void arm_core_dump(const DriverApi& driver, Interner& interner, const char* folder, std::uint64_t start) {
  char file[PATH_MAX];
  const int written = snprintf(file, sizeof file, "%s/%s", folder == nullptr ? "" : folder,
                               wire::core_dump::file_name(static_cast<std::uint32_t>(getpid()), start).text);
  if (folder == nullptr || written < 0 || static_cast<std::size_t>(written) >= sizeof file) {
    interner.note("core-dump-off", "no GPU core dump was possible without a session folder");
    return;
  }
  if (driver.coredump_set_attribute_global == nullptr) {
    interner.note("core-dump-off",
                  "the driver is too old to write a GPU core dump on request (needs CUDA 12.1 or later)");
    return;
  }
  // In our tests, the driver never finished a dump that included the constant banks.
  int left_out = CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES | CU_COREDUMP_SKIP_GLOBAL_MEMORY |
                 CU_COREDUMP_SKIP_SHARED_MEMORY | CU_COREDUMP_SKIP_LOCAL_MEMORY | CU_COREDUMP_SKIP_CONSTBANK_MEMORY;
  bool yes = true;
  std::size_t file_size = static_cast<std::size_t>(written) + 1, flags_size = sizeof left_out, yes_size = sizeof yes;
  const auto set = driver.coredump_set_attribute_global;
  CUresult result = set(CU_COREDUMP_FILE, file, &file_size);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_GENERATION_FLAGS, &left_out, &flags_size);
  if (result == CUDA_SUCCESS) result = set(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, &yes_size);
  if (result != CUDA_SUCCESS) {
    snprintf(file, sizeof file, "the driver cannot write GPU core dumps (error %d)", static_cast<int>(result));
    interner.note("core-dump-off", file);
    return;
  }
  interner.property(wire::core_dump::kProperty, wire::core_dump::kArmed);
}

}  // namespace cudadiag::record
