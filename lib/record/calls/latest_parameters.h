// Keeps the parameters of each thread's latest kernel launches (wire/launch_parameters.h), so that a failure's report
// knows the pointers that the failing kernel was given.
#pragma once

#include "record/calls/calls.h"
#include "record/calls/parameter_layouts.h"
#include "record/operations/threads.h"
#include "record/output/area_map.h"

namespace cudadiag::record {

class LatestParameters {
 public:
  void attach(AreaMap& area, ParameterLayouts& layouts);
  // ENTER, before the launch's own record.
  [[gnu::hot]] void keep(const ThreadState& thread, const Call& launch);

 private:
  std::byte* slots_ = nullptr;
  ParameterLayouts* layouts_ = nullptr;
};

}  // namespace cudadiag::record
