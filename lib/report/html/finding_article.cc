#include "report/html/finding_article.h"

#include <fmt/core.h>

#include <algorithm>

#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/html/figures.h"
#include "report/html/markup.h"

namespace cudadiag::report {
namespace {

class FindingArticle {
 public:
  FindingArticle(const ArticleSources& sources, const Markup& markup)
      : finding_(*sources.findings.front()), sources_(sources), markup_(markup) {}

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
    if (finding_.interrupted) return markup_.text(interruption(finding_, short_place(finding_.location.nearest())));
    const std::string title = markup_.text(finding_.title);
    if (finding_.race && finding_.race->accesses.size() == 2 && finding_.race->accesses[1].location.known()) {
      return fmt::format("{}: {}, after {}", title, code(finding_.race->accesses[1].location),
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
    if (finding_.standstill) {
      const char* what = !finding_.stall ? "no progress for" : finding_.ended_after ? "ended after" : "unfinished for";
      html += fmt::format("<span class=\"badge\">{} {}</span>", what,
                          markup_.text(diagnose::duration(finding_.ended_after.value_or(*finding_.standstill))));
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
    if (finding_.standstill) return {"The line that hung", "stuck"};
    if (finding_.evidence.names_one()) return {"The line that failed", "failed"};
    if (!finding_.evidence.is_guess()) return {"The likeliest line", "likely"};
    return {"The suspected line", "suspect"};
  }

  const char* blamed_heading() const {
    return finding_.standstill ? "The line that waits" : "The line that CUDA blamed";
  }

  // Shows the true line and the blamed line: in one quotation if they are close together, else in two.
  std::string failed_and_blamed() const {
    const diagnose::FindingPictures& pictures = sources_.pictures;
    if (!pictures.own || pictures.own->lines.empty()) return excerpt();
    diagnose::Quotation own = *pictures.own;
    SourceWords words{own_words().heading, place(own.at), "own"};
    if (!pictures.blamed || pictures.blamed->lines.empty()) return source_figure(own, words, markup_);
    const diagnose::Quotation& blamed = *pictures.blamed;
    const auto quotes = [&](const symbolize::SourceLine& line) { return line.number == blamed.at.line; };
    if (own.at.file == blamed.at.file && std::any_of(own.lines.begin(), own.lines.end(), quotes)) {
      const int first = own.lines.front().number, last = own.lines.back().number;
      auto before = own.lines.begin();
      for (const symbolize::SourceLine& line : blamed.lines) {
        if (line.number < first) before = own.lines.insert(before, line) + 1;
        if (line.number > last) own.lines.push_back(line);
      }
      words.other_line = blamed.at.line;
      words.own_label = own_words().label;
      words.other_label = finding_.standstill ? "waits" : "blamed";
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
    return source_figure({finding_.location.nearest(), finding_.excerpt},
                         {own_words().heading, place(finding_.location), "own"}, markup_);
  }

  std::string drawings() const {
    const diagnose::FindingPictures& pictures = sources_.pictures;
    std::string streams, memory;
    if (finding_.race) streams += race_figure(*finding_.race, sources_.directory, markup_);
    if (pictures.timeline) streams += stream_figure(*pictures.timeline, sources_.directory, markup_);
    if (pictures.memory && finding_.memory_use)
      memory += memory_figure(*pictures.memory, *finding_.memory_use, markup_);
    if (finding_.access) memory += access_figure(*finding_.access, markup_);
    const auto freed = std::find_if(finding_.arguments.begin(), finding_.arguments.end(), [](const auto& argument) {
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

}  // namespace

std::string finding_article(const ArticleSources& sources, const std::string& context, const Markup& markup) {
  return FindingArticle(sources, markup).html(context);
}

}  // namespace cudadiag::report
