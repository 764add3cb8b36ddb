// The profiler plugin that NCCL would have loaded without ours: the one that the user named, else the default one.
#pragma once

namespace cudadiag::record {

class NamedPlugin {
 public:
  // Searched as NCCL does, once, at the first question.
  static const NamedPlugin& instance();

  bool exists() const { return library_ != nullptr; }
  // Its table for this version; null: it has none.
  void* table(int version) const;

 private:
  void search();

  void* library_ = nullptr;
};

}  // namespace cudadiag::record
