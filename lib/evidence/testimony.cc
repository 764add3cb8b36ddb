#include "evidence/testimony.h"

#include <utility>

#include "evidence/code_places.h"
#include "evidence/exceptions.h"
#include "evidence/failed_threads.h"
#include "evidence/running.h"

namespace cudadiag::evidence {
namespace {

class Examination {
 public:
  Examination(const Dump& dump, const DeviceCode& code) : dump_(dump), code_(code) {}

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
    if (grid != nullptr) of_grid(*grid);
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
    failure_.exception_name = exception == 0 ? kTrapName : exception_name(exception);
    if (exception == sm.exception) failure_.message = sm.exception_text;
    failure_.device = dump_.device(sm).id;
    failure_.sm = sm.id;
  }

  void of_grid(const Grid& grid) {
    failure_.from_kernel = grid.from_kernel;
    failure_.grid = grid.blocks;
    failure_.block_dim = grid.threads;
    failure_.host_thread = grid.host_thread;
    if (const Function* kernel = code_.kernel_at(grid.entry)) failure_.kernel = kernel->name;
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
    failure_.state = of_warp ? failing_state(dump_, code_, lanes, *first_, *around) : FailingState{};
    if (kernel == nullptr && grid != nullptr) kernel = code_.kernel_at(grid->entry);
    if (kernel != nullptr) failure_.state->facts = code_.facts(*kernel);
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

std::optional<Testimony> examine(Bytes file) {
  auto dump = Dump::read(file);
  if (!dump) return std::nullopt;
  Testimony testimony;
  for (const Device& device : dump->devices) testimony.devices.push_back(described(device));
  if (dump->metadata) testimony.versions = described(*dump->metadata);
  for (const Sm& sm : dump->sms) {
    if (sm.exception != 0) testimony.failed_sms.push_back(sm.id);
  }
  const DeviceCode code(dump->code, dump->budget());
  testimony.failure = Examination(*dump, code).failure();
  if (!testimony.failure) testimony.running = running_kernels(*dump, code);
  testimony.damaged = dump->budget().damaged();
  return testimony;
}

}  // namespace cudadiag::evidence
