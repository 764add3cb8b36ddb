#include "session/notes/kernel_code.h"

#include "session/json_values.h"

namespace cudadiag::session {
namespace {

constexpr const char* kKernelCodeSchema = "cudadiag.kernel-code/1";
constexpr std::size_t kMostCodes = 64;

}  // namespace

std::string write_kernel_code(const std::vector<KernelCode>& codes) {
  Json list = Json::array();
  for (const KernelCode& code : codes) {
    list.push_back({{"kernel", code.kernel},
                    {"bank_offset", code.bank_offset},
                    {"bank_size", code.bank_size},
                    {"harmless_calls", code.harmless_calls},
                    {"text", code.text}});
  }
  const Json document = {{"schema", kKernelCodeSchema}, {"kernels", std::move(list)}};
  return json_text(document, 1) + "\n";
}

std::optional<std::vector<KernelCode>> parse_kernel_code(std::string_view text) {
  const Json document = parse_json(text);
  if (!document.is_object() || text_of(document, "schema") != kKernelCodeSchema) return std::nullopt;
  const auto list = document.find("kernels");
  if (list == document.end() || !list->is_array() || list->size() > kMostCodes) return std::nullopt;
  std::vector<KernelCode> codes;
  for (const Json& each : *list) {
    if (!each.is_object()) return std::nullopt;
    codes.push_back({text_of(each, "kernel"), integer_of<std::uint32_t>(each, "bank_offset").value_or(0),
                     integer_of<std::uint32_t>(each, "bank_size").value_or(0), bool_of(each, "harmless_calls"),
                     text_of(each, "text")});
  }
  return codes;
}

}  // namespace cudadiag::session
