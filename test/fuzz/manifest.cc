// Feeds the reader of manifests; what it accepts it must be able to write and read again.
#include "session/manifest.h"

using namespace cudadiag::session;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto manifest = parse_manifest({reinterpret_cast<const char*>(data), size});
  if (const auto* read = std::get_if<Manifest>(&manifest)) {
    const std::string once = write_manifest(*read);
    if (write_manifest(std::get<Manifest>(parse_manifest(once))) != once) __builtin_trap();
  }
  return 0;
}
