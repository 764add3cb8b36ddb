// Fuzzes the reader of ELF files and their DWARF. The last eight bytes are the address to look up.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "symbolize/elf_module.h"

using namespace cudadiag::symbolize;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t address = 0;
  if (size < sizeof address) return 0;
  size -= sizeof address;
  std::memcpy(&address, data + size, sizeof address);
  static const int file = ::memfd_create("module", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  ElfModule module("/proc/self/fd/" + std::to_string(file), "");
  module.has_lines();
  for (const std::uint64_t at : {address, address & 0xffff, std::uint64_t{0x1000}}) {
    if (module.frames(at).empty()) __builtin_trap();
  }
  const TailCalls& calls = module.tail_calls();
  calls.called_at(address & 0xffff);
  calls.between(TailCalls::kNotKnown, calls.function_at(0x1000), [](std::uint64_t) { return true; });
  return 0;
}
