// The machine code of kernels that may have failed, as nvdisasm prints it. It is stored in the record pass, because a
// report must not depend on tools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::session {

struct KernelCode {
  std::string kernel;                            // mangled
  std::uint32_t bank_offset = 0, bank_size = 0;  // of its parameters in constant bank 0
  bool harmless_calls = false;                   // the functions that it calls in other files modify no memory
  std::string text;
  bool operator==(const KernelCode&) const = default;
};

// Several codes have the same name if the program has loaded several kernels with that name.
std::string write_kernel_code(const std::vector<KernelCode>& codes);
// Returns nullopt if the text does not have the format of write_kernel_code().
std::optional<std::vector<KernelCode>> parse_kernel_code(std::string_view text);

}  // namespace cudadiag::session
