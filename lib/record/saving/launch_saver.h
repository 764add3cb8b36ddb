// Saves the kernel launch that a rerun waits for alone, before it is issued: code, parameters, memory
// (wire/rerun/saved_launch.h). The caller holds the gate (rerun/exclusive_wait.h), and is on the program's own path
// into the driver: calls are watched by hooks, because a callback of CUPTI may copy nothing.
#pragma once

#include <climits>
#include <cstdint>
#include <span>

#include "record/calls/calls.h"
#include "record/calls/parameter_layouts.h"
#include "record/memory/allocations.h"
#include "record/output/area_map.h"
#include "record/output/interner.h"
#include "record/saving/loaded_images.h"
#include "record/saving/saved_memory.h"
#include "record/saving/saving_api.h"

namespace cudadiag::record {

struct NodeLaunch;

class LaunchSaver {
 public:
  // A window may let so many launches pass that saving each would never end: in number, and in bytes as a multiple of the
  // limit of one.
  static constexpr std::uint32_t kMostSaved = 64;
  static constexpr std::uint64_t kMostBytes = 8;

  struct Rooms {
    AreaMap& area;
    Interner& interner;
    const DriverApi& driver;
    const Allocations& allocations;
    ParameterLayouts& layouts;
  };
  // In fresh pages; null: there is no memory, or the folder's path is too long. `limit`: bytes of memory to save.
  static LaunchSaver* make(const Rooms& rooms, const char* folder, std::uint64_t limit);

  const SavingApi& api() const { return api_; }

  // EXIT of any call that has succeeded.
  void returned(std::uint32_t id, const void* parameters) { images_.returned(id, parameters); }
  // ENTER of the launch. `parameters`: CUPTI's structure of the call.
  void save(std::uint32_t id, const void* parameters, const Call& launch);
  // ENTER of a launch of its graph, when all that the node depends on has finished.
  void save_node(const NodeLaunch& launch);
  // The launch that was saved last has failed, or has not.
  void failed(CUresult result);
  void passed();
  // Notes why a launch is not saved, the first time.
  void give_up(const char* why);

 private:
  explicit LaunchSaver(const Rooms& rooms) : rooms_(rooms) {}

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

  Rooms rooms_;
  SavingApi api_;
  char path_[PATH_MAX] = {};  // of the folder of this process
  std::uint64_t limit_ = 0;
  std::uint32_t saved_ = 0;
  std::uint64_t bytes_ = 0;  // of memory, in all
  bool noted_ = false;
  int folder_ = -1, description_ = -1;  // while a launch is saved, or saved and not known to have passed
  LoadedImages images_;
};

}  // namespace cudadiag::record
