#include "replay/launch_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/printable.h"
#include "replay/placement.h"

namespace cudadiag::replay {
namespace {

constexpr std::uint32_t kCooperativeAttribute = 2;  // CU_LAUNCH_ATTRIBUTE_COOPERATIVE

// Returns a C++ string literal. Escapes every character that could end the literal or the line.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                          c == '-' || c == '.' || c == '$';
    if (is_plain) {
      result += c;
    } else {
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return result + "\"";
}

std::string hex(const std::byte* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", static_cast<unsigned>(bytes[i]));
  return text;
}

// Returns a table with at least one row, because C++ does not allow empty arrays. `count` is the name of a constant for
// the actual number of rows.
std::string table(const char* type, const char* name, const char* count, const std::vector<std::string>& rows) {
  std::string text = fmt::format("static {} {}[] = {{\n", type, name);
  for (const std::string& row : rows) text += "    {" + row + "},\n";
  if (rows.empty()) text += "    {},\n";
  return text + fmt::format("}};\nstatic const std::size_t {} = {};\n", count, rows.size());
}

std::string dimensions(const char* name, const Dim3& value) {
  return fmt::format("static const unsigned {}[] = {{{}, {}, {}}};\n", name, value[0], value[1], value[2]);
}

std::string tables_of(const SavedLaunch& launch) {
  std::vector<std::string> blocks, parameters, attributes, values, limits;
  for (const Block& block : launch.blocks) {
    if (block.reach == Reach::nothing) continue;
    const auto name_or_null = [](const std::string& name) { return name.empty() ? "nullptr" : literal(name); };
    const Contents contents = block.contents.value_or(Contents{});
    blocks.push_back(fmt::format("0x{:x}, {}, {}, {}, {}, {}, {}, 0", block.address, block.bytes, is_of_host(block),
                                 name_or_null(block.variable), name_or_null(contents.file), contents.from,
                                 contents.bytes));
  }
  for (const Parameter& each : launch.parameters) {
    parameters.push_back(
        fmt::format("{}, {}, \"{}\"", each.offset, each.bytes.size(), hex(each.bytes.data(), each.bytes.size())));
  }
  for (const Attribute& each : launch.attributes) {
    attributes.push_back(fmt::format("{}, \"{}\"", each.id, hex(each.value.data(), each.value.size())));
  }
  if (launch.cooperative) {
    Attribute cooperative{kCooperativeAttribute};
    cooperative.value[0] = std::byte{1};
    attributes.push_back(
        fmt::format("{}, \"{}\"", cooperative.id, hex(cooperative.value.data(), cooperative.value.size())));
  }
  for (const auto& [id, value] : launch.function_values)
    values.push_back(fmt::format("{}, {}u", id, static_cast<std::uint32_t>(value)));
  for (const auto& [id, value] : launch.limits) limits.push_back(fmt::format("{}, {}u", id, value));
  return fmt::format("static const char* kernel = {};\n", literal(launch.kernel)) + dimensions("grid", launch.grid) +
         dimensions("block", launch.block) +
         fmt::format("static const unsigned shared_bytes = {};\n", launch.shared_bytes) +
         table("Block", "blocks", "block_count", blocks) +
         table("const Parameter", "parameters", "parameter_count", parameters) +
         table("const Attribute", "attributes", "attribute_count", attributes) +
         table("const Value", "values", "value_count", values) + table("const Value", "limits", "limit_count", limits);
}

std::string in_words(Missing what, std::uint64_t count) {
  switch (what) {
    case Missing::attribute:
      return fmt::format("launch attribute {}, which refers to an object of the process", count);
    case Missing::allocations:
      return fmt::format("{} allocations that the recorder had no room to record", count);
    case Missing::parameters:
      return "the parameters, because the driver did not report their sizes (needs CUDA 12.4 or later)";
    case Missing::globals:
      return "variables of the module, because its image could not be read or contains too many";
    case Missing::heap:
      return "memory that kernels allocated with malloc on the device";
  }
  return "";
}

std::string line_of(const SourcePlace& place) {
  return place.line == 0 ? "unknown" : fmt::format("{}:{}", base::printable(place.file), place.line);
}

}  // namespace

std::string readme_of(const SavedLaunch& launch) {
  std::uint64_t saved = 0, unsaved = 0;
  for (const Block& block : launch.blocks) {
    const std::uint64_t kept = block.contents ? block.contents->bytes : 0;
    saved += kept;
    if (block.reach != Reach::nothing) unsaved += block.bytes - std::min(kept, block.bytes);
  }
  const SavedFailure failure = launch.failure.value_or(SavedFailure{});
  std::string text = fmt::format(
      "# A saved kernel launch\n\n"
      "{} saved this launch before it was issued. It failed with {} {}.\n\n"
      "**Running it executes the device code in `image` on your GPU.** Do that only if you trust the source of the "
      "folder. The memory files contain the program's GPU memory, such as inputs and weights.\n\n"
      "| | |\n| --- | --- |\n"
      "| kernel | `{}` |\n| issued at | {} |\n| grid, block | {} x {} x {}, {} x {} x {} |\n"
      "| saved on | {}, compute capability {}.{}, CUDA {}.{} |\n| memory | {} bytes saved, {} bytes missing |\n\n"
      "## Run it\n```\ncudadiag replay .\ncudadiag replay --times 20 .\ncudadiag replay --sanitize .\n```\n"
      "cudadiag-replay(1) describes all options. A folder from another machine needs `--foreign`.\n\n"
      "Without cudadiag:\n```\ng++ -std=c++17 -I/usr/local/cuda/include replay.cc -o replay -lcuda\n./replay\n```\n",
      base::printable(launch.made_by), failure.code, base::printable(failure.name),
      base::printable(launch.demangled.empty() ? launch.kernel : launch.demangled), line_of(failure.line),
      launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
      base::printable(launch.gpu.name), launch.gpu.major, launch.gpu.minor, launch.gpu.driver / 1000,
      launch.gpu.driver % 1000 / 10, saved, unsaved);
  if (!launch.missing.empty()) {
    text += "\n## Not saved\n";
    for (const auto& [what, count] : launch.missing) text += "- " + in_words(what, count) + "\n";
  }
  return text;
}

std::string source_of(const SavedLaunch& launch) {
  std::string text = kStandaloneProgram;
  const std::string_view place = kTablesPlace;
  if (const std::size_t at = text.find(place); at != std::string::npos)
    text.replace(at, place.size(), tables_of(launch));
  return text;
}

}  // namespace cudadiag::replay
