// Writes and reads launch.json.

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_limits.h"
#include "base/text.h"
#include "replay/saved_launch.h"

namespace cudadiag::replay {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;  // keeps the order of members, so that the most important ones come first

constexpr base::Words<MemoryKind, 8> kKinds = {{
    {MemoryKind::none, "variable"},
    {MemoryKind::device, "device"},
    {MemoryKind::managed, "managed"},
    {MemoryKind::ordered, "stream-ordered"},
    {MemoryKind::mapped, "mapped"},
    {MemoryKind::opened, "another process's"},
    {MemoryKind::pinned, "pinned host"},
    {MemoryKind::registered, "registered host"},
}};
constexpr base::Words<Reach, 4> kReaches = {{
    {Reach::nothing, "nothing"},
    {Reach::parameter, "parameter"},
    {Reach::memory, "memory"},
    {Reach::module, "module"},
}};
constexpr base::Words<Unsaved, 4> kUnsaved = {{
    {Unsaved::no, ""},
    {Unsaved::limit, "limit"},
    {Unsaved::unreadable, "unreadable"},
    {Unsaved::file, "file"},
}};
constexpr base::Words<ImageForm, 3> kForms = {{
    {ImageForm::cubin, "cubin"},
    {ImageForm::fatbin, "fatbin"},
    {ImageForm::text, "text"},
}};
constexpr base::Words<Missing, 5> kMissing = {{
    {Missing::attribute, "launch attribute"},
    {Missing::allocations, "allocations"},
    {Missing::parameters, "parameters"},
    {Missing::globals, "variables"},
    {Missing::heap, "device heap"},
}};

// ---- writing

std::string address(std::uint64_t value) {
  char digits[20] = "0x";
  const auto end = std::to_chars(digits + 2, digits + sizeof digits, value, 16).ptr;
  return {digits, end};
}

Ordered of(const SourcePlace& place) {
  if (place.line == 0) return nullptr;
  return {{"file", place.file}, {"line", place.line}, {"function", place.function}};
}

Ordered of(const Block& block) {
  Ordered json = {{"address", address(block.address)},
                  {"bytes", block.bytes},
                  {"kind", base::word_of(kKinds, block.kind)},
                  {"pointed_to_by", base::word_of(kReaches, block.reach)},
                  {"contents", nullptr},
                  {"missing", nullptr},
                  {"variable", block.variable.empty() ? Ordered(nullptr) : Ordered(block.variable)}};
  if (block.contents) {
    json["contents"] = {
        {"file", block.contents->file}, {"from", block.contents->from}, {"bytes", block.contents->bytes}};
  }
  if (block.unsaved != Unsaved::no) json["missing"] = base::word_of(kUnsaved, block.unsaved);
  return json;
}

Ordered of(const SavedFailure& failure) {
  Ordered instruction = nullptr;
  if (failure.instruction) {
    instruction = {{"function", failure.instruction->function},
                   {"offset", failure.instruction->offset},
                   {"source", of(failure.instruction->source)}};
  }
  return {{"code", failure.code},
          {"name", failure.name},
          {"location", of(failure.line)},
          {"instruction", std::move(instruction)}};
}

// ---- reading

// Thrown if a member is missing, has the wrong type or is out of range. Never leaves this file.
struct Wrong {};

const Json& member(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (!object.is_object() || it == object.end()) throw Wrong{};
  return *it;
}

template <typename T>
T number(const Json& value) {
  const auto fitting = [](auto given) {
    if (!std::in_range<T>(given)) throw Wrong{};
    return static_cast<T>(given);
  };
  if (value.is_number_unsigned()) return fitting(value.get<std::uint64_t>());
  if (value.is_number_integer()) return fitting(value.get<std::int64_t>());
  throw Wrong{};
}

std::string text(const Json& value, std::size_t longest = kLongestName) {
  if (!value.is_string()) throw Wrong{};
  auto given = value.get<std::string>();
  if (given.size() > longest) throw Wrong{};
  return given;
}

const Json& list(const Json& value, std::size_t most) {
  if (!value.is_array() || value.size() > most) throw Wrong{};
  return value;
}

template <typename Words>
auto word(const Words& words, const Json& value) {
  const auto found = base::value_of(words, text(value));
  if (!found) throw Wrong{};
  return *found;
}

std::vector<std::byte> bytes_of(const Json& value) {
  auto bytes = base::bytes_of_hex(text(value));
  if (!bytes) throw Wrong{};
  return std::move(*bytes);
}

std::uint64_t address_of(const Json& value) {
  const std::string digits = text(value);
  const auto address =
      digits.starts_with("0x") ? base::whole_number<std::uint64_t>(digits.substr(2), 16) : std::nullopt;
  if (!address) throw Wrong{};
  return *address;
}

Dim3 dimensions(const Json& value) {
  if (!value.is_array() || value.size() != 3) throw Wrong{};
  return {number<std::uint32_t>(value[0]), number<std::uint32_t>(value[1]), number<std::uint32_t>(value[2])};
}

bool truth(const Json& value) {
  if (!value.is_boolean()) throw Wrong{};
  return value.get<bool>();
}

SourcePlace place_of(const Json& value) {
  if (value.is_null()) return {};
  return {text(member(value, "file")), text(member(value, "function")), number<std::uint32_t>(member(value, "line"))};
}

Block block_of(const Json& value) {
  Block block;
  block.address = address_of(member(value, "address"));
  block.bytes = number<std::uint64_t>(member(value, "bytes"));
  block.kind = word(kKinds, member(value, "kind"));
  block.reach = word(kReaches, member(value, "pointed_to_by"));
  if (const Json& missing = member(value, "missing"); !missing.is_null()) block.unsaved = word(kUnsaved, missing);
  if (const Json& name = member(value, "variable"); !name.is_null()) block.variable = text(name);
  if (const Json& contents = member(value, "contents"); !contents.is_null()) {
    block.contents = Contents{text(member(contents, "file")), number<std::uint64_t>(member(contents, "from")),
                              number<std::uint64_t>(member(contents, "bytes"))};
  }
  return block;
}

SavedFailure failure_of(const Json& value) {
  SavedFailure failure{number<std::uint32_t>(member(value, "code")), text(member(value, "name")),
                       place_of(member(value, "location"))};
  if (const Json& at = member(value, "instruction"); !at.is_null()) {
    failure.instruction = Instruction{text(member(at, "function")), number<std::uint64_t>(member(at, "offset")),
                                      place_of(member(at, "source"))};
  }
  return failure;
}

void read_kernel(const Json& json, SavedLaunch& launch) {
  const Json& kernel = member(json, "kernel");
  launch.kernel = text(member(kernel, "mangled"));
  launch.demangled = text(member(kernel, "name"));
  const Json& image = member(json, "image");
  launch.image_form = word(kForms, member(image, "form"));
  launch.image_bytes = number<std::uint64_t>(member(image, "bytes"));
}

void read_call(const Json& json, SavedLaunch& launch) {
  launch.grid = dimensions(member(json, "grid"));
  launch.block = dimensions(member(json, "block"));
  launch.cluster = dimensions(member(json, "cluster"));
  launch.shared_bytes = number<std::uint32_t>(member(json, "shared_bytes"));
  launch.device = number<std::uint32_t>(member(json, "device"));
  launch.cooperative = truth(member(json, "cooperative"));
  for (const Json& each : list(member(json, "attributes"), kMostAttributes)) {
    Attribute attribute{number<std::uint32_t>(member(each, "id"))};
    const auto value = bytes_of(member(each, "value"));
    if (value.size() != attribute.value.size()) throw Wrong{};
    std::memcpy(attribute.value.data(), value.data(), value.size());
    launch.attributes.push_back(attribute);
  }
  for (const Json& each : list(member(json, "function_attributes"), kMostAttributes)) {
    launch.function_values.emplace_back(number<std::uint32_t>(member(each, "id")),
                                        number<std::int32_t>(member(each, "value")));
  }
  for (const Json& each : list(member(json, "limits"), kMostAttributes)) {
    launch.limits.emplace_back(number<std::uint32_t>(member(each, "id")), number<std::uint64_t>(member(each, "value")));
  }
  for (const Json& each : list(member(json, "parameters"), kMostParameters)) {
    launch.parameters.push_back({number<std::uint32_t>(member(each, "offset")), bytes_of(member(each, "bytes"))});
  }
}

SavedLaunch read(const Json& json) {
  SavedLaunch launch;
  read_kernel(json, launch);
  read_call(json, launch);
  for (const Json& each : list(member(json, "memory"), kMostBlocks)) launch.blocks.push_back(block_of(each));
  for (const Json& each : list(member(json, "missing"), kMostAttributes)) {
    launch.missing.emplace_back(word(kMissing, member(each, "what")), number<std::uint64_t>(member(each, "count")));
  }
  const Json& gpu = member(json, "gpu");
  launch.gpu = {number<std::uint32_t>(member(gpu, "driver")), number<std::uint32_t>(member(gpu, "major")),
                number<std::uint32_t>(member(gpu, "minor")), text(member(gpu, "name"))};
  if (const auto bus = gpu.find("pci"); bus != gpu.end()) launch.gpu.bus = text(*bus, kLongestBus);
  if (const Json& failure = member(json, "failure"); !failure.is_null()) launch.failure = failure_of(failure);
  launch.made_by = text(member(json, "made_by"));
  launch.made_on = text(member(json, "made_on"));
  return launch;
}

}  // namespace

std::string write_launch(const SavedLaunch& launch) {
  Ordered attributes = Ordered::array(), values = Ordered::array(), limits = Ordered::array(),
          parameters = Ordered::array(), memory = Ordered::array(), missing = Ordered::array();
  for (const Attribute& each : launch.attributes)
    attributes.push_back({{"id", each.id}, {"value", base::hex_of(each.value)}});
  for (const auto& [id, value] : launch.function_values) values.push_back({{"id", id}, {"value", value}});
  for (const auto& [id, value] : launch.limits) limits.push_back({{"id", id}, {"value", value}});
  for (const Parameter& each : launch.parameters) {
    parameters.push_back({{"offset", each.offset}, {"bytes", base::hex_of(each.bytes)}});
  }
  for (const Block& block : launch.blocks) memory.push_back(of(block));
  for (const auto& [what, count] : launch.missing) {
    missing.push_back({{"what", base::word_of(kMissing, what)}, {"count", count}});
  }
  const Ordered json = {{"schema", kLaunchSchema},
                        {"made_by", launch.made_by},
                        {"made_on", launch.made_on},
                        {"kernel", {{"mangled", launch.kernel}, {"name", launch.demangled}}},
                        {"image", {{"form", base::word_of(kForms, launch.image_form)}, {"bytes", launch.image_bytes}}},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"cluster", launch.cluster},
                        {"shared_bytes", launch.shared_bytes},
                        {"device", launch.device},
                        {"cooperative", launch.cooperative},
                        {"attributes", std::move(attributes)},
                        {"function_attributes", std::move(values)},
                        {"limits", std::move(limits)},
                        {"parameters", std::move(parameters)},
                        {"memory", std::move(memory)},
                        {"missing", std::move(missing)},
                        {"gpu",
                         {{"driver", launch.gpu.driver},
                          {"major", launch.gpu.major},
                          {"minor", launch.gpu.minor},
                          {"name", launch.gpu.name},
                          {"pci", launch.gpu.bus}}},
                        {"failure", launch.failure ? of(*launch.failure) : Ordered(nullptr)}};
  return json.dump(1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

base::Result<SavedLaunch> parse_launch(std::string_view given) {
  constexpr base::JsonLimits kLimits{.depth = 16, .parts = 32 * kMostBlocks};
  const Json json = base::is_json_within(given, kLimits) ? Json::parse(given, nullptr, false) : Json();
  const base::Error damaged = {"launch.json does not describe a launch",
                               "copy the folder again, or save the launch again"};
  if (!json.is_object()) return damaged;
  try {
    const std::string schema = text(member(json, "schema"));
    if (schema != kLaunchSchema) {
      return base::Error{"launch.json has a different format from the one that this program reads (" +
                             std::string(kLaunchSchema) + ")",
                         "replay it with the version of cudadiag that saved it"};
    }
    SavedLaunch launch = read(json);
    if (const std::string flaw = flaw_of(launch); !flaw.empty()) {
      return base::Error{"launch.json does not describe a launch: " + flaw, damaged.hint};
    }
    return launch;
  } catch (const Wrong&) {
    return damaged;
  }
}

}  // namespace cudadiag::replay
