#include "supervise/tools/json_disassembly.h"

#include <fmt/core.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace cudadiag::supervise {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kInstructionSize = 16;  // sm_70 and later

// Returns "" if the member is missing, or is not a string.
std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

std::string lines_of_json(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_array() || document.size() != 2 || !document[1].is_array() || document[1].size() != 1) return "";
  const Json& function = document[1][0];
  if (!function.is_object()) return "";
  const auto instructions = function.find("sass-instructions");
  const auto start = function.find("start");
  if (instructions == function.end() || !instructions->is_array()) return "";
  if (start == function.end() || !start->is_number_unsigned()) return "";
  std::string lines;
  std::uint64_t address = start->get<std::uint64_t>();
  for (const Json& each : *instructions) {
    if (!each.is_object()) return "";
    const std::string predicate = text_of(each, "predicate");
    fmt::format_to(std::back_inserter(lines), "/*{:04x}*/ {}{}{} {} ;\n", address, predicate,
                   predicate.empty() ? "" : " ", text_of(each, "opcode"), text_of(each, "operands"));
    address += kInstructionSize;
  }
  return lines;
}

}  // namespace cudadiag::supervise
