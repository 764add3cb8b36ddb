// Builds a process with failed calls by hand.
#pragma once

#include <string>

#include "analyse/failed_calls.h"

namespace cudadiag::analyse {

struct FailingCalls {
  session::Process process;

  session::FailedCall& fail(std::string call, std::uint32_t code, unsigned flags = 0, std::string outer = "",
                            std::uint32_t site = 0) {
    session::FailedCall error;
    error.site = site;
    error.serial = process.record.errors.size() + 1;
    error.ticks = 10 * error.serial;
    error.tid = 1;
    error.code = code;
    error.flags = static_cast<std::uint8_t>(flags);
    error.domain = call.starts_with("cuda") ? wire::error::Domain::runtime : wire::error::Domain::driver;
    error.call = std::move(call);
    error.outer = std::move(outer);
    process.record.errors.push_back(error);
    return process.record.errors.back();
  }

  // Makes a call fail in process 7, on thread 1, at tick 10. `first` and `second` are the threads that issue the
  // operations before and after it.
  void fail_beside(std::uint32_t first, std::uint32_t second) {
    process.record.pid = 7;
    process.record.threads.resize(2);
    process.record.threads[0].tid = first;
    process.record.threads[1].tid = second;
    fail("cuMemAlloc_v2", 2, wire::error::kLookedAt, "cudaMalloc");
  }

  CallFindings after(int status, const SameLine& same_line = {}) const {
    return failed_calls(process, ending({status, std::nullopt}), same_line);
  }
};

}  // namespace cudadiag::analyse
