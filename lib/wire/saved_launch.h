// The description of a kernel launch that a rerun saved before the launch was issued. It is the file `description` in
// the folder `launch-PID` of its pass, next to `image` and `memory-N`. It consists of a header and records:
//
//    0           8         12       16               0        4        8                  8 + length, rounded up to 8
//    +-----------+---------+--------+                +--------+--------+------------------+
//    | magic     | version | 0      |                | kind   | length | payload          |
//    +-----------+---------+--------+                +--------+--------+------------------+
//
// `failed` is the last record. Without it, the launch did not fail, or the process died before it could add the record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/bytes.h"

namespace cudadiag::wire::saved_launch {

inline constexpr const char* kFolderPrefix = "launch-";  // followed by the process id
inline constexpr const char* kDescription = "description";
inline constexpr const char* kImage = "image";
inline constexpr const char* kMemoryPrefix = "memory-";  // followed by the block's number

inline constexpr std::uint64_t kMagic = 0x48434e554c474443;  // "CDGLUNCH"
inline constexpr std::uint32_t kVersion = 1;

inline constexpr Field<std::uint64_t, 0> kHeaderMagic;
inline constexpr Field<std::uint32_t, 8> kHeaderVersion;
inline constexpr std::size_t kHeaderSize = 16;

inline constexpr Field<std::uint32_t, 0> kKind;
inline constexpr Field<std::uint32_t, 4> kLength;
inline constexpr std::size_t kRecordHead = 8;

enum class Record : std::uint32_t {
  kernel = 1,          // its mangled name
  launch = 2,          // its fields are defined below
  image = 3,           // form (Image) and 4 unused bytes, its size (8)
  parameter = 4,       // offset (4), size (4), bytes
  attribute = 5,       // CUlaunchAttributeID (4), 4 unused bytes, CUlaunchAttributeValue (64)
  function_value = 6,  // CUfunction_attribute (4), value (4)
  limit = 7,           // CUlimit (4), 4 unused bytes, value (8)
  block = 8,           // its fields are defined below
  global = 9,          // the fields of a block, then the variable's name
  gpu = 10,            // driver version (4), compute capability (4, 4), 4 unused bytes, name of the GPU
  missing = 11,        // Missing (4), 4 unused bytes, a count (8)
  failed = 12,         // CUresult (4)
};

enum class Image : std::uint32_t { cubin = 1, fatbin = 2, text = 3 };

// The fields of a `launch` record.
inline constexpr Field<std::uint32_t, 0> kGrid;      // x, y, z
inline constexpr Field<std::uint32_t, 12> kBlock;    // x, y, z
inline constexpr Field<std::uint32_t, 24> kCluster;  // x, y, z; 0 if none
inline constexpr Field<std::uint32_t, 36> kSharedBytes;
inline constexpr Field<std::uint32_t, 40> kLaunchFlags;
inline constexpr Field<std::uint32_t, 44> kDevice;  // device ordinal
inline constexpr std::size_t kLaunchSize = 48;
enum LaunchFlag : std::uint32_t { kCooperative = 1 };

// The fields of a `block` record. The sparse file `memory-NUMBER` has the saved part of the block's contents.
inline constexpr Field<std::uint64_t, 0> kAddress;
inline constexpr Field<std::uint64_t, 8> kBytes;
inline constexpr Field<std::uint64_t, 16> kSavedFrom;   // offset in the block
inline constexpr Field<std::uint64_t, 24> kSavedBytes;  // 0 if nothing was saved
inline constexpr Field<std::uint32_t, 32> kNumber;
inline constexpr Field<std::uint32_t, 36> kMemoryKind;  // wire::allocation::Kind; none for a global
inline constexpr Field<std::uint32_t, 40> kReach;       // Reach
inline constexpr Field<std::uint32_t, 44> kUnsaved;     // Unsaved
inline constexpr std::size_t kBlockSize = 48;

// Where the recorder found a pointer to the block.
enum class Reach : std::uint32_t { nothing = 0, parameter = 1, memory = 2, module = 3 };

// Why a block was not saved completely.
enum class Unsaved : std::uint32_t {
  no = 0,
  limit = 1,       // the limit of --save-limit
  unreadable = 2,  // the driver could not copy it
  file = 3,        // its file could not be written
};

// Data that could not be saved at all.
enum class Missing : std::uint32_t {
  attribute = 1,    // a launch attribute that refers to objects of its process; count: the attribute's id
  allocations = 2,  // allocations that the recorder dropped; count: number of allocations
  parameters = 3,   // the driver did not report their sizes
  globals = 4,      // global variables of a module whose image could not be read
  heap = 5,         // the device's malloc heap; count: its limit in bytes
};

}  // namespace cudadiag::wire::saved_launch
