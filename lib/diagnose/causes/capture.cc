// Rules for broken stream captures, one for each error code, and for graphs that cannot be updated.

#include <cctype>

#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

void add_call(const Case& failed, Facts& facts) {
  const bool query = failed.call().find("Query") != std::string::npos;
  facts.add("call", failed.call());
  facts.add("asks", query ? "queries" : "waits for");
  facts.add("ask", query ? "query" : "wait");
}

bool refused_at_once(const Case& failed, Facts& facts) {
  add_call(failed, facts);
  return !failed.asynchronous();
}

bool other_threads_capture(const Case& failed, Facts& facts) {
  return refused_at_once(failed, facts) && failed.refused().breaks_other_threads_capture;
}

// Returns whether the line calls Python's built-in print(), rather than blueprint() or a method.
bool prints(const Case& failed) {
  constexpr std::string_view kPrint = "print(";
  const std::string source = failed.source();
  for (std::size_t at = source.find(kPrint); failed.dialect.python && at != source.npos;
       at = source.find(kPrint, at + 1)) {
    const auto before = static_cast<unsigned char>(at > 0 ? source[at - 1] : ' ');
    if (std::isalnum(before) == 0 && before != '_' && before != '.' && before < 0x80) return true;
  }
  return false;
}

bool reads_a_result(const Case& failed, Facts& facts) {
  constexpr std::string_view kReads[] = {".item()", ".cpu()", ".tolist()", ".numpy()", ".nonzero()"};
  for (const std::string_view read : kReads) {
    if (failed.source().find(read) == std::string::npos) continue;
    facts.add("read", std::string(read));
    return refused_at_once(failed, facts) && !failed.refused().breaks_other_threads_capture;
  }
  facts.add("read", "print()");
  return prints(failed) && refused_at_once(failed, facts) && !failed.refused().breaks_other_threads_capture;
}

constexpr std::string_view kCapture =
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#creating-a-graph-using-stream-capture";
constexpr std::string_view kPyTorch =
    "{torch:https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs|"
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#creating-a-graph-using-stream-capture}";

}  // namespace

const std::vector<Rule>& capture_rules() {
  static const std::vector<Rule> rules = {
      {.id = "capture-by-another-thread",
       .codes = {900},
       .when = other_threads_capture,
       .texts = {"{call} was called while another thread was capturing a graph in global mode, which forbids this call "
                 "in every thread"},
       .fix = {"capture in thread-local mode{torch: (PyTorch: capture_error_mode=\"thread_local\")}, or delay this "
               "call until the other thread's capture has ended",
               "{torch:look for a DataLoader with pin_memory=True: it pins memory in a separate thread}"},
       .link = kPyTorch},
      {.id = "capture-of-default-stream",
       .codes = {900},
       .calls = {"BeginCapture"},
       .when = refused_at_once,
       .texts = {"{call} was given the legacy default stream, which cannot be captured"},
       .fix = {"create a stream for the capture ({cuda:cudaStreamCreateWithFlags|cuStreamCreate}), and issue the work "
               "that is to be captured there{torch: (PyTorch: torch.cuda.graph does it)}"},
       .link = kCapture},
      {.id = "capture-reads-result",
       .codes = {900},
       .calls = {"Synchronize", "Memcpy", "Query"},
       .when = reads_a_result,
       .texts = {"{read} {asks} the GPU ({call}), but captured work runs only when the graph is launched"},
       .fix = {"read results after the replay: keep this line out of the capture, and make decisions on the "
               "device{torch: (torch.where)} instead of in Python"},
       .link = kPyTorch},
      {.id = "capture-unsupported",
       .codes = {900},
       .calls = {"Synchronize", "Query"},
       .when = refused_at_once,
       .texts = {"{call} {asks} the GPU, but captured work runs only when the graph is launched"},
       .fix = {"{ask} before the capture begins or after the graph is launched; inside the capture, order work with "
               "events"},
       .link = kCapture},
      {.id = "capture-unsupported",
       .codes = {900},
       .calls = {"Malloc", "MemAlloc", "HostAlloc", "Free"},
       .when = refused_at_once,
       .texts = {"{call} cannot become part of a graph, but a stream is being captured"},
       .fix = {"allocate and free before the capture, or with {cuda:cudaMallocAsync|cuMemAllocAsync} on the captured "
               "stream{torch:; in PyTorch, run the code a few times on a side stream first, so that libraries allocate "
               "their workspaces}"},
       .link = kPyTorch},
      {.id = "capture-unsupported",
       .codes = {900},
       .when = refused_at_once,
       .texts = {"{call} cannot become part of a graph, but a stream is being captured"},
       .fix = {"make this call before the capture begins or after it ends: do not allocate, synchronise or read "
               "results inside a capture"},
       .link = kCapture},
      {.id = "capture-invalidated",
       .codes = {901},
       .when = refused_at_once,
       .texts = {"an earlier call broke the capture, and the program did not check its result"},
       .fix = {"look between the beginning of the capture and this call for one that is not allowed during a capture "
               "(allocating, synchronising, reading a result, using the default stream), and check what each call "
               "returns"},
       .link = kCapture},
      {.id = "capture-merge",
       .codes = {902},
       .when = refused_at_once,
       .texts = {"{call} would join two captures that were begun separately"},
       .fix = {"do not make one capture wait for an event from another; capture both as one, or order their replays"},
       .link = kCapture},
      {.id = "capture-unmatched",
       .codes = {903},
       .when = refused_at_once,
       .texts = {"{call} ends a capture on a stream that did not begin one"},
       .fix = {"end the capture on the stream that began it"},
       .link = kCapture},
      {.id = "capture-unjoined",
       .codes = {904},
       .when = refused_at_once,
       .texts = {"a stream joined the capture by waiting for one of its events, but was never joined back"},
       .fix = {"before the capture ends, record an event on each stream that joined it, and make the stream that began "
               "the capture wait for these events",
               "{torch:PyTorch: torch.cuda.current_stream().wait_stream(side) before the capture ends}"},
       .link = kCapture},
      {.id = "capture-isolation",
       .codes = {905},
       .when = refused_at_once,
       .texts = {"{call} would make captured work depend on work outside of the capture"},
       .fix =
           {"inside the capture, wait only for events recorded in it; wait for earlier work before the capture begins"},
       .link = kCapture},
      {.id = "capture-implicit",
       .codes = {906},
       .when = refused_at_once,
       .texts =
           {"{call} uses the legacy default stream, which waits for every blocking stream, including the captured one"},
       .fix = {"keep the default stream out of the capture, or create the capturing stream with "
               "{cuda:cudaStreamNonBlocking|CU_STREAM_NON_BLOCKING}",
               "{torch:PyTorch: warm up on the side stream, not on the default one}"},
       .link = kCapture},
      {.id = "captured-event",
       .codes = {907},
       .when = refused_at_once,
       .texts = {"{call} queries an event that was recorded in a capture: the event is part of the graph and never "
                 "completes on its own"},
       .fix = {"do not wait for or query an event that was recorded in the capture; record another one after launching "
               "the graph"},
       .link = kCapture},
      {.id = "capture-wrong-thread",
       .codes = {908},
       .when = refused_at_once,
       .texts = {"a thread ended a capture that another thread had begun"},
       .fix = {"end the capture on the thread that began it, or begin it in relaxed mode"},
       .link = kCapture},
      {.id = "graph-update-failed",
       .sure = Sure::often,
       .codes = {910},
       .when = refused_at_once,
       .texts = {"this change cannot be applied to the executable graph, often because nodes or edges were added or "
                 "removed, or a node moved to another device, context or kind of memory"},
       .fix = {"instantiate the graph again if cudaGraphExecUpdate fails"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#updating-instantiated-graphs"},
  };
  return rules;
}

}  // namespace cudadiag::causes
