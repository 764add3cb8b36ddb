// Finds the code at an address in an executable or library on disk. Opens the file at the first query. If it is
// missing, stripped, truncated or not an ELF file, names and lines are unknown.
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
    changed,  // another build than the recorded one, so its symbols and lines are not used
  };

  // `build_id` is in lower-case hex. If it is empty, any file at `path` will do.
  ElfModule(std::string path, std::string build_id);
  ~ElfModule();
  ElfModule(const ElfModule&) = delete;
  ElfModule& operator=(const ElfModule&) = delete;

  const std::string& path() const { return path_; }
  Condition condition();
  bool has_lines();
  // A .dwo file that was needed but not found so far; empty if there is none.
  std::string missing_file();

  // Returns the function at `address` (relative to the load bias) after those inlined there, innermost first. Never
  // empty: without symbols, there is one frame that has only the module. Does not set `user`.
  std::vector<NativeFrame> frames(std::uint64_t address);

  // Returns which functions of the module call which; empty without line information.
  const CallSites& call_sites();

 private:
  struct File;
  File& file();

  std::string path_, build_id_;
  std::unique_ptr<File> file_;
};

}  // namespace cudadiag::symbolize
