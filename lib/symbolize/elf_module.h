// Looks up functions and lines by address in an executable or library on disk. Opens the file at the first query. If it
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
    changed,  // not the recorded build, so its symbols and lines are not used
  };

  // `build_id` is in lower-case hex. If it is empty, any build is accepted.
  ElfModule(std::string path, std::string build_id);
  ~ElfModule();
  ElfModule(const ElfModule&) = delete;
  ElfModule& operator=(const ElfModule&) = delete;

  const std::string& path() const { return path_; }
  Condition condition();
  bool has_lines();
  // A .dwo file that frames() needed but did not find; empty if there is none.
  std::string missing_file();

  // Returns the functions inlined at `address` and then the function that contains them, innermost first. `address` is
  // relative to the load bias. Never empty: without symbols, returns one frame with only the module. Does not set
  // `user`.
  std::vector<NativeFrame> frames(std::uint64_t address);

  // See DwarfLines::variable().
  std::string variable(std::uint64_t address, std::uint64_t below);

  // Returns the calls in the module that DWARF describes; empty without line information.
  const CallSites& call_sites();

 private:
  struct File;
  File& file();

  std::string path_, build_id_;
  std::unique_ptr<File> file_;
};

}  // namespace cudadiag::symbolize
