// The machine code of kernels that may have failed, as nvdisasm prints it. It is stored with the record pass, because a
// report must not depend on tools that may be missing.
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
  bool harmless_calls = false;                   // functions in other files that it calls modify no memory
  std::string text;
  bool operator==(const KernelCode&) const = default;
};

// Several elements can have the same kernel name, because a program may load several kernels with one name.
std::string write_kernel_code(std::vector<KernelCode> codes);
std::optional<std::vector<KernelCode>> parse_kernel_code(std::string_view text);

}  // namespace cudadiag::session
