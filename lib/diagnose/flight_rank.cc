// Reads the state of a rank from its PyTorch Flight Recorder dump, for ranks about which NCCL reported nothing.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "diagnose/ranks.h"
#include "session/user_or_library.h"
#include "wire/hash.h"

namespace cudadiag::diagnose {
namespace {

using analyse::RankState;
using evidence::FlightCall;
using evidence::FlightDump;
using evidence::FlightFrame;
using evidence::FlightGroup;
using wire::collective::Function;
using wire::collective::Type;
namespace site_key = wire::site_key;

// Which element count must be the same on all ranks of a call: the input's, the output's, or neither.
enum class Size { of_input, of_output, own };

struct Named {
  std::string_view name;
  Function function;
  Size size;
};

// The names of functions in PyTorch's dumps. For a function that is not listed, ranks may pass different sizes.
constexpr std::array kDumpedFunctions = {
    Named{"all_reduce", Function::all_reduce, Size::of_input},
    Named{"all_reduce_barrier", Function::all_reduce, Size::of_input},
    Named{"allreduce_coalesced", Function::all_reduce, Size::of_input},
    Named{"all_gather", Function::all_gather, Size::of_input},
    Named{"_all_gather_base", Function::all_gather, Size::of_input},
    Named{"all_gather_into_tensor_coalesced", Function::all_gather, Size::of_input},
    Named{"reduce_scatter", Function::reduce_scatter, Size::of_output},
    Named{"_reduce_scatter_base", Function::reduce_scatter, Size::of_output},
    Named{"reduce_scatter_tensor_coalesced", Function::reduce_scatter, Size::of_output},
    Named{"broadcast", Function::broadcast, Size::of_input},
    Named{"_broadcast_oop", Function::broadcast, Size::own},
    Named{"reduce", Function::reduce, Size::of_input},
    Named{"_reduce_oop", Function::reduce, Size::own},
    Named{"all_to_all", Function::all_to_all, Size::own},
    Named{"gather", Function::gather, Size::of_input},
    Named{"scatter", Function::scatter, Size::of_output},
};

constexpr std::array<std::pair<std::string_view, Type>, 13> kDumpedTypes = {{{"Char", Type::i8},
                                                                             {"Byte", Type::u8},
                                                                             {"Bool", Type::u8},
                                                                             {"Int", Type::i32},
                                                                             {"UInt32", Type::u32},
                                                                             {"Long", Type::i64},
                                                                             {"UInt64", Type::u64},
                                                                             {"Half", Type::f16},
                                                                             {"Float", Type::f32},
                                                                             {"Double", Type::f64},
                                                                             {"BFloat16", Type::bf16},
                                                                             {"Float8_e4m3fn", Type::f8e4m3},
                                                                             {"Float8_e5m2", Type::f8e5m2}}};

Type type_of(std::string_view name) {
  const auto found = std::ranges::find_if(kDumpedTypes, [&](const auto& type) { return type.first == name; });
  return found == kDumpedTypes.end() ? Type::other : found->second;
}

Named named(std::string_view function) {
  const auto found = std::ranges::find(kDumpedFunctions, function, &Named::name);
  return found == kDumpedFunctions.end() ? Named{function, Function::other, Size::own} : *found;
}

// Returns true if this entry ends a batch of calls that NCCL runs as one: "coalesced", "ALLGATHER_coalesced". The state
// of this entry is the state of the whole batch.
bool ends_batch(const FlightCall& call) {
  constexpr std::string_view kEnd = "coalesced";
  if (!call.function.ends_with(kEnd)) return false;
  return call.function == kEnd || (call.function.front() >= 'A' && call.function.front() <= 'Z');
}

struct Message {
  bool sends = false;
  std::int32_t peer = 0;
};

// Reads "send 0->1" or "recv 1<-0". The second number is the peer.
std::optional<Message> message_of(const FlightCall& call) {
  const bool sends = call.function.starts_with("send ");
  if (!sends && !call.function.starts_with("recv ")) return std::nullopt;
  const std::size_t arrow = call.function.find(sends ? "->" : "<-");
  if (arrow == std::string::npos) return std::nullopt;
  Message message{sends, -1};
  const char* peer = call.function.data() + arrow + 2;
  std::from_chars(peer, call.function.data() + call.function.size(), message.peer);
  return message.peer < 0 ? std::nullopt : std::optional(message);
}

// Returns which calls have finished. PyTorch gives a state only to the last call of a batch, and may miss the end of a
// call. The calls of a group finish in order, so a call has finished if a later one has.
std::vector<bool> finished_calls(const FlightDump& dump) {
  std::vector<bool> finished(dump.calls.size());
  std::set<std::uint32_t> collective_after;                               // groups with a finished later collective
  std::set<std::pair<std::uint32_t, std::uint64_t>> batch;                // finished batches: group, message number
  std::set<std::tuple<std::uint32_t, bool, std::int32_t>> message_after;  // finished later: group, direction, peer
  for (std::size_t i = dump.calls.size(); i-- > 0;) {
    const FlightCall& call = dump.calls[i];
    const auto message = message_of(call);
    const bool is_completed = call.state == FlightCall::State::completed;
    if (!call.is_message) {
      if (is_completed) collective_after.insert(call.group);
      finished[i] = collective_after.contains(call.group);
    } else if (!message) {
      if (is_completed && ends_batch(call)) batch.insert({call.group, call.message});
      finished[i] = is_completed;
    } else {
      const std::tuple way(call.group, message->sends, message->peer);
      if (is_completed || batch.contains({call.group, call.message})) message_after.insert(way);
      finished[i] = message_after.contains(way);
    }
  }
  return finished;
}

// Returns the key of the innermost frame in the program's own code. All hosts compute the same key.
site_key::Key line_of(const std::vector<FlightFrame>& stack) {
  for (const FlightFrame& frame : stack) {
    if (!session::is_python_file_of_users(frame.file) || session::is_made_at_run_time(frame.file)) continue;
    const std::string name = base::file_name(frame.file);
    return wire::mix_all(site_key::of_text(name), site_key::of_text(frame.function),
                         static_cast<std::uint64_t>(frame.line)) |
           1;
  }
  return 0;
}

// Returns the frames that may be shown, without C++ frames. Keeps only a few, because the stacks of a thousand ranks
// must fit in memory.
std::vector<session::DeliveredFrame> python_frames(const std::vector<FlightFrame>& stack) {
  constexpr int kMostOwn = 3;  // frames of the program; several, because the user's rules may exclude some
  std::vector<session::DeliveredFrame> frames;
  int own = 0;
  for (const FlightFrame& frame : stack) {
    if (!frame.file.ends_with(".py") && !frame.file.starts_with('<')) continue;
    frames.push_back({frame.file, frame.function, frame.line});
    own += session::is_python_file_of_users(frame.file) ? 1 : 0;
    if (own == kMostOwn) break;
  }
  return frames;
}

std::uint64_t key_of(const FlightGroup& group) {
  std::uint64_t key = site_key::of_text(group.name);
  for (const std::int32_t rank : group.ranks) key = wire::mix(key, static_cast<std::uint64_t>(rank));
  return key | 1;
}

class Conversion {
 public:
  Conversion(const FlightDump& dump, int rank)
      : dump_(dump), finished_(finished_calls(dump)), lines_(dump.stacks.size()) {
    state_.rank = rank;
    state_.is_dumped = true;
    std::set<std::uint32_t> called;
    for (const FlightCall& call : dump.calls) called.insert(call.group);
    for (std::uint32_t i = 0; i < dump.groups.size(); ++i) {
      const std::vector<std::int32_t>& ranks = dump.groups[i].ranks;
      const auto own = std::ranges::find(ranks, rank);
      // The rank may have used the group before the first call in the dump.
      if (own == ranks.end() || (!called.contains(i) && !dump.is_whole)) continue;
      session::Communicator communicator;
      communicator.hash = key_of(dump.groups[i]);
      communicator.name = dump.groups[i].description;
      communicator.rank = static_cast<std::int32_t>(own - ranks.begin());
      communicator.ranks = static_cast<std::int32_t>(ranks.size());
      communicator_of_[i] = static_cast<std::uint32_t>(state_.communicators.size());
      state_.communicators.push_back(std::move(communicator));
    }
  }

  RankState convert(double until, std::size_t most) {
    for (std::size_t i = 0; i < dump_.calls.size(); ++i) add(i);
    keep(most);
    if (!state_.calls.empty()) state_.waited = std::max(0.0, until - state_.calls.back().made);
    return std::move(state_);
  }

 private:
  void add(std::size_t index) {
    const FlightCall& call = dump_.calls[index];
    const auto known = communicator_of_.find(call.group);
    if (known == communicator_of_.end()) return;
    if (call.is_message) return add_message(index, known->second);
    session::Communicator& communicator = state_.communicators[known->second];
    communicator.collectives = std::max(communicator.collectives, call.collective);
    const auto batch = latest_.find(call.group);
    const bool continues = batch != latest_.end() && state_.calls[batch->second].ordinal == call.collective;
    if (ends_batch(call)) {
      // PyTorch before 2.7 counts a batch of messages as a collective, but only on the ranks that take part in the
      // batch. The numbers of collectives then differ between ranks.
      if (!continues) state_.is_whole = false;
      return;
    }
    if (continues) {
      // Ranks may split the data of a batch differently.
      state_.calls[batch->second].flags |= RankState::kOwnSize;
      return;
    }
    const Named what = named(call.function);
    RankState::Call& made = begin(call, known->second, what.function);
    made.count = what.size == Size::of_output ? call.output : call.input;
    made.type = type_of(what.size == Size::of_output ? call.output_type : call.input_type);
    made.ordinal = static_cast<std::uint32_t>(call.collective);
    made.peer = -1;
    if (what.size == Size::own) made.flags |= RankState::kOwnSize;
    latest_[call.group] = state_.calls.size() - 1;
    if (!finished_[index]) add_unfinished({known->second, -1});
  }

  void add_message(std::size_t index, std::uint32_t communicator) {
    const FlightCall& call = dump_.calls[index];
    const auto message = message_of(call);
    if (!message) return;
    RankState::Call& made = begin(call, communicator, message->sends ? Function::send : Function::receive);
    made.count = std::max(call.input, call.output);
    made.type = type_of(call.input_type.empty() ? call.output_type : call.input_type);
    made.peer = message->peer;
    if (dump_.is_whole) {
      session::Communicator& group = state_.communicators[communicator];
      auto& calls = message->sends ? group.sends : group.receives;
      made.ordinal = static_cast<std::uint32_t>(++calls[static_cast<std::uint32_t>(message->peer)]);
    }
    if (finished_[index]) return;
    // We cannot tell which of the peer's calls matches this call.
    if (!dump_.is_whole) state_.is_whole = false;
    add_unfinished({communicator, message->peer});
  }

  RankState::Call& begin(const FlightCall& call, std::uint32_t communicator, Function function) {
    RankState::Call& made = state_.calls.emplace_back();
    made.number = state_.calls.size();
    made.communicator = communicator;
    made.function = function;
    made.made = call.created;
    made.site = call.stack;
    if (call.stack != 0) made.line = line_of_stack(call.stack - 1);
    return made;
  }

  site_key::Key line_of_stack(std::size_t stack) {
    std::optional<site_key::Key>& line = lines_[stack];
    if (!line) line = line_of(dump_.stacks[stack]);
    return *line;
  }

  // Collectives of a group run one after another, so only the first has begun.
  void add_unfinished(std::pair<std::uint32_t, std::int32_t> stream) {
    std::vector<std::size_t>& calls = streams_[stream];
    if (!calls.empty() && stream.second < 0) state_.calls.back().flags |= RankState::kQueued;
    calls.push_back(state_.calls.size() - 1);
  }

  // Keeps the latest calls, their stacks, and the positions of the unfinished calls among them.
  void keep(std::size_t most) {
    const std::size_t first = state_.calls.size() - std::min(most, state_.calls.size());
    std::vector<RankState::Call> kept(state_.calls.begin() + static_cast<std::ptrdiff_t>(first), state_.calls.end());
    for (const auto& [stream, calls] : streams_) {
      std::vector<std::size_t> places;
      for (const std::size_t call : calls) {
        if (call >= first) places.push_back(call - first);
      }
      if (!places.empty()) state_.unfinished.push_back(std::move(places));
    }
    std::map<std::uint32_t, std::uint32_t> stacks;
    for (RankState::Call& call : kept) {
      if (call.site == 0) continue;
      const auto [known, is_new] = stacks.emplace(call.site, static_cast<std::uint32_t>(stacks.size() + 1));
      if (is_new) state_.stacks.push_back(python_frames(dump_.stacks[call.site - 1]));
      call.site = known->second;
    }
    state_.calls = std::move(kept);
  }

  const FlightDump& dump_;
  const std::vector<bool> finished_;
  RankState state_;
  std::vector<std::optional<site_key::Key>> lines_;         // by stack; computed on first use
  std::map<std::uint32_t, std::uint32_t> communicator_of_;  // by index of the group
  std::map<std::uint32_t, std::size_t> latest_;             // the latest collective, by index of the group
  std::map<std::pair<std::uint32_t, std::int32_t>, std::vector<std::size_t>> streams_;  // communicator and peer
};

}  // namespace

RankState flight_rank(const FlightDump& dump, int rank, double until, std::size_t most) {
  return Conversion(dump, rank).convert(until, most);
}

}  // namespace cudadiag::diagnose
