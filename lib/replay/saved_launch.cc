#include "replay/saved_launch.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json_limits.h"
#include "base/text.h"

namespace cudadiag::replay {

// ---- the recorder's description

namespace {

namespace format = wire::saved_launch;
using format::Record;
using Bytes = std::span<const std::byte>;

template <typename T>
std::optional<T> number_at(Bytes bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kLongestName)};
}

template <typename Enum>
std::optional<Enum> within(std::uint32_t value, Enum last) {
  if (value > static_cast<std::uint32_t>(last)) return std::nullopt;
  return static_cast<Enum>(value);
}

std::optional<Block> block_of(Bytes bytes) {
  if (bytes.size() < format::kBlockSize) return std::nullopt;
  const std::byte* at = bytes.data();
  const auto kind = within(wire::load(at, format::kMemoryKind), MemoryKind::registered);
  const auto reach = within(wire::load(at, format::kReach), Reach::module);
  const auto unsaved = within(wire::load(at, format::kUnsaved), Unsaved::file);
  if (!kind || !reach || !unsaved) return std::nullopt;
  Block block{wire::load(at, format::kAddress), wire::load(at, format::kBytes), *kind, *reach, *unsaved};
  if (const std::uint64_t saved = wire::load(at, format::kSavedBytes); saved > 0) {
    block.contents = Contents{format::kMemoryPrefix + std::to_string(wire::load(at, format::kNumber)),
                              wire::load(at, format::kSavedFrom), saved};
  }
  return block;
}

bool take_launch(Bytes bytes, SavedLaunch& launch) {
  if (bytes.size() != format::kLaunchSize) return false;
  std::memcpy(launch.grid.data(), bytes.data() + format::kGrid.offset, sizeof launch.grid);
  std::memcpy(launch.block.data(), bytes.data() + format::kBlock.offset, sizeof launch.block);
  std::memcpy(launch.cluster.data(), bytes.data() + format::kCluster.offset, sizeof launch.cluster);
  launch.shared_bytes = wire::load(bytes.data(), format::kSharedBytes);
  launch.device = wire::load(bytes.data(), format::kDevice);
  launch.cooperative = (wire::load(bytes.data(), format::kLaunchFlags) & format::kCooperative) != 0;
  return true;
}

bool take_parameter(Bytes bytes, SavedLaunch& launch) {
  const auto offset = number_at<std::uint32_t>(bytes, 0);
  if (!offset || bytes.size() < 8 || launch.parameters.size() >= kMostParameters) return false;
  launch.parameters.push_back({*offset, {bytes.begin() + 8, bytes.end()}});
  return true;
}

bool take_attribute(Bytes bytes, SavedLaunch& launch) {
  Attribute attribute;
  if (bytes.size() != 8 + attribute.value.size() || launch.attributes.size() >= kMostAttributes) return false;
  attribute.id = *number_at<std::uint32_t>(bytes, 0);
  std::memcpy(attribute.value.data(), bytes.data() + 8, attribute.value.size());
  launch.attributes.push_back(attribute);
  return true;
}

bool take_block(Bytes bytes, bool is_variable, SavedLaunch& launch) {
  auto block = block_of(bytes);
  if (!block || launch.blocks.size() >= kMostBlocks) return false;
  if (is_variable) block->variable = text_of(bytes.subspan(format::kBlockSize));
  launch.blocks.push_back(std::move(*block));
  return true;
}

bool take_gpu(Bytes bytes, SavedLaunch& launch) {
  if (bytes.size() < 16) return false;
  launch.gpu = {*number_at<std::uint32_t>(bytes, 0), *number_at<std::uint32_t>(bytes, 4),
                *number_at<std::uint32_t>(bytes, 8), text_of(bytes.subspan(16))};
  return true;
}

// Reads two numbers: one at the beginning of `bytes`, the other at `offset`.
template <typename First, typename Second>
std::optional<std::pair<First, Second>> pair_at(Bytes bytes, std::size_t offset) {
  const auto first = number_at<std::uint32_t>(bytes, 0);
  const auto second = number_at<Second>(bytes, offset);
  if (!first || !second) return std::nullopt;
  return std::pair(static_cast<First>(*first), *second);
}

template <typename List, typename Pair>
bool append(List& list, const std::optional<Pair>& pair) {
  if (!pair || list.size() >= kMostAttributes) return false;
  list.push_back(*pair);
  return true;
}

// Returns false if the record is malformed. Ignores unknown kinds of records, which later versions may add.
bool take(Record kind, Bytes bytes, SavedLaunch& launch) {
  switch (kind) {
    case Record::kernel:
      launch.kernel = text_of(bytes);
      return !launch.kernel.empty();
    case Record::launch:
      return take_launch(bytes, launch);
    case Record::image: {
      const auto image = pair_at<std::uint32_t, std::uint64_t>(bytes, 8);
      const auto form = image ? within(image->first, ImageForm::text) : std::nullopt;
      if (!form || *form < ImageForm::cubin) return false;
      launch.image_form = *form;
      launch.image_bytes = image->second;
      return true;
    }
    case Record::parameter:
      return take_parameter(bytes, launch);
    case Record::attribute:
      return take_attribute(bytes, launch);
    case Record::function_value:
      return append(launch.function_values, pair_at<std::uint32_t, std::int32_t>(bytes, 4));
    case Record::limit:
      return append(launch.limits, pair_at<std::uint32_t, std::uint64_t>(bytes, 8));
    case Record::block:
      return take_block(bytes, false, launch);
    case Record::global:
      return take_block(bytes, true, launch);
    case Record::gpu:
      return take_gpu(bytes, launch);
    case Record::missing: {
      const auto missing = pair_at<Missing, std::uint64_t>(bytes, 8);
      return !missing || append(launch.missing, missing);
    }
    case Record::failed: {
      const auto code = number_at<std::uint32_t>(bytes, 0);
      if (!code) return false;
      launch.failure = SavedFailure{*code};
      return true;
    }
  }
  return true;
}

std::string flaw_of_block(const Block& block) {
  if (block.bytes == 0 || block.bytes > kHighestAddress || block.address > kHighestAddress - block.bytes) {
    return "the address range of a memory block is invalid";
  }
  if (!block.contents) return "";
  const Contents& contents = *block.contents;
  const bool fits =
      contents.bytes > 0 && contents.bytes <= block.bytes && contents.from <= block.bytes - contents.bytes;
  if (!fits) return "the contents of a memory block do not fit into it";
  const std::string prefix = format::kMemoryPrefix;
  const std::string_view digits = std::string_view(contents.file).substr(std::min(prefix.size(), contents.file.size()));
  const bool is_plain = contents.file.starts_with(prefix) && !digits.empty() && digits.size() <= 9 &&
                        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_plain ? "" : "a memory file is not named memory-NUMBER";
}

}  // namespace

std::string flaw_of(const SavedLaunch& launch) {
  if (launch.kernel.empty() || launch.kernel.find('\0') != std::string::npos) return "the kernel has no name";
  if (launch.image_bytes > kMostImageBytes) return "the image is too large";
  for (const Parameter& parameter : launch.parameters) {
    if (parameter.bytes.empty() || parameter.bytes.size() > kMostParameterBytes ||
        parameter.offset > kMostParameterBytes - parameter.bytes.size()) {
      return "a parameter exceeds the size limit for launch parameters";
    }
  }
  for (const Block& block : launch.blocks) {
    if (std::string flaw = flaw_of_block(block); !flaw.empty()) return flaw;
  }
  return "";
}

base::Result<SavedLaunch> read_description(Bytes bytes) {
  const base::Error damaged = {"the description of the saved launch is damaged", "save the launch again"};
  if (bytes.size() < format::kHeaderSize || wire::load(bytes.data(), format::kHeaderMagic) != format::kMagic) {
    return damaged;
  }
  if (wire::load(bytes.data(), format::kHeaderVersion) != format::kVersion) {
    return base::Error{"the launch was saved by a different version of cudadiag", "save it again with this version"};
  }
  SavedLaunch launch;
  bytes = bytes.subspan(format::kHeaderSize);
  while (bytes.size() >= format::kRecordHead) {
    const std::uint32_t kind = wire::load(bytes.data(), format::kKind);
    const std::size_t length = wire::load(bytes.data(), format::kLength);
    bytes = bytes.subspan(format::kRecordHead);
    if (length > bytes.size() || !take(static_cast<Record>(kind), bytes.first(length), launch)) return damaged;
    bytes = bytes.subspan(std::min(bytes.size(), (length + 7) / 8 * 8));
  }
  if (!launch.failure) return base::Error{"the last saved launch did not fail", ""};
  if (!flaw_of(launch).empty()) return damaged;
  return launch;
}

// ---- launch.json

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
