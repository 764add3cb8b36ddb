// Reads the recorder's description of a launch.
#include <algorithm>
#include <cstring>

#include "replay/saved_launch.h"

namespace cudadiag::replay {
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

}  // namespace cudadiag::replay
