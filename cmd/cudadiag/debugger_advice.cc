#include "debugger_advice.h"

#include "diagnose/words.h"
#include "supervise/tools/external_tools.h"

namespace cudadiag::command {

std::string debugger_advice(const std::filesystem::path& dump) {
  std::error_code ignored;
  std::string path = std::filesystem::absolute(dump, ignored).string();
  std::string unpack;
  if (supervise::is_compressed(dump)) {
    const bool named_so = path.ends_with(".gz");  // gunzip rejects other suffixes
    const std::string plain = named_so ? path.substr(0, path.size() - 3) : path + ".unpacked";
    unpack = (named_so ? "gunzip -k " + diagnose::shell_word(path)
                       : "gzip -dc <" + diagnose::shell_word(path) + " >" + diagnose::shell_word(plain)) +
             " && ";
    path = plain;
  }
  const bool installed = supervise::has_debugger();
  if (installed && !unpack.empty()) {
    return "unpack it: " + unpack + "cudadiag core --cross-check " + diagnose::shell_word(path);
  }
  return (installed ? "to run it by hand: " : "on a machine that has it, run: ") + unpack + "cuda-gdb --batch -ex " +
         diagnose::shell_word("target cudacore " + path) + " -ex bt";
}

}  // namespace cudadiag::command
