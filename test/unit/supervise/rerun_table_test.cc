#include "supervise/reruns/rerun_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "unit/supervise/failing_session.h"

namespace cudadiag::supervise {
namespace {

using session::PassKind;

// The session as it is, with the default options.
struct Considered {
  explicit Considered(const session::Session& its) : session(its), analysis(analyse::analyse(its)) {}
  Known known() const {
    Known known{session, analysis, plan};
    known.has_sanitizer = has_sanitizer;
    return known;
  }
  bool wants(Task task) const { return wants(task, known()); }
  static bool wants(Task task, const Known& known) {
    return is_wanted(*std::ranges::find(passes(), task, &PassRow::task), known);
  }
  const session::Session& session;
  analyse::Analysis analysis;
  RerunPlan plan;
  bool has_sanitizer = false;
};

TEST_CASE("a failure that is not proven calls for reruns") {
  const session::Session session = failing_session();
  Considered considered(session);
  CHECK(wants_proof(considered.analysis));
  CHECK(wants_reruns(considered.known()));
  CHECK(planned_reruns(considered.known()) == 1);  // it waits for the operation and leaves a core dump
  CHECK(confirms_with_dump(considered.known()));
  CHECK(further_reruns(considered.known()) == 2);
  considered.plan.options.device = false;
  CHECK(further_reruns(considered.known()) == 0);
  CHECK(planned_reruns(considered.known()) == 1);
  CHECK_FALSE(confirms_with_dump(considered.known()));
}

TEST_CASE("a rerun that confirms leaves no dump if CUPTI must observe it, or if it prints or saves something instead") {
  session::Session session = failing_session();
  Considered considered(session);
  considered.plan.options.save_inputs = true;
  CHECK_FALSE(confirms_with_dump(considered.known()));
  considered.plan.options.save_inputs = false;
  session.manifest.watch_by = "cupti";
  CHECK_FALSE(confirms_with_dump(considered.known()));
  CHECK(planned_reruns(considered.known()) == 2);
  const session::Session asserted = failing_session(2, 710);
  CHECK_FALSE(confirms_with_dump(Considered(asserted).known()));
  CHECK(further_reruns(Considered(asserted).known()) == 1);
}

TEST_CASE("a dump is requested after a failed assertion only if no rerun printed it") {
  const session::Session session = failing_session(2, 710);
  Considered considered(session);
  for (const bool printed : {true, false}) {
    Known known = considered.known();
    known.has_assertions = [printed] { return printed; };
    CHECK(Considered::wants(Task::get_dump, known) == !printed);
  }
}

TEST_CASE("a session without a failure needs none, unless the user asks to wait for every operation") {
  session::Session session = failing_session();
  session.processes.clear();
  Considered considered(session);
  CHECK_FALSE(wants_reruns(considered.known()));
  CHECK(planned_reruns(considered.known()) == 0);
  CHECK_FALSE(wants_races(session));
  considered.plan.reach = analyse::WindowReach::everything;
  CHECK(planned_reruns(considered.known()) == 1);
}

TEST_CASE("a pass is run once, and again only if it was cut short and left no dump") {
  session::Session session = failing_session();
  const Considered considered(session);
  CHECK(considered.wants(Task::get_dump));
  session.manifest.passes.push_back(rerun_pass(PassKind::device));
  session::Pass& device = session.manifest.passes.back();
  CHECK_FALSE(considered.wants(Task::get_dump));
  device.cut_short = session::CutShort::time_limit;
  CHECK(considered.wants(Task::get_dump));
  device.dump = "4711.gpucore";
  CHECK_FALSE(considered.wants(Task::get_dump));
  CHECK_FALSE(was_made(session.manifest, PassKind::sanitize));
}

TEST_CASE("only device exceptions call for a core dump") {
  for (const std::uint32_t code : {700u, 710u, 719u, 702u}) {
    const session::Session session = failing_session(2, code);
    Considered considered(session);
    Known known = considered.known();
    known.has_assertions = [] { return false; };
    CHECK(Considered::wants(Task::get_dump, known) == (code != 702));
  }
}

TEST_CASE("after a failed assertion in Python, the origin of its bad value is traced") {
  session::Session session = failing_session(2, 710);
  const auto wants = [&](bool asked, std::function<bool()> names_bad_value = {}) {
    Considered considered(session);
    considered.plan.options.origin = asked;
    Known known = considered.known();
    known.names_bad_value = std::move(names_bad_value);
    return Considered::wants(Task::trace_origin, known);
  };
  CHECK_FALSE(wants(true));  // the program does not use Python
  session.processes[0].record.properties["python"] = "3.11";
  CHECK(wants(true));
  CHECK_FALSE(wants(false));  // only PyTorch's operators can be observed without values
  CHECK(wants(false, [] { return true; }));
  CHECK(planned_reruns(Considered(session).known()) == 1);  // it waits for the operation, which prints the assertion
  session.processes[0].record.modules.push_back({"/x/torch/lib/libc10_cuda.so", "", 0, 0, 1});
  CHECK(wants(false));
  CHECK_FALSE(wants(false, [] { return false; }));          // a rerun has read the values, and none is bad
  CHECK(planned_reruns(Considered(session).known()) == 1);  // the rerun that confirms traces it too
  CHECK(confirms_with_origin(Considered(session).known()));
  session.processes[0].record.codes.emplace_back().file = "/x/torch/_dynamo/eval_frame.py";
  CHECK_FALSE(confirms_with_origin(Considered(session).known()));
  CHECK(planned_reruns(Considered(session).known()) == 2);
  session.reruns.push_back({session.processes[0]});
  session.reruns[0][0].deliveries.emplace_back().origin.emplace();
  CHECK_FALSE(wants(true));  // a rerun that confirmed has traced it
  session.reruns.clear();
  session.manifest.passes.push_back(rerun_pass(PassKind::origin));
  CHECK_FALSE(wants(true));
  session::Session access = failing_session(2, 700);
  access.processes[0].record.properties["python"] = "3.11";
  CHECK_FALSE(Considered(access).wants(Task::trace_origin));
}

TEST_CASE("what an option requests is wanted only with the option") {
  const session::Session session = failing_session(3);
  Considered considered(session);
  CHECK_FALSE(considered.wants(Task::sanitize));
  CHECK_FALSE(considered.wants(Task::save_launch));
  considered.has_sanitizer = true;
  considered.plan.options.sanitize = considered.plan.options.save_launch = true;
  CHECK(considered.wants(Task::sanitize));
  CHECK(considered.wants(Task::save_launch));
  CHECK(planned_reruns(considered.known()) == 3);
  CHECK(reasons_against(considered.known()).empty());
}

TEST_CASE("a pass that is requested but impossible is not planned, and the user gets the reason") {
  session::Session session = failing_session(1);
  Considered considered(session);
  considered.analysis.failures[0].evidence.add(analyse::Fact::ran_alone, "it ran alone");
  considered.plan.options.device = false;
  RerunOptions& options = considered.plan.options;
  using Reasons = std::vector<RerunProblem::Kind>;
  const auto reasons = [&] {
    CHECK(wants_reruns(considered.known()) == reasons_against(considered.known()).empty());
    CHECK(planned_reruns(considered.known()) == (wants_reruns(considered.known()) ? 1 : 0));
    return reasons_against(considered.known());
  };
  SUBCASE("only kernels are saved") {
    options.save_launch = true;
    CHECK(reasons() == Reasons{});
    session.processes[0].record.operations.back().kind = wire::operation::Kind::copy;
    session.processes[0].record.operations.back().site = 0;
    CHECK(reasons() == Reasons{RerunProblem::Kind::no_launch_saved});
  }
  SUBCASE("only Python's calls are saved and traced") {
    options.save_inputs = options.origin = true;
    CHECK(reasons() == Reasons{RerunProblem::Kind::nothing_to_trace, RerunProblem::Kind::nothing_saved});
  }
  SUBCASE("compute-sanitizer needs a kernel's name") {
    options.sanitize = true;
    CHECK(reasons() == Reasons{RerunProblem::Kind::no_sanitizer});
    considered.has_sanitizer = true;
    CHECK(reasons() == Reasons{});
    session.processes[0].record.functions[0].clear();
    CHECK(reasons() == Reasons{RerunProblem::Kind::no_suspected_kernel});
    considered.analysis.failures[0].code = 702;
    CHECK(reasons() == Reasons{RerunProblem::Kind::not_for_sanitizer});
    considered.analysis.failures[0].code = 700;
    session.manifest.passes.push_back(rerun_pass(PassKind::sanitize));
    CHECK(reasons() == Reasons{RerunProblem::Kind::sanitized_already});
  }
}

// A proven failure whose kernel was given a pointer to `bytes` bytes.
struct LostAddress {
  explicit LostAddress(std::uint64_t bytes = 64 << 20, std::uint32_t code = 700) : session(failing_session(1, code)) {
    constexpr std::uint64_t kAddress = 0x7f0000000000;
    session::Allocation block;
    block.serial = 1;
    block.address = kAddress;
    block.bytes = bytes;
    block.kind = wire::allocation::Kind::device;
    session::ProcessRecord& record = session.processes[0].record;
    record.allocations.push_back(block);
    std::string word(sizeof kAddress, '\0');
    std::memcpy(word.data(), &kAddress, sizeof kAddress);
    record.arguments.push_back({record.operations.back().serial, 0, 0, {{0, word}}});
    session.manifest.passes[0].seconds = 3;
  }

  bool is_searched() {
    Considered considered(session);
    considered.analysis.failures[0].evidence.add(analyse::Fact::ran_alone, "it ran alone");
    considered.plan = plan;
    Known known = considered.known();
    known.has_sanitizer = has_sanitizer;
    known.lacks_address = [this] { return lacks_address; };
    return Considered::wants(Task::find_address, known);
  }
  bool is_saved_while_confirming() {
    Considered considered(session);
    considered.plan = plan;
    Known known = considered.known();
    known.has_sanitizer = has_sanitizer;
    return confirms_with_launch(known);
  }

  session::Session session;
  RerunPlan plan;
  bool has_sanitizer = true, lacks_address = true;
};

TEST_CASE("the address of a failed access is searched for if no dump shows it, and if that is quick") {
  CHECK(LostAddress().is_searched());
  CHECK(LostAddress(64 << 20, 716).is_searched());
  CHECK_FALSE(LostAddress(64 << 20, 719).is_searched());
  LostAddress known;
  known.lacks_address = false;
  CHECK_FALSE(known.is_searched());
  LostAddress without_tool;
  without_tool.has_sanitizer = false;
  CHECK_FALSE(without_tool.is_searched());
  LostAddress without_dumps;
  without_dumps.plan.options.device = false;
  CHECK_FALSE(without_dumps.is_searched());
  LostAddress slow;
  slow.session.manifest.passes[0].seconds = 6;
  CHECK_FALSE(slow.is_searched());  // 6 s, and 4.3 s for the replay and its memory
  CHECK(LostAddress(500 << 20).is_searched());
  CHECK_FALSE(LostAddress(std::uint64_t{800} << 20).is_searched());
  LostAddress unknown;
  unknown.session.processes[0].record.arguments.clear();
  CHECK_FALSE(unknown.is_searched());
  LostAddress again;
  again.session.manifest.passes.push_back(rerun_pass(PassKind::launch));
  CHECK(again.is_searched());
  again.session.manifest.passes.back().access.emplace().why = "the replay took too long";
  CHECK_FALSE(again.is_searched());
}

TEST_CASE("the rerun that confirms saves the launch if it also gets a dump, and if little memory is saved") {
  CHECK(LostAddress().is_saved_while_confirming());
  CHECK(LostAddress(128 << 20).is_saved_while_confirming());
  CHECK_FALSE(LostAddress(129 << 20).is_saved_while_confirming());
  CHECK_FALSE(LostAddress(64 << 20, 710).is_saved_while_confirming());
  LostAddress without_tool;
  without_tool.has_sanitizer = false;
  CHECK_FALSE(without_tool.is_saved_while_confirming());
  LostAddress without_dumps;
  without_dumps.plan.options.device = false;
  CHECK_FALSE(without_dumps.is_saved_while_confirming());
  LostAddress requested;
  requested.plan.options.save_launch = true;
  CHECK_FALSE(requested.is_saved_while_confirming());  // a rerun of its own saves more memory
  LostAddress chosen;
  chosen.plan.reach = analyse::WindowReach::everything;
  CHECK_FALSE(chosen.is_saved_while_confirming());
}

TEST_CASE("the manual page has the table's words") {
  std::ifstream page(TEST_DATA "/../../man/cudadiag-evidence.7");
  std::string text(std::istreambuf_iterator<char>(page), {});
  // Removes fonts, escapes and line breaks.
  text = std::regex_replace(text, std::regex(R"(\\f[BIR])"), "");
  text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
  text = std::regex_replace(text, std::regex("[\\n\\t]"), " ");
  for (const PassRow& row : passes()) {
    if (row.kind.empty()) continue;
    CAPTURE(row.kind);
    const std::string words =
        std::string(row.kind) + " T} T{ " + std::string(row.when) + " T} T{ " + std::string(row.does) + " T}";
    CHECK(text.find(words) != std::string::npos);
  }
}

TEST_CASE("the suspected kernels are those of the candidates") {
  const session::Session session = failing_session(3);
  const auto kernels = sanitizer_kernels(analyse::analyse(session));
  CHECK(kernels.all);
  CHECK(std::set<std::string>(kernels.names.begin(), kernels.names.end()) ==
        std::set<std::string>{"kernel1", "kernel2", "kernel3"});
  // memcheck does not report failed assertions.
  const session::Session assertion = failing_session(3, 710);
  CHECK(sanitizer_kernels(analyse::analyse(assertion)).names.empty());
}

TEST_CASE("if there are too many kernels to list, the list is marked as incomplete") {
  const session::Session session = failing_session(9);
  CHECK_FALSE(sanitizer_kernels(analyse::analyse(session)).all);
}

TEST_CASE("the debugger is run once for a dump") {
  session::Session session = failing_session();
  Considered considered(session);
  considered.plan.options.cross_check = true;
  const auto reason = [&] { return reasons_against(considered.known()); };
  CHECK(reason() == std::vector{RerunProblem::Kind::no_dump_to_check});
  session.manifest.passes.push_back(rerun_pass(PassKind::device));
  session.manifest.passes.back().dump = "4711.gpucore";
  CHECK(reason().empty());
  CHECK(unchecked_dump(session.manifest) == &session.manifest.passes.back());
  session.manifest.passes.back().debugger = session::Witness{};
  CHECK(reason() == std::vector{RerunProblem::Kind::debugger_asked_already});
  CHECK(unchecked_dump(session.manifest) == nullptr);
}

TEST_CASE("a hang is rerun only for its dump, and only if the run was ended because of it") {
  session::Session session = failing_session();
  Considered considered(session);
  considered.analysis.failures.resize(1);
  considered.analysis.failures.front().kind = analyse::Kind::hang;
  considered.plan.options.hang_dump = true;
  CHECK_FALSE(considered.wants(Task::get_hang_dump));
  session.manifest.hang = 5;
  CHECK(considered.wants(Task::get_hang_dump));
  session.manifest.passes.push_back(rerun_pass(PassKind::device));
  CHECK(considered.wants(Task::get_hang_dump));
  session.manifest.passes.back().dump = "4711.gpucore";
  CHECK_FALSE(considered.wants(Task::get_hang_dump));
}

}  // namespace
}  // namespace cudadiag::supervise
