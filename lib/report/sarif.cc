// Writes the report as SARIF 2.1.0 (OASIS) for code scanning, review tools and editors. Each finding is one result at
// its true line, with its other lines as related locations, and with its whole stacks. Facts for which SARIF has no
// member are in `properties`.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/json_schema.h"
#include "report/redaction.h"
#include "report/writers.h"
#include "symbolize/user_code.h"

namespace cudadiag::report {
namespace {

constexpr const char* kBase = "SRCROOT";

Json message(std::string_view text) { return {{"text", base::printable(text)}}; }

// RFC 3986: percent-encodes every byte of a path that must not appear unencoded.
std::string uri_path(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos);
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

// In "file://NAME", NAME is a host that an editor may contact, so paths lose their leading slashes.
std::string_view without_leading_slashes(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

std::string file_uri(std::string_view path) { return "file:///" + uri_path(without_leading_slashes(path)); }

std::string folder_uri(std::string_view folder) { return file_uri(folder) + (folder.ends_with('/') ? "" : "/"); }

class Writer {
 public:
  Writer(const diagnose::Diagnosis& report, std::string version) : report_(report), version_(std::move(version)) {}

  Json document() {
    Json results = Json::array();
    for (const diagnose::Finding& finding : report_.findings) results.push_back(result(finding));
    Json driver = {{"name", "cudadiag"}, {"version", version_}, {"rules", std::move(rules_)}};
    Json run = {{"tool", {{"driver", std::move(driver)}}}, {"invocations", Json::array({invocation()})}};
    if (has_base()) run["originalUriBaseIds"] = {{kBase, {{"uri", folder_uri(report_.working_directory)}}}};
    run["results"] = std::move(results);
    run["columnKind"] = "unicodeCodePoints";
    run["properties"] = {
        {"verdict", diagnose::word(report_.verdict)}, {"command", report_.command}, {"session", report_.session}};
    return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({std::move(run)})}};
  }

 private:
  bool has_base() const { return report_.working_directory.starts_with('/'); }

  Json artifact(const std::string& file) const {
    if (!file.starts_with('/')) {
      // Without "./", a parser may take a name before ":" for the URI scheme.
      Json json = {{"uri", (file.find(':') < file.find('/') ? "./" : "") + uri_path(file)}};
      if (has_base()) json["uriBaseId"] = kBase;
      return json;
    }
    const std::string_view inside = diagnose::path_inside(file, report_.working_directory);
    if (has_base() && !inside.empty()) {
      return {{"uri", uri_path(without_leading_slashes(inside))}, {"uriBaseId", kBase}};
    }
    return {{"uri", file_uri(file)}};
  }

  // Returns the location of the line itself, not of the line that called it.
  Json location(const diagnose::Location& at) const {
    Json json = Json::object();
    std::string name = base::printable(at.function);
    if (!at.file.empty() && symbolize::why_no_source(at.file).empty()) {
      json["physicalLocation"] = {{"artifactLocation", artifact(at.file)}};
      if (at.line > 0) {
        Json region = {{"startLine", at.line}};
        if (!at.source.empty()) region["snippet"] = message(at.source);
        json["physicalLocation"]["region"] = std::move(region);
      }
    } else if (!at.file.empty()) {
      name = diagnose::place(at, report_.working_directory);
    }
    if (!name.empty()) {
      json["logicalLocations"] = Json::array({Json{{"fullyQualifiedName", std::move(name)}, {"kind", "function"}}});
    }
    return json;
  }

  Json located(const diagnose::Location& at, const std::string& said) const {
    Json json = location(at.nearest());
    json["message"] = message(said + (at.called_from.empty() ? "" : ", called from here"));
    return json;
  }

  // `ranks` is a list from a RanksPart or a GroupsPart.
  template <typename Ranks>
  void add_ranks(Json& locations, const Ranks& ranks) const {
    for (const auto& rank : ranks) {
      const std::string who = rank.rank ? fmt::format("rank {}", *rank.rank) : fmt::format("process {}", rank.pid);
      locations.push_back(
          located(rank.location, who + (rank.has_come ? " is here" : " has not reached the collective; it was here")));
    }
  }

  Json related(const diagnose::Finding& finding) const {
    Json locations = Json::array();
    const std::string blamed = blamed_text(finding, report_.working_directory);
    if (finding.noticed.at && !blamed.empty()) locations.push_back(located(*finding.noticed.at, "blamed: " + blamed));
    for (const diagnose::Related& each : finding.related) {
      const std::string grade =
          each.known_by ? fmt::format(" ({})", diagnose::word(analyse::grade(*each.known_by))) : "";
      locations.push_back(located(each.location, std::string(diagnose::word(each.role)) + grade));
    }
    for (std::size_t i = 1; i < finding.candidates.size(); ++i) {
      const diagnose::CandidateLine& other = finding.candidates[i];
      locations.push_back(located(other.location, "another candidate: " + other.because));
    }
    if (finding.kind == analyse::Kind::kernel_race) {
      for (const diagnose::ResolvedAccess& access : finding.race->accesses) {
        locations.push_back(located(access.location, fmt::format("{} access by one thread", word(access.mode))));
      }
    } else if (finding.race && !finding.race->accesses.empty()) {
      const diagnose::ResolvedAccess& first = finding.race->accesses.front();
      locations.push_back(located(first.location, fmt::format("the earlier {}, unordered with this one: {} access",
                                                              word(first.operation), word(first.mode))));
    }
    if (&finding == &report_.findings.front()) {
      if (report_.ranks) add_ranks(locations, report_.ranks->ranks);
      if (report_.groups) add_ranks(locations, report_.groups->ranks);
    }
    return locations;
  }

  Json stacks(const diagnose::Finding& finding) const {
    Json python = Json::array(), native = Json::array();
    for (const symbolize::PythonFrame& frame : finding.stack.python) {
      python.push_back(
          {{"location", location({frame.file, frame.function, symbolize::Language::unknown, "", "", frame.line})}});
    }
    for (const symbolize::NativeFrame& frame : finding.stack.native) {
      // A library's relative path is relative to the folder where it was built, not to the user's sources.
      const bool elsewhere = !frame.user && !frame.file.starts_with('/');
      const std::string file = elsewhere ? "" : frame.file;
      Json json = {{"location", location({file, frame.function, symbolize::Language::unknown, "", "", frame.line})}};
      if (!frame.module.empty()) json["module"] = base::printable(frame.module);
      native.push_back(std::move(json));
    }
    Json all = Json::array();
    if (!python.empty()) all.push_back({{"message", message("Python")}, {"frames", std::move(python)}});
    if (!native.empty()) all.push_back({{"message", message("native")}, {"frames", std::move(native)}});
    return all;
  }

  // Returns the index of the finding's rule. The rule is the cause or, if the cause is unknown, the error.
  std::size_t rule(const diagnose::Finding& finding) {
    const std::string error = finding.name.empty() ? std::string(diagnose::word(finding.kind)) : finding.name;
    const std::string id = base::printable(finding.cause ? finding.cause->id : error);
    const auto known = std::ranges::find_if(rules_, [&](const Json& rule) { return rule["id"] == id; });
    if (known != rules_.end()) return static_cast<std::size_t>(known - rules_.begin());
    Json rule = {{"id", id}, {"shortDescription", message(finding.title)}};
    if (!finding.text.empty()) rule["fullDescription"] = message(finding.text);
    if (finding.cause && finding.cause->link.starts_with("https://")) rule["helpUri"] = finding.cause->link;
    rules_.push_back(std::move(rule));
    return rules_.size() - 1;
  }

  std::string sentences(const diagnose::Finding& finding) const {
    std::string text = headline(finding, report_.working_directory);
    const auto add = [&](const std::string& label, const std::string& sentence) {
      if (!sentence.empty()) text += fmt::format("\n{}: {}", label, base::printable(sentence));
    };
    add("Why", finding.cause ? finding.cause->text : finding.text);
    add(fmt::format("Known ({})", diagnose::word(finding.evidence.grade())), finding.evidence.text());
    for (const std::string& step : finding.fix) add("Fix", step);
    return text;
  }

  Json result(const diagnose::Finding& finding) {
    const std::size_t index = rule(finding);
    Json properties = {{"kind", diagnose::word(finding.kind)},
                       {"grade", diagnose::word(finding.evidence.grade())},
                       {"pid", finding.pid}};
    if (finding.rank) properties["rank"] = *finding.rank;
    if (finding.launch && !finding.launch->kernel.empty())
      properties["kernel"] = base::printable(finding.launch->kernel);
    Json json = {{"ruleId", rules_[index]["id"]},
                 {"ruleIndex", index},
                 {"level", finding.evidence.is_guess() ? "warning" : "error"},
                 {"message", {{"text", sentences(finding)}}}};
    if (Json at = location(finding.location.nearest()); !at.empty()) json["locations"] = Json::array({std::move(at)});
    if (Json others = related(finding); !others.empty()) json["relatedLocations"] = std::move(others);
    if (Json calls = stacks(finding); !calls.empty()) json["stacks"] = std::move(calls);
    json["properties"] = std::move(properties);
    return json;
  }

  Json invocation() const {
    Json notes = Json::array();
    for (const analyse::Note& note : report_.notes) {
      notes.push_back({{"descriptor", {{"id", word(note.code)}}}, {"level", "note"}, {"message", message(note.text)}});
    }
    Json json = {{"executionSuccessful", report_.verdict != analyse::Verdict::inconclusive}};
    if (!report_.started.empty()) json["startTimeUtc"] = report_.started;
    json["toolExecutionNotifications"] = std::move(notes);
    return json;
  }

  const diagnose::Diagnosis& report_;
  const std::string version_;
  std::vector<Json> rules_;
};

}  // namespace

std::string write_sarif(const diagnose::Diagnosis& whole, const std::string& version) {
  const diagnose::Diagnosis report = without_secret_arguments(whole);
  return Writer(report, version).document().dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace cudadiag::report
