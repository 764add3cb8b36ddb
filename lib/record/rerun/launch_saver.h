// Saves the launch that a rerun waits for: code, parameters and memory (wire/saved_launch.h). The launch is saved
// before it is issued. Callers must hold the gate (rerun/exclusive_wait.h). They must run in a hook, because a CUPTI
// callback must not copy memory.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/calls/call_rules.h"
#include "record/calls/launch_parameters.h"
#include "record/driver_api.h"
#include "record/memory/allocations.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/rerun/loaded_images.h"
#include "wire/saved_launch.h"

namespace cudadiag::record {

// The memory that a launch may use, and which parts of it are saved. A launch may use the blocks that its parameters
// point to, and the blocks that pointers in these blocks point to. Each saved launch uses a new object in fresh pages.
// The calling thread holds the gate (rerun/exclusive_wait.h), so no work is issued while memory is saved.
class SavedMemory {
 public:
  struct Block {
    std::uint64_t address, bytes;
    std::uint64_t from, saved;  // offset and size of the part that is in the block's file
    std::uint64_t wanted;       // the lowest offset in the block that a pointer refers to
    wire::allocation::Kind kind;
    wire::saved_launch::Reach reach;
    wire::saved_launch::Unsaved unsaved;
  };

  // `folder` is a file descriptor. `limit` is the maximum number of bytes to save.
  void start(const SavingApi& api, const Allocations& allocations, int folder, std::uint64_t limit);

  // Notes the blocks to which the words point. Every aligned word may be a pointer.
  void follow(std::span<const std::byte> words, wire::saved_launch::Reach reach);
  // Saves the blocks that have this `reach`. For Reach::parameter, also follows the pointers in the saved blocks.
  void save(wire::saved_launch::Reach reach);
  // Saves the module's variable at this address. `number` is its block number.
  Block save_global(std::uint64_t address, std::uint64_t bytes, std::uint32_t number);

  std::uint64_t left() const { return left_; }
  std::span<const Block> blocks() const { return {blocks_, count_}; }

 private:
  static constexpr std::size_t kPiece = std::size_t{4} << 20;

  void note(std::uint64_t pointer, wire::saved_launch::Reach reach);
  // If a block does not fit, skips it if `whole` is true, and otherwise saves a part of it.
  void save_block(Block& block, std::uint32_t number, bool whole, bool follows);
  bool read(const Block& block, std::uint64_t offset, std::size_t size);
  bool write(int file, std::uint64_t offset, std::size_t size) const;

  const SavingApi* api_;
  int folder_;
  std::uint64_t left_, lowest_, highest_;
  std::size_t count_;
  Block blocks_[wire::area::kAllocations];
  alignas(64) std::byte piece_[kPiece];
};

// The kernel launch of a graph node, with contiguous parameters.
struct NodeLaunch {
  static constexpr std::size_t kMostBytes = std::size_t{1} << 15;
  static constexpr std::size_t kMostAttributes = 4;

  bool known;               // false if the recorder did not decode the call that set this launch
  bool parameters_unknown;  // true if there are parameters, but the driver does not report their sizes
  CUfunction function;      // a CUfunction or a CUkernel
  std::uint32_t grid[3], block[3], cluster[3], shared_bytes;
  std::uint32_t attribute_count;
  CUlaunchAttribute attributes[kMostAttributes];
  std::size_t size;
  alignas(8) std::byte bytes[kMostBytes];
};

class LaunchSaver {
 public:
  // Limits for all launches together, because saving very many launches would take too long. kMostBytes is in multiples
  // of the limit for one launch.
  static constexpr std::uint32_t kMostSaved = 64;
  static constexpr std::uint64_t kMostBytes = 8;

  struct Sources {
    AreaMap& area;
    Interner& interner;
    const DriverApi& driver;
    const Allocations& allocations;
    ParameterLayouts& layouts;
  };
  // Creates a LaunchSaver in fresh pages. Returns null if memory is exhausted, or if the path is too long.
  // `limit` is the number of bytes of memory to save with one launch.
  static LaunchSaver* make(const Sources& sources, const char* folder, std::uint64_t limit);

  const SavingApi& api() const { return api_; }

  // Call this at EXIT of every successful call.
  void returned(std::uint32_t id, const void* parameters) { images_.returned(id, parameters); }
  // Call this at ENTER of the launch. `parameters` is CUPTI's structure for the call.
  void save(std::uint32_t id, const void* parameters, const Call& launch);
  // Call this at ENTER of a launch of the node's graph, once everything that the node depends on has finished.
  void save_node(const NodeLaunch& launch);
  // Call failed() when the latest saved launch has failed, and passed() when it has finished without a failure.
  void failed(CUresult result);
  void passed();
  // Adds a note that explains why a launch is not saved. Only the first reason is noted.
  void give_up(const char* why);

 private:
  explicit LaunchSaver(const Sources& sources) : sources_(sources) {}

  struct Launched;
  struct Parameters;
  class Description;
  const char* name_of(CUfunction function) const;
  bool open_folder();
  void save(const Launched& launched);
  void describe_launch(const Launched& launched);
  void describe_attributes(std::span<const CUlaunchAttribute> attributes);
  void describe_function(CUfunction function, CUkernel kernel, CUdevice device);
  void describe_gpu(CUdevice device);
  void save_image(const LoadedImages::Kernel& kernel);
  void save_globals(const LoadedImages::Kernel& kernel, SavedMemory& memory);
  void collect(const Call& launch, Parameters& parameters) const;
  void save_memory(const Call& launch, const LoadedImages::Kernel& kernel);
  void missing(wire::saved_launch::Missing what, std::uint64_t count);

  Sources sources_;
  SavingApi api_;
  char path_[PATH_MAX] = {};
  std::uint64_t limit_ = 0;
  std::uint32_t saved_ = 0;
  std::uint64_t bytes_ = 0;  // bytes of memory saved for all launches
  bool noted_ = false;
  int folder_ = -1, description_ = -1;  // open from save() until failed() or passed()
  LoadedImages images_;
};

}  // namespace cudadiag::record
