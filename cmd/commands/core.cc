// `cudadiag core`: reads a GPU core dump.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands/commands.h"
#include "diagnose/failure/dump_access.h"
#include "diagnose/words.h"
#include "evidence/core_facts.h"
#include "evidence/core_file.h"
#include "evidence/core_text.h"
#include "report/text_layout.h"
#include "run/rerun_speech.h"
#include "shared_options.h"
#include "supervise/kernel_code.h"
#include "supervise/toolkit_programs.h"
#include "symbolize/tool_results.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

struct CoreOptions {
  std::string file;
  bool json = false;
  bool cross_check = false;  // also run NVIDIA's debugger
};

evidence::DebuggerCheck ask_debugger(const std::string& file, const evidence::CoreFacts& facts) {
  launch::SignalRelay relay;
  const supervise::ToolRun run = supervise::run_debugger(file, supervise::kDebuggerPatience, relay);
  if (!run.obstacle.empty()) {
    say(run.obstacle + "; " + debugger_advice(file));
    return {run.obstacle, {}};
  }
  return evidence::debugger_check(facts.failure, run.output, symbolize::how_it_failed(run.end, run.cut_short));
}

evidence::AccessSummary summary_of(const diagnose::DumpAccess& access) {
  evidence::AccessSummary summary;
  summary.kind = diagnose::word(access.kind);
  summary.space = diagnose::word(access.space);
  summary.bytes = access.bytes;
  if (!access.lanes.empty()) summary.address = access.lanes.front().address;
  const diagnose::BaseParameter* parameter = diagnose::only_parameter(access);
  if (parameter == nullptr) return summary;
  summary.parameter = parameter->number;
  summary.parameter_byte = parameter->byte;
  summary.value = parameter->value;
  return summary;
}

int carry_out(const CoreOptions& options) {
  const std::string& file = options.file;
  const auto read = evidence::read_core(file);
  if (const auto* failure = std::get_if<evidence::Unreadable>(&read)) {
    return say(base::Error{failure->what, failure->hint}), kOwnFailure;
  }
  const auto& facts = std::get<evidence::CoreFacts>(read);
  std::string instruction;
  std::optional<diagnose::DumpAccess> access;
  if (facts.failure && facts.failure->code) {
    const evidence::FunctionCode& code = *facts.failure->code;
    const std::string text = supervise::disassembled(code, supervise::find_disassembler({}));
    instruction = supervise::failing_instruction(code, text);
    access = diagnose::dump_access(*facts.failure, text);
  }
  std::optional<evidence::DebuggerCheck> debugger;
  if (options.cross_check) debugger = ask_debugger(file, facts);
  if (options.json) {
    const auto summary = access ? std::optional(summary_of(*access)) : std::nullopt;
    const std::string text =
        evidence::write_json(facts, instruction, debugger ? &*debugger : nullptr, summary ? &*summary : nullptr);
    print(text);
    if (facts.damaged > 0) say("parts of the dump could not be read: " + std::to_string(facts.damaged));
    return 0;
  }
  const std::vector<std::string> lines = access ? diagnose::access_lines(*access) : std::vector<std::string>();
  report::Page page;
  page.add({.lines = evidence::describe(facts, instruction, lines), .wide = report::Wide::stays});
  if (debugger) {
    page.add({.label = "Witness", .lines = evidence::sentences(*debugger), .wide = report::Wide::stays});
  }
  print(page.print());
  return 0;
}

}  // namespace

void add_core(CLI::App& app, int& status) {
  auto options = std::make_shared<CoreOptions>();
  auto* command = app.add_subcommand("core", "read a GPU core dump");
  add_text(command, "FILE", options->file, "FILE", "the dump, gzip-compressed or not")->required();
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--cross-check", options->cross_check, "compare the result with that of cuda-gdb");
  name_page(command);
  command->callback([options, &status] { status = carry_out(*options); });
}

}  // namespace cudadiag::command
