#include "report/json.h"

#include <fmt/core.h>

#include "diagnose/ranks/groups.h"
#include "diagnose/words.h"
#include "report/json_values.h"
#include "session/manifest.h"

namespace cudadiag::report {
namespace {

Json line_or_null(int line) { return line > 0 ? Json(line) : Json(nullptr); }

std::string address(std::uint64_t value) { return fmt::format("{:#x}", value); }

Json line_of(const diagnose::Location& location) {
  return {{"file", text_or_null(location.file)},
          {"line", line_or_null(location.line)},
          {"function", text_or_null(location.function)},
          {"language", text_or_null(std::string(diagnose::word(location.language)))},
          {"source", text_or_null(location.source)}};
}

Json of(const diagnose::Location& location) {
  Json json = line_of(location);
  json["module"] = text_or_null(location.module);
  json["called_from"] = location.called_from.empty() ? Json(nullptr) : line_of(location.called_from.front());
  return json;
}

Json reported_at(const diagnose::Finding& finding) {
  if (!finding.reported_at) return nullptr;
  Json json = of(*finding.reported_at);
  json["api"] = text_or_null(finding.reported_api);
  return json;
}

Json of(const diagnose::Moment& moment) {
  return {{"time", session::iso_time(static_cast<std::time_t>(moment.unix_seconds))},
          {"seconds_since_cuda", moment.since_cuda}};
}

Json of(const diagnose::Related& related) {
  Json json = {{"role", diagnose::word(related.role)}};
  json.update(of(related.location));
  json["grade"] = related.known_by ? Json(diagnose::word(grade(*related.known_by))) : Json(nullptr);
  return json;
}

Json graph_node(const diagnose::Launch& launch) {
  if (!launch.graph_node || launch.graph_node->nodes > 1) return nullptr;
  return {{"index", launch.graph_node->index}, {"of", launch.graph_node->of}, {"replay", value_or_null(launch.replay)}};
}

Json of(const diagnose::Launch& launch) {
  return {{"operation", word(launch.operation)},
          {"kernel", text_or_null(launch.kernel)},
          {"mangled", text_or_null(launch.mangled)},
          {"grid", launch.grid},
          {"block", launch.block},
          {"shared_bytes", launch.shared_bytes},
          {"stream", address(launch.stream)},
          {"device", value_or_null(launch.device)},
          {"process_ordinal", value_or_null(launch.process_ordinal)},
          {"stream_ordinal", value_or_null(launch.stream_ordinal)},
          {"site_ordinal", value_or_null(launch.site_ordinal)},
          {"watched_by", launch.by_hooks ? "hooks" : "cupti"},
          {"thread", launch.thread},
          {"graph_node", graph_node(launch)}};
}

Json of(const symbolize::PythonFrame& frame) {
  return {{"file", text_or_null(frame.file)},
          {"line", line_or_null(frame.line)},
          {"function", text_or_null(frame.function)},
          {"user", frame.user}};
}

Json of(const symbolize::NativeFrame& frame) {
  return {{"module", text_or_null(frame.module)},
          {"function", text_or_null(frame.function)},
          {"file", text_or_null(frame.file)},
          {"line", line_or_null(frame.line)},
          {"user", frame.user}};
}

Json of(const diagnose::Device& device) {
  return {{"exception", text_or_null(device.exception)}, {"function", text_or_null(device.function)},
          {"file", text_or_null(device.file)},           {"line", line_or_null(device.line)},
          {"block", value_or_null(device.block)},        {"thread", value_or_null(device.thread)},
          {"message", text_or_null(device.message)}};
}

Json location_or_null(const std::optional<diagnose::Location>& location) {
  return location ? of(*location) : Json(nullptr);
}

Json of(const diagnose::PointedMemory& allocation) {
  return {{"address", address(allocation.address)},
          {"bytes", allocation.bytes},
          {"offset", allocation.offset},
          {"device", value_or_null(allocation.device)},
          {"out_of_reach", allocation.out_of_reach},
          {"state", allocation.is_freed ? "freed" : "live"},
          {"owner", text_or_null(allocation.owner)},
          {"allocated", location_or_null(allocation.allocated)},
          {"freed", location_or_null(allocation.freed)}};
}

// JSON has no infinity or NaN. The members `inf` and `nan` of an argument count these values.
Json number_or_null(const std::optional<diagnose::Number>& number) {
  return number ? std::visit([](auto value) { return Json(value); }, *number) : Json(nullptr);
}

Json of(const diagnose::Argument& argument) {
  return {{"name", argument.name},
          {"origin", word(argument.origin)},
          {"dtype", text_or_null(argument.dtype)},
          {"shape", argument.shape},
          {"strides", argument.strides},
          {"device", text_or_null(argument.device)},
          {"value", text_or_null(argument.value)},
          {"min", number_or_null(argument.min)},
          {"max", number_or_null(argument.max)},
          {"nan", value_or_null(argument.nan)},
          {"inf", value_or_null(argument.inf)},
          {"bound", value_or_null(argument.bound)},
          {"outside", value_or_null(argument.outside)},
          {"first_outside", argument.first_outside},
          {"first_value", number_or_null(argument.first_value)},
          {"pointer", argument.pointer ? Json(address(*argument.pointer)) : Json(nullptr)},
          {"bytes", value_or_null(argument.bytes)},
          {"allocation", argument.allocation ? of(*argument.allocation) : Json(nullptr)}};
}

Json of(const diagnose::Origin& origin) {
  Json steps = Json::array();
  for (const diagnose::OriginStep& step : origin.steps) {
    Json json = of(step.location);
    json.update({{"role", diagnose::word(step.role)},
                 {"operator", text_or_null(step.op)},
                 {"value", number_or_null(step.value)},
                 {"index", steps.empty() ? Json(origin.index) : Json::array()},
                 {"batch", value_or_null(step.batch)},
                 {"sample", value_or_null(step.sample)},
                 {"grade", diagnose::word(grade(origin.known_by))}});
    steps.push_back(std::move(json));
  }
  return steps;
}

Json of(const diagnose::Watched& watched) {
  return {{"file", text_or_null(watched.location.file)},
          {"line", line_or_null(watched.location.line)},
          {"visit", watched.visit},
          {"thread", watched.thread},
          {"arguments", array_of(watched.arguments, [](const diagnose::Argument& argument) { return of(argument); })}};
}

Json of(const diagnose::SavedLaunch& saved) {
  const session::ReplayTally& tally = saved.tally;
  return {{"folder", saved.folder},
          {"text", session::sentence(tally, saved.failed_alone)},
          {"runs", tally.made()},
          {"as_it_did", tally.as_it_did},
          {"otherwise", tally.otherwise + tally.hung + tally.crashed},
          {"did_not_fail", tally.did_not_fail}};
}

Json of(const diagnose::Inputs& inputs) {
  return {{"folder", inputs.folder},   {"operator", inputs.op},     {"bytes", inputs.bytes},
          {"tensors", inputs.tensors}, {"missing", inputs.missing}, {"replay", inputs.outcome}};
}

Json of(const diagnose::MemoryHolder& holder) {
  return {{"bytes", holder.bytes},
          {"count", holder.count},
          {"owner", text_or_null(holder.owner)},
          {"location", of(holder.location)}};
}

Json of(const diagnose::OtherProcess& other) {
  return {{"pid", other.pid}, {"name", text_or_null(other.name)}, {"bytes", other.bytes}};
}

Json of(const diagnose::TensorMemory& memory) {
  return {{"reserved", memory.reserved},
          {"allocated", memory.allocated},
          {"largest_free", memory.largest_free},
          {"times", memory.times},
          {"holders", array_of(memory.holders, [](const diagnose::MemoryHolder& holder) { return of(holder); })},
          {"exceptions", array_of(memory.exceptions, [](const diagnose::TensorMemory::Exception& exception) {
             return Json{{"type", exception.type}, {"location", of(exception.location)}, {"bytes", exception.bytes}};
           })}};
}

Json of(const diagnose::MemoryUse& memory) {
  const auto each = [](const auto& value) { return of(value); };
  return {{"of", memory.of_host ? "host" : "device"},
          {"asked", memory.asked > 0 ? Json(memory.asked) : Json(nullptr)},
          {"free", value_or_null(memory.free)},
          {"total", value_or_null(memory.total)},
          {"held", memory.held},
          {"peak", memory.peak},
          {"whole", memory.whole},
          {"holders", array_of(memory.holders, each)},
          {"others", array_of(memory.others, each)},
          {"tensors", memory.tensors ? of(*memory.tensors) : Json(nullptr)}};
}

Json of(const diagnose::RaceTensor& tensor) {
  return {{"name", text_or_null(tensor.name)},
          {"view", tensor.view},
          {"role", diagnose::word(tensor.role)},
          {"argument", text_or_null(tensor.argument)},
          {"written", value_or_null(tensor.written)},
          {"dtype", text_or_null(tensor.dtype)},
          {"device", text_or_null(tensor.device)},
          {"shape", tensor.shape},
          {"strides", tensor.strides},
          {"range", {address(tensor.begin), address(tensor.end)}}};
}

Json of(const diagnose::ResolvedAccess& access) {
  const auto each = [](const auto& value) { return of(value); };
  return {
      {"operator", text_or_null(access.op)},
      {"schema", text_or_null(access.schema)},
      {"tensor", access.tensor ? of(*access.tensor) : Json(nullptr)},
      {"operation", word(access.operation)},
      {"kernel", text_or_null(access.kernel)},
      {"mode", word(access.mode)},
      {"stream", access.on_host ? Json(nullptr) : Json(address(access.stream))},
      {"range", {address(access.begin), address(access.end)}},
      {"exact", access.exact},
      {"array", access.array != 0 ? Json(address(access.array)) : Json(nullptr)},
      {"graph_node", access.graph_node > 0 ? Json(access.graph_node) : Json(nullptr)},
      {"location", of(access.location)},
      {"stack", {{"python", array_of(access.stack.python, each)}, {"native", array_of(access.stack.native, each)}}}};
}

Json of(const diagnose::RaceOverlap& overlap) {
  return {{"range", {address(overlap.begin), address(overlap.end)}}, {"bytes", overlap.bytes}};
}

Json of(const diagnose::Cause& cause) {
  Json facts = Json::object();
  for (const auto& [name, value] : cause.facts) facts[name] = value;
  return {{"id", cause.id},
          {"text", cause.text},
          {"facts", std::move(facts)},
          {"link", text_or_null(cause.link)},
          {"certain", cause.certain}};
}

Json of(const diagnose::Memory& memory) {
  const bool nearest = memory.allocation && memory.allocation_bytes;
  return {{"space", text_or_null(memory.space)},
          {"mode", text_or_null(memory.mode)},
          {"bytes", memory.bytes},
          {"address", memory.address ? Json(address(*memory.address)) : Json(nullptr)},
          {"problem", text_or_null(memory.problem)},
          {"nearest", nearest ? Json{{"address", address(*memory.allocation)}, {"bytes", *memory.allocation_bytes}}
                              : Json(nullptr)},
          {"text", memory.text},
          {"function", text_or_null(memory.function)},
          {"file", text_or_null(memory.file)},
          {"line", line_or_null(memory.line)},
          {"block", memory.block},
          {"thread", memory.thread},
          {"accesses", memory.accesses}};
}

Json of(const diagnose::Access& access) {
  const bool known = access.block && access.thread;
  Json parameter = value_or_null(access.parameter), byte = nullptr, loaded_from = nullptr;
  if (access.parameter) byte = access.parameter_byte;
  // The pointer came from memory. The parameter only leads to that memory.
  if (!access.loaded.empty()) {
    loaded_from = {{"parameter", parameter}, {"parameter_byte", byte}, {"bytes", access.loaded}};
    parameter = byte = nullptr;
  }
  return {{"kind", diagnose::word(access.kind)},
          {"bytes", access.bytes != 0 ? Json(access.bytes) : Json(nullptr)},
          {"address", access.address ? Json(address(*access.address)) : Json(nullptr)},
          {"parameter", parameter},
          {"parameter_byte", byte},
          {"parameter_name", text_or_null(access.parameter_name)},
          {"loaded_from", loaded_from},
          {"allocation", access.allocation ? of(*access.allocation) : Json(nullptr)},
          {"distance", value_or_null(access.distance)},
          {"space", diagnose::word(access.space)},
          {"relation", diagnose::word(access.relation)},
          {"first", known ? Json{{"block", *access.block}, {"thread", *access.thread}} : Json(nullptr)},
          {"threads", access.threads != 0 ? Json(access.threads) : Json(nullptr)},
          {"inferred", access.by_code}};
}

Json of(const diagnose::CandidateLine& candidate) {
  return {{"location", of(candidate.location)}, {"launch", of(candidate.launch)}, {"because", candidate.because}};
}

Json hang(const diagnose::Finding& finding) {
  if (!finding.standstill) return nullptr;
  return {{"seconds", *finding.standstill},
          {"while_running", finding.stall.has_value() && !finding.interrupted},
          {"interrupted", finding.interrupted},
          {"ended_after", value_or_null(finding.ended_after)}};
}

Json of(const diagnose::Finding& finding) {
  const auto each = [](const auto& value) { return of(value); };
  return {
      {"kind", diagnose::word(finding.kind)},
      {"error",
       {{"code", finding.code},
        {"name", text_or_null(finding.name)},
        {"runtime_name", text_or_null(finding.runtime_name)},
        {"text", finding.text}}},
      {"location", of(finding.location)},
      {"reported_at", reported_at(finding)},
      {"noticed", finding.noticed ? of(*finding.noticed) : Json(nullptr)},
      {"related", array_of(finding.related, each)},
      {"launch", finding.launch ? of(*finding.launch) : Json(nullptr)},
      {"arguments", array_of(finding.arguments, each)},
      {"origin", finding.origin ? of(*finding.origin) : Json::array()},
      {"watched", array_of(finding.watched, each)},
      {"inputs", finding.inputs ? of(*finding.inputs) : Json(nullptr)},
      {"alone", finding.saved_launch ? of(*finding.saved_launch) : Json(nullptr)},
      {"hang", hang(finding)},
      {"memory_use", finding.memory_use ? of(*finding.memory_use) : Json(nullptr)},
      {"overlap", finding.race && finding.race->overlap ? of(*finding.race->overlap) : Json(nullptr)},
      {"accesses", finding.race ? array_of(finding.race->accesses, each) : Json::array()},
      {"stack", {{"python", array_of(finding.stack.python, each)}, {"native", array_of(finding.stack.native, each)}}},
      {"device", finding.device ? of(*finding.device) : Json(nullptr)},
      {"access", finding.access ? of(*finding.access) : Json(nullptr)},
      {"memory", finding.memory ? of(*finding.memory) : Json(nullptr)},
      {"witnesses", finding.witnesses},
      {"candidates", array_of(finding.candidates, each)},
      {"cause", finding.cause ? of(*finding.cause) : Json(nullptr)},
      {"fix", finding.fix},
      {"evidence", {{"grade", diagnose::word(finding.evidence.grade())}, {"because", finding.evidence.text()}}},
      {"process", {{"pid", finding.pid}, {"rank", value_or_null(finding.rank)}, {"host", text_or_null(finding.host)}}}};
}

Json of(const analyse::Note& note) { return {{"code", word(note.code)}, {"text", note.text}}; }

Json of(const diagnose::ProcessLine& process) {
  return {{"pid", process.pid},
          {"parent", process.parent},
          {"argv", process.argv},
          {"rank", value_or_null(process.rank)},
          {"exit", {{"code", value_or_null(process.code)}, {"signal", value_or_null(process.signal)}}}};
}

Json of(const diagnose::RankLine& rank) {
  return {{"rank", value_or_null(rank.rank)},
          {"pid", rank.pid},
          {"collectives", rank.issued},
          {"has_come", rank.has_come},
          {"location", of(rank.location)},
          {"kernel", text_or_null(rank.kernel)},
          {"grid", rank.grid},
          {"seconds", value_or_null(rank.seconds)},
          {"ended", value_or_null(rank.ended)}};
}

Json of(const diagnose::RanksPart::Uneven& uneven) {
  return {{"collective", uneven.number},
          {"rank", value_or_null(uneven.rank)},
          {"pid", uneven.pid},
          {"kernels", uneven.kernels},
          {"of_others", uneven.of_others}};
}

Json of(const diagnose::RanksPart& part) {
  return {{"collective", part.number},
          {"first_compared", part.first},
          {"difference", diagnose::word(part.difference)},
          {"ranks", array_of(part.ranks, [](const diagnose::RankLine& rank) { return of(rank); })},
          {"uneven", part.uneven ? of(*part.uneven) : Json(nullptr)}};
}

Json of(const diagnose::GroupRank& rank) {
  return {{"rank", value_or_null(rank.rank)}, {"pid", rank.pid},
          {"group_rank", rank.group_rank},    {"has_come", rank.has_come},
          {"call", text_or_null(rank.call)},  {"does", text_or_null(rank.does)},
          {"location", of(rank.location)}};
}

Json of(const diagnose::GroupWait& wait) {
  return {{"rank", value_or_null(wait.rank)}, {"pid", wait.pid},   {"for_rank", value_or_null(wait.for_rank)},
          {"for_pid", wait.for_pid},          {"call", wait.call}, {"location", of(wait.location)}};
}

Json of(const diagnose::GroupsPart& part, const std::string& directory) {
  return {{"sentence", diagnose::group_sentence(part, directory)},
          {"kind", diagnose::word(part.kind)},
          {"difference", diagnose::word(part.difference)},
          {"group", text_or_null(part.group)},
          {"id", address(part.hash)},
          {"size", part.size > 0 ? Json(part.size) : Json(nullptr)},
          {"function", part.function},
          {"number", part.number},
          {"ranks", array_of(part.ranks, [](const diagnose::GroupRank& rank) { return of(rank); })},
          {"not_recorded", part.unseen},
          {"circle", array_of(part.circle, [](const diagnose::GroupWait& wait) { return of(wait); })},
          {"dumps", part.dumps}};
}

Json of(const diagnose::PassLine& pass) {
  return {{"name", word(pass.kind)},
          {"seconds", pass.seconds},
          {"operations", pass.operations},
          {"dropped", pass.dropped},
          {"outcome", pass.outcome},
          {"isolated", pass.isolated},
          {"kept_from", array_of(pass.kept_from, [](const session::KeptFrom& kept) {
             return Json{{"deed", session::word(kept.deed)}, {"object", kept.object}};
           })}};
}

Json run(const diagnose::Diagnosis& report) {
  return {{"command", report.command},
          {"folder", text_or_null(report.working_directory)},
          {"started", text_or_null(report.started)},
          {"session", text_or_null(report.session)}};
}

Json environment(const diagnose::Diagnosis& report) {
  return {{"driver", text_or_null(report.driver)}, {"cuda", text_or_null(report.cuda)},
          {"cupti", text_or_null(report.cupti)},   {"gpus", report.gpus},
          {"python", text_or_null(report.python)}, {"torch", text_or_null(report.torch)},
          {"triton", text_or_null(report.triton)}, {"cudnn", text_or_null(report.cudnn)},
          {"nccl", text_or_null(report.nccl)}};
}

}  // namespace

std::string write_json(const diagnose::Diagnosis& report) {
  const auto each = [](const auto& value) { return of(value); };
  const Json json = {{"schema", "cudadiag.report/1"},
                     {"verdict", diagnose::word(report.verdict)},
                     {"findings", array_of(report.findings, each)},
                     {"notes", array_of(report.notes, each)},
                     {"processes", array_of(report.processes, each)},
                     {"passes", array_of(report.passes, each)},
                     {"ranks", report.ranks ? of(*report.ranks) : Json(nullptr)},
                     {"groups", report.groups ? of(*report.groups, report.working_directory) : Json(nullptr)},
                     {"environment", environment(report)},
                     {"run", run(report)}};
  // ASCII only, so that a terminal gets no control sequences. Bytes that are not UTF-8 become U+FFFD.
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace cudadiag::report
