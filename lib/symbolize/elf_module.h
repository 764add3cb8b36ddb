// One executable or library on disk: finds the code at an address in it. The file is opened on the first query. If it
// is missing, stripped, truncated or not an ELF file, names and lines are unknown.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "symbolize/source_frame.h"

namespace cudadiag::symbolize {

class CallSites;

class ElfModule {
 public:
  enum class Condition {
    readable,
    missing,  // missing, unreadable or not an ELF file
    changed,  // a different build than the recorded one: its symbols and lines are not used
  };

  // `build_id` in lower-case hex; if it is empty, any file at `path` is accepted.
  ElfModule(std::string path, std::string build_id);
  ~ElfModule();
  ElfModule(const ElfModule&) = delete;
  ElfModule& operator=(const ElfModule&) = delete;

  const std::string& path() const { return path_; }
  Condition condition();
  bool has_lines();
  // A .dwo file that was needed and not found so far; empty if there is none.
  std::string missing_file();

  // Returns the function at `address` (relative to the load bias), preceded by those inlined there, innermost first.
  // Never empty: without symbols there is one frame that has only the module. `user` is not set.
  std::vector<NativeFrame> frames(std::uint64_t address);

  // The callers and callees in the module; empty without line information.
  const CallSites& call_sites();

 private:
  struct File;
  File& file();

  std::string path_, build_id_;
  std::unique_ptr<File> file_;
};

}  // namespace cudadiag::symbolize
