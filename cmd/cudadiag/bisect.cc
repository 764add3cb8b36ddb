#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <regex>

#include "analyse/record_horizon.h"
#include "analyse/site_keys.h"
#include "code_rules.h"
#include "commands.h"
#include "device_pass.h"
#include "findings.h"
#include "narrow.h"
#include "report/words.h"
#include "session/session_reader.h"
#include "symbolize/symbolizer.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

// The library's search goes as deep as the text is long.
constexpr std::size_t kLongestName = 4096;

using analyse::RerunWindow;
using session::Failure;
using session::Result;

Result<RerunWindow> window_of_kernel(const session::Session& session, const std::string& pattern) {
  std::regex expression;
  try {
    expression = std::regex(pattern);
  } catch (const std::regex_error& error) {
    return Failure{"--kernel " + pattern + " is no regular expression: " + error.what(), ""};
  }
  return analyse::window_of_sites(session, [&](const session::Process& process, const session::Site& site) {
    const std::string* name = session::by_id(process.record.functions, site.function);
    if (name == nullptr) return false;
    const std::string written = symbolize::demangle(*name);
    return std::regex_search(name->substr(0, kLongestName), expression) ||
           std::regex_search(written.substr(0, kLongestName), expression);
  });
}

Result<RerunWindow> window_of_line(const session::Session& session, const std::string& place) {
  const std::size_t colon = place.rfind(':');
  int line = 0;
  if (colon != std::string::npos) std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  if (line <= 0) return Failure{"--site " + place + " is not FILE:LINE", "for example --site train.py:41"};
  const std::string file = place.substr(0, colon);
  const auto names = [&](const std::string& path, int at) {
    return at == line && (path == file || path.ends_with("/" + file));
  };
  symbolize::Symbolizer symbolizer(session);
  return analyse::window_of_sites(session, [&](const session::Process& process, const session::Site& site) {
    const symbolize::SourceStack stack = symbolizer.stack(process, site);
    return std::any_of(stack.python.begin(), stack.python.end(),
                       [&](const auto& f) { return names(f.file, f.line); }) ||
           std::any_of(stack.native.begin(), stack.native.end(), [&](const auto& f) { return names(f.file, f.line); });
  });
}

Result<RerunWindow> window_of_launch(const session::Session& session, std::uint64_t wanted) {
  for (const session::Process& process : session.processes) {
    const analyse::IssueOrder order(process.record);
    for (const session::Operation& operation : process.record.operations) {
      if (order.ordinal(operation) != wanted) continue;
      const auto key = analyse::SiteKeys(process.record).of_site(operation.site);
      return RerunWindow{fmt::format("{:x}@{}", key, std::max(operation.site_ordinal, 1u)),
                         fmt::format("launch {}", wanted)};
    }
  }
  return Failure{fmt::format("operation {} is not in the record: it keeps the latest ones", wanted),
                 "name its line with --site, or its kernel with --kernel"};
}

// Nothing: the analysis says what to wait for.
Result<std::optional<RerunWindow>> window_by_hand(const session::Session& session, const BisectOptions& options) {
  Result<RerunWindow> window;
  if (options.launch) {
    window = window_of_launch(session, *options.launch);
  } else if (!options.kernel.empty()) {
    window = window_of_kernel(session, options.kernel);
  } else if (!options.site.empty()) {
    window = window_of_line(session, options.site);
  } else {
    return std::nullopt;
  }
  if (auto* failure = std::get_if<Failure>(&window)) return *failure;
  auto& found = std::get<RerunWindow>(window);
  if (found.text.empty()) {
    return Failure{"nothing that was recorded was issued there", "cudadiag dump shows the sites and kernels"};
  }
  return std::move(found);
}

std::string run_again(const std::vector<std::string>& words, const std::string& directory) {
  std::string command = "record it again, with the reruns, by ";
  if (!directory.empty()) command += "cd " + report::shell_word(directory) + " && ";
  command += "cudadiag run --";
  for (const std::string& word : words) command += ' ' + report::shell_word(word);
  return command;
}

// With what environment and input a program was started, only a launcher knows.
std::string no_reruns_of(const session::Session& session) {
  const session::Manifest begun = session::open_running_manifest(session.folder);
  if (!begun.command.empty()) {
    const std::string loss = session.processes.empty() ? ", and what it had recorded is lost" : "";
    return "its cudadiag run was killed" + loss + ": " + run_again(begun.command, begun.working_directory);
  }
  const std::string why = "no cudadiag run finished this session, so how its program was started is not known: ";
  for (const session::Process& process : session.processes) {
    if (process.argv.empty()) continue;
    const auto directory = process.record.properties.find("cwd");
    return why + run_again(process.argv, directory == process.record.properties.end() ? "" : directory->second);
  }
  return why + "record it again with cudadiag run";
}

// `possible`: another rerun may be advised.
void print_report(const session::Session& session, report::Verbosity verbosity, bool possible = true) {
  report::TextOptions options = text_options(verbosity, STDOUT_FILENO);
  options.suggest_rerun = possible;
  const std::string text = report::write_text(examine(session), options);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

int bisect(const BisectOptions& options) {
  std::optional<std::filesystem::path> output;
  if (options.output) output = *options.output;
  const auto folder = session::find_session(session::roots(output), options.session);
  if (const auto* failure = std::get_if<Failure>(&folder)) return say(*failure), kOwnFailure;
  if (const auto& found = std::get<std::filesystem::path>(folder); session::run_goes_on(found)) {
    const std::string name = report::shell_word(session::finished_name(found).string());
    return say("its run goes on: cudadiag status " + name + "; once it has ended: cudadiag bisect " + name),
           kOwnFailure;
  }
  auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<Failure>(&opened)) return say(*failure), kOwnFailure;
  auto& session = std::get<session::Session>(opened);
  if (const auto unknown = unknown_path(options.code_rules, &session)) return say(*unknown), kOwnFailure;
  session.manifest.code_rules.insert(session.manifest.code_rules.end(), options.code_rules.begin(),
                                     options.code_rules.end());
  if (session.manifest.command.empty()) {
    say(no_reruns_of(session));
    return kOwnFailure;
  }
  auto window = window_by_hand(session, options);
  if (const auto* failure = std::get_if<Failure>(&window)) return say(*failure), kOwnFailure;
  NarrowOptions narrowing;
  narrowing.window = std::get<std::optional<RerunWindow>>(window);
  // Everything can be waited for in a run without a failure too: to see whether waiting changes it.
  const bool asked_for = narrowing.window || options.reach == analyse::Reach::everything;
  const analyse::Analysis analysis = analyse::analyse(session);
  if (!asked_for && !worth_naming(session) && !worth_narrowing(analysis, session.manifest, options.rerun)) {
    say(nothing_to_narrow(session, analysis, options.rerun.cross_check));
  } else {
    auto writer = session::SessionWriter::reopen(session.folder);
    if (const auto* failure = std::get_if<Failure>(&writer)) return say(*failure), kOwnFailure;
    const launch::Input input;
    launch::SignalRelay relay;
    launch::ignore_signal_here(SIGXFSZ);
    narrowing.reach = options.reach;
    follow(options.rerun, narrowing);
    narrowing.tell_passes = options.verbosity != report::Verbosity::quiet;
// The options that there is still something to do for.
std::string more_to_ask_for(const analyse::Analysis& analysis, const session::Manifest& manifest) {
  constexpr std::pair<const char*, bool RerunOptions::*> kOptions[] = {{"--sanitize", &RerunOptions::sanitize},
                                                                       {"--cross-check", &RerunOptions::cross_check},
                                                                       {"--save-inputs", &RerunOptions::save_inputs}};
  std::string names;
  for (const auto& [name, option] : kOptions) {
    RerunOptions only;
    only.device = only.values = false;
    only.*option = true;
    if (worth_narrowing(analysis, manifest, only)) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

std::string nothing_to_narrow(const session::Session& session, const analyse::Analysis& analysis, bool cross_check) {
  const bool proven = !analysis.failures.empty() && analysis.failures.front().grade == analyse::Grade::proven;
  if (!proven) {
    return "there is nothing to narrow: this session has no failure of the GPU's own work, and no race of Python "
           "lines, that a rerun could tell more of";
  }
  std::string text = "there is nothing to narrow: the failure is proven already";
  if (cross_check) text += "; " + obstacle_to_cross_check(session.manifest);
  const std::string more = more_to_ask_for(analysis, session.manifest);
  return more.empty() ? text : text + "; to ask for more: " + more;
}

    narrowing.input = input.obstacle().empty() ? &input : nullptr;
    const bool possible = narrow(session, std::get<session::SessionWriter>(writer), relay, narrowing);
    print_report(session, options.verbosity, possible);
    if (!options.rerun.keep_core) drop_large_dumps(session, std::get<session::SessionWriter>(writer));
    return possible ? 0 : kOwnFailure;
  }
  print_report(session, options.verbosity);
  return 0;
}

}  // namespace cudadiag::command
