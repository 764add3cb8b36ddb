#include "evidence/code_places.h"

namespace cudadiag::evidence {
namespace {

void describe(const DeviceCode& code, CodePlace& place, std::uint64_t address, const LineChain& chain) {
  const Function* function = code.function_at(address);
  if (function == nullptr) return;
  place.function = function->name;
  place.offset = place.pc - function->address;
  for (const LineFrame& frame : chain) {
    std::string file(frame.file);
    if (!frame.folder.empty() && !frame.file.starts_with('/')) file = std::string(frame.folder) + "/" + file;
    const std::string_view name = frame.inlined.value_or(function->name);
    place.lines.push_back({.function = std::string(name), .file = std::move(file), .line = frame.line});
  }
}

}  // namespace

std::optional<std::uint64_t> standing_at(const DeviceCode& code, const Lane& lane, const Grid* grid) {
  const auto starts = [&lane](const Function* f) { return f != nullptr && lane.pc - f->address == lane.offset; };
  if (starts(code.function_at(lane.pc)) || starts(code.kernel_at(lane.pc))) return lane.pc;
  if (grid != nullptr && lane.call_depth == 0 && code.kernel_at(grid->entry + lane.offset) != nullptr) {
    return grid->entry + lane.offset;
  }
  return std::nullopt;
}

void resolve(const DeviceCode& code, const std::vector<std::pair<CodePlace*, std::uint64_t>>& places) {
  std::vector<std::uint64_t> addresses;
  for (const auto& [place, address] : places) addresses.push_back(address);
  const auto chains = code.lines_at(addresses);
  for (std::size_t i = 0; i < places.size(); ++i) describe(code, *places[i].first, addresses[i], chains[i]);
}

}  // namespace cudadiag::evidence
