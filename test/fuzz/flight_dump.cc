// Fuzzes the readers of Flight Recorder dumps (PyTorch), as pickles and as JSON.
#include "analyse/rank_divergence.h"
#include "diagnose/ranks.h"

using namespace cudadiag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = evidence::read_flight_dump(std::string(reinterpret_cast<const char*>(data), size));
  const auto* dump = std::get_if<evidence::FlightDump>(&read);
  if (dump == nullptr) return 0;
  for (const evidence::FlightCall& call : dump->calls) {
    if (call.group >= dump->groups.size() || call.stack > dump->stacks.size()) __builtin_trap();
  }
  std::vector<analyse::RankState> states;
  for (const int rank : {0, 1, 2}) states.push_back(diagnose::flight_rank(*dump, rank, 1.8e9, rank == 0 ? 4 : 256));
  for (const analyse::RankState& state : states) {
    for (const analyse::RankState::Call& call : state.calls) {
      if (call.site > state.stacks.size() || call.communicator >= state.communicators.size()) __builtin_trap();
    }
    for (const auto& stream : state.unfinished) {
      for (const std::size_t call : stream) {
        if (call >= state.calls.size()) __builtin_trap();
      }
    }
  }
  analyse::group_answer(states, true);
  return 0;
}
