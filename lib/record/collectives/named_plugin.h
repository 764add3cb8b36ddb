// The profiler plugin that NCCL would load without cudadiag: the one that the user chose, else the default one.
#pragma once

namespace cudadiag::record {

class NamedPlugin {
 public:
  // The first call searches for the plugin in the same way as NCCL does.
  static const NamedPlugin& instance();

  bool exists() const { return library_ != nullptr; }
  // The plugin's table for this version; null if it has none.
  void* table(int version) const;

 private:
  void search();

  void* library_ = nullptr;
};

}  // namespace cudadiag::record
