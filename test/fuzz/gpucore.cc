// Feeds the reader of GPU core dumps with bytes that no driver wrote. Whatever they are, the reader answers or
// declines.
#include "evidence/testimony.h"

using namespace cudadiag::evidence;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  examine(Bytes(data, size));
  return 0;
}
