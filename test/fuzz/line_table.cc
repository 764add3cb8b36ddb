// Fuzzes the decoder of CPython's line tables. The first byte selects the CPython version, the second the first line,
// and the next two the offset in the bytecode.
#include "symbolize/symbolizer.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  session::Code code;
  code.python_minor = 9 + data[0] % 7;
  code.first_line = data[1];
  const std::uint32_t offset = data[2] | data[3] << 8;
  code.line_table.assign(reinterpret_cast<const char*>(data + 4), reinterpret_cast<const char*>(data + size));
  symbolize::python_line(code, offset);
  symbolize::python_line(code, 0xffffffff - offset);
  return 0;
}
