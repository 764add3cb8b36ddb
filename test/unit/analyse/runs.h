// Builds first runs and reruns of a program that fails.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "analyse/analysis.h"
#include "unit/analyse/picture_builder.h"

namespace cudadiag::analyse {

// Builds a stream with `issued` launches of kernel "bad", of which the first `finished` have finished. A marker follows
// each launch.
inline session::Process run_of_bad(int finished, int issued, const std::string& kernel = "bad") {
  PictureBuilder picture;
  const auto site = picture.site(kernel);
  const auto stream = picture.stream(static_cast<std::uint32_t>(finished));
  for (int i = 0; i < issued; ++i) picture.issue_at(site, stream, i < finished ? op::kMarked : 0);
  return picture.process;
}

// Builds two streams with an unfinished operation each. Either operation may have failed.
inline session::Process run_of_two(const std::string& first, const std::string& second) {
  PictureBuilder picture;
  for (const std::string& kernel : {first, second}) {
    const auto site = picture.site(kernel);
    picture.issue_at(site, picture.stream(0), op::kMarked);
  }
  return picture.process;
}

// Builds a Python program. From call `hooked` on, the Python hook issues the launches, so their call site has no native
// stack.
inline session::Process run_in_python(int finished, int issued, int hooked) {
  PictureBuilder picture;
  auto& record = picture.process.record;
  record.properties["python"] = "3.12.3";
  record.properties["python.hook"] = "on";
  record.modules.emplace_back().path = "/usr/lib/library.so";
  record.native_stacks.push_back({{{1, 0x40}}, false});
  const auto site = picture.site("bad");
  record.sites[site - 1].native = 1;
  const auto hooked_site = picture.site("bad");
  const auto stream = picture.stream(static_cast<std::uint32_t>(finished));
  for (int i = 0; i < issued; ++i) {
    picture.issue_at(i + 1 < hooked ? site : hooked_site, stream, i < finished ? op::kMarked : 0);
  }
  return picture.process;
}

inline session::Process waited_for(session::Process process, std::size_t operation) {
  process.record.operations[operation].flags |= op::kAlone;
  process.record.waits = operation + 1;
  return process;
}

// Builds a rerun that did not fail. It waited for `waits` operations, and launched kernels "good" and "bad" `calls`
// times each.
inline session::Process passed(std::uint64_t waits, std::uint64_t calls = 3) {
  PictureBuilder picture;
  auto& record = picture.process.record;
  record.state = wire::area::State::finished;
  record.waits = waits;
  for (const char* kernel : {"good", "bad"}) record.sites[picture.site(kernel) - 1].operations = calls;
  return picture.process;
}

struct Runs {
  explicit Runs(session::Process first) {
    session.manifest.passes.resize(1);
    session.processes.push_back(std::move(first));
  }
  void add(session::Process rerun, std::optional<session::CutShort> cut_short = {}) {
    session.manifest.passes.emplace_back().kind = session::PassKind::confirm;
    session.manifest.passes.back().cut_short = cut_short;
    session.reruns.push_back({std::move(rerun)});
  }
  // Adds a rerun in which the Python hook stored values.
  void add_hooked(session::Process rerun, session::DeliveryKind told = session::DeliveryKind::line) {
    rerun.record.properties["python.hook"] = "on";
    rerun.deliveries.emplace_back().kind = told;
    add(std::move(rerun));
    session.manifest.passes.back().values = true;
  }
  Analysis look() const { return cudadiag::analyse::analyse(session); }

  session::Session session;
};

}  // namespace cudadiag::analyse
