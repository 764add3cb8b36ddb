#include "evidence/json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/demangle.h"

namespace cudadiag::evidence {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json name_or_null(const std::string& mangled) { return text_or_null(base::demangle(mangled)); }

template <typename T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json of(const SourceLine& line) {
  return {{"function", name_or_null(line.function)}, {"file", text_or_null(line.file)}, {"line", line.line}};
}

Json inline_chain(const CodePlace& place) {
  Json chain = Json::array();
  if (place.lines.size() < 2) return chain;
  for (const SourceLine& line : place.lines) chain.push_back(of(line));
  return chain;
}

Json of(const DebuggerWitness* debugger) {
  if (debugger == nullptr) return nullptr;
  Json different = Json::array();
  for (const Difference& difference : debugger->check.different) {
    different.push_back({{"field", difference.field}, {"here", difference.here}, {"there", difference.there}});
  }
  return {{"failed", text_or_null(debugger->failed)}, {"same", debugger->check.same}, {"different", different}};
}

Json of(const AccessSummary* access) {
  if (access == nullptr) return nullptr;
  const auto address = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(fmt::format("{:#x}", *value)) : Json(nullptr);
  };
  return {{"kind", access->kind},
          {"bytes", access->bytes != 0 ? Json(access->bytes) : Json(nullptr)},
          {"address", address(access->address)},
          {"space", access->space},
          {"parameter", value_or_null(access->parameter)},
          {"parameter_byte", access->parameter ? Json(access->parameter_byte) : Json(nullptr)},
          {"value", address(access->value)}};
}

Json running(const Testimony& testimony) {
  Json kernels = Json::array();
  for (const RunningKernel& kernel : testimony.running) {
    Json places = Json::array();
    for (const RunningPlace& place : kernel.places) {
      const SourceLine* line = place.place.lines.empty() ? nullptr : &place.place.lines.front();
      places.push_back({{"pc", fmt::format("{:#x}", place.place.pc)},
                        {"function", name_or_null(line != nullptr ? line->function : place.place.function)},
                        {"file", line != nullptr ? text_or_null(line->file) : Json(nullptr)},
                        {"line", line != nullptr ? Json(line->line) : Json(nullptr)},
                        {"threads", place.threads},
                        {"block", place.block},
                        {"thread", place.thread}});
    }
    kernels.push_back({{"kernel", name_or_null(kernel.kernel)},
                       {"grid", value_or_null(kernel.grid)},
                       {"block_dim", value_or_null(kernel.block_dim)},
                       {"grid_id", kernel.grid_id},
                       {"blocks", kernel.blocks},
                       {"threads", kernel.threads},
                       {"places", std::move(places)}});
  }
  return kernels;
}

}  // namespace

std::string write_json(const Testimony& testimony, const std::string& instruction, const DebuggerWitness* debugger,
                       const AccessSummary* access) {
  const DumpedFailure failure = testimony.failure.value_or(DumpedFailure{});
  const CodePlace& place = failure.place;
  const SourceLine* line = place.lines.empty() ? nullptr : &place.lines.front();
  const Json json = {
      {"exception", text_or_null(failure.exception_name)},
      {"function", name_or_null(line != nullptr ? line->function : place.function)},
      {"file", line != nullptr ? text_or_null(line->file) : Json(nullptr)},
      {"line", line != nullptr ? Json(line->line) : Json(nullptr)},
      {"block", value_or_null(failure.block)},
      {"thread", value_or_null(failure.thread)},
      {"message", text_or_null(failure.message)},
      {"kernel", name_or_null(failure.kernel)},
      {"grid", value_or_null(failure.grid)},
      {"block_dim", value_or_null(failure.block_dim)},
      {"pc", failure.witness ? Json(fmt::format("{:#x}", place.pc)) : Json(nullptr)},
      {"instruction", text_or_null(instruction)},
      {"access", of(access)},
      {"inline", inline_chain(place)},
      {"grid_id", value_or_null(failure.grid_id)},
      {"threads", value_or_null(failure.threads)},
      {"running", running(testimony)},
      {"cuda_gdb", of(debugger)},
  };
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace cudadiag::evidence
