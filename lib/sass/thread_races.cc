// Finds races between threads of one launch. Internal to lib/sass.
//
// A race is found in two steps. The first one compares forms: two accesses by all threads of two boxes, of which some
// have a byte in common. This takes the same time for a hundred and for a million threads. The second one executes the
// two threads alone, whose numbers are all known, and confirms the addresses, the order, and that two stored values
// differ. If the forms of an access are not known, a few threads of neighbouring blocks are executed alone.
//
// No race is found if there may be an order:
// - Only accesses that do not depend on the contents of memory are compared. An order by a flag, a lock or a ticket
//   needs a thread that waits, or that does something only if it finds some value.
// - Accesses after a loop that may wait for others are left out, and so are those of the block's other threads after
//   their next barrier (barriers of the grid).
// - A kernel is left out if it may wait and also joins the lanes of a warp, because one lane may wait for all of them.
// - Between warps of a block, accesses race only if both threads have passed the same number of barriers.
// - Volatile loads and stores race with nothing, and atomic operations only with plain stores, or with those of other
//   blocks if their scope is a block.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sass/symbolic_execution.h"

namespace cudadiag::sass {
namespace {

constexpr std::size_t kMostVisits = 2'000'000, kMostPairs = 50'000, kMostNodes = 500'000, kNodesOfPair = 2'000,
                      kMostConfirmed = 8;
constexpr std::size_t kStepsOfThread = 10'000, kStepsOfSample = 200'000;
constexpr std::uint64_t kBytesTogether = 16;  // accesses do not cross a multiple of this
constexpr int kMostFailures = 2;
constexpr std::uint32_t kWarp = 32;
constexpr std::size_t kBlock = 3;  // the first coordinate of the block

using Thread = std::array<std::uint32_t, kCoordinates>;

Box box_of(const Thread& thread) { return {thread, thread}; }

bool same_block(const Thread& a, const Thread& b) {
  return std::equal(a.begin() + kBlock, a.end(), b.begin() + kBlock);
}

// Returns the number of the thread's warp in its block.
std::uint32_t warp_of(const Thread& thread, const LaunchValues& launch) {
  return (thread[0] + launch.block[0] * (thread[1] + launch.block[1] * thread[2])) / kWarp;
}

// ---- threads whose accesses have a byte in common

// Searches two threads, one in each box, for which the difference of the forms is in a range.
class CommonByte {
 public:
  CommonByte(const TracedAccess& a, std::uint32_t bytes_of_a, const TracedAccess& b, std::uint32_t bytes_of_b,
             const LaunchValues& launch, std::size_t& nodes)
      : a_(a), b_(b), launch_(launch), nodes_(nodes) {
    start_ = static_cast<std::int64_t>(a.base - b.base) + a.form.base - b.form.base;
    least_ = 1 - static_cast<std::int64_t>(bytes_of_a);
    most_ = static_cast<std::int64_t>(bytes_of_b) - 1;
  }

  std::optional<std::pair<Thread, Thread>> in_other_blocks() {
    for (differs_ = kBlock; differs_ < kCoordinates; ++differs_) {
      if (launch_.grid[differs_ - kBlock] > 1 && search()) return found_;
    }
    return std::nullopt;
  }

  std::optional<std::pair<Thread, Thread>> in_other_warps() {
    differs_ = kCoordinates;
    const std::uint64_t threads = std::uint64_t{launch_.block[0]} * launch_.block[1] * launch_.block[2];
    return threads > kWarp && search() ? std::optional(found_) : std::nullopt;
  }

 private:
  // A coordinate of thread a, of thread b, or the difference of both.
  struct Variable {
    enum class Of : std::uint8_t { a, b, difference, both };
    Of of = Of::a;
    std::size_t axis = 0;
    std::int64_t factor = 0, low = 0, high = 0;
  };

  bool search() {
    variables_.clear();
    for (std::size_t axis = 0; axis < kCoordinates; ++axis) {
      const std::int64_t of_a = a_.form.steps[axis], of_b = b_.form.steps[axis];
      const std::int64_t low_a = a_.box.low[axis], high_a = a_.box.high[axis];
      const std::int64_t low_b = b_.box.low[axis], high_b = b_.box.high[axis];
      using enum Variable::Of;
      if (axis >= kBlock && differs_ == kCoordinates) {
        const std::int64_t low = std::max(low_a, low_b), high = std::min(high_a, high_b);
        if (low > high) return false;
        add({both, axis, of_a - of_b, low, high});
      } else if (of_a == of_b) {
        add({difference, axis, of_a, low_a - high_b, high_a - low_b});
      } else {
        add({a, axis, of_a, low_a, high_a});
        add({b, axis, -of_b, low_b, high_b});
      }
    }
    std::ranges::stable_sort(
        variables_, [](const Variable& a, const Variable& b) { return std::abs(a.factor) > std::abs(b.factor); });
    rest_.assign(variables_.size() + 1, {});
    for (std::size_t at = variables_.size(); at-- > 0;) {
      const auto [factor, low, high] = std::tuple(variables_[at].factor, variables_[at].low, variables_[at].high);
      rest_[at].range.least = rest_[at + 1].range.least + std::min(factor * low, factor * high);
      rest_[at].range.most = rest_[at + 1].range.most + std::max(factor * low, factor * high);
      rest_[at].step = std::gcd(rest_[at + 1].step, factor);
    }
    values_.assign(variables_.size(), 0);
    budget_ = std::min(kNodesOfPair, nodes_);
    return try_from(0, start_);
  }

  // Variables without an effect on the address are chosen last.
  void add(const Variable& variable) {
    if (variable.factor != 0) variables_.push_back(variable);
  }

  bool try_from(std::size_t at, std::int64_t sum) {
    if (budget_ == 0) return false;
    --budget_, --nodes_;
    if (at == variables_.size()) return sum >= least_ && sum <= most_ && choose();
    const Variable& variable = variables_[at];
    const auto& [range, step] = rest_[at + 1];
    // The sum after this variable must be in low..high.
    const std::int64_t low = least_ - range.most, high = most_ - range.least, size = std::abs(variable.factor);
    const std::int64_t from = variable.factor > 0 ? low - sum : sum - high,
                       to = variable.factor > 0 ? high - sum : sum - low;
    const std::int64_t first = std::max(variable.low, -divided_down(-from, size)),
                       last = std::min(variable.high, divided_down(to, size));
    // Begins with the value next to 0, so that as few coordinates as possible differ.
    const std::int64_t middle = first > last ? 0 : std::clamp<std::int64_t>(0, first, last);
    for (std::int64_t away = 0; middle + away <= last || middle - away >= first; ++away) {
      for (const std::int64_t value : {middle + away, middle - away}) {
        if (value < first || value > last) continue;
        values_[at] = value;
        const std::int64_t now = sum + variable.factor * value;
        // The rest must be a multiple of the step.
        if (step > 0 && divided_down(most_ - now, step) < -divided_down(now - least_, step)) continue;
        if (try_from(at + 1, now)) return true;
        if (budget_ == 0) return false;
        if (away == 0) break;
      }
    }
    return false;
  }

  // Chooses threads with the values found, in other blocks or warps.
  bool choose() {
    std::array<std::vector<std::pair<std::uint32_t, std::uint32_t>>, kCoordinates> choices;
    for (std::size_t axis = 0; axis < kCoordinates; ++axis) {
      choices[axis] = choices_of(axis);
      if (choices[axis].empty()) return false;
    }
    for (std::size_t axis = kBlock; axis < kCoordinates; ++axis) take(axis, choices[axis].front());
    if (differs_ < kCoordinates) {
      for (std::size_t axis = 0; axis < kBlock; ++axis) take(axis, choices[axis].front());
      return true;
    }
    for (const auto& z : choices[2]) {
      for (const auto& y : choices[1]) {
        for (const auto& x : choices[0]) {
          take(0, x), take(1, y), take(2, z);
          if (warp_of(found_.first, launch_) != warp_of(found_.second, launch_)) return true;
        }
      }
    }
    return false;
  }

  void take(std::size_t axis, const std::pair<std::uint32_t, std::uint32_t>& values) {
    std::tie(found_.first[axis], found_.second[axis]) = values;
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> choices_of(std::size_t axis) const {
    std::optional<std::int64_t> of_a, of_b, apart;
    for (std::size_t at = 0; at < variables_.size(); ++at) {
      if (variables_[at].axis != axis) continue;
      using enum Variable::Of;
      switch (variables_[at].of) {
        case a:
          of_a = values_[at];
          break;
        case b:
          of_b = values_[at];
          break;
        case difference:
          apart = values_[at];
          break;
        case both:
          of_a = of_b = values_[at];
          break;
      }
    }
    const std::int64_t low_a = a_.box.low[axis], high_a = a_.box.high[axis];
    const std::int64_t low_b = b_.box.low[axis], high_b = b_.box.high[axis];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    const auto consider = [&](std::int64_t x, std::int64_t y) {
      if (x < low_a || x > high_a || y < low_b || y > high_b) return;
      if ((of_a && *of_a != x) || (of_b && *of_b != y) || (apart && *apart != x - y)) return;
      if (axis == differs_ && x == y) return;
      if (differs_ == kCoordinates && axis >= kBlock && x != y) return;
      out.emplace_back(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y));
    };
    // Equal values first.
    const std::int64_t low = std::max(low_a, low_b);
    const std::int64_t x = of_a ? *of_a : of_b && !apart ? std::clamp(*of_b, low_a, high_a) : low;
    consider(x, of_b ? *of_b : apart ? x - *apart : std::clamp(x, low_b, high_b));
    if (apart) {
      for (std::int64_t each = std::max(low_a, low_b + *apart); each <= std::min(high_a, high_b + *apart); ++each) {
        consider(each, each - *apart);
        if (axis >= kBlock) break;
      }
    } else {
      for (const std::int64_t each : {of_a.value_or(low_a), of_a.value_or(high_a)}) {
        for (const std::int64_t other : {of_b.value_or(low_b), of_b.value_or(high_b)}) consider(each, other);
      }
    }
    return out;
  }

  struct Rest {
    Range range;
    std::int64_t step = 0;
  };

  const TracedAccess &a_, &b_;
  const LaunchValues& launch_;
  std::size_t& nodes_;
  std::size_t budget_ = 0, differs_ = kCoordinates;
  std::int64_t start_ = 0, least_ = 0, most_ = 0;
  std::vector<Variable> variables_;
  std::vector<Rest> rest_;
  std::vector<std::int64_t> values_;
  std::pair<Thread, Thread> found_;
};

// ---- the launch

class ThreadRaceFinder {
 public:
  ThreadRaceFinder(const FollowedLaunch::Code& code, const LaunchValues& launch, const Box& threads)
      : code_(code), launch_(launch), threads_(threads) {}

  ThreadRaces find() {
    LaunchTrace all;
    FollowedLaunch(code_, launch_).trace(threads_, all);
    first_wait_ = all.first_wait;
    ThreadRaces out;
    if (first_wait_ != ~0u && joins_lanes()) return out;
    bool compared_all = compare_forms(all, out);
    out.all_checked = all.complete && compared_all;
    if (!out.found && !out.all_checked) sample(out);
    return out;
  }

 private:
  const Instruction& instruction(const TracedAccess& access) const { return code_.program[access.at]; }
  std::uint32_t bytes_of(const TracedAccess& access) const { return instruction(access).bytes; }

  // One lane may wait for all lanes of its warp.
  bool joins_lanes() const {
    for (std::uint32_t at = 0; at < code_.program.size(); ++at) {
      const Joins joins = code_.program[at].code->joins;
      if (joins == Joins::lanes || joins == Joins::warp) return true;
    }
    return false;
  }

  bool is_late(const TracedAccess& access) const { return access.order.waited || access.order.barriers > first_wait_; }

  // Whether accesses of these kinds may race in different blocks.
  bool may_race(const TracedAccess& a, const TracedAccess& b) const {
    const Instruction &x = instruction(a), &y = instruction(b);
    const Mode of_a = mode_of(x), of_b = mode_of(y);
    if (of_a == Mode::atomic && of_b == Mode::atomic) return is_of_block(x) || is_of_block(y);
    if (of_a == Mode::atomic) return of_b == Mode::write && !is_strong(y);
    if (of_b == Mode::atomic) return of_a == Mode::write && !is_strong(x);
    return (of_a == Mode::write || of_b == Mode::write) && !is_strong(x) && !is_strong(y);
  }
  static bool is_of_block(const Instruction& i) {
    return i.opcode.find(".STRONG.SM") != std::string_view::npos ||
           i.opcode.find(".STRONG.CTA") != std::string_view::npos;
  }
  bool may_race_in_block(const TracedAccess& a, const TracedAccess& b) const {
    const bool atomic = mode_of(instruction(a)) == Mode::atomic && mode_of(instruction(b)) == Mode::atomic;
    return !atomic && a.order.barriers == b.order.barriers && !a.order.unclear && !b.order.unclear;
  }

  // Returns false if it did not compare all pairs.
  bool compare_forms(const LaunchTrace& all, ThreadRaces& out) {
    struct Spanned {
      std::int64_t least, end;
      const TracedAccess* access;
    };
    std::vector<Spanned> spans;
    bool writes = false;
    for (const TracedAccess& access : all.accesses) {
      const auto range = range_of(access.form, access.box);
      if (!range || is_late(access)) continue;
      const std::int64_t begin = static_cast<std::int64_t>(access.base) + range->least;
      spans.push_back({begin, begin + (range->most - range->least) + bytes_of(access), &access});
      writes |= mode_of(instruction(access)) != Mode::read;
    }
    if (!writes) return true;
    std::ranges::stable_sort(spans, {}, &Spanned::least);
    std::size_t pairs = 0;
    for (std::size_t at = 0; at < spans.size(); ++at) {
      for (std::size_t other = at; other < spans.size() && spans[other].least < spans[at].end; ++other) {
        const TracedAccess &a = *spans[at].access, &b = *spans[other].access;
        if (++visits_ > kMostVisits) return false;
        if (!may_race(a, b)) continue;
        if (++pairs > kMostPairs || nodes_ == 0 || confirmed_ >= kMostConfirmed) return false;
        CommonByte common(a, bytes_of(a), b, bytes_of(b), launch_, nodes_);
        if (const auto found = common.in_other_blocks(); found && confirm(a, b, *found, out)) return true;
        if (!may_race_in_block(a, b)) continue;
        if (const auto found = common.in_other_warps(); found && confirm(a, b, *found, out)) return true;
      }
    }
    return true;
  }

  // Executes both threads alone.
  bool confirm(const TracedAccess& a, const TracedAccess& b, const std::pair<Thread, Thread>& threads,
               ThreadRaces& out) {
    int& failures = failures_[{a.at, b.at}];
    if (failures >= kMostFailures) return false;
    ++confirmed_, ++failures;
    const bool alike = same_block(threads.first, threads.second);
    LaunchTrace first = traced(threads.first, alike), second = traced(threads.second, alike);
    std::map<std::uint64_t, std::vector<const TracedAccess*>> of_second;
    for (const TracedAccess& y : second.accesses) {
      if (y.at == b.at) of_second[address_of(y) / kBytesTogether].push_back(&y);
    }
    for (const TracedAccess& x : first.accesses) {
      const auto others = x.at == a.at ? of_second.find(address_of(x) / kBytesTogether) : of_second.end();
      if (others == of_second.end()) continue;
      for (const TracedAccess* y : others->second) {
        if (is_race(x, *y)) return out.found = race(x, *y), true;
      }
    }
    return false;
  }

  LaunchTrace traced(const Thread& thread, bool alike) const {
    LaunchTrace trace;
    trace.numbers.emplace(alike);
    FollowedLaunch(code_, launch_, kStepsOfThread).trace(box_of(thread), trace);
    return trace;
  }

  // Both accesses are those of single threads.
  bool is_race(const TracedAccess& a, const TracedAccess& b) const {
    const std::uint64_t at_a = address_of(a), at_b = address_of(b);
    if (!may_race(a, b) || is_late(a) || is_late(b)) return false;
    if (at_a >= at_b + bytes_of(b) || at_b >= at_a + bytes_of(a)) return false;
    const Thread &thread_of_a = a.box.low, &thread_of_b = b.box.low;
    const bool same_warp = warp_of(thread_of_a, launch_) == warp_of(thread_of_b, launch_);
    if (same_block(thread_of_a, thread_of_b) && (same_warp || !may_race_in_block(a, b))) return false;
    const bool stores = mode_of(instruction(a)) == Mode::write && mode_of(instruction(b)) == Mode::write;
    return !stores || at_a != at_b || bytes_of(a) != bytes_of(b) || a.stored == 0 || a.stored != b.stored;
  }

  static std::uint64_t address_of(const TracedAccess& access) {
    return access.base + static_cast<std::uint64_t>(in_box(access.form, access.box).base);
  }

  ThreadRace race(const TracedAccess& a, const TracedAccess& b) const {
    const auto use = [&](const TracedAccess& access) {
      const Instruction& i = instruction(access);
      const auto& at = access.box.low;
      return ThreadRace::Use{i.address, i.code->kind,          address_of(access),
                             i.bytes,   {at[3], at[4], at[5]}, {at[0], at[1], at[2]}};
    };
    // The one that is first in the code comes first.
    return instruction(b).address < instruction(a).address ? ThreadRace{use(b), use(a)} : ThreadRace{use(a), use(b)};
  }

  // ---- single threads

  // Threads at the edges of blocks and of warps.
  std::vector<Thread> sampled() const {
    std::array<std::vector<std::uint32_t>, kCoordinates> values;
    for (std::size_t axis = 0; axis < kCoordinates; ++axis) {
      const std::uint32_t high = threads_.high[axis];
      std::vector<std::uint32_t>& of_axis = values[axis];
      for (const std::uint32_t each : {0u, 1u}) of_axis.push_back(each);
      if (axis == 0) of_axis.insert(of_axis.end(), {kWarp - 1, kWarp, kWarp + 1});
      if (axis < kBlock && high > 0) of_axis.insert(of_axis.end(), {high - 1, high});
      std::ranges::sort(of_axis);
      of_axis.erase(std::unique(of_axis.begin(), of_axis.end()), of_axis.end());
      std::erase_if(of_axis, [high](std::uint32_t each) { return each > high; });
    }
    std::vector<Thread> threads{{}};
    for (std::size_t axis = 0; axis < kCoordinates; ++axis) {
      std::vector<Thread> more;
      for (const Thread& thread : threads) {
        for (const std::uint32_t each : values[axis]) more.push_back(thread), more.back()[axis] = each;
      }
      threads = std::move(more);
    }
    return threads;
  }

  void sample(ThreadRaces& out) {
    std::map<std::uint64_t, std::vector<TracedAccess>> at_word;  // keyed by address / kBytesTogether
    std::size_t steps = 0;
    for (const Thread& thread : sampled()) {
      LaunchTrace trace;
      FollowedLaunch followed(code_, launch_, kStepsOfThread);
      followed.trace(box_of(thread), trace);
      for (const TracedAccess& access : trace.accesses) {
        if (is_late(access)) continue;
        auto& others = at_word[address_of(access) / kBytesTogether];
        for (const TracedAccess& other : others) {
          if (++visits_ > 2 * kMostVisits) return;
          if (other.box.low == access.box.low || !is_race(other, access) || confirmed_ >= kMostConfirmed) continue;
          if (confirm(other, access, {other.box.low, access.box.low}, out)) return;
        }
        others.push_back(access);
      }
      steps += followed.steps();
      if (steps > kStepsOfSample) return;
    }
  }

  const FollowedLaunch::Code& code_;
  const LaunchValues& launch_;
  const Box& threads_;
  std::uint32_t first_wait_ = 0;
  std::size_t nodes_ = kMostNodes, confirmed_ = 0, visits_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> failures_;  // of confirm(), keyed by the instructions
};

}  // namespace

ThreadRaces find_thread_race(const FollowedLaunch::Code& code, const LaunchValues& launch, const Box& threads) {
  return ThreadRaceFinder(code, launch, threads).find();
}

// ---- what a FollowedLaunch notes for a trace

std::uint64_t FollowedLaunch::base_of(const Evaluator::Address& address) const {
  return address.word ? launch_.word(*address.word).value_or(0) : 0;
}

void FollowedLaunch::note_access(const Part& part, const Evaluator::Address& address, Evaluator& evaluator) {
  if (trace_ == nullptr) return;
  const Instruction& i = instruction(part);
  TracedAccess& access = trace_->accesses.emplace_back();
  access = {part.state.at, base_of(address), address.form, part.box, part.state.order};
  for (std::uint32_t word = 0; trace_->numbers && !i.values.empty() && 4 * word < std::max(i.bytes, 4u); ++word) {
    access.stored = access.stored * 31 + trace_->numbers->of(evaluator, i.values.back(), word);
  }
}

// `runs`: false if it is unknown whether the thread executes the instruction.
void FollowedLaunch::note_values(const Part& part, Evaluator& evaluator, bool runs) {
  if (trace_ == nullptr || !trace_->numbers) return;
  const Instruction& i = instruction(part);
  if (!runs) return trace_->numbers->may_change(i, trace_->numbers->of(i.condition));
  std::optional<std::uint64_t> place;
  if (i.is_load()) {
    const auto address = evaluator.address(i);
    if (address && address->form.is_constant())
      place = base_of(*address) + static_cast<std::uint64_t>(address->form.base);
  }
  trace_->numbers->note(i, evaluator, part.box, part.state.order, place);
}

void FollowedLaunch::note_detour(Part& part, const Detours::Detour& detour) {
  if (trace_ == nullptr) return;
  const std::uint32_t from = part.state.at;
  std::vector<const Instruction*> code;
  bool loops = false;
  for (const std::uint32_t at : detour.code) {
    code.push_back(&code_.program[at]);
    loops |= std::ranges::any_of(code_.program.next(at), [&](std::uint32_t to) {
      return to <= at && (to == from || std::ranges::find(detour.code, to) != detour.code.end());
    });
    if (trace_->numbers)
      trace_->numbers->may_change(code_.program[at], trace_->numbers->of(code_.program[from].condition));
  }
  trace_->note_detour(code, loops, part.state.order);
}

}  // namespace cudadiag::sass
