// The code of one kernel in a cubin, and the properties that the file records for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/elf_image.h"
#include "sass/sass.h"

namespace cudadiag::supervise {

struct KernelCode {
  std::string architecture;  // in nvdisasm's form: "SM90a"
  sass::ParameterBank bank;
  std::vector<std::uint32_t> parameters;  // the offset of each parameter from the first
  sass::Calls calls = sass::Calls::anything;
  evidence::Bytes instructions;  // point into the image's file
};

// The kernels in the image, by their mangled names.
std::vector<std::string> kernels_of(const evidence::ElfImage& image);
std::optional<KernelCode> kernel_code(const evidence::ElfImage& image, const std::string& kernel);

}  // namespace cudadiag::supervise
