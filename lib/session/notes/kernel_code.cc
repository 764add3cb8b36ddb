#include "session/notes/kernel_code.h"

#include "session/json_values.h"

namespace cudadiag::session {
namespace {

constexpr const char* kKernelCodeSchema = "cudadiag.kernel-code/1";
constexpr std::size_t kMostCodes = 64;

}  // namespace

void fields(KernelCode& code, auto& field) {
  field("kernel", code.kernel);
  field("bank_offset", code.bank_offset);
  field("bank_size", code.bank_size);
  field("harmless_calls", code.harmless_calls);
  field("text", code.text);
}

std::string write_kernel_code(std::vector<KernelCode> codes) {
  const Json document = {{"schema", kKernelCodeSchema}, {"kernels", FieldWriter::written(codes)}};
  return json_text(document, 1) + "\n";
}

std::optional<std::vector<KernelCode>> parse_kernel_code(std::string_view text) {
  const Json document = parse_json(text);
  if (!document.is_object() || text_of(document, "schema") != kKernelCodeSchema) return std::nullopt;
  const auto list = document.find("kernels");
  if (list == document.end() || !list->is_array() || list->size() > kMostCodes) return std::nullopt;
  std::vector<KernelCode> codes;
  FieldReader::read(*list, codes);
  return codes.size() == list->size() ? std::optional(std::move(codes)) : std::nullopt;
}

}  // namespace cudadiag::session
