#include "diagnose/status.h"

#include <doctest/doctest.h>

#include "report/status.h"
#include "unit/analyse/picture_builder.h"

namespace status_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;
using namespace cudadiag::report;

namespace {

UnfinishedOperation kernel(std::uint32_t ordinal, const char* name, int line) {
  UnfinishedOperation operation;
  operation.operation = session::Work::kernel;
  operation.kernel = name;
  operation.ordinal = ordinal;
  operation.seconds = 35;
  operation.location = {"/home/me/train.py", "forward", symbolize::Language::python, "", "", line};
  operation.candidate = true;
  return operation;
}

Status one_stream() {
  Status status;
  status.goes_on = true;
  status.seconds = 62;
  status.since_cuda = true;
  status.working_directory = "/home/me";
  status.command = {"python", "train.py"};
  ProcessStatus process;
  process.pid = 4711;
  process.operations = 12345;
  process.idle = 35;
  OpenStream stream;
  stream.name = "stream 0x55d0c8";
  stream.issued = 131;
  stream.completed = 125;
  stream.proven = true;
  stream.known_by = analyse::Fact::one_running;
  stream.candidates = 1;
  stream.operations = {kernel(126, "spin<float>(float*)", 41)};
  stream.more = 5;
  process.streams.push_back(stream);
  OpenCall call;
  call.tid = 4711;
  call.thread = "python";
  call.call = "cudaStreamSynchronize";
  call.waits_for = "stream 0x55d0c8";
  call.seconds = 34;
  call.location = {"/home/me/train.py", "step", symbolize::Language::python, "", "", 60};
  process.calls.push_back(call);
  status.processes.push_back(process);
  return status;
}

}  // namespace

TEST_CASE("work that was long unfinished when the program ended, unless the process continued") {
  Status status = one_stream();
  CHECK(unfinished_text(status) ==
        "spin<float> at train.py:41, forward had not finished when the program ended, 35 s after it was issued");
  status.processes[0].outlived = true;
  CHECK(unfinished_text(status) == "");
  status.processes[0].outlived = false;
  status.processes[0].streams[0].operations[0].seconds = 0.9;
  CHECK(unfinished_text(status) == "");
}

TEST_CASE("a time that began when CUDA was initialised is called that") {
  CHECK(state_text(true, 62, true) == "running, initialised CUDA 62 s ago");
  CHECK(state_text(true, std::nullopt, true) == "running");
  CHECK(state_text(std::nullopt, 62, true) == "may still be running, last recorded 62 s after it initialised CUDA");
  CHECK(state_text(false, 62, true) == "has ended, last recorded 62 s after it initialised CUDA");
  CHECK(state_text(false, 62, false) == "has ended, ran for 62 s");
}

TEST_CASE("a stream blocked at one operation, and the thread that waits for it") {
  CHECK(write_status_text(one_stream(), {}) == R"(cudadiag: running, initialised CUDA 62 s ago: python train.py
pid 4711: 12,345 operations issued, the newest 35 s ago
  stream A: at operation 126 of 131 issued  [bracketed]
      35 s  spin<float>  train.py:41, forward
    and 5 more after it
  thread 4711 python: for 34 s in cudaStreamSynchronize, waits for stream A
            at train.py:60, step
)");
}

TEST_CASE("ages of operations refer to the end of a process that has ended") {
  Status status = one_stream();
  const auto issued = [&] {
    const std::string text = write_status_text(status, {});
    const std::size_t from = text.find("pid 4711");
    return text.substr(from, text.find('\n', from) - from);
  };
  status.goes_on = false;
  CHECK(issued() == "pid 4711: 12,345 operations issued, the newest 35 s before it ended");
  status.goes_on.reset();
  CHECK(issued() == "pid 4711: 12,345 operations issued, the newest 35 s before its last record");
}

TEST_CASE("calls of one line are merged, and unproven work is marked as suspected") {
  Status status = one_stream();
  OpenStream& stream = status.processes[0].streams[0];
  stream.proven = false;
  stream.known_by = analyse::Fact::rule;
  stream.candidates = 6;
  stream.operations = {kernel(126, "a", 41), kernel(127, "a", 41), kernel(128, "b", 42)};
  stream.more = 3;
  status.processes[0].calls.clear();
  const std::string text = write_status_text(status, {});
  CHECK(text.find("stream A: 6 operations may be unfinished (no marker follows them)  [suspected]\n"
                  "      35 s  a  train.py:41, forward (2 operations)\n"
                  "      35 s  b  train.py:42, forward\n"
                  "    and 3 more after it\n") != std::string::npos);
}

TEST_CASE("a kernel's name is whole with -v, and short without") {
  Status status = one_stream();
  const std::string name = "void ns::scale<" + std::string(40, 'x') + ">(float*, int)";
  status.processes[0].streams[0].operations[0].kernel = name;
  TextOptions options;
  CHECK(write_status_text(status, options).find(" scale<...>  train.py:41") != std::string::npos);
  options.verbosity = Verbosity::verbose;
  CHECK(write_status_text(status, options).find(" " + name + "  train.py:41") != std::string::npos);
}

TEST_CASE("a narrow terminal wraps lines and cuts none") {
  Status status = one_stream();
  OpenStream& stream = status.processes[0].streams[0];
  stream.candidates = 0;
  stream.missing = 8;
  TextOptions options;
  options.columns = 60;
  CHECK(write_status_text(status, options) == R"(cudadiag: running, initialised CUDA 62 s ago: python
    train.py
pid 4711: 12,345 operations issued, the newest 35 s ago
  stream A: after operation 125 of 131 issued, at one of 8
      operations whose records are lost  [bracketed]
      35 s  spin<float>  train.py:41, forward
    and 5 more after it
  thread 4711 python: for 34 s in cudaStreamSynchronize,
      waits for stream A
            at train.py:60, step
)");
  stream.candidates = 2;
  options.columns = 200;
  CHECK(
      write_status_text(status, options).find(", at one of 2 operations or one of 8 more whose records are lost  [") !=
      std::string::npos);
}

TEST_CASE("the activity of a run, on a narrow terminal") {
  Activity activity;
  activity.seconds = 1;
  activity.per_second = 12;
  activity.operations = 12345;
  activity.processes = 2;
  activity.streams = {{4711, "stream 0x55d0c8", 3, false, 0}};
  CHECK(write_activity("cudadiag: running, initialised CUDA 62 s ago: python train.py", activity, 40, 44) ==
        R"(cudadiag: running, initialised CUDA 62 s
    ago: python train.py
12 operations/s, 12,345 in all; 2 processes;
    0 failed calls
unfinished work
         3    pid 4711, stream 0x55d0c8 (at
             most this many: no marker
             follows them)
)");
  CHECK(write_activity("a b", activity, 2, 2) == "a\n..\n");
}

TEST_CASE("the activity names the device of a stream, unless it is the first one") {
  analyse::PictureBuilder picture;
  picture.process.record.state = wire::area::State::recording;
  picture.process.record.contexts.push_back({wire::context::State::live, 2, 0xd0, 1, wire::context::Markers::on});
  for (const std::uint32_t context : {0u, 1u}) {
    const auto on = picture.stream(0, context);
    picture.process.record.streams[on].flags = wire::stream::kLegacy;
    picture.issue(on, analyse::op::Kind::kernel, analyse::op::kMarked);
  }
  session::Session session;
  session.processes = {picture.process};
  std::vector<std::string> names;
  for (const StreamQueue& queue : ActivityWatch().look(session).streams) names.push_back(queue.name);
  CHECK(names == std::vector<std::string>{"the default stream", "the default stream on device 1"});
}

TEST_CASE("a run without work, and hostile names") {
  Status status = one_stream();
  status.processes[0].streams.clear();
  status.processes[0].calls[0].thread = "x\x1b[2J\xc2\x9b";
  const std::string text = write_status_text(status, {});
  const std::string json = write_status_json(status);
  CHECK(json.find("x\\u001b[2J\\u009b") != std::string::npos);
  CHECK(text.find("  no work is unfinished\n") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\xc2\x9b") == std::string::npos);
}

TEST_CASE("only operations after the last one shown are counted as waiting") {
  using wire::operation::Kind;
  using wire::operation::kMarked;
  analyse::PictureBuilder picture;
  picture.process.record.errors.clear();
  const auto other = picture.stream(1), stream = picture.stream(0);
  picture.issue(other, Kind::event_record, kMarked, 0xe1);
  picture.issue(stream, Kind::event_wait, 0, 0xe1);  // this wait has finished
  picture.issue(stream, Kind::kernel, kMarked);
  picture.issue(stream);
  session::Session session;
  session.processes.push_back(picture.process);
  symbolize::Symbolizer symbolizer(session);
  const auto look = [&] { return build_status(session, {}, true, symbolizer).processes[0].streams.at(0); };
  REQUIRE(look().operations.size() == 1);
  CHECK(look().operations[0].ordinal == 2);
  CHECK(look().more == 1);

  // If the record of a possible candidate is lost, the operation counts as missing.
  auto& operations = session.processes[0].record.operations;
  operations.erase(operations.begin() + 1);
  CHECK(look().missing == 1);
  CHECK(look().more == 1);

  // The failed call queued no operation, so no operation is waiting.
  operations.back().result = 700;
  CHECK(look().more == 0);
}

}  // namespace status_test
