#include "supervise/tools/json_disassembly.h"

#include <fmt/core.h>

#include <iterator>

#include "session/json_values.h"

namespace cudadiag::supervise {
namespace {

using session::Json;

constexpr std::uint64_t kInstructionSize = 16;  // sm_70 and later

}  // namespace

std::string lines_of_json(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_array() || document.size() != 2 || !document[1].is_array() || document[1].size() != 1) return "";
  const Json& function = document[1][0];
  if (!function.is_object()) return "";
  const auto instructions = function.find("sass-instructions");
  const auto start = session::integer_of<std::uint64_t>(function, "start");
  if (instructions == function.end() || !instructions->is_array() || !start) return "";
  std::string lines;
  std::uint64_t address = *start;
  for (const Json& each : *instructions) {
    if (!each.is_object()) return "";
    const std::string predicate = session::text_of(each, "predicate");
    fmt::format_to(std::back_inserter(lines), "/*{:04x}*/ {}{}{} {} ;\n", address, predicate,
                   predicate.empty() ? "" : " ", session::text_of(each, "opcode"), session::text_of(each, "operands"));
    address += kInstructionSize;
  }
  return lines;
}

}  // namespace cudadiag::supervise
