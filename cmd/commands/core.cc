// `cudadiag core`: reads a GPU core dump.
#include "report/core.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands/commands.h"
#include "diagnose/failure/failed_access.h"
#include "evidence/core_facts.h"
#include "run/reruns.h"
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

int carry_out(const CoreOptions& options) {
  const std::string& file = options.file;
  auto read = evidence::read_core(file);
  if (const auto* failure = std::get_if<evidence::Unreadable>(&read)) {
    return say(base::Error{failure->what, failure->hint}), kOwnFailure;
  }
  report::Core core{.facts = std::get<evidence::CoreFacts>(std::move(read))};
  const auto& failure = core.facts.failure;
  if (failure && failure->code) {
    const std::string text = supervise::disassembled(*failure->code, supervise::find_disassembler({}));
    core.instruction = supervise::failing_instruction(*failure->code, text);
    core.access = diagnose::dump_access(*failure, text);
  }
  if (options.cross_check) core.debugger = ask_debugger(file, core.facts);
  print(options.json ? report::write_core_json(core) : report::core_page(core).print());
  if (options.json && core.facts.damaged > 0) {
    say("parts of the dump could not be read: " + std::to_string(core.facts.damaged));
  }
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
