// The profiler plugin that NCCL would load without cudadiag: the user's choice or, without one, NCCL's default.
#pragma once

namespace cudadiag::record {

class NamedPlugin {
 public:
  // The first call searches for the plugin in the same places as NCCL.
  static const NamedPlugin& instance();

  bool exists() const { return library_ != nullptr; }
  // Returns the plugin's table for this version, or null if it has none.
  void* table(int version) const;

 private:
  void search();

  void* library_ = nullptr;
};

}  // namespace cudadiag::record
