#include "supervise/tools/failing_code.h"

#include <variant>

#include "evidence/core_file.h"
#include "session/session_folders.h"
#include "supervise/tools/disassembly.h"
#include "supervise/tools/toolkit.h"

namespace cudadiag::supervise {

std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command, launch::SignalRelay& relay) {
  if (dump.empty()) return std::nullopt;
  const auto read = evidence::read_core(writer.pass_folder() / dump);
  const auto* core = std::get_if<evidence::Testimony>(&read);
  if (core == nullptr || !core->failure || !core->failure->code || !core->failure->state) return std::nullopt;
  const std::string text = disassembled(*core->failure->code, find_disassembler(command), relay);
  if (text.empty()) return std::nullopt;
  return writer.store_text(writer.pass_folder() / session::kCodeFile, text);
}

}  // namespace cudadiag::supervise
