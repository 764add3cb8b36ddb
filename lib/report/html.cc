// Writes the HTML page of a report.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "diagnose/facts/place.h"
#include "diagnose/ranks.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/html_parts.h"
#include "report/writers.h"

namespace cudadiag::report {
namespace {

// The style, and a content security policy under which a browser loads and runs nothing.
std::string_view page_head() {
  return R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
:root {
  --page: #f4f5f7; --card: #ffffff; --ink: #1c2127; --muted: #5a6472; --rule: #dde1e7; --code: #f8f9fb;
  --red: #b3261e; --red-back: #fdecea; --mark: #fff3cd; --green: #146c43; --green-back: #dff3e7;
  --blue: #1d5fa8; --blue-back: #e2eefb; --amber: #855700; --amber-back: #fdf0d5; --grey-back: #e9ecf0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1215; --card: #181c21; --ink: #e7eaee; --muted: #9aa5b3; --rule: #2c333c; --code: #12161a;
    --red: #ff8a80; --red-back: #3d1f1d; --mark: #40340f; --green: #7ddba3; --green-back: #153524;
    --blue: #8fc1f7; --blue-back: #152c45; --amber: #f2c265; --amber-back: #3a2c0e; --grey-back: #262c34;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 74rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
article { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 1.5rem 1.75rem; margin-bottom: 1.25rem; }
article.failure { border-top: 4px solid var(--red); }
article.clean { border-top: 4px solid var(--green); }
article.open { border-top: 4px solid var(--amber); }
h1, h2 { line-height: 1.25; margin: 0.2rem 0 0.75rem; font-weight: 650; overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; }
h2 { font-size: 1.3rem; }
h1::first-letter, h2::first-letter, .known b::first-letter { text-transform: uppercase; }
h3 { font-size: 0.8rem; letter-spacing: 0.05em; text-transform: uppercase; color: var(--muted); margin: 1.75rem 0 0.5rem; font-weight: 600; }
code, pre, .facts td, .values, svg text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
h1 code, h2 code { color: var(--red); font-size: 0.92em; }
small { color: var(--muted); font-weight: 400; font-size: 0.7em; }
p { margin: 0.5rem 0; overflow-wrap: anywhere; }
.context { color: var(--muted); font-size: 0.9rem; display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; margin: 0 0 0.5rem; }
.badges { display: flex; flex-wrap: wrap; gap: 0.5rem; margin: 0 0 1rem; }
.badge { border-radius: 99px; padding: 0.1rem 0.75rem; font-size: 0.85rem; font-weight: 600; background: var(--grey-back); overflow-wrap: anywhere; }
.badge.proven { background: var(--green-back); color: var(--green); }
.badge.bracketed { background: var(--blue-back); color: var(--blue); }
.badge.inferred { background: var(--amber-back); color: var(--amber); }
.lead { font-size: 1.2rem; line-height: 1.45; }
.values { font-size: 0.85rem; margin: 0.5rem 0; padding: 0; list-style: none; color: var(--ink); }
.values li, .fix li { overflow-wrap: anywhere; }
.known b { display: inline-block; }
.meaning { color: var(--muted); font-size: 0.85rem; }
.fix { background: var(--green-back); border-radius: 8px; padding: 0.75rem 1rem; margin: 1rem 0; }
.fix strong { color: var(--green); }
.fix ul { margin: 0.25rem 0 0; padding: 0; list-style: none; }
.lines { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.25rem; }
figure { margin: 0; min-width: 0; }
figure + figure:not(.lines *) { margin-top: 1rem; }
figcaption { font-size: 0.9rem; margin-bottom: 0.4rem; overflow-wrap: anywhere; }
figcaption b { display: block; }
figcaption.below { color: var(--muted); margin: 0.5rem 0 0; }
pre { margin: 0; padding: 0.6rem 0; background: var(--code); border: 1px solid var(--rule); border-radius: 8px; overflow-x: auto; font-size: 0.82rem; line-height: 1.6; }
pre span { display: block; padding: 0 1rem 0 0.75rem; border-left: 3px solid transparent; width: max-content; min-width: 100%; }
pre i { display: inline-block; min-width: 3.2em; padding-right: 1em; text-align: right; color: var(--muted); font-style: normal; user-select: none; }
pre .at { background: var(--mark); border-left-color: var(--red); }
.blamed pre .at, pre .other { background: var(--grey-back); border-left-color: var(--muted); }
pre em { display: inline-block; width: 8ch; font-style: normal; font-weight: 600; color: var(--muted); user-select: none; }
pre .at em { color: var(--red); }
.drawing { overflow-x: auto; background: var(--code); border: 1px solid var(--rule); border-radius: 8px; padding: 0.75rem; }
svg { display: block; }
svg text { font-size: 12px; fill: var(--ink); }
svg .small { font-size: 10px; fill: var(--muted); }
svg .lane { stroke: var(--rule); stroke-width: 2; }
svg .box { stroke: var(--rule); stroke-width: 1.5; fill: var(--card); }
svg .finished, .swatch.finished { fill: var(--green-back); stroke: var(--green); background: var(--green-back); border-color: var(--green); }
svg .failed, .swatch.failed { fill: var(--red-back); stroke: var(--red); background: var(--red-back); border-color: var(--red); }
svg .failed { stroke-width: 2.5; }
svg .suspected, .swatch.suspected { fill: var(--amber-back); stroke: var(--amber); background: var(--amber-back); border-color: var(--amber); }
svg .not-run { stroke-dasharray: 4 3; }
.swatch.not-run { border-style: dashed; }
svg .not-known, .swatch.not-known { fill: var(--grey-back); background: var(--grey-back); }
svg .marker { fill: var(--green); stroke: var(--green); stroke-width: 1.5; }
svg .marker.missing { fill: none; stroke: var(--red); }
svg .gap { stroke: var(--red); stroke-width: 2; stroke-dasharray: 6 4; fill: none; }
svg .held { fill: var(--blue-back); stroke: var(--blue); stroke-width: 1.5; }
svg .limit { stroke: var(--red); stroke-width: 1.5; stroke-dasharray: 6 4; }
svg .alarm { fill: var(--red); }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; color: var(--muted); font-size: 0.85rem; margin: 0.5rem 0 0; padding: 0; list-style: none; }
.swatch { display: inline-block; width: 0.9em; height: 0.9em; border: 1.5px solid var(--rule); border-radius: 3px; margin-right: 0.45em; vertical-align: -0.1em; background: var(--card); }
.facts { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
.facts th { width: 6rem; text-align: left; vertical-align: top; font-weight: 600; color: var(--muted); padding: 0.3rem 1rem 0.3rem 0; border-top: 1px solid var(--rule); }
.facts td { padding: 0.3rem 0; overflow-wrap: anywhere; border-top: 1px solid var(--rule); font-size: 0.82rem; }
.facts td.prose { font-family: inherit; font-size: 0.9rem; }
details { margin: 0.4rem 0; }
summary { cursor: pointer; color: var(--muted); }
details pre { margin-top: 0.4rem; padding: 0.6rem 0.75rem; }
a { color: var(--blue); }
footer { color: var(--muted); font-size: 0.85rem; }
@media (max-width: 40rem) {
  main { padding: 0.5rem 0.5rem 2rem; }
  article { padding: 1rem; border-radius: 8px; }
  h1 { font-size: 1.35rem; }
  .lead { font-size: 1.05rem; }
  pre { font-size: 0.75rem; }
  pre i { min-width: 2.2em; padding-right: 0.7em; }
  pre em { display: block; }
  pre em:empty { display: none; }
  .facts th, .facts td { display: block; width: auto; border: 0; padding: 0; }
  .facts th { border-top: 1px solid var(--rule); padding-top: 0.4rem; }
  .facts td { padding-bottom: 0.4rem; }
}
@media print {
  body { background: none; }
  article { border-color: #999; break-inside: avoid; }
}
</style>
)";
}

struct ArticleSources {
  const std::vector<const diagnose::Finding*>& findings;  // one finding, or those of processes with the same failure
  const Page& page;                                       // text of the first finding
  const diagnose::FindingPictures& pictures;              // pictures of the first finding
  const std::string& directory;
  bool leads = false;  // true for the first article of the page
};

// The part of the page that is about one failure or race.
class FindingArticle {
 public:
  FindingArticle(const ArticleSources& sources, const Markup& markup)
      : finding_(*sources.findings.front()), sources_(sources), markup_(markup) {}

  // `context` is the line above the headline, already in HTML.
  std::string html(const std::string& context) const {
    const char* level = sources_.leads ? "h1" : "h2";
    return fmt::format("<article class=\"failure\">\n{}<{}>{}</{}>\n", context, level, headline(), level) + badges() +
           cause() + known() + fix() + lines() + drawings() + facts() + stacks() + "</article>\n";
  }

 private:
  std::string place(const diagnose::Location& location) const {
    return markup_.text(diagnose::place(location, sources_.directory));
  }

  std::vector<const Section*> sections(Topic topic) const {
    std::vector<const Section*> found;
    for (const Section& section : sources_.page.sections) {
      if (section.topic == topic && !section.lines.empty()) found.push_back(&section);
    }
    return found;
  }

  // Gives only the file's name and the line, because the source figure gives the path.
  std::string code(const diagnose::Location& location) const {
    diagnose::Location shown = location;
    if (shown.known()) return "<code>" + markup_.text(short_place(shown)) + "</code>";
    return "<code>" + place(location) + "</code>";
  }

  std::string headline() const {
    if (finding_.hang && finding_.hang->interrupted)
      return markup_.text(interruption(finding_, short_place(finding_.location.nearest())));
    const std::string title = markup_.text(finding_.title);
    if (finding_.race && finding_.race->accesses.size() == 2 && finding_.race->accesses[1].location.known()) {
      return fmt::format("{}: {}{} {}", title, code(finding_.race->accesses[1].location),
                         finding_.kind == analyse::Kind::kernel_race ? " and" : ", after",
                         code(finding_.race->accesses[0].location));
    }
    const std::string& function = finding_.location.nearest().function;
    const bool named = finding_.location.known() && !function.empty();
    return fmt::format("{} in {}{}", title, code(finding_.location),
                       named ? "<small>, " + markup_.text(diagnose::without_parameters(function)) + "</small>" : "");
  }

  std::string badges() const {
    const std::string grade = markup_.text(diagnose::word(finding_.evidence.grade()));
    std::string html = fmt::format("<span class=\"badge {0}\" title=\"{1}\">{0}</span>", grade,
                                   markup_.text(diagnose::meaning(finding_.evidence.grade())));
    if (finding_.code != 0) {
      const std::string name = finding_.name.empty() ? "CUDA error" : markup_.text(finding_.name);
      html += fmt::format("<span class=\"badge\">{} ({})</span>", name, finding_.code);
    }
    if (const auto& hang = finding_.hang) {
      const char* what = !hang->stall ? "no progress for" : hang->ended_after ? "ended after" : "unfinished for";
      html += fmt::format("<span class=\"badge\">{} {}</span>", what,
                          markup_.text(diagnose::duration(hang->ended_after.value_or(hang->seconds))));
    }
    if (const std::string who = processes(); !who.empty()) html += "<span class=\"badge\">" + who + "</span>";
    return "<p class=\"badges\">" + html + "</p>\n";
  }

  // Names the processes of the findings: "rank 2", or "ranks 0, 1 and 3 alike".
  std::string processes() const {
    std::vector<std::string> ranks, pids;
    for (const diagnose::Finding* each : sources_.findings) {
      if (each->rank) ranks.push_back(std::to_string(*each->rank));
      pids.push_back(std::to_string(each->pid));
    }
    const bool ranked = ranks.size() == pids.size();
    if (pids.size() == 1) return ranked ? "rank " + ranks.front() : "";
    return fmt::format("{} {} alike", ranked ? "ranks" : "processes", diagnose::joined(ranked ? ranks : pids, " and "));
  }

  // Puts the first sentence, which is the cause, into the lead paragraph. Lists the other lines below.
  std::string cause() const {
    std::string lead, values;
    for (const Section* section : sections(Topic::cause)) {
      for (const std::string& line : section->lines) {
        if (lead.empty()) {
          lead = "<p class=\"lead\">" + markup_.text(line) + "</p>\n";
        } else {
          values += "<li>" + markup_.text(line) + "</li>";
        }
      }
    }
    return lead + (values.empty() ? "" : "<ul class=\"values\">" + values + "</ul>\n");
  }

  std::string known() const {
    const std::string grade = markup_.text(diagnose::word(finding_.evidence.grade())),
                      because = finding_.evidence.text();
    std::string html;
    if (!because.empty()) html = fmt::format("<p class=\"known\"><b>{}</b>: {}.</p>\n", grade, markup_.text(because));
    if (finding_.race) return html;
    return html + fmt::format("<p class=\"meaning\">“{}” means: {}.</p>\n", grade,
                              markup_.text(diagnose::meaning(finding_.evidence.grade())));
  }

  std::string fix() const {
    std::string steps;
    for (const Section* section : sections(Topic::fix)) {
      for (const std::string& line : section->lines) steps += "<li>" + markup_.text(line) + "</li>";
    }
    return steps.empty() ? "" : "<div class=\"fix\"><strong>Fix</strong><ul>" + steps + "</ul></div>\n";
  }

  std::string blame() const {
    std::string text;
    for (const Section* section : sections(Topic::blame)) {
      for (const std::string& line : section->lines) text += (text.empty() ? "" : "; ") + markup_.text(line);
    }
    return text;
  }

  // Calls a line "the line that failed" only if it is proven or bracketed.
  struct OwnWords {
    const char *heading, *label;
  };
  OwnWords own_words() const {
    if (finding_.hang) return {"The line that hung", "stuck"};
    if (finding_.evidence.names_one()) return {"The line that failed", "failed"};
    if (!finding_.evidence.is_guess()) return {"The likeliest line", "likely"};
    return {"The suspected line", "suspect"};
  }

  const char* blamed_heading() const { return finding_.hang ? "The line that waits" : "The line that CUDA blamed"; }

  // Shows the true line and the blamed line: in one quotation if they are close together, else in two.
  std::string failed_and_blamed() const {
    const diagnose::FindingPictures& pictures = sources_.pictures;
    if (!pictures.own || pictures.own->lines.empty()) return excerpt();
    diagnose::Quotation own = *pictures.own;
    SourceWords words{own_words().heading, place(own.at), "own"};
    if (!pictures.blamed || pictures.blamed->lines.empty()) return source_figure(own, words, markup_);
    const diagnose::Quotation& blamed = *pictures.blamed;
    const auto quotes = [&](const symbolize::SourceLine& line) { return line.number == blamed.at.line; };
    if (own.at.file == blamed.at.file && std::ranges::any_of(own.lines, quotes)) {
      const int first = own.lines.front().number, last = own.lines.back().number;
      auto before = own.lines.begin();
      for (const symbolize::SourceLine& line : blamed.lines) {
        if (line.number < first) before = own.lines.insert(before, line) + 1;
        if (line.number > last) own.lines.push_back(line);
      }
      words.other_line = blamed.at.line;
      words.own_label = own_words().label;
      words.other_label = finding_.hang ? "waits" : "blamed";
      words.caption += fmt::format("<br>{}: {}", blamed_heading(), blame());
      return source_figure(own, words, markup_);
    }
    return source_figure(own, words, markup_) + source_figure(blamed, {blamed_heading(), blame(), "blamed"}, markup_);
  }

  std::string lines() const {
    std::string figures = finding_.race ? "" : failed_and_blamed();
    for (const diagnose::Quotation& access : sources_.pictures.accesses) {
      const bool first = &access == &sources_.pictures.accesses.front();
      figures +=
          source_figure(access, {first ? "First" : "Then, on the other stream", place(access.at), "own"}, markup_);
    }
    std::string remarks;
    for (const Section* section : sections(Topic::fact)) {
      if (!section->label.empty()) continue;
      // The text report indents these lines like source.
      for (std::string line : section->lines) {
        line.erase(0, line.find_first_not_of(' '));
        remarks += "<p class=\"known\">" + markup_.text(line) + "</p>\n";
      }
    }
    return (figures.empty() ? "" : "<h3>Source</h3>\n<div class=\"lines\">\n" + figures + "</div>\n") + remarks;
  }

  // Quotes the source lines that the report contains, for a source file that could not be read when the page was
  // written.
  std::string excerpt() const {
    return source_figure({finding_.location.nearest(), finding_.source.excerpt},
                         {own_words().heading, place(finding_.location), "own"}, markup_);
  }

  std::string drawings() const {
    const diagnose::FindingPictures& pictures = sources_.pictures;
    std::string streams, memory;
    if (finding_.race && finding_.kind != analyse::Kind::kernel_race)
      streams += race_figure(*finding_.race, sources_.directory, markup_);
    if (pictures.timeline) streams += stream_figure(*pictures.timeline, sources_.directory, markup_);
    if (pictures.memory && finding_.memory_use)
      memory += memory_figure(*pictures.memory, *finding_.memory_use, markup_);
    if (finding_.access) memory += access_figure(*finding_.access, markup_);
    const auto freed = std::ranges::find_if(finding_.arguments, [](const auto& argument) {
      return argument.points_amiss() && argument.allocation->is_freed;
    });
    if (freed != finding_.arguments.end()) {
      memory += freed_figure(*freed, finding_.location, markup_);
    }
    return (streams.empty() ? "" : "<h3>Streams</h3>\n" + streams) +
           (memory.empty() ? "" : "<h3>Memory</h3>\n" + memory);
  }

  std::string facts() const {
    std::string rows;
    for (const Section* section : sections(Topic::fact)) {
      if (!section->label.empty()) rows += row(*section, markup_);
    }
    const bool quoted = sources_.pictures.blamed && !sources_.pictures.blamed->lines.empty();
    for (const Section* section : sections(Topic::blame)) {
      if (!quoted) rows = row(*section, markup_) + rows;
    }
    return rows.empty() ? "" : "<h3>Facts</h3>\n" + table(rows);
  }

  std::string stacks() const {
    std::string html;
    for (const Section* section : sections(Topic::stack)) html += folded(*section, markup_);
    return html.empty() ? "" : "<h3>Stacks</h3>\n" + html;
  }

  const diagnose::Finding& finding_;
  const ArticleSources& sources_;
  const Markup& markup_;
};

// Groups the findings of processes that failed in the same way, such as the ranks of a job: each group gets one
// article. Returns the indices of the findings of each group, in the order of the report. Each race is a group of its
// own.
std::vector<std::vector<std::size_t>> groups_of_findings(const diagnose::Diagnosis& report) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const diagnose::Finding& finding = report.findings[i];
    const auto group = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& each) {
      const diagnose::Finding& first = report.findings[each.front()];
      return !finding.race && !first.race && first.pid != finding.pid && first.kind == finding.kind &&
             first.code == finding.code && first.title == finding.title &&
             diagnose::same_line(first.location, finding.location);
    });
    group == groups.end() ? groups.push_back({i}) : group->push_back(i);
  }
  return groups;
}

// Returns a line with the command, the time of the run, and the GPUs.
std::string context_line(const diagnose::Diagnosis& report, const Markup& markup) {
  std::vector<std::string> parts;
  if (const std::string command = command_text(report); !command.empty())
    parts.push_back(fmt::format("<code>{}</code>", markup.text(command)));
  // Turns "2026-11-21T10:15:00Z" into "2026-11-21 10:15:00 UTC".
  std::string started = report.started;
  if (const std::size_t at = started.find('T'); at != started.npos) started[at] = ' ';
  if (started.ends_with('Z')) started.replace(started.size() - 1, 1, " UTC");
  if (!started.empty()) parts.push_back(markup.text(started));
  for (const std::string& gpu : report.gpus) {
    const std::string name = markup.text(gpu);
    if (std::ranges::find(parts, name) == parts.end()) parts.push_back(name);
  }
  std::string html;
  for (const std::string& part : parts) html += "<span>" + part + "</span>";
  return html.empty() ? "" : "<p class=\"context\">" + html + "</p>\n";
}

std::string clean_article(const diagnose::Diagnosis& report, const Markup& markup) {
  const CleanVerdict verdict = clean_verdict(report);
  const bool clean = report.verdict == analyse::Verdict::no_cuda_failure;
  return fmt::format("<article class=\"{}\">\n{}<h1>{}</h1>\n{}</article>\n", clean ? "clean" : "open",
                     context_line(report, markup), markup.text(verdict.sentence),
                     verdict.reason.empty() ? "" : "<p class=\"lead\">" + markup.text(verdict.reason) + "</p>\n");
}

std::string title_of(const diagnose::Diagnosis& report) {
  TextOptions options;
  options.say_clean = true;
  options.verbosity = Verbosity::quiet;
  const std::string text = write_text(report, options);
  return text.substr(0, text.find('\n'));
}

std::string run_article(const Page& page, const Markup& markup) {
  std::string rows;
  for (const Section& section : page.sections) {
    if (!section.label.empty()) rows += row(section, markup);
  }
  return rows.empty() ? "" : "<article>\n<h2>The run</h2>\n" + table(rows) + "</article>\n";
}

}  // namespace

std::string write_html(const diagnose::Diagnosis& whole, const std::vector<diagnose::FindingPictures>& pictures,
                       const PageOptions& page_options) {
  const Markup markup(page_options.redaction);
  diagnose::Diagnosis report = without_secret_arguments(whole);
  std::string html =
      fmt::format("{}<title>{}</title>\n</head>\n<body>\n<main>\n", page_head(), markup.text(title_of(report)));
  const std::string context = context_line(report, markup);
  if (report.findings.empty()) html += clean_article(report, markup);
  // The first note gives the reason for the verdict, and the article above already shows this reason.
  if (report.findings.empty() && report.verdict == analyse::Verdict::inconclusive && !report.notes.empty()) {
    report.notes.erase(report.notes.begin());
  }
  TextOptions options;
  options.say_clean = true;
  options.verbosity = Verbosity::verbose;
  options.isolates = page_options.isolates;
  if (const std::string job = diagnose::job_sentence(report); !job.empty()) {
    html += "<p class=\"lead\">" + markup.text(job) + ".</p>\n";
  }
  const std::vector<Page> pages = whole_pages(report, options);
  const diagnose::FindingPictures none;
  for (const std::vector<std::size_t>& group : groups_of_findings(report)) {
    std::vector<const diagnose::Finding*> findings;
    for (const std::size_t i : group) findings.push_back(&report.findings[i]);
    const std::size_t first = group.front();
    const ArticleSources sources{findings, pages[first], first < pictures.size() ? pictures[first] : none,
                                 report.working_directory, first == 0};
    html += FindingArticle(sources, markup).html(first == 0 ? context : "");
  }
  html += run_article(pages.back(), markup);
  return html +
         fmt::format("<footer>Written by cudadiag {}</footer>\n</main>\n</body>\n</html>\n", page_options.version);
}

}  // namespace cudadiag::report
