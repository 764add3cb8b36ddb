#include "supervise/reruns/replays.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <system_error>

#include "analyse/error_codes.h"
#include "base/text.h"
#include "diagnose/failure/failed_access.h"
#include "evidence/core_facts.h"
#include "sass/kernel_accesses.h"
#include "session/process_record.h"
#include "session/saved_results.h"
#include "session/session_files.h"
#include "symbolize/tool_results.h"
#include "wire/cuda_codes.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostAnswer = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostLog = std::uint64_t{4} << 20;
constexpr const char* kDumpFile = "gpu.core";

// Returns nullopt if the function is unknown.
std::optional<replay::Instruction> instruction_at(const evidence::CodePlace& place) {
  if (place.function.empty()) return std::nullopt;
  replay::Instruction instruction{place.function, place.offset};
  if (!place.lines.empty()) {
    instruction.source = {place.lines.front().file, place.lines.front().function, place.lines.front().line};
  }
  return instruction;
}

std::optional<replay::Dumped> failure_in(const fs::path& dump) {
  std::error_code error;
  if (dump.empty() || !fs::exists(dump, error)) return std::nullopt;
  const auto read = evidence::read_core(dump.string());
  const auto* facts = std::get_if<evidence::CoreFacts>(&read);
  if (facts == nullptr || !facts->failure) return std::nullopt;
  auto instruction = instruction_at(facts->failure->place);
  if (!instruction) return std::nullopt;
  return replay::Dumped{std::move(*instruction), facts->failure->exception};
}

}  // namespace

LaunchPlayer::LaunchPlayer(const replay::LaunchFolder& folder, launch::SignalRelay& relay, PlaySettings settings)
    : folder_(folder), relay_(relay), settings_(settings) {}

std::vector<std::string> LaunchPlayer::command(const Order& order, const fs::path& answer) const {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words = order.under;
  words.insert(words.end(), {self.string(), kReplayChild, folder_.path().string(), "--answer", answer.string(),
                             "--device", std::to_string(order.gpu.device)});
  if (!order.gpu.bus.empty()) words.push_back("--bus=" + order.gpu.bus);
  if (order.gpu.sets_visible)
    words.push_back("--visible=" + (order.gpu.visible.empty() ? kEveryGpu : order.gpu.visible));
  if (order.tight) words.push_back("--tight");
  if (fixed_) words.push_back("--fixed");
  if (!order.outputs.empty()) words.insert(words.end(), {"--outputs", order.outputs.string()});
  if (!order.dump.empty()) words.insert(words.end(), {"--dump", order.dump.string()});
  for (const std::uint32_t block : order.without) words.insert(words.end(), {"--without", std::to_string(block)});
  return words;
}

replay::Run LaunchPlayer::run(const Order& order) {
  if (scratch_.path().empty()) return {replay::Outcome::impossible, 0, "cannot create a temporary folder", {}, {}};
  const fs::path answer = scratch_.path() / ("answer-" + std::to_string(++runs_));
  const ToolRun child = run_tool(command(order, answer), settings_.patience, relay_, settings_.tick);
  if (!child.obstacle.empty()) return {replay::Outcome::impossible, 0, child.obstacle, {}, {}};
  latest_ = replay::read_answer(session::read_plain_file(answer, kMostAnswer).value_or(""));
  auto dumped = failure_in(order.dump);
  scratch_.remove(answer.filename().string());
  if (!order.dump.empty()) scratch_.remove(order.dump.filename().string());
  return replay::judge(folder_.launch(), latest_, !child.cut_short.empty(), std::move(dumped));
}

// If the driver did not grant all addresses, tries again without address randomisation.
replay::Run LaunchPlayer::run_at_old_addresses(const Order& order) {
  replay::Run done = run(order);
  const bool moved = latest_.placed < latest_.placeable;
  if (!moved || fixed_tried_ || done.outcome == replay::Outcome::hung) return done;
  fixed_tried_ = fixed_ = true;
  const replay::Answer before = latest_;
  replay::Run again = run(order);
  if (latest_.placed > before.placed) return again;
  fixed_ = false;
  latest_ = before;
  return done;
}

// Requests no dump from the first replay: after a dump, the driver kills the process before it can report the error.
// The second replay leaves a dump. Later replays leave dumps too, which must show the same exception and instruction as
// the dump of the second replay. A launch that fails without a dump sometimes succeeds when a dump is requested. On a
// busy H200, this happened in half of all launches whose failing warps had exited. Only a replay without a dump can
// therefore show that the launch does not fail.
replay::Run LaunchPlayer::play(const std::vector<std::uint32_t>& without) {
  Order order{settings_.gpu, false, without, {}, {}, {}};
  if (failure_) {
    order.dump = scratch_.path() / kDumpFile;
    replay::Run done = run_at_old_addresses(order);
    if (done.outcome != replay::Outcome::did_not_fail) return replay::judged_by(*failure_, std::move(done));
    order.dump.clear();
    return run(order);
  }
  replay::Run done = run_at_old_addresses(order);
  const auto& saved = folder_.launch().failure;
  const bool is_known = saved && saved->instruction && dumps_;
  const bool may_be_same =
      done.outcome == replay::Outcome::as_it_did || replay::may_be_same_assertion(folder_.launch(), done);
  return is_known && may_be_same ? with_instruction(std::move(done), order) : done;
}

// `run` is a replay that may have reproduced the failure. Replays the launch once more to find the failing instruction.
replay::Run LaunchPlayer::with_instruction(replay::Run run, Order order) {
  using replay::Outcome;
  order.dump = scratch_.path() / kDumpFile;
  replay::Run again = this->run(order);
  if (again.dumped) {
    run.outcome = again.outcome;
    run.dumped = again.dumped;
    if (run.outcome == Outcome::as_it_did) failure_ = std::move(again.dumped);
    return run;
  }
  if (again.outcome == Outcome::hung || again.outcome == Outcome::otherwise) return again;
  dumps_ = again.outcome == Outcome::did_not_fail;  // the next replay may leave a dump
  return run;
}

replay::Run LaunchPlayer::play_for_outputs(const fs::path& outputs, const replay::GpuChoice& gpu) {
  return run({gpu, false, {}, outputs, {}, {}});
}

replay::Run LaunchPlayer::play_sanitized(SanitizerTool tool, const std::string& sanitizer, std::string& log) {
  const fs::path file = scratch_.path() / "sanitizer.log";
  scratch_.remove(file.filename().string());
  Order order{settings_.gpu, true, {}, {}, {}, {}};
  order.under = sanitizer_command(sanitizer, tool, file, {}, {});
  replay::Run done = run(order);
  log = session::read_plain_file(file, kMostLog).value_or("");
  return done;
}

namespace {

constexpr std::size_t kOutputKept = 64u << 10;

}  // namespace

std::optional<RerunProblem> replay(session::Session& session, session::SessionWriter& writer,
                                   const analyse::Analysis& analysis, std::chrono::milliseconds patience,
                                   launch::SignalRelay& relay) {
  using Kind = RerunProblem::Kind;
  const auto confirmed = std::find_if(analysis.failures.begin(), analysis.failures.end(),
                                      [](const analyse::Failure& failure) { return failure.again_process != nullptr; });
  if (confirmed == analysis.failures.end()) return RerunProblem{Kind::nothing_confirmed};
  session::Pass* pass = session::rerun_of(session, confirmed->again_process);
  if (pass == nullptr) return std::nullopt;
  const auto folder = session::saved_call_folder(session.folder / pass->folder, confirmed->again_process->pid);
  const auto call = session::read_saved_call(folder);
  if (!call) return RerunProblem{Kind::nothing_saved};
  const auto place = session::saved_call_folder(writer.folder() / pass->folder, confirmed->again_process->pid);
  if (const auto failure = writer.store_text(place / session::kReplayScriptFile, kReplayScript)) {
    return RerunProblem{Kind::not_stored, *failure};
  }
  const ToolRun run = run_tool({call->python, (folder / session::kReplayScriptFile).string()}, patience, relay);
  if (!run.obstacle.empty()) return RerunProblem{Kind::replay_not_started, {run.obstacle, ""}};
  writer.store_text(place / session::kOutputFile, std::string_view(run.output).substr(0, kOutputKept));
  pass->replay = session::Witness{run.end, run.cut_short, run.seconds};
  if (const auto failure = writer.store_manifest(session.manifest)) return RerunProblem{Kind::not_stored, *failure};
  return std::nullopt;
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kReplays = 20;
constexpr std::chrono::seconds kLongest{60};  // for all replays together

struct Found {
  fs::path folder;  // relative to the session's folder
  const session::ProcessRecord* record = nullptr;
  std::size_t pass = 0;  // index in the manifest
};

// Searches the latest pass first.
std::optional<Found> find_launch(const session::Session& session) {
  for (std::size_t i = std::min(session.reruns.size() + 1, session.manifest.passes.size()); i-- > 1;) {
    for (const session::Process& process : session.reruns[i - 1]) {
      const fs::path folder = session::saved_launch_folder(session.manifest.passes[i].folder, process.pid);
      const fs::path path = session.folder / folder;
      std::error_code error;
      const bool saved = fs::exists(path / replay::kLaunchFile, error) || replay::holds_launch(path);
      if (saved) return Found{folder, &process.record, i};
    }
  }
  return std::nullopt;
}

std::optional<replay::Instruction> instruction_of(const session::Session& session) {
  const symbolize::ToolResults results = symbolize::tool_results(session);
  return results.failure ? instruction_at(results.failure->place) : std::nullopt;
}

replay::Surroundings surroundings_of(const session::Session& session, diagnose::SessionState& state) {
  replay::Surroundings surroundings;
  for (const diagnose::Finding& finding : state.diagnosis().findings) {
    if (!finding.launch || finding.launch->mangled.empty()) continue;
    surroundings.demangled = base::demangle(finding.launch->mangled);
    surroundings.failure.name = std::string(analyse::cuda_error(finding.code).driver_name);
    surroundings.failure.line = {finding.location.file, finding.location.function,
                                 static_cast<std::uint32_t>(std::max(finding.location.line, 0))};
    break;
  }
  surroundings.failure.instruction = instruction_of(session);
  return surroundings;
}

// Replays only on the GPU of the launch. That GPU has the same number in any process with the same
// CUDA_VISIBLE_DEVICES.
replay::GpuChoice gpu_of(const replay::SavedLaunch& launch, const session::ProcessRecord& record) {
  return {static_cast<int>(launch.device), launch.gpu.bus, true,
          session::value_of(record, session::Property::visible_devices)};
}

constexpr const char* kTookTooLong = "the replay took too long";
constexpr const char* kUnknownGpu = "the program's GPU is unknown";

session::ReplayTally replay_often(const replay::LaunchFolder& folder, const session::ProcessRecord& record,
                                  launch::SignalRelay& relay) {
  session::ReplayTally tally = replay::tally_for(folder.launch());
  if (folder.launch().gpu.bus.empty()) return tally.why = kUnknownGpu, tally;
  LaunchPlayer player(folder, relay, {.gpu = gpu_of(folder.launch(), record)});
  const auto deadline = Clock::now() + kLongest;
  while (tally.runs < kReplays && Clock::now() < deadline && !relay.interrupted()) {
    const replay::Run run = player.play();
    if (relay.interrupted()) break;  // the replay was cut short, so it shows nothing
    replay::add(tally, run);
    if (run.outcome == replay::Outcome::impossible || run.outcome == replay::Outcome::hung) break;
  }
  return tally;
}

// Completes the folder unless that has been done.
base::Result<replay::LaunchFolder> completed(const Found& place, const session::Session& session,
                                             diagnose::SessionState& state) {
  const fs::path path = session.folder / place.folder;
  if (replay::holds_launch(path)) {
    replay::Surroundings surroundings = surroundings_of(session, state);
    surroundings.bus_of = [&](std::uint32_t device) { return session::pci_bus_id(*place.record, device); };
    if (const auto failure = replay::complete_folder(path, surroundings)) return *failure;
  }
  return replay::LaunchFolder::open(path);
}

// ---- the failing address

session::FoundAccess nothing(std::string why) { return {.why = std::move(why)}; }

// A parameter of the launch, from which the address is computed.
struct Base {
  std::uint32_t word = 0;     // its byte offset among the parameters
  std::uint64_t pointer = 0;  // in the program
  std::uint64_t shift = 0;    // the address of its memory in the replay, less the address in the program
};

std::optional<Base> base_of(const replay::SavedLaunch& launch, const replay::Answer& answer,
                            const diagnose::Access& access) {
  const std::size_t number = access.parameter.value_or(0);
  if (number == 0 || number > launch.parameters.size()) return std::nullopt;
  const replay::Parameter& parameter = launch.parameters[number - 1];
  Base base;
  if (access.parameter_byte + sizeof base.pointer > parameter.bytes.size()) return std::nullopt;
  std::memcpy(&base.pointer, parameter.bytes.data() + access.parameter_byte, sizeof base.pointer);
  base.word = parameter.offset + access.parameter_byte;
  replay::Placement placement(launch.blocks);
  for (std::size_t i = 0; i < launch.blocks.size(); ++i) {
    const auto moved = answer.moved.find(i);
    // The replay does not report the addresses of variables and of host memory.
    if (moved == answer.moved.end())
      placement.leave_out(i);
    else
      placement.put(i, moved->second);
  }
  const std::uint64_t now = placement.rewritten(base.pointer);
  base.shift = now - base.pointer;
  const bool in_block = std::ranges::any_of(launch.blocks, [&](const replay::Block& block) {
    return base.pointer >= block.address && base.pointer <= block.end();
  });
  const bool known = !in_block || std::ranges::any_of(answer.moved, [&](const auto& moved) {
    return moved.first < launch.blocks.size() && now >= moved.second &&
           now - moved.second <= launch.blocks[moved.first].bytes;
  });
  return known ? std::optional(base) : std::nullopt;
}

// Nearer to an allocation than this, memory may be mapped that no recorded call allocated (access_by_code.cc).
constexpr std::uint64_t kMaybeMapped = std::uint64_t{256} << 20;

// Returns whether memory was allocated within `margin` bytes of the pages of the access. The driver maps pages of 2
// MiB.
bool may_be_mapped(const replay::SavedLaunch& launch, std::uint64_t address, std::uint64_t bytes,
                   std::uint64_t margin) {
  constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
  return std::ranges::any_of(launch.blocks, [&](const replay::Block& block) {
    const std::uint64_t begin = block.address / kPage * kPage, end = (block.end() + kPage - 1) / kPage * kPage;
    return address < end + margin && address + bytes + margin > begin;
  });
}

bool is_kind(const evidence::InvalidAccess& found, const diagnose::Access& access) {
  const std::string_view mode = access.kind == sass::AccessKind::load    ? "read"
                                : access.kind == sass::AccessKind::store ? "write"
                                                                         : "atomic";
  return found.mode == mode && (access.bytes == 0 || found.bytes == access.bytes);
}

bool is_within(const replay::Dim3& index, const replay::Dim3& size) {
  return std::ranges::equal(index, size, std::less<>());
}

bool lacks_memory(const replay::SavedLaunch& launch) {
  const bool lacks_part =
      std::ranges::any_of(launch.missing, [](const auto& missing) { return missing.first != replay::Missing::heap; });
  return lacks_part || replay::tally_for(launch).unsaved > 0;
}

}  // namespace

session::FoundAccess judged_access(const replay::SavedLaunch& launch, const replay::Answer& answer,
                                   const evidence::SanitizerLog& log, const diagnose::Access& access, bool misaligned) {
  if (lacks_memory(launch)) return nothing("some memory of the launch was not saved");
  if (!log.errors) return nothing("compute-sanitizer did not finish");
  if (log.accesses.empty()) return nothing("the replay made no invalid access");
  if (*log.errors == 0) return nothing("compute-sanitizer printed an invalid access, but counted no error");
  const auto base = base_of(launch, answer, access);
  if (!base) return nothing("the parameter's memory is not in the replay");
  const evidence::InvalidAccess& first = log.accesses.front();
  const auto instruction = launch.failure && launch.failure->instruction
                               ? *launch.failure->instruction
                               : replay::Instruction{first.function, first.offset, {}};
  const evidence::InvalidAccess* failed = nullptr;
  const auto moved_back = [&](const evidence::InvalidAccess& each) { return *each.address - base->shift; };
  for (const evidence::InvalidAccess& each : log.accesses) {
    const bool is_there = each.kernel == launch.kernel && each.function == instruction.function &&
                          each.offset == instruction.offset && is_kind(each, access);
    if (!is_there) break;
    if (each.space != "global" || !each.address || (each.problem == "misaligned") != misaligned) continue;
    const std::uint64_t address = moved_back(each);
    const bool is_aligned = address % sass::alignment_of(access.bytes) == 0;
    if (is_aligned == misaligned || (!misaligned && may_be_mapped(launch, address, each.bytes, 0))) continue;
    if (!is_within(each.block, launch.grid) || !is_within(each.thread, launch.block)) continue;
    if (failed == nullptr) failed = &each;
    if (misaligned || may_be_mapped(launch, address, each.bytes, kMaybeMapped)) continue;
    failed = &each;
    break;
  }
  if (failed == nullptr) return nothing("no access of the failing instruction was certain to fail in the replay");
  session::FoundAccess found;
  found.kernel = failed->kernel;
  found.function = failed->function;
  found.offset = failed->offset;
  found.mode = failed->mode;
  found.address = moved_back(*failed);
  found.bytes = failed->bytes;
  found.misaligned = misaligned;
  found.parameter = *access.parameter;
  found.word = base->word;
  found.byte = access.parameter_byte;
  found.pointer = base->pointer;
  found.block = failed->block;
  found.thread = failed->thread;
  return found;
}

bool has_saved_launch(const session::Session& session) { return find_launch(session).has_value(); }

namespace {

session::FoundAccess replayed_access(const replay::LaunchFolder& folder, const Found& place,
                                     const diagnose::Finding& finding, std::chrono::milliseconds limit,
                                     launch::SignalRelay& relay, RerunListener& listener) {
  const std::string sanitizer = find_sanitizer();
  if (sanitizer.empty()) return nothing("compute-sanitizer is not installed here");
  if (folder.launch().gpu.bus.empty()) return nothing(kUnknownGpu);
  if (!folder.why_foreign().empty()) return nothing(folder.why_foreign());
  const auto tick = [&] { listener.repeats_launch(std::chrono::duration<double>(limit).count()); };
  LaunchPlayer player(folder, relay, {gpu_of(folder.launch(), *place.record), limit, tick});
  const auto began = Clock::now();
  std::string log;
  player.play_sanitized(SanitizerTool::memcheck, sanitizer, log);
  const auto took = Clock::now() - began;
  listener.stops();
  session::FoundAccess found = took >= limit ? nothing(kTookTooLong)
                               : relay.interrupted()
                                   ? nothing("the replay was interrupted")
                                   : judged_access(folder.launch(), player.latest(), evidence::sanitizer_log(log),
                                                   *finding.access, finding.code == wire::cuda::kMisalignedAddress);
  found.seconds = std::chrono::duration<double>(took).count();
  return found;
}

}  // namespace

std::optional<RerunProblem> find_address(session::Session& session, diagnose::SessionState& state,
                                         session::SessionWriter& writer, launch::SignalRelay& relay,
                                         std::chrono::milliseconds limit, RerunListener& listener) {
  using Kind = RerunProblem::Kind;
  const auto& findings = state.diagnosis().findings;
  const auto finding = std::ranges::find_if(findings, diagnose::lacks_address);
  const auto place = find_launch(session);
  if (finding == findings.end()) return std::nullopt;
  session::FoundAccess found{.why = "no launch was saved"};
  if (place) {
    const auto folder = completed(*place, session, state);
    if (const auto* failure = std::get_if<base::Error>(&folder)) return RerunProblem{Kind::not_stored, *failure};
    found = replayed_access(std::get<replay::LaunchFolder>(folder), *place, *finding, limit, relay, listener);
  }
  session.manifest.passes[place ? place->pass : session.manifest.passes.size() - 1].access = found;
  if (found.why == kTookTooLong) {
    session.manifest.notes.push_back(
        fmt::format("the address of the access is unknown: the launch was repeated under compute-sanitizer, but ended "
                    "after {:.1f} s; for more time, use --save-launch",
                    found.seconds));
  }
  state.advance();
  if (const auto failure = writer.store_manifest(session.manifest)) return RerunProblem{Kind::not_stored, *failure};
  return std::nullopt;
}

std::optional<RerunProblem> try_saved_launch(session::Session& session, diagnose::SessionState& state,
                                             session::SessionWriter& writer, launch::SignalRelay& relay) {
  using Kind = RerunProblem::Kind;
  const auto place = find_launch(session);
  if (!place) return RerunProblem{Kind::no_launch_saved};
  const auto folder = completed(*place, session, state);
  if (const auto* failure = std::get_if<base::Error>(&folder)) return RerunProblem{Kind::not_stored, *failure};
  const session::ReplayTally tally = replay_often(std::get<replay::LaunchFolder>(folder), *place->record, relay);
  const fs::path file = writer.folder() / place->folder / session::kReplayTallyFile;
  if (const auto failure = writer.store_text(file, session::write_replay_tally(tally))) {
    return RerunProblem{Kind::not_stored, *failure};
  }
  state.advance();
  return std::nullopt;
}

}  // namespace cudadiag::supervise
