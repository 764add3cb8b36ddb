#include "evidence/core_facts.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace cudadiag::evidence {
namespace {

// Indexed by exception code. The names are those that NVIDIA's debugger uses.
constexpr const char* kNames[] = {nullptr,
                                  "Lane Illegal Address",
                                  "Lane User Stack Overflow",
                                  "Device Hardware Stack Overflow",
                                  "Warp Illegal Instruction",
                                  "Warp Out-of-range Address",
                                  "Warp Misaligned Address",
                                  "Warp Invalid Address Space",
                                  "Warp Invalid PC",
                                  "Warp Hardware Stack Overflow",
                                  "Device Illegal Address",
                                  "Lane Misaligned Address",
                                  "Warp Assert",
                                  "Lane Syscall Error",
                                  "Warp Illegal Address",
                                  "Lane Non-migratable Atomic",
                                  "Lane Invalid Atomic",
                                  "Cluster Out-of-range Address",
                                  "Cluster Block Not Present",
                                  "Warp Stack Canary",
                                  "Warp Tensor Memory Access Check",
                                  "Warp Tensor Memory Leak",
                                  "Warp Call Requires Newer Driver",
                                  "Warp Misaligned PC",
                                  "Warp PC Overflow",
                                  "Warp Misaligned Register",
                                  "Warp Illegal Instruction Encoding",
                                  "Warp Illegal Instruction Parameter",
                                  "Warp Out-of-range Register",
                                  "Warp Invalid Constant Address",
                                  "Warp MMU Fault",
                                  "Warp Arrive",
                                  "Cluster Poison",
                                  "Warp API Stack Error",
                                  "Warp Block Not Present",
                                  "Warp User Stack Overflow",
                                  "TMA Syscall Error"};

void describe(const DeviceCode& code, CodePlace& place, std::uint64_t address, const LineChain& chain) {
  const Function* function = code.function_at(address);
  if (function == nullptr) return;
  place.function = function->name;
  place.offset = place.pc - function->address;
  for (const LineFrame& frame : chain) {
    const std::string_view name = frame.inlined.value_or(function->name);
    place.lines.push_back({.function = std::string(name), .file = frame.path(), .line = frame.line});
  }
}

// Returns the address of a thread's next instruction; nullopt if the dump's address and offset for the thread
// contradict each other. Older drivers store a host address. For these, returns the grid's entry plus the offset, if a
// kernel contains this sum.
std::optional<std::uint64_t> standing_at(const DeviceCode& code, const Lane& lane, const Grid* grid) {
  const auto starts = [&lane](const Function* f) { return f != nullptr && lane.pc - f->address == lane.offset; };
  if (starts(code.function_at(lane.pc)) || starts(code.kernel_at(lane.pc))) return lane.pc;
  if (grid != nullptr && lane.call_depth == 0 && code.kernel_at(grid->entry + lane.offset) != nullptr) {
    return grid->entry + lane.offset;
  }
  return std::nullopt;
}

// Returns the address of the instruction where a running thread waits. While a thread waits for others at a barrier,
// its next instruction is already the one after the barrier (measured on an H200).
std::uint64_t waiting_at(const DeviceCode& code, std::uint64_t next) {
  constexpr std::uint64_t kBytes = 16, kOpcode = 0x1ff, kBarrier = 0x11d;  // BAR, without the form of its operands
  constexpr std::uint64_t kArrives = 1 << 13;                              // BAR.ARV does not wait
  const Function* function = code.function_at(next);
  if (function == nullptr || next - function->address < kBytes) return next;
  const Bytes instructions = code.instructions(*function);
  const std::uint64_t before = next - function->address - kBytes;
  if (before + kBytes > instructions.size()) return next;
  const bool waits = (instructions.u64(before) & kOpcode) == kBarrier && (instructions.u64(before + 8) & kArrives) == 0;
  return waits ? next - kBytes : next;
}

void describe_launch(const DeviceCode& code, const Grid& grid, DumpedKernel& kernel) {
  kernel.grid = grid.blocks;
  kernel.block_dim = grid.threads;
  kernel.host_thread = grid.host_thread;
  if (const Function* function = code.kernel_at(grid.entry)) kernel.kernel = function->name;
}

// Looks up each address, and fills in the function, offset and lines of the place that is paired with the address.
void resolve(const DeviceCode& code, const std::vector<std::pair<CodePlace*, std::uint64_t>>& places) {
  std::vector<std::uint64_t> addresses;
  for (const auto& [place, address] : places) addresses.push_back(address);
  const auto chains = code.lines_at(addresses);
  for (std::size_t i = 0; i < places.size(); ++i) describe(code, *places[i].first, addresses[i], chains[i]);
}

// Limits the places that are listed for each kernel. Most threads of a kernel are in a few loops, so more places would
// tell the user nothing new.
constexpr std::size_t kMostPlaces = 8;

struct Gathered {
  RunningKernel kernel;
  std::set<Dim3> blocks;
  std::map<std::uint64_t, RunningPlace> places;  // keyed by address
};

class RunningKernels {
 public:
  RunningKernels(const Dump& dump, const DeviceCode& code) : dump_(dump), code_(code) {}

  std::vector<RunningKernel> run() {
    for (const Lane& lane : dump_.lanes) {
      if (has_bit(dump_.warp(lane).valid, lane.id)) add(lane);
    }
    std::vector<RunningKernel> running;
    for (auto& [key, gathered] : kernels_) running.push_back(finish(std::move(gathered)));
    std::ranges::stable_sort(running, [](const auto& a, const auto& b) { return a.threads > b.threads; });
    if (running.size() > kMostKernels) running.resize(kMostKernels);
    std::vector<std::pair<CodePlace*, std::uint64_t>> places;
    for (RunningKernel& kernel : running) {
      for (RunningPlace& place : kernel.places) places.emplace_back(&place.place, place.place.pc);
    }
    resolve(code_, places);
    return running;
  }

 private:
  void add(const Lane& lane) {
    const Cta& cta = dump_.cta(dump_.warp(lane));
    const Grid* grid = dump_.grid(cta);
    auto [found, made] = kernels_.try_emplace({dump_.sm(cta).device, cta.grid});
    Gathered& gathered = found->second;
    if (made) describe(gathered.kernel, cta, grid);
    ++gathered.kernel.threads;
    gathered.blocks.insert(cta.block);
    const auto next = standing_at(code_, lane, grid);
    if (!next) return;
    const std::uint64_t pc = waiting_at(code_, *next);
    RunningPlace& place = gathered.places.try_emplace(pc).first->second;
    place.place.pc = pc;
    const bool first = place.threads == 0 || std::pair(linear(cta.block), linear(lane.thread)) <
                                                 std::pair(linear(place.block), linear(place.thread));
    if (first) {
      place.block = cta.block;
      place.thread = lane.thread;
    }
    ++place.threads;
  }

  void describe(RunningKernel& kernel, const Cta& cta, const Grid* grid) const {
    kernel.device = dump_.device(dump_.sm(cta)).id;
    kernel.grid_id = cta.grid;
    if (grid != nullptr) describe_launch(code_, *grid, kernel);
  }

  static RunningKernel finish(Gathered gathered) {
    RunningKernel& kernel = gathered.kernel;
    kernel.blocks = gathered.blocks.size();
    for (auto& [pc, place] : gathered.places) kernel.places.push_back(std::move(place));
    std::ranges::stable_sort(kernel.places, std::greater<>(), &RunningPlace::threads);
    if (kernel.places.size() > kMostPlaces) kernel.places.resize(kMostPlaces);
    return std::move(kernel);
  }

  const Dump& dump_;
  const DeviceCode& code_;
  std::map<std::pair<Row, std::uint64_t>, Gathered> kernels_;  // keyed by device and grid
};

// Returns the threads with an exception or, if `trapped`, the threads at a trap instruction, in the order of the dump.
std::vector<const Lane*> failed_threads(const Dump& dump, bool trapped) {
  std::vector<const Lane*> failed;
  for (const Lane& lane : dump.lanes) {
    const Warp& warp = dump.warp(lane);
    const bool here = trapped ? warp.broken && has_bit(warp.active, lane.id) : lane.exception != 0;
    if (here && has_bit(warp.valid, lane.id)) failed.push_back(&lane);
  }
  return failed;
}

// Returns the first thread by device, grid, block and thread, in CUDA's numbering (x varies fastest). There must be
// one.
const Lane& first_of(const Dump& dump, const std::vector<const Lane*>& threads) {
  const auto position = [&dump](const Lane* lane) {
    const Cta& cta = dump.cta(dump.warp(*lane));
    return std::tuple(dump.sm(cta).device, cta.grid, linear(cta.block), linear(lane->thread));
  };
  return **std::ranges::min_element(threads, {}, position);
}

struct FailedCount {
  std::uint64_t threads = 0, blocks = 0;
};

// Counts the failed threads that are in the same grid on the same device as `block`, and the blocks that contain them.
FailedCount count_in_grid(const Dump& dump, const std::vector<const Lane*>& threads, const Cta& block) {
  FailedCount count;
  std::set<Dim3> blocks;
  for (const Lane* lane : threads) {
    const Cta& cta = dump.cta(dump.warp(*lane));
    if (cta.grid != block.grid || dump.sm(cta).device != dump.sm(block).device) continue;
    ++count.threads;
    blocks.insert(cta.block);
  }
  count.blocks = blocks.size();
  return count;
}

// After a warp has exited, its SM's exception is the only trace of its failure.
const Sm* first_failed_sm(const Dump& dump) {
  const auto failed = std::ranges::find_if(dump.sms, [](const Sm& sm) { return sm.exception != 0; });
  return failed == dump.sms.end() ? nullptr : &*failed;
}

// Collects the state of those threads in `lanes` that have the same grid, exception and instruction as `first`. The
// hardware reports whole warps, so the result can include threads that have not failed. Offsets in the result are
// relative to the start of `around`.
class FailingStateReader {
 public:
  FailingStateReader(const Dump& dump, const DeviceCode& code, const Lane& first, const Function& around)
      : dump_(dump), code_(code), first_(first), around_(around), grid_(dump.grid(cta_of(first))) {}

  FailingState of(std::vector<const Lane*> lanes) {
    describe_grid();
    note_standing();
    std::erase_if(lanes, [this](const Lane* lane) { return !fails_with_first(*lane); });
    const auto place = [this](const Lane* lane) {
      return std::tuple(linear(cta_of(*lane).block), lane->warp, linear(lane->thread));
    };
    std::ranges::sort(lanes, [&](const Lane* a, const Lane* b) { return place(a) < place(b); });
    if (lanes.size() > FailingState::kMostLanes) {
      state_.left_out = lanes.size() - FailingState::kMostLanes;
      lanes.resize(FailingState::kMostLanes);
    }
    const Lane* before = nullptr;
    for (const Lane* lane : lanes) {
      if (before == nullptr || before->warp != lane->warp) add_warp(*lane);
      add_lane(*lane);
      before = lane;
    }
    return std::move(state_);
  }

 private:
  const Cta& cta_of(const Lane& lane) const { return dump_.cta(dump_.warp(lane)); }

  bool fails_with_first(const Lane& lane) const {
    const Cta &cta = cta_of(lane), &first = cta_of(first_);
    return cta.grid == first.grid && dump_.sm(cta).device == dump_.sm(first).device &&
           lane.exception == first_.exception && dump_.warp(lane).error_pc == dump_.warp(first_).error_pc;
  }

  void describe_grid() {
    if (grid_ == nullptr) return;
    const Bytes parameters = dump_.parameters(*grid_);
    state_.parameters = std::string(parameters.all());
    state_.clusters = grid_->clusters != Dim3{} && grid_->clusters != Dim3{1, 1, 1};
    if (const Context* context = dump_.context(*grid_)) {
      state_.shared_window = context->shared_window;
      state_.local_window = context->local_window;
    }
  }

  // Records for each warp whether all its threads are at the same instruction. This is false for a warp with inactive
  // threads, because inactive threads are at other instructions.
  void note_standing() {
    for (const Lane& lane : dump_.lanes) {
      const Warp& warp = dump_.warp(lane);
      if (!has_bit(warp.valid, lane.id)) continue;
      const auto [found, made] = stands_.try_emplace(lane.warp, std::pair(lane.pc, warp.valid == warp.active));
      if (!made && found->second.first != lane.pc) found->second.second = false;
    }
  }

  void add_warp(const Lane& lane) {
    const Warp& warp = dump_.warp(lane);
    state_.warps.push_back({.block = cta_of(lane).block,
                            .together = stands_.at(lane.warp).second,
                            .shared_bytes = warp.shared_bytes,
                            .uniform_registers = dump_.uniform_registers(warp),
                            .uniform_predicates = dump_.uniform_predicates(warp),
                            .lanes = {}});
  }

  void add_lane(const Lane& lane) {
    FailingLane out{.lane = lane.id,
                    .thread = lane.thread,
                    .stands = std::nullopt,
                    .registers = dump_.registers(lane),
                    .predicates = dump_.predicates(lane)};
    const auto pc = standing_at(code_, lane, grid_);
    if (pc && around_.contains(*pc)) out.stands = *pc - around_.address;
    state_.warps.back().lanes.push_back(std::move(out));
  }

  const Dump& dump_;
  const DeviceCode& code_;
  const Lane& first_;
  const Function& around_;
  const Grid* grid_;
  FailingState state_;
  std::map<Row, std::pair<std::uint64_t, bool>> stands_;  // for each warp: the PC of one thread, and whether all
                                                          // threads are there
};

class FailureReader {
 public:
  FailureReader(const Dump& dump, const DeviceCode& code) : dump_(dump), code_(code) {}

  std::optional<DumpedFailure> failure() {
    const Sm* sm = first_failed_sm(dump_);
    auto lanes = failed_threads(dump_, false);
    if (lanes.empty() && sm == nullptr) lanes = failed_threads(dump_, true);
    if (!lanes.empty()) {
      of_lanes(lanes);
    } else if (sm != nullptr) {
      of_sm(*sm);
    } else {
      return std::nullopt;
    }
    resolve();
    keep_code();
    keep_state(lanes);
    return std::move(failure_);
  }

 private:
  void of_lanes(const std::vector<const Lane*>& lanes) {
    const Lane& first = first_of(dump_, lanes);
    first_ = &first;
    const Warp& warp = dump_.warp(first);
    const Cta& cta = dump_.cta(warp);
    of_exception(dump_.sm(cta), first.exception);
    failure_.warp = warp.id;
    failure_.lane = first.id;
    failure_.block = cta.block;
    failure_.thread = first.thread;
    failure_.registers = dump_.registers(first);
    const FailedCount failed = count_in_grid(dump_, lanes, cta);
    failure_.threads = failed.threads;
    failure_.blocks = failed.blocks;
    const Grid* grid = dump_.grid(cta);
    failure_.grid_id = cta.grid;
    if (grid != nullptr) {
      failure_.from_kernel = grid->from_kernel;
      describe_launch(code_, *grid, failure_);
    }
    find_thread(first, grid);
    find_pc(first);
    for (const ReturnAddress& frame : dump_.backtrace(first)) {
      failure_.callers.push_back({.pc = frame.address, .offset = frame.offset});
    }
  }

  // Takes the facts from the SM. If the failing warp has exited, only its SM still reports the exception.
  void of_sm(const Sm& sm) {
    of_exception(sm, sm.exception);
    if (sm.error_pc) set_pc(*sm.error_pc, PcWitness::sm);
  }

  void of_exception(const Sm& sm, std::uint32_t exception) {
    device_ = &dump_.device(sm);
    failure_.exception = exception;
    failure_.exception_name = exception == 0 ? "Trap Instruction" : exception_name(exception);
    if (exception == sm.exception) failure_.message = sm.exception_text;
    failure_.device = dump_.device(sm).id;
    failure_.sm = sm.id;
  }

  void find_pc(const Lane& lane) {
    const Warp& warp = dump_.warp(lane);
    const Sm& sm = dump_.sm(dump_.cta(warp));
    if (warp.error_pc) return set_pc(*warp.error_pc, PcWitness::warp);
    if (sm.error_pc && sm.exception == lane.exception) return set_pc(*sm.error_pc, PcWitness::sm);
    if (failure_.stands) set_pc(failure_.stands->pc, PcWitness::thread);
  }

  void find_thread(const Lane& lane, const Grid* grid) {
    if (const auto pc = standing_at(code_, lane, grid)) failure_.stands = CodePlace{.pc = *pc};
  }

  void set_pc(std::uint64_t pc, PcWitness witness) {
    failure_.place.pc = pc;
    failure_.witness = witness;
  }

  // Looks up the functions and lines of all places. For a caller, looks up the call instruction, not the instruction
  // after it. Does the same for a failed assertion, because the PC is then after the call to the assertion handler.
  void resolve() {
    std::vector<std::pair<CodePlace*, std::uint64_t>> places;
    const bool thread = failure_.witness == PcWitness::thread;
    const std::uint64_t back = thread && failure_.exception == kAssertion ? 1 : 0;
    CodePlace before_trap{.pc = failure_.place.pc - 1};
    if (failure_.witness) places.emplace_back(&failure_.place, failure_.place.pc - back);
    if (failure_.stands) places.emplace_back(&*failure_.stands, failure_.stands->pc - back);
    if (thread && failure_.exception == 0) places.emplace_back(&before_trap, before_trap.pc);
    for (CodePlace& caller : failure_.callers) places.emplace_back(&caller, caller.pc - 1);

    evidence::resolve(code_, places);
    if (!before_trap.lines.empty()) failure_.trap = before_trap.lines.front();
    const Function* kernel = failure_.witness ? code_.kernel_at(failure_.place.pc - back) : nullptr;
    if (failure_.kernel.empty() && kernel != nullptr) failure_.kernel = kernel->name;
  }

  // Keeps the code only if the failing instruction is certain. After a trap, or a call to the assertion handler, the
  // failing instruction is the one before the PC. After any other exception, the thread may have executed more
  // instructions.
  void keep_code() {
    if (!failure_.witness || device_->instruction_bytes == 0) return;
    const bool behind = *failure_.witness == PcWitness::thread;
    if (behind && failure_.exception != kAssertion && failure_.exception != 0) return;
    const std::uint64_t pc = failure_.place.pc - (behind ? device_->instruction_bytes : 0);
    const Function* kernel = code_.kernel_at(pc);
    const Function* function = kernel != nullptr ? kernel : code_.function_at(pc);
    if (function == nullptr || function->size > FunctionCode::kLargest) return;
    const Bytes instructions = code_.instructions(*function);
    if (instructions.empty()) return;
    failure_.code = FunctionCode{.architecture = std::string(device_->architecture),
                                 .instructions = std::string(instructions.all()),
                                 .offset = pc - function->address};
  }

  void keep_state(const std::vector<const Lane*>& lanes) {
    if (!failure_.witness || failure_.witness == PcWitness::thread) return;
    const std::uint64_t pc = failure_.place.pc;
    const Function* kernel = code_.kernel_at(pc);
    const Function* around = kernel != nullptr ? kernel : code_.function_at(pc);
    if (around == nullptr) return;
    const Grid* grid = first_ == nullptr ? nullptr : dump_.grid(dump_.cta(dump_.warp(*first_)));
    const bool of_warp = failure_.witness == PcWitness::warp && first_ != nullptr;
    failure_.state = of_warp ? FailingStateReader(dump_, code_, *first_, *around).of(lanes) : FailingState{};
    if (kernel == nullptr && grid != nullptr) kernel = code_.kernel_at(grid->entry);
    if (kernel != nullptr) failure_.state->facts = code_.facts(*kernel);
    failure_.state->variables = code_.variables(*around);
    failure_.state->variable_addresses = std::string(code_.variable_addresses(*around).all());
  }

  const Dump& dump_;
  const Device* device_ = nullptr;  // the device that failed
  const Lane* first_ = nullptr;     // the first thread that failed
  const DeviceCode& code_;
  DumpedFailure failure_;
};

std::string described(const Device& device) {
  std::string text = std::to_string(device.id);
  if (!device.name.empty()) text += ": " + std::string(device.name);
  if (!device.architecture.empty()) text += ", " + std::string(device.architecture);
  return text;
}

std::string described(const Metadata& m) {
  return "driver " + std::to_string(m.driver_major) + "." + std::to_string(m.driver_minor) + ", CUDA " +
         std::to_string(m.cuda_major) + "." + std::to_string(m.cuda_minor);
}

}  // namespace

std::string exception_name(std::uint32_t code) {
  if (code < std::size(kNames) && kNames[code] != nullptr) return kNames[code];
  return "exception " + std::to_string(code);
}

std::vector<RunningKernel> running_kernels(const Dump& dump, const DeviceCode& code) {
  return RunningKernels(dump, code).run();
}

std::optional<CoreFacts> examine(Bytes file) {
  auto dump = Dump::read(file);
  if (!dump) return std::nullopt;
  CoreFacts facts;
  for (const Device& device : dump->devices) facts.devices.push_back(described(device));
  if (dump->metadata) facts.versions = described(*dump->metadata);
  for (const Sm& sm : dump->sms) {
    if (sm.exception != 0) facts.failed_sms.push_back(sm.id);
  }
  const DeviceCode code(dump->code, dump->budget());
  facts.failure = FailureReader(*dump, code).failure();
  if (!facts.failure) facts.running = running_kernels(*dump, code);
  facts.damaged = dump->budget().damaged();
  return facts;
}

}  // namespace cudadiag::evidence
