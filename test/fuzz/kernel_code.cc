// Fuzzes the search for a kernel's code in a file of device code.
#include "supervise/kernel_code.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto image = evidence::ElfImage::read(evidence::Bytes(data, size));
  if (!image) return 0;
  std::size_t left = 8;
  for (const std::string& kernel : supervise::kernels_of(*image)) {
    const auto code = supervise::kernel_code(*image, kernel);
    if (code && code->instructions.size() > size) __builtin_trap();
    if (--left == 0) break;
  }
  return 0;
}
