#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "bundle.h"
#include "code_rules.h"
#include "commands.h"
#include "diagnose/words.h"
#include "findings.h"
#include "report/html.h"
#include "report/json.h"
#include "report/sarif.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session_choice.h"
#include "terminal.h"

namespace cudadiag::command {

namespace {

// The word after --bundle is a file, although other commands take a session there.
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
    case Format::html:
      return report::write_html(report);
    case Format::text:
      break;
  }
  report::TextOptions shown = text_options(options.verbosity, STDOUT_FILENO);
  shown.say_clean = true;
  return report::write_text(report, shown);
}

}  // namespace

int report(const ReportOptions& options) {
  if (options.bundle == "-") return say("--bundle=-: a bundle is for a file: name one"), kOwnFailure;
  if (options.bundle && names_session(*options.bundle)) {
    say("--bundle " + *options.bundle + ": this names a session, not a file to write; to pack it: cudadiag report " +
        diagnose::shell_word(*options.bundle) + " --bundle");
    return kOwnFailure;
  }
  const auto folder = choose_session(options.output, options.session);
  if (const auto* failure = std::get_if<session::Failure>(&folder)) return say(*failure), kOwnFailure;
  auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<session::Failure>(&opened)) return say(*failure), kOwnFailure;
  auto& session = std::get<session::Session>(opened);
  if (const auto unknown = unknown_path(options.code_rules, &session)) return say(*unknown), kOwnFailure;
  session.manifest.code_rules.insert(session.manifest.code_rules.end(), options.code_rules.begin(),
                                     options.code_rules.end());
  const diagnose::Diagnosis found = examine_found(session, options.foreign);
  if (options.bundle) return write_bundle(session, found, *options.bundle, options.bundle_inputs);
  const std::string text = written(found, options);
  print(text);
  return 0;
}

}  // namespace cudadiag::command
