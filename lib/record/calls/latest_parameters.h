// Keeps the parameters of each thread's latest kernel launches. A report can then show the pointers that were passed to
// the failing kernel. The layout is in wire/launch_parameters.h.
#pragma once

#include "record/calls/calls.h"
#include "record/calls/parameter_layouts.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"

namespace cudadiag::record {

class LatestParameters {
 public:
  void attach(AreaMap& area, ParameterLayouts& layouts);
  // Called at ENTER, before the launch's own record is written.
  [[gnu::hot]] void keep(const ThreadState& thread, const Call& launch);

 private:
  std::byte* slots_ = nullptr;
  ParameterLayouts* layouts_ = nullptr;
};

}  // namespace cudadiag::record
