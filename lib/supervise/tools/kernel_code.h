// Reads the machine code of a kernel from a cubin, and facts about the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/elf_image.h"
#include "sass/kernel_accesses.h"

namespace cudadiag::supervise {

struct KernelCode {
  std::string architecture;  // in nvdisasm's form: "SM90a"
  sass::ParameterBank bank;
  std::vector<std::uint32_t> parameters;  // the offset of each parameter, relative to the first
  sass::Calls calls = sass::Calls::anything;
  evidence::Bytes instructions;  // points into the image's file
};

// Returns the contents of a cubin that the recorder stored, decompressed if necessary. Returns "" if it has more than
// `most` bytes, or if the library that decompresses it is missing.
std::string read_cubin(const std::filesystem::path& file, std::uint64_t most);
// Returns the mangled names of the kernels in the image.
std::vector<std::string> kernels_of(const evidence::ElfImage& image);
std::optional<KernelCode> kernel_code(const evidence::ElfImage& image, const std::string& kernel);

}  // namespace cudadiag::supervise
