// The profiler plugin that NCCL would have loaded without cudadiag's: the one that the user named, else the default.
#pragma once

namespace cudadiag::record {

class NamedPlugin {
 public:
  // Searched once, at the first call, in the same way as NCCL does.
  static const NamedPlugin& instance();

  bool exists() const { return library_ != nullptr; }
  // The plugin's table for this version; null if it has none.
  void* table(int version) const;

 private:
  void search();

  void* library_ = nullptr;
};

}  // namespace cudadiag::record
