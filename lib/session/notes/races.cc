#include "session/notes/races.h"

#include "base/text.h"
#include "session/json_values.h"

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

Json to_json(const RaceAccess& access) {
  return {{"what", word(access.what)},     {"mode", word(access.mode)},
          {"begin", access.begin},         {"end", access.end},
          {"exact", access.exact},         {"stream", access.stream},
          {"site", access.site},           {"function", access.function},
          {"parameter", access.parameter}, {"node", access.node},
          {"thread", access.thread},       {"ticks", access.ticks},
          {"on_host", access.on_host},     {"out_of_order", access.out_of_order},
          {"array", access.array},         {"somewhere", access.somewhere}};
}

RaceAccess access_of(const Json& object, const char* key) {
  RaceAccess access;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_object()) return access;
  access.what = work_of(text_of(*it, "what")).value_or(Work::call);
  access.mode = base::value_of(kModes, text_of(*it, "mode")).value_or(RaceMode::unknown);
  access.exact = bool_of(*it, "exact");
  access.on_host = bool_of(*it, "on_host");
  access.out_of_order = bool_of(*it, "out_of_order");
  access.somewhere = bool_of(*it, "somewhere");
  take(*it, "array", access.array);
  take(*it, "begin", access.begin);
  take(*it, "end", access.end);
  take(*it, "stream", access.stream);
  take(*it, "site", access.site);
  take(*it, "function", access.function);
  take(*it, "parameter", access.parameter);
  take(*it, "node", access.node);
  take(*it, "thread", access.thread);
  take(*it, "ticks", access.ticks);
  return access;
}

Json to_json(const std::vector<Race>& races) {
  Json array = Json::array();
  for (const Race& race : races) {
    array.push_back({{"pid", race.pid},
                     {"first", to_json(race.first)},
                     {"second", to_json(race.second)},
                     {"possible", race.possible},
                     {"uncertain", race.uncertain},
                     {"waited_before", race.waited_before},
                     {"one_graph", race.one_graph},
                     {"several", race.several},
                     {"times", race.times},
                     {"address", race.address},
                     {"bytes", race.bytes},
                     {"allocated", race.allocated},
                     {"changed", race.changed},
                     {"sampled", race.sampled}});
  }
  return array;
}

Race race_of(const Json& from) {
  Race race;
  take(from, "pid", race.pid);
  race.first = access_of(from, "first");
  race.second = access_of(from, "second");
  race.possible = bool_of(from, "possible");
  race.uncertain = bool_of(from, "uncertain");
  race.waited_before = bool_of(from, "waited_before");
  race.one_graph = bool_of(from, "one_graph");
  race.several = bool_of(from, "several");
  take(from, "times", race.times);
  take(from, "address", race.address);
  take(from, "bytes", race.bytes);
  take(from, "allocated", race.allocated);
  take(from, "changed", race.changed);
  race.sampled = bool_of(from, "sampled");
  return race;
}

Json to_json(const std::vector<Overrun>& overruns) {
  Json array = Json::array();
  for (const Overrun& each : overruns) {
    array.push_back({{"pid", each.pid},
                     {"access", to_json(each.access)},
                     {"address", each.address},
                     {"bytes", each.bytes},
                     {"allocated", each.allocated},
                     {"times", each.times}});
  }
  return array;
}

Overrun overrun_of(const Json& from) {
  Overrun overrun;
  take(from, "pid", overrun.pid);
  overrun.access = access_of(from, "access");
  take(from, "address", overrun.address);
  take(from, "bytes", overrun.bytes);
  take(from, "allocated", overrun.allocated);
  take(from, "times", overrun.times);
  return overrun;
}

}  // namespace

std::string_view word(RaceMode mode) { return base::word_of(kModes, mode); }

std::string write_races(const Races& races) {
  Json counts = Json::array();
  for (const RaceCounts& count : races.counts) {
    counts.push_back({{"pid", count.pid},
                      {"operations", count.operations},
                      {"lost", count.lost},
                      {"gaps", count.gaps},
                      {"forgotten", count.forgotten},
                      {"unlisted", count.unlisted},
                      {"unjudged", count.unjudged}});
  }
  Json kernels = {{"wanted", races.kernels.wanted},
                  {"understood", races.kernels.understood},
                  {"disassembler", races.kernels.disassembler},
                  {"unknown_opcodes", races.kernels.unknown_opcodes}};
  const Json document = {{"schema", kRacesSchema},
                         {"races", to_json(races.found)},
                         {"unjudged", to_json(races.unjudged)},
                         {"overruns", to_json(races.overruns)},
                         {"counts", std::move(counts)},
                         {"kernels", std::move(kernels)}};
  return json_text(document, 1) + "\n";
}

std::optional<Races> parse_races(std::string_view text) {
  const Json document = parse_json(text);
  if (!document.is_object() || text_of(document, "schema") != kRacesSchema) return std::nullopt;
  Races races;
  const auto each = [&](const char* key, const auto& add) {
    const auto it = document.find(key);
    if (it == document.end() || !it->is_array()) return;
    for (const Json& element : *it) {
      if (element.is_object()) add(element);
    }
  };
  each("races", [&](const Json& from) {
    if (races.found.size() < kMostRaces) races.found.push_back(race_of(from));
  });
  each("unjudged", [&](const Json& from) {
    if (races.unjudged.size() < kMostRaces) races.unjudged.push_back(race_of(from));
  });
  each("overruns", [&](const Json& from) {
    if (races.overruns.size() < kMostRaces) races.overruns.push_back(overrun_of(from));
  });
  each("counts", [&](const Json& from) {
    RaceCounts& count = races.counts.emplace_back();
    take(from, "pid", count.pid);
    take(from, "operations", count.operations);
    take(from, "lost", count.lost);
    take(from, "gaps", count.gaps);
    take(from, "forgotten", count.forgotten);
    take(from, "unlisted", count.unlisted);
    take(from, "unjudged", count.unjudged);
  });
  if (const auto kernels = document.find("kernels"); kernels != document.end() && kernels->is_object()) {
    take(*kernels, "wanted", races.kernels.wanted);
    take(*kernels, "understood", races.kernels.understood);
    take(*kernels, "unknown_opcodes", races.kernels.unknown_opcodes);
    races.kernels.disassembler = bool_of(*kernels, "disassembler");
  }
  return races;
}

}  // namespace cudadiag::session
