// Feeds the reader of GPU core dumps with bytes that no driver wrote. It must answer or decline.
#include "evidence/testimony.h"

using namespace cudadiag::evidence;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  examine(Bytes(data, size));
  return 0;
}
