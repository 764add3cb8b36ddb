// One executable or library on disk: what lies at an address of it. Opened at the first question; whatever is missing,
// stripped, truncated or no ELF file at all leaves names and lines unknown.
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
    missing,  // not there, not readable or not an ELF file
    changed,  // another build than the recorded one: its symbols and lines are not used
  };

  // `build_id` in lower-case hex; empty: any file at `path` will do.
  ElfModule(std::string path, std::string build_id);
  ~ElfModule();
  ElfModule(const ElfModule&) = delete;
  ElfModule& operator=(const ElfModule&) = delete;

  const std::string& path() const { return path_; }
  Condition condition();
  bool has_lines();
  // A file of line information that was wanted so far and not found, of code whose own is split; empty: none.
  std::string missing_file();

  // The function at `address` (relative to the load bias), preceded by those that the compiler inlined into it there,
  // innermost first. Never empty: without symbols it is one frame that knows its module alone. `user` is not set.
  std::vector<NativeFrame> frames(std::uint64_t address);

  // Who calls whom; empty without line information.
  const CallSites& call_sites();

 private:
  struct File;
  File& file();

  std::string path_, build_id_;
  std::unique_ptr<File> file_;
};

}  // namespace cudadiag::symbolize
