#include "supervise/tools/disassembly.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "base/file_descriptor.h"
#include "evidence/core_file.h"
#include "launch/process.h"
#include "session/session_folders.h"
#include "supervise/tools/toolkit.h"

namespace cudadiag::supervise {

namespace {

constexpr std::chrono::seconds kTimeLimit{5};
constexpr std::size_t kLongestInstruction = 200;

// Returns "SM90" for "sm_90", and "" for any other form. The check is strict, because the text comes from the dump and
// becomes an argument of a command.
std::string tool_s_name(const std::string& architecture) {
  if (!architecture.starts_with("sm_") || architecture.size() > 8) return "";
  const std::string rest = architecture.substr(3);
  const bool plain =
      std::all_of(rest.begin(), rest.end(), [](char c) { return (c >= '0' && c <= '9') || c == 'a' || c == 'f'; });
  return rest.empty() || !plain ? "" : "SM" + rest;
}

// Finds the line for the offset in the tool's output: "/*0070*/   LDG.E R5, desc[UR4][R4.64] ;".
std::string instruction_at(const std::string& output, std::uint64_t offset) {
  const std::string mark = fmt::format("/*{:04x}*/", offset);
  const std::size_t at = output.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = output.find_first_not_of(" \t", at + mark.size());
  const std::size_t end = output.find_first_of(";\n", begin);
  if (begin == std::string::npos || end == std::string::npos || output[end] != ';') return "";
  const std::string text = output.substr(begin, std::min(end - begin, kLongestInstruction));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

}  // namespace

std::string disassembled(const evidence::FunctionCode& code, const std::string& tool, launch::SignalRelay& relay) {
  constexpr std::size_t kMost = 16u << 20;
  const std::string architecture = tool_s_name(code.architecture);
  if (tool.empty() || architecture.empty()) return "";
  // A file without a name, so that other users cannot open it and nothing stays on disk.
  const base::FileDescriptor input(::memfd_create("code", MFD_CLOEXEC));
  if (input.get() < 0 || !base::write_all(input.get(), code.instructions)) return "";
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), input.get());
  ToolRun run = run_tool({tool, "-b", architecture, path}, kTimeLimit, relay);
  return run.end.code == 0 && run.output.size() <= kMost ? std::move(run.output) : "";
}

std::string failing_instruction(const evidence::FunctionCode& code, const std::string& text) {
  return instruction_at(text, code.offset);
}

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
