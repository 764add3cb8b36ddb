// The steps of analyse(): the first failure, calls that failed, nodes of graphs, and what reruns change.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/process_ending.h"
#include "analyse/stream_history.h"
#include "session/process_record.h"
#include "session/session.h"
#include "wire/site_key.h"

namespace cudadiag::analyse {

// ---- earlier_failed_calls.cc

// Determines whether two calls failed in the same way at the same line.
using SameCall = std::function<bool(const session::FailedCall&, const session::FailedCall&)>;

// `process` and `same_line` must outlive the result.
SameCall same_call(const session::Process& process, const SameLine& same_line);

// Finds calls whose error the thread queried only after it had continued. For example, cudaGetLastError after a correct
// launch may return the error of an earlier call, so the launch gets the blame.
class LateErrorChecks {
 public:
  // `errors` must be sorted by serial, and must outlive this object.
  LateErrorChecks(const std::vector<const session::FailedCall*>& errors, const SameCall& same);

  // Returns the first call that failed in the same way at the same line since the thread last queried the error.
  // Returns null unless `error` is one of these calls, or a later call that returned their error.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

// Finds the call that broke a stream capture. The program sees only error 901: later calls on the capturing stream
// return it, and so does the call that ends the capture. The call that broke the capture returned another code from 900
// to 908. It may have run on another thread, because a capture in global mode forbids unsafe calls on all threads.
class BrokenCaptures {
 public:
  // `errors` must be sorted by serial and outlive this object.
  explicit BrokenCaptures(const std::vector<const session::FailedCall*>& errors);

  // Returns the first call that broke the capture that `error` is about. If none is known, returns the first call that
  // found it broken. Returns `error` itself if it is not about a capture.
  const session::FailedCall* cause(const session::FailedCall* error) const;

 private:
  std::map<const session::FailedCall*, const session::FailedCall*> causes_;
};

// Returns the earlier failed call that may have made `failed` fail, such as an allocation. This is the earliest failed
// call with no operation of the thread between it and `failed`. If there is none, and `failed` is a launch without a
// kernel, returns the latest call that failed to load a kernel. A failed look-up counts only if `failed` received an
// invalid handle, because look-ups are usually probes.
const session::FailedCall* swallowed_before(const session::FailedCall& failed, const session::ProcessRecord& record);

// If an operation that failed asynchronously received a null pointer, sets `swallowed` to the failed allocation that
// may have left this pointer.
void recall_failed_allocation(Failure& failure);

// ---- failed_calls.cc

struct CallFindings {
  std::vector<Failure> failures;  // earliest first
  std::vector<Note> notes;        // about handled errors
};

CallFindings failed_calls(const session::Process& process, const Ending& end, const SameLine& same_line = {});

// ---- graph_nodes.cc

// Replaces each candidate that launches a graph with the nodes that may have raised the error, if the nodes of that
// graph are recorded. Call this after join_reruns().
void name_graph_nodes(Failure& failure);

// Returns whether the graph has conditional nodes with unknown bodies, which may contain any kernel.
bool hides_nodes(const session::Graph& graph);

// Returns whether the operation launches a graph with a kernel whose name suggests that it checks the program's data.
bool launches_checking_kernel(const session::Operation& operation, const session::ProcessRecord& record);

// Returns the indices of the unfinished nodes whose dependencies have all finished. At least one of these nodes was
// running. `finished` has one word per node, which differs from 0 if the node has finished. A node without a marker
// counts as finished as soon as its dependencies have finished.
std::vector<std::uint32_t> nodes_under_way(const session::Graph& graph, std::span<const std::uint32_t> finished);

// ---- stale_pointers.cc

// For a process in which nothing failed: returns the first launch of a graph that points to freed memory. The failure
// is only suspected, because we cannot tell whether the launch used the pointer.
std::optional<Failure> stale_replay(const session::Process& process);

// Returns the pointer that probably made this launch fail with an illegal address; null if there is none. Its memory
// was freed since the graph was created or last launched, and live allocations do not cover all of it.
//
// We cannot tell whether the kernel used the pointer. A parameter of eight bytes is enough evidence. It is a pointer,
// and the error appears at the first launch that can access the freed memory. A word in a structure may be left over
// from an earlier call. It counts only if the graph was launched with the same parameters while the memory was live.
// The memory was then freed between the last successful launch and this one. This is unlikely for a leftover.
const session::StalePointer* stale_pointer_of(const session::ProcessRecord& record, const session::Operation& launch);

// Returns whether the error may be an illegal address. In a run with core dumps, 719 stands for any exception.
bool may_be_illegal_address(std::uint32_t code, const session::ProcessRecord& record);

// If the likeliest candidate launches a graph that points to freed memory, makes the node with the stale pointer the
// first candidate and sets `stale`.
void blame_stale_pointer(Failure& failure);

// The node with the stale pointer, in the launch of the first candidate; its `node` is null if the graph is not known.
Candidate node_of(const Failure& failure, const session::StalePointer& stale);

// Makes this node the only candidate. Requires node_of() to be known, and proof that its kernel got the pointer.
void blame_node(Failure& failure, const session::StalePointer& stale);

// Undoes blame_stale_pointer(), for failures where other evidence shows which operation failed.
void forget_stale_pointer(Failure& failure);

// ---- confirmation.cc

// Returns the key of the first candidate's site; 0 if there is none.
wire::site_key::Key lead_key(const Failure& failure);

// Returns the number of the failing call at its site, counted from the start of the rerun. Calls made before the hook
// began to read values are counted too. They have a different site, with the key `whole`, unless native stacks are not
// recorded.
std::uint32_t ordinal_again(const Failure& again, wire::site_key::Key whole);

// Returns whether each candidate launches a kernel that its process launches at a single place in the code. The
// kernel's name then identifies this place in a rerun that is observed in another way. Between the program and the
// driver, a statically linked runtime takes another path if CUPTI observes it, so the call sites differ.
bool are_identified_by_kernels(const Failure& failure);

struct SameCode {
  std::vector<Candidate> candidates;
  bool very_call = false;  // the only candidate is exactly the call that failed again
  // The candidates share only the program's own lines with `again`, because libraries took a different path in the
  // rerun. The call numbers of the two paths cannot be compared.
  bool other_way = false;
};

// Returns the candidates that were issued by the same code as `again`. If some have the same call number as `again`,
// returns only those, one for each thread. Call numbers may differ between runs if the program uses threads or random
// data.
SameCode same_code(const Failure& failure, const Failure& again);

// Returns whether the two failures have candidates that the same code issued.
bool shares_code(const Failure& failure, const Failure& again);

// If the user edited the code that issued a candidate before the rerun, returns the edited file; otherwise "".
std::string rewritten_of(const Failure& failure, const session::Pass& pass);

// If `again` shows that `failure` recurred in the rerun `pass`, updates `failure` and returns true.
bool confirm(Failure& failure, const Failure& again, const session::Pass& pass);

// Lowers the grade if only one candidate remained, but a rerun failed at different code. Either the program behaves
// differently from run to run, or fewer operations of the first run had finished than its recording suggests. Does
// nothing if isolation denied the rerun something, which may be why it failed elsewhere.
void doubt(Failure& failure, const Failure& again, const session::Pass& pass);

// ---- reruns.cc

// Evaluates session.reruns and merges the results into analysis.failures, which contains the failures of the record
// pass. If a rerun fails at a different operation, its failure is added as a separate one.
void join_reruns(const session::Session& session, Analysis& analysis);

// Returns true if a rerun proved that the operation fails with nothing else on the GPU, which rules out a race. Always
// false for a graph, because its nodes can run at the same time.
bool failed_alone(const Failure& failure);

// ---- suspects.cc

struct Suspect {
  // Whether the call that issued the operation succeeded in queuing it, is still running, or returned the error.
  enum class Call { queued, not_returned, refused };

  const session::Operation* operation = nullptr;
  const StreamHistory* history = nullptr;
  Call call = Call::queued;
  bool first = false;          // first in the window of its stream
  std::uint32_t before = 0;    // how many operations of its stream lie between it and the last finished one
  bool start_unsure = false;   // follows a wait for an event that may be pending
  bool other_context = false;  // its context is not the one that returned the error
  bool checks_data = false;    // for an assert: by its name, its kernel checks the program's data
  bool uses_freed = false;     // for an illegal address: a node of the graph points to freed memory
  bool own_kernel = false;     // for a bad address: its kernel is the program's own, and another suspect's is not
};

// Returns the operations that may have been running on one stream, including refused calls.
std::vector<Suspect> suspects_of(const StreamHistory& history, const Window& window, std::uint32_t code);

// Each function drops the suspects that it can rule out, but never all of them.
void drop_refused(std::vector<Suspect>& suspects);
void drop_not_started(std::vector<Suspect>& suspects, const std::vector<StreamStart>& starts);
void drop_kinds_that_cannot_raise(std::vector<Suspect>& suspects, std::uint32_t code);

// After an assert, kernels that check their data, and graphs with such kernels, come first.
void prefer_checking_kernels(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);

// After an illegal address, graph launches come first if they point to memory that was freed since their previous
// launch. This does not apply if another suspect also received freed memory.
void prefer_stale_graphs(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);
// After a bad address, the program's own kernels come before those of libraries, which have been used by many programs.
// This does not apply if a library's kernel received freed memory.
void prefer_own_kernels(std::vector<Suspect>& suspects, const session::ProcessRecord& record, std::uint32_t code);
void order_by_likelihood(std::vector<Suspect>& suspects);

// Returns why the suspect may have failed: "follows operation 2, the last one on its stream known to have finished".
std::string reason(const Suspect& suspect);

// ---- first_failure.cc

inline constexpr std::size_t kMaxCandidates = 64;

// Finds the operation that caused the process's sticky error. The recording was frozen when a call first returned the
// error. Returns nullopt if there was no sticky error. `process` must outlive the result.
std::optional<Failure> first_failure(const session::Process& process);

// Returns whether the process shares the GPU through the Multi-Process Service (MPS). A fault in another process may
// then break this process too. On an H200 with driver 580, a process received error 700 because another process wrote
// through a null pointer.
bool under_mps(const session::ProcessRecord& record);

// Returns whether the device failed although hooks saw no operation. CUPTI also sees calls through addresses that the
// program looked up early.
bool hooks_saw_nothing(const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
