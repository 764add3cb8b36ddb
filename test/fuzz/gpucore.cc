// Fuzzes the reader of GPU core dumps, which must return an answer or an error.
#include "evidence/core_facts.h"

using namespace cudadiag::evidence;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  examine(Bytes(data, size));
  return 0;
}
