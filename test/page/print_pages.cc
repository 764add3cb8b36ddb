// Writes the pages that the browser test opens, each to FOLDER/NAME.html. Every run writes the same bytes.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "report/writers.h"
#include "unit/report/sample_reports.h"

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;

namespace {

constexpr const char* kProgram[] = {
    "class Model(torch.nn.Module):",
    "    def __init__(self, vocabulary):",
    "        super().__init__()",
    "        self.emb = torch.nn.Embedding(vocabulary, 512)",
    "        self.head = torch.nn.Linear(512, vocabulary)",
    "",
    "    def forward(self, idx):",
    "        y = self.emb(idx)",
    "        return self.head(y)",
    "",
    "model = Model(30000).cuda()",
    "for batch in loader:",
    "    loss = model(batch).float().square().mean()  # a comment that is as long as comments are",
    "    print(loss.item())"};

Quotation quotation(int first, int line, int last) {
  Quotation quotation{{"/home/u/train.py", "forward", symbolize::Language::python, "", "", line}, {}};
  for (int number = first; number <= last; ++number) {
    quotation.lines.push_back({number, kProgram[static_cast<std::size_t>(number - 34) % std::size(kProgram)]});
  }
  return quotation;
}

DrawnOperation operation(std::size_t column, session::Work work, const char* kernel, int line, DrawnProgress progress,
                         bool written) {
  DrawnOperation drawn;
  drawn.column = column;
  drawn.work = work;
  drawn.kernel = kernel;
  drawn.location = quotation(line, line, line).at;
  drawn.ordinal = static_cast<std::uint32_t>(column) + 1;
  drawn.seconds = 0.5;
  drawn.progress = progress;
  drawn.marked = true;
  drawn.marker_written = written;
  return drawn;
}

Timeline timeline() {
  using session::Work;
  Timeline timeline;
  timeline.columns = 7;
  timeline.other_streams = 1;
  timeline.streams = {{"the default stream",
                       1840,
                       3,
                       {operation(0, Work::memset, "", 38, DrawnProgress::finished, true),
                        operation(2, Work::kernel, "scale(float*)", 39, DrawnProgress::finished, true),
                        operation(3, Work::kernel, "gather(long*)", 41, DrawnProgress::failed, false),
                        operation(5, Work::kernel, "gemm(float*)", 42, DrawnProgress::not_run, false)}},
                      {"stream 0x55d0c8",
                       0,
                       0,
                       {operation(1, Work::copy, "", 45, DrawnProgress::finished, true),
                        operation(4, Work::kernel, "attention_forward(float*)", 46, DrawnProgress::suspected, false),
                        operation(6, Work::wait, "", 47, DrawnProgress::not_known, false)}}};
  return timeline;
}

std::string failure() {
  Diagnosis report = explained_report();
  Finding& finding = report.findings[0];
  finding.kind = analyse::Kind::out_of_memory;  // a page for this kind has every drawing
  finding.evidence.add(analyse::Fact::ran_alone);
  finding.arguments[1].allocation->allocated = finding.arguments[1].allocation->freed;
  Access& access = finding.access.emplace();
  access.bytes = 4;
  access.parameter = 1;
  access.allocation = PointedMemory{};
  access.allocation->bytes = 16u << 20;
  access.relation = Relation::past_end;
  access.distance = 1621624832;
  FindingPictures pictures;
  pictures.own = quotation(36, 41, 46);
  pictures.blamed = quotation(83, 88, 93);
  pictures.timeline = timeline();
  MemoryCurve& curve = pictures.memory.emplace();
  for (unsigned i = 0; i < 40; ++i)
    curve.points.push_back({i * 0.1, std::uint64_t{i % 7 == 6 ? i * 10 : i * 23} << 20});
  curve.end = 4;
  return write_html(report, {pictures}, {nullptr, "1.0.0"});
}

std::string ranks() {
  Diagnosis report = refused_report();
  for (std::size_t i = 0; i < 3; ++i) report.findings[i].rank = static_cast<int>(i);
  report.findings[2].evidence.add(analyse::Fact::several_running);
  report.findings[2].code = 700;
  report.findings[2].title = "illegal memory access";
  FindingPictures pictures;  // the two lines are close together, so they share a figure
  pictures.own = quotation(36, 41, 46);
  pictures.blamed = quotation(37, 42, 47);
  for (Finding& finding : report.findings) {
    finding.location = pictures.own->at;
    finding.noticed.at = pictures.blamed->at;
  }
  return write_html(report, {pictures, {}, pictures}, {nullptr, "1.0.0"});
}

std::string race() {
  Diagnosis report = python_report();
  Finding& finding = report.findings[0];
  finding.kind = analyse::Kind::stream_race;
  finding.title = "race between two streams";
  finding.code = 0;
  finding.text = "x is written on one stream and read on the other, and nothing orders the two";
  ResolvedRace& race = finding.race.emplace();
  ResolvedAccess first, second;
  first.operation = session::Work::memset;
  first.mode = session::RaceMode::write;
  first.stream = 0x10;
  first.location = quotation(37, 37, 37).at;
  second = first;
  second.operation = session::Work::kernel;
  second.kernel = "scale(float*)";
  second.mode = session::RaceMode::read;
  second.stream = 0x20;
  second.location = quotation(42, 42, 42).at;
  race.accesses = {first, second};
  race.missing = "stream 0x20 never waited for stream 0x10";
  FindingPictures pictures;
  pictures.accesses = {quotation(34, 37, 42), quotation(37, 42, 47)};
  return write_html(report, {pictures}, {nullptr, "1.0.0"});
}

// The page that README shows.
std::string example() {
  const Diagnosis report = example_report();
  std::istringstream program(read_file(EXAMPLE));
  std::vector<symbolize::SourceLine> lines;
  for (std::string line; std::getline(program, line);) lines.push_back({static_cast<int>(lines.size()) + 1, line});
  FindingPictures pictures;
  pictures.own = Quotation{report.findings[0].location, {lines.begin() + 6, lines.begin() + 17}};
  pictures.blamed = Quotation{*report.findings[0].noticed.at, {lines.begin() + 7, lines.begin() + 18}};
  using session::Work;
  Timeline& drawn = pictures.timeline.emplace();
  drawn.columns = 6;
  drawn.streams = {{"the default stream", 0, 0, {}}};
  const std::pair<const char*, int> operations[] = {{"", 16},          {"", 16},
                                                    {"", 16},          {"distribution_elementwise", 17},
                                                    {"index_put", 18}, {"vectorized_gather_kernel", 12}};
  for (const auto& [kernel, line] : operations) {
    const std::size_t column = drawn.streams[0].operations.size();
    const bool fails = column + 1 == drawn.columns;
    drawn.streams[0].operations.push_back(operation(column, *kernel == '\0' ? Work::copy : Work::kernel, kernel, line,
                                                    fails ? DrawnProgress::failed : DrawnProgress::finished, !fails));
    drawn.streams[0].operations.back().location.file = report.findings[0].location.file;
  }
  return write_html(report, {pictures}, {nullptr, "1.0.0"});
}

}  // namespace

int main(int, char** arguments) {
  const std::pair<const char*, std::string> pages[] = {{"failure", failure()},
                                                       {"ranks", ranks()},
                                                       {"race", race()},
                                                       {"example", example()},
                                                       {"clean", write_html(clean_report())}};
  for (const auto& [name, page] : pages) {
    std::ofstream file(std::string(arguments[1]) + "/" + name + ".html", std::ios::binary);
    file << page;
    if (!file.flush()) return 1;
  }
}
