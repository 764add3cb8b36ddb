// Builds a frozen process by hand, with one context. Streams are numbered by index, and operations are recorded in call
// order.
#pragma once

#include <string>

#include "session/session.h"

namespace cudadiag::analyse {

namespace op = wire::operation;

// The CUgraphNodeType values of graph nodes.
inline constexpr std::uint8_t kKernel = 0, kCopy = 1, kHost = 3, kChild = 4, kEmpty = 5, kConditional = 13;

class PictureBuilder {
 public:
  explicit PictureBuilder(std::uint32_t code = 700) {
    process.pid = 4711;
    auto& record = process.record;
    record.state = wire::area::State::frozen;
    record.frozen_code = code;
    record.frozen_error = 1;
    record.contexts.push_back({wire::context::State::live, 1, 0xc0, 0, wire::context::Markers::on});
    record.threads.resize(1);
    session::FailedCall error;
    error.code = code;
    error.ticks = 1'000'000'000;
    error.flags = wire::error::kSticky;
    error.context = 0;
    error.call = "cuMemcpyDtoH_v2";
    error.outer = "cudaMemcpy";
    record.errors.push_back(error);
  }

  // Adds a stream whose completion marker is `marker`.
  std::uint32_t stream(std::uint32_t marker, std::uint32_t context = 0) {
    session::Stream stream;
    stream.state = wire::stream::State::live;
    stream.context = context;
    stream.handle = 0x100 + process.record.streams.size();
    stream.marker = stream.marker_issued = marker;
    process.record.streams.push_back(stream);
    return static_cast<std::uint32_t>(process.record.streams.size() - 1);
  }

  // Issues the next operation on the stream. By default, its call succeeded. The reference is valid until the next
  // operation is issued.
  session::Operation& issue(std::uint32_t on, op::Kind kind = op::Kind::kernel, unsigned flags = 0,
                            std::uint64_t argument = 0) {
    session::Operation operation;
    operation.kind = kind;
    operation.flags = static_cast<std::uint8_t>(flags | op::kReturned);
    operation.serial = ++process.record.threads[0].published;
    operation.ticks = 10 * operation.serial;
    operation.argument = argument;
    operation.stream = on;
    if (op::has_ordinal(kind) && !(flags & op::kCaptured)) {
      auto& stream = process.record.streams[on];
      operation.ordinal = ++stream.issued;
      if (flags & op::kMarkedBefore) stream.marker_issued = operation.ordinal - 1;
      if (flags & op::kMarked) stream.marker_issued = operation.ordinal;
    }
    process.record.operations.push_back(operation);
    return process.record.operations.back();
  }

  // Adds a call site that launches this kernel. Operations issued there get consecutive ordinals.
  std::uint32_t site(const std::string& kernel) {
    auto& record = process.record;
    record.functions.push_back(kernel);
    session::Site site;
    site.function = static_cast<std::uint32_t>(record.functions.size());
    site.kind = op::Kind::kernel;
    record.sites.push_back(site);
    return static_cast<std::uint32_t>(record.sites.size());
  }
  session::Operation& issue_at(std::uint32_t site, std::uint32_t on, unsigned flags = 0) {
    session::Operation& operation = issue(on, op::Kind::kernel, flags);
    operation.site = site;
    operation.site_ordinal = static_cast<std::uint32_t>(++process.record.sites[site - 1].operations);
    return operation;
  }

  void issue_many(std::uint32_t on, int count, unsigned flags = 0) {
    for (int i = 0; i < count; ++i) issue(on, op::Kind::kernel, flags);
  }

  session::Process process;
};

}  // namespace cudadiag::analyse
