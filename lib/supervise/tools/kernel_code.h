// One kernel's code in a cubin, and what its file says about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/elf_image.h"
#include "sass/sass.h"

namespace cudadiag::supervise {

struct KernelCode {
  std::string architecture;  // as nvdisasm has it: "SM90a"
  sass::ParameterBank bank;
  std::vector<std::uint32_t> parameters;  // where each begins, from the first one's beginning
  sass::Calls calls = sass::Calls::anything;
  evidence::Bytes instructions;  // lie in the image's file
};

// Kernels by their mangled names.
std::vector<std::string> kernels_of(const evidence::ElfImage& image);
std::optional<KernelCode> kernel_code(const evidence::ElfImage& image, const std::string& kernel);

}  // namespace cudadiag::supervise
