// `cudadiag report`: prints the report of a session, or writes it to a file.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "command_line.h"
#include "commands/commands.h"
#include "diagnose/words.h"
#include "report/writers.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "sessions/report_files.h"
#include "sessions/session_choice.h"
#include "shared_options.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

enum class Format { text, json, schema, sarif, html };

struct ReportOptions {
  std::string session;
  std::vector<session::CodeRule> code_rules;
  std::optional<std::filesystem::path> output;
  report::Verbosity verbosity = report::Verbosity::normal;  // for Format::text
  Format format = Format::text;
  std::optional<std::string> bundle;  // file for the bundle; empty: named after the session
  bool bundle_inputs = false;         // include the inputs of the failing call
  PageRequest page;                   // for Format::html
  bool foreign = false;               // show source lines even if the session may belong to another user
};

// --bundle takes a file, but users may give a session instead, because other options and commands take one.
bool names_session(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_filename() ? file : file.parent_path();
  const std::string name = folder.filename().string();
  std::error_code error;
  return session::is_session_name(name) || name == session::kLatest ||
         std::filesystem::exists(folder / session::kManifest, error);
}

bool is_tarball(const std::string& file) { return file.ends_with(".tar.gz") || file.ends_with(".tgz"); }

// Returns an error if a bundle was requested but cannot be written to the given file; otherwise nullopt.
std::optional<base::Error> wrong_bundle(const ReportOptions& options) {
  if (!options.bundle || options.bundle->empty()) return std::nullopt;
  const std::string& file = *options.bundle;
  if (file == "-") return base::Error{"--bundle=-: a bundle must go to a file; use --bundle=FILE.tar.gz", ""};
  const std::string session = "cudadiag report " + diagnose::shell_word(file) + " --bundle";
  if (names_session(file)) {
    return base::Error{"--bundle " + file + ": this names a session, not an output file", "to pack it: " + session};
  }
  if (is_tarball(file)) return std::nullopt;
  if (const std::filesystem::path named(file); named.has_extension()) {
    const std::string tarball = (named.parent_path() / named.stem()).string() + ".tar.gz";
    return base::Error{"--bundle " + file + ": the file name must end in .tar.gz",
                       "use --bundle " + diagnose::shell_word(tarball)};
  }
  return base::Error{"--bundle " + file + ": the file name must end in .tar.gz. Put a session before the option: " +
                         session + " FILE.tar.gz",
                     ""};
}

std::string written(const diagnose::Diagnosis& report, const ReportOptions& options) {
  switch (options.format) {
    case Format::json:
      return report::write_json(report);
    case Format::sarif:
      return report::write_sarif(report, CUDADIAG_VERSION);
    case Format::html:    // handled by write_page()
    case Format::schema:  // needs no session
    case Format::text:
      break;
  }
  report::TextOptions shown = text_options(options.verbosity, STDOUT_FILENO);
  shown.say_clean = true;
  shown.is_latest = is_latest(report.session, options.output);
  // A run without findings leaves no session, so the newest session may be much older than the latest run.
  shown.show_run = options.session.empty() || options.session == session::kLatest;
  return report::write_text(report, shown);
}

// Users may put a file name after --json or --sarif, because --html accepts one. cudadiag then takes the name for that
// of a session.
std::filesystem::path chosen_folder(const ReportOptions& options) {
  try {
    return choose_session(options.output, options.session);
  } catch (base::Error& failure) {
    const char* option = options.format == Format::json    ? "--json"
                         : options.format == Format::sarif ? "--sarif"
                                                           : nullptr;
    if (option != nullptr && options.session.ends_with(std::string(".") + (option + 2))) {
      failure.hint = std::string(option) + " prints to standard output: cudadiag report " + option + " > " +
                     diagnose::shell_word(options.session);
    }
    throw;
  }
}

int carry_out(const ReportOptions& options) {
  if (options.format == Format::schema) return print(report::write_schema()), 0;
  if (const auto wrong = wrong_bundle(options)) throw *wrong;
  session::Session session = taken(session::open_session(chosen_folder(options)));
  if (const auto unknown = add_rules(options.code_rules, session)) throw *unknown;
  if (options.format == Format::html) return write_page(session, options.page);
  const diagnose::Diagnosis found = examine_found(session, options.foreign);
  if (options.bundle) return write_bundle(session, found, *options.bundle, options.bundle_inputs);
  print(written(found, options));
  return 0;
}

CLI::Option* add_page(CLI::App* command, ReportOptions& report) {
  auto* html = command->add_option("--html", report.page.file, "write the full report as an HTML page")
                   ->expected(0, 1)
                   ->type_name("FILE");
  command->add_flag("--open", report.page.open, "write the HTML page to a file, and open it in a browser");
  command->add_flag("--keep-names", report.page.keep_names,
                    "keep home folders, user names and host names in the HTML page");
  return html;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto report = std::make_shared<ReportOptions>();
  auto* command = app.add_subcommand("report", "print the report of a session");
  add_input(command, report->session, report->output);
  auto* quiet = add_verbosity(command, report->verbosity);
  const struct {
    const char* name;
    Format format;
    const char* help;
  } formats[] = {
      {"--json", Format::json, "print JSON"},
      {"--sarif", Format::sarif, "print SARIF 2.1.0, for code scanning and editors"},
      {"--schema", Format::schema, "print the JSON Schema of the output of --json, without reading a session"}};
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
  command->add_flag("--bundle-inputs", report->bundle_inputs, "add the failing call with its tensors")->needs(bundle);
  add_foreign(command, report->foreign, "also show source lines for a session of another user or host");
  group(command, kOutput, {"--schema", "--keep-names", "--bundle-inputs", "--foreign"});
  add_code_rules(command);
  name_page(command);
  command->callback([report, &status, command, bundle, html] {
    report->code_rules = code_rules(*command);
    if (bundle->count() > 0 && !report->bundle) report->bundle = "";
    if (html->count() > 0 || report->page.open) report->format = Format::html;
    if (report->page.keep_names && report->format != Format::html) {
      throw CLI::RequiresError("--keep-names", "--html or --open");
    }
    report->page.foreign = report->foreign;
    status = carry_out(*report);
  });
}

}  // namespace cudadiag::command
