// Writes the state of a run as JSON (`cudadiag status --json`).
#include <fmt/core.h>

#include "diagnose/words.h"
#include "report/json_values.h"
#include "report/status/status_text.h"

namespace cudadiag::report {
namespace {

Json frame(const diagnose::Location& location) {
  return {{"file", text_or_null(location.file)},
          {"line", location.line > 0 ? Json(location.line) : Json(nullptr)},
          {"function", text_or_null(location.function)}};
}

Json place(const diagnose::Location& location) {
  Json json = frame(location);
  json["called_from"] = location.called_from.empty() ? Json(nullptr) : frame(location.called_from.front());
  return json;
}

Json operation(const diagnose::OpenOperation& open) {
  return {{"operation", word(open.operation)},
          {"kernel", text_or_null(open.kernel)},
          {"ordinal", open.ordinal},
          {"site_ordinal", value_or_null(open.site_ordinal)},
          {"seconds", value_or_null(open.seconds)},
          {"candidate", open.candidate},
          {"location", place(open.location)}};
}

Json wait(const diagnose::OpenWait& open) {
  return {{"for", diagnose::word(open.kind)}, {"ordinal", open.ordinal}, {"text", open.text}};
}

Json stream(const diagnose::OpenStream& open) {
  return {{"stream", fmt::format("{:#x}", open.handle)},
          {"name", open.name},
          {"device", value_or_null(open.device)},
          {"issued", open.issued},
          {"completed", open.completed},
          {"proven_unfinished", open.proven},
          {"grade", diagnose::word(grade(open.known_by))},
          {"candidates", open.candidates},
          {"lost", open.missing},
          {"operations", array_of(open.operations, operation)},
          {"waits", array_of(open.waits, wait)},
          {"may_wait_for", open.may_wait_for}};
}

Json call(const diagnose::OpenCall& open) {
  return {{"thread", open.tid},
          {"name", text_or_null(open.thread)},
          {"call", text_or_null(open.call)},
          {"waits_for", text_or_null(open.waits_for)},
          {"seconds", value_or_null(open.seconds)},
          {"location", place(open.location)}};
}

Json process(const diagnose::ProcessStatus& status) {
  return {{"pid", status.pid},
          {"rank", value_or_null(status.rank)},
          {"argv", status.argv},
          {"state", diagnose::word(status.state)},
          {"operations", status.operations},
          {"idle_seconds", value_or_null(status.idle)},
          {"failed_calls", status.errors},
          {"streams", array_of(status.streams, stream)},
          {"calls", array_of(status.calls, call)}};
}

}  // namespace

std::string write_status_json(const diagnose::Status& status) {
  const Json document = {{"schema", "cudadiag.status/1"}, {"running", value_or_null(status.goes_on)},
                         {"session", status.session},     {"seconds", value_or_null(status.seconds)},
                         {"command", status.command},     {"processes", array_of(status.processes, process)},
                         {"notes", status.notes}};
  return document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace cudadiag::report
