#include "session/found_races.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/text.h"
#include "session/json_fields.h"

namespace cudadiag::session {
namespace {

constexpr const char* kRacesSchema = "cudadiag.races/1";
constexpr std::size_t kMostRaces = 65536;

constexpr base::Words<RaceMode, 5> kModes = {{
    {RaceMode::unknown, "unknown"},
    {RaceMode::none, "none"},
    {RaceMode::read, "read"},
    {RaceMode::write, "write"},
    {RaceMode::atomic, "atomic"},
}};

constexpr base::Words<EndedMemory::How, 3> kEnds = {{
    {EndedMemory::How::returned, "returned"},
    {EndedMemory::How::thread_ended, "thread_ended"},
    {EndedMemory::How::freed, "freed"},
}};

EndedMemory::How how_of(std::string_view word) { return base::value_of(kEnds, word).value_or(EndedMemory::How::freed); }

RaceMode mode_of(std::string_view word) { return base::value_of(kModes, word).value_or(RaceMode::unknown); }

}  // namespace

std::string_view word(RaceMode mode) { return base::word_of(kModes, mode); }

void fields(RaceAccess& access, auto& field) {
  field("what", access.what, [](std::string_view word) { return work_of(word).value_or(Work::call); });
  field("mode", access.mode, mode_of);
  field("begin", access.begin);
  field("end", access.end);
  field("exact", access.exact);
  field("stream", access.stream);
  field("site", access.site);
  field("function", access.function);
  field("parameter", access.parameter);
  field("node", access.node);
  field("thread", access.thread);
  field("ticks", access.ticks);
  field("on_host", access.on_host);
  field("out_of_order", access.out_of_order);
  field("array", access.array);
  field("somewhere", access.somewhere);
}

void fields(Race& race, auto& field) {
  field("pid", race.pid);
  field("first", race.first);
  field("second", race.second);
  field("possible", race.possible);
  field("uncertain", race.uncertain);
  field("waited_before", race.waited_before);
  field("one_graph", race.one_graph);
  field("several", race.several);
  field("times", race.times);
  field("address", race.address);
  field("bytes", race.bytes);
  field("allocated", race.allocated);
  field("changed", race.changed);
  field("sampled", race.sampled);
  field("launched", race.launched);
  field("after_begin", race.after_begin);
  field("unchanged_at", race.unchanged_at);
  field("changed_at", race.changed_at);
  field("others_ran", race.others_ran);
}

void fields(Overrun& overrun, auto& field) {
  field("pid", overrun.pid);
  field("access", overrun.access);
  field("address", overrun.address);
  field("bytes", overrun.bytes);
  field("allocated", overrun.allocated);
  field("times", overrun.times);
}

std::string_view word(EndedMemory::How how) { return base::word_of(kEnds, how); }

void fields(EndedMemory& ended, auto& field) {
  field("pid", ended.pid);
  field("access", ended.access);
  field("how", ended.how, how_of);
  field("launched", ended.launched);
  field("freed", ended.freed);
  field("frame", ended.frame);
  field("below", ended.below);
  field("times", ended.times);
}

void fields(ThreadAccess::Line& line, auto& field) {
  field("file", line.file);
  field("function", line.function);
  field("line", line.line);
}

void fields(ThreadAccess& access, auto& field) {
  field("instruction", access.instruction);
  field("mode", access.mode, mode_of);
  field("begin", access.begin);
  field("end", access.end);
  field("block", access.block);
  field("thread", access.thread);
  field("lines", access.lines);
}

void fields(KernelRace& race, auto& field) {
  field("pid", race.pid);
  field("launch", race.launch);
  field("first", race.first);
  field("second", race.second);
  field("in_block", race.in_block);
  field("address", race.address);
  field("bytes", race.bytes);
  field("allocated", race.allocated);
  field("times", race.times);
}

void fields(RaceCounts& counts, auto& field) {
  field("pid", counts.pid);
  field("operations", counts.operations);
  field("lost", counts.lost);
  field("gaps", counts.gaps);
  field("forgotten", counts.forgotten);
  field("unlisted", counts.unlisted);
  field("unjudged", counts.unjudged);
  field("kernels", counts.kernels);
  field("unchecked", counts.unchecked);
}

void fields(RaceKernels& kernels, auto& field) {
  field("wanted", kernels.wanted);
  field("understood", kernels.understood);
  field("disassembler", kernels.disassembler);
  field("unknown_opcodes", kernels.unknown_opcodes);
}

void fields(Races& races, auto& field) {
  field("races", races.found, kMostRaces);
  field("unjudged", races.unjudged, kMostRaces);
  field("overruns", races.overruns, kMostRaces);
  field("ended", races.ended, kMostRaces);
  field("inside", races.inside, kMostRaces);
  field("counts", races.counts);
  field("kernels", races.kernels);
}

namespace {

// The property's value is a list of decimal numbers (record/memory/checked_copies.cc).
std::optional<Race> changed_source(const std::string& text) {
  std::array<std::uint64_t, 13> numbers{};
  std::istringstream in(text);
  for (std::uint64_t& each : numbers) in >> each;
  const auto [of_node, node, issued, thread, stream, first, last, begin, end, bytes, sampled, unchanged, changed] =
      numbers;
  if (!in || issued == 0 || begin < first || end <= begin || last < end || bytes == 0) return std::nullopt;
  Race race;
  race.first.what = Work::copy;
  race.first.mode = RaceMode::read;
  race.first.begin = first, race.first.end = last;
  race.first.exact = true;
  race.first.stream = stream;
  race.first.site = static_cast<std::uint32_t>(node == 0 ? issued : of_node);
  race.first.node = static_cast<std::uint32_t>(node);
  race.launched = node == 0 ? 0 : static_cast<std::uint32_t>(issued);
  race.first.thread = static_cast<std::uint32_t>(thread);
  race.second.on_host = true;
  race.second.mode = RaceMode::write;
  race.second.begin = begin, race.second.end = end;
  race.changed = std::min(bytes, end - begin);
  race.sampled = sampled != 0;
  race.unchanged_at = changed == 0 ? 0 : static_cast<std::uint32_t>(unchanged);
  race.changed_at = unchanged == 0 ? 0 : static_cast<std::uint32_t>(changed);
  race.others_ran = true;  // not known
  race.before_marker = true;
  return race;
}

}  // namespace

std::vector<Race> changed_sources(const ProcessRecord& record, std::uint32_t pid) {
  static const std::string kPrefix = "source_changed.";
  std::vector<Race> out;
  for (auto at = record.properties.lower_bound(kPrefix);
       at != record.properties.end() && at->first.starts_with(kPrefix); ++at) {
    auto race = changed_source(at->second);
    if (!race) continue;
    race->pid = pid;
    for (const Allocation& each : record.allocations) {
      const bool inside = each.address <= race->second.begin && race->second.begin - each.address < each.bytes;
      if (inside) race->address = each.address, race->bytes = each.bytes, race->allocated = each.site;
    }
    out.push_back(*race);
  }
  return out;
}

std::string write_races(Races races) {
  Json document = FieldWriter::written(races);
  document["schema"] = kRacesSchema;
  return json_text(document, 1) + "\n";
}

std::optional<Races> parse_races(std::string_view text) {
  const Json document = parse_json(text);
  if (!document.is_object() || text_of(document, "schema") != kRacesSchema) return std::nullopt;
  Races races;
  FieldReader::read(document, races);
  return races;
}

}  // namespace cudadiag::session
