#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "bundle/bundle.h"
#include "commands/commands.h"
#include "diagnose/words.h"
#include "options/code_rules.h"
#include "options/shared_options.h"
#include "page/page.h"
#include "report/json.h"
#include "report/sarif.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "sessions/findings.h"
#include "sessions/session_choice.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

enum class Format { text, json, sarif, html };

struct ReportOptions {
  std::string session;
  std::vector<session::CodeRule> code_rules;
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;  // for text
  Format format = Format::text;
  std::optional<std::string> bundle;  // the file to pack the report into; empty for a name based on the session
  bool bundle_inputs = false;         // include the failing call with its tensors
  PageRequest page;                   // for Format::html
  bool foreign = false;               // also show source lines of a session that may belong to somebody else
};

// The word after --bundle is a file, but users may give a session there, as for other commands.
bool names_session(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_filename() ? file : file.parent_path();
  const std::string name = folder.filename().string();
  std::error_code error;
  return session::is_session_name(name) || name == session::kLatest ||
         std::filesystem::exists(folder / session::kManifest, error);
}

std::string written(const diagnose::Diagnosis& report, const ReportOptions& options) {
  switch (options.format) {
    case Format::json:
      return report::write_json(report);
    case Format::sarif:
      return report::write_sarif(report, CUDADIAG_VERSION);
    case Format::html:  // handled by write_page()
    case Format::text:
      break;
  }
  report::TextOptions shown = text_options(options.verbosity, STDOUT_FILENO);
  shown.say_clean = true;
  return report::write_text(report, shown);
}

int carry_out(const ReportOptions& options) {
  if (options.bundle == "-") return say("--bundle=-: a bundle must go to a file; name one"), kOwnFailure;
  if (options.bundle && names_session(*options.bundle)) {
    say("--bundle " + *options.bundle + ": this names a session, not an output file; to pack it: cudadiag report " +
        diagnose::shell_word(*options.bundle) + " --bundle");
    return kOwnFailure;
  }
  const auto folder = choose_session(options.output, options.session);
  if (const auto* failure = std::get_if<base::Error>(&folder)) return say(*failure), kOwnFailure;
  auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<base::Error>(&opened)) return say(*failure), kOwnFailure;
  auto& session = std::get<session::Session>(opened);
  if (const auto unknown = unknown_path(options.code_rules, &session)) return say(*unknown), kOwnFailure;
  session.manifest.code_rules.insert(session.manifest.code_rules.end(), options.code_rules.begin(),
                                     options.code_rules.end());
  if (options.format == Format::html) return write_page(session, options.page);
  const diagnose::Diagnosis found = examine_found(session, options.foreign);
  if (options.bundle) return write_bundle(session, found, *options.bundle, options.bundle_inputs);
  const std::string text = written(found, options);
  print(text);
  return 0;
}

CLI::Option* add_page(CLI::App* command, ReportOptions& report) {
  auto* html = command->add_option("--html", report.page.file, "write the full report as an HTML page")
                   ->expected(0, 1)
                   ->type_name("FILE");
  command->add_flag("--open", report.page.open, "show that page in a browser");
  command->add_flag("--keep-names", report.page.keep_names, "leave home folders, user and host names in the page");
  return html;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto report = std::make_shared<ReportOptions>();
  auto* command = app.add_subcommand("report", "report on a session");
  add_input(command, report->session, report->output);
  auto* quiet = add_verbosity(command, report->verbosity);
  const struct {
    const char* name;
    Format format;
    const char* help;
  } formats[] = {{"--json", Format::json, "print JSON"},
                 {"--sarif", Format::sarif, "print SARIF 2.1.0, for code scanning and editors"}};
  std::vector<CLI::Option*> others = {quiet};
  for (const auto& [name, format, help] : formats) {
    auto* option = command->add_flag_callback(
        name, [report, chosen = format] { report->format = chosen; }, help);
    for (CLI::Option* other : others) option->excludes(other);
    others.push_back(option);
  }
  auto* html = add_page(command, *report);
  for (CLI::Option* other : others) {
    html->excludes(other);
    command->get_option("--open")->excludes(other);
  }
  others.push_back(html);
  auto* bundle = command
                     ->add_option_function<std::string>(
                         "--bundle", [report](const std::string& file) { report->bundle = file; },
                         "pack the report for an issue tracker, without recognisable secrets and names")
                     ->expected(0, 1)
                     ->type_name("FILE");
  for (CLI::Option* other : others) bundle->excludes(other);
  command->add_flag("--bundle-inputs", report->bundle_inputs, "add the failing call's tensors")->needs(bundle);
  add_foreign(command, report->foreign, "also show source lines for a session of another user or host");
  add_code_rules(command);
  name_page(command);
  command->callback([report, &status, command, bundle, html] {
    report->code_rules = code_rules(*command);
    if (bundle->count() > 0 && !report->bundle) report->bundle = "";
    if (html->count() > 0 || report->page.open) report->format = Format::html;
    report->page.foreign = report->foreign;
    status = carry_out(*report);
  });
}

}  // namespace cudadiag::command
