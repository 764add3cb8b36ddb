// Fuzzes the parsers of other tools' output. The first byte selects compute-sanitizer or cuda-gdb.
#include "evidence/tool_text.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 0) {
    const evidence::SanitizerLog log = evidence::sanitizer_log(text);
    if (log.accesses.size() > evidence::kMostAccesses) __builtin_trap();
    for (const evidence::InvalidAccess& access : log.accesses) evidence::sentence(access);
    return 0;
  }
  evidence::DumpedFailure failure;
  failure.exception_name = "Warp Illegal Address";
  failure.kernel = "_Z4fillPii";
  failure.block = failure.thread = failure.grid = failure.block_dim = evidence::Dim3{};
  failure.place.pc = 0x7f0000001010;
  failure.place.lines = {{"_Z4fillPii", "/src/cases.cu", 17}};
  for (const auto& known : {std::optional(failure), std::optional<evidence::DumpedFailure>()}) {
    const evidence::DebuggerCheck witness = evidence::debugger_check(known, text, "");
    evidence::sentences(witness);
    evidence::outcome(witness);
  }
  return 0;
}
