// A kernel launch that was saved before it was issued, as its folder describes it. Plain data, which the reader has
// checked: sizes are within bounds, file names have no folders, and ranges do not wrap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/saved_launch.h"
#include "wire/tables.h"

namespace cudadiag::replay {

using MemoryKind = wire::allocation::Kind;
using wire::saved_launch::Missing;
using wire::saved_launch::Reach;
using wire::saved_launch::Unsaved;
using ImageForm = wire::saved_launch::Image;
using Dim3 = std::array<std::uint32_t, 3>;

// The limits that the reader enforces.
inline constexpr std::size_t kMostBlocks = std::size_t{1} << 17;
inline constexpr std::size_t kMostParameterBytes = std::size_t{1} << 15;
inline constexpr std::size_t kMostParameters = 4096;
inline constexpr std::size_t kMostAttributes = 64;
inline constexpr std::size_t kLongestBus = 32;
inline constexpr std::size_t kLongestName = std::size_t{1} << 16;
inline constexpr std::uint64_t kMostImageBytes = std::uint64_t{1} << 31;
inline constexpr std::uint64_t kHighestAddress = std::uint64_t{1} << 57;

struct Contents {
  std::string file;         // name of the file in the folder
  std::uint64_t from = 0;   // offset in the block
  std::uint64_t bytes = 0;  // size of the file
};

// An allocation of the process, or a variable in the kernel's module.
struct Block {
  std::uint64_t address = 0, bytes = 0;
  MemoryKind kind = MemoryKind::none;  // `none` for a variable
  Reach reach = Reach::nothing;
  Unsaved unsaved = Unsaved::no;
  std::optional<Contents> contents{};
  std::string variable{};

  std::uint64_t end() const { return address + bytes; }
  // Returns whether the block is host memory that the GPU could access.
  bool is_of_host() const { return kind == MemoryKind::pinned || kind == MemoryKind::registered; }
};

struct Parameter {
  std::uint32_t offset = 0;
  std::vector<std::byte> bytes{};
};

struct Attribute {
  std::uint32_t id = 0;  // CUlaunchAttributeID
  std::array<std::byte, 64> value{};
};

struct Gpu {
  std::uint32_t driver = 0;  // 13000 for CUDA 13.0
  std::uint32_t major = 0, minor = 0;
  std::string name{};
  std::string bus{};  // PCI bus id, "0000:04:00.0"; empty if unknown
};

struct SourcePlace {
  std::string file{}, function{};
  std::uint32_t line = 0;  // 0 if unknown
};

// The instruction that failed.
struct Instruction {
  std::string function{};  // mangled
  std::uint64_t offset = 0;
  SourcePlace source{};
};

struct SavedFailure {
  std::uint32_t code = 0;
  std::string name{};  // "CUDA_ERROR_ILLEGAL_ADDRESS"
  SourcePlace line{};  // the line of user code that issued the launch
  std::optional<Instruction> instruction{};
};

struct SavedLaunch {
  std::string kernel{}, demangled{};
  ImageForm image_form = ImageForm::text;
  std::uint64_t image_bytes = 0;  // 0 if the image was not saved, so the launch cannot be replayed
  Dim3 grid{}, block{}, cluster{};
  std::uint32_t shared_bytes = 0, device = 0;
  bool cooperative = false;
  std::vector<Attribute> attributes{};
  std::vector<std::pair<std::uint32_t, std::int32_t>> function_values{};  // pairs of CUfunction_attribute and value
  std::vector<std::pair<std::uint32_t, std::uint64_t>> limits{};          // pairs of CUlimit and value
  std::vector<Parameter> parameters{};
  std::vector<Block> blocks{};  // sorted by address; variables come last
  std::vector<std::pair<Missing, std::uint64_t>> missing{};
  Gpu gpu{};
  std::optional<SavedFailure> failure{};
  std::string made_by{};  // "cudadiag 1.0.0"
  std::string made_on{};  // a hash of the host name, 16 hex digits
};

inline constexpr const char* kLaunchSchema = "cudadiag.launch/1";

// launch.json (lib/replay/launch.schema.json). The reader trusts nothing, because anyone may have written the file.
std::string write_launch(const SavedLaunch& launch);
base::Result<SavedLaunch> parse_launch(std::string_view text);

// Reads the recorder's description of a launch (wire/saved_launch.h). It is not trusted either, because the target
// may have written anything there. Returns an error for a launch that did not fail.
base::Result<SavedLaunch> read_description(std::span<const std::byte> bytes);

// A clause that says what is wrong in the launch's description.
std::string flaw_of(const SavedLaunch& launch);

}  // namespace cudadiag::replay
