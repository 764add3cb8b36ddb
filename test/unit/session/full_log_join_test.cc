
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>
#include <vector>

#include "session/area_reader.h"
#include "session/full_log.h"
#include "unit/scratch_folder.h"
#include "unit/session/area_builder.h"

using namespace cudadiag;
using session::LogReader;
using session::LogWriter;
using session::Operation;
using session::ProcessRecord;
using session::RingFollower;
using test::AreaBuilder;
using o_kind = wire::operation::Kind;
namespace o = wire::operation;

namespace {

// A process with a full log, and one thread whose ring has room for four records.
class Program {
 public:
  Program() : area_({.streams = 3, .ring = 4}) {
    for (std::size_t stream = 0; stream < 3; ++stream) area_.live_stream(stream);
  }

  std::byte* issue(o_kind kind, std::size_t stream, std::uint64_t argument = 0, bool drain = true) {
    ++serial_;
    std::byte* record = area_.ring(0, (serial_ - 1) % 4);
    std::memset(record, 0, wire::area::kOperationSize);
    area_.kernel(0, serial_, static_cast<std::uint32_t>(stream), 10 * serial_);
    wire::store(record, o::kKind, static_cast<std::uint8_t>(kind));
    wire::store(record, o::kFlags, o::kReturned);
    if (kind != o_kind::kernel) wire::store(record, o::kArgument, argument);
    if (o::has_ordinal(kind)) {
      wire::store(record, o::kOrdinal, ++ordinals_[stream]);
      wire::store(area_.stream(stream), wire::stream::kIssued, ordinals_[stream]);
      wire::store(area_.thread(0), wire::thread::kOperations, ++operations_);
    } else {
      wire::store(record, o::kStream, static_cast<decltype(o::kStream)::type>(o::kNoStream));
    }
    area_.live_thread(0, 1, serial_);
    if (drain) follower_.poll(writer_), follower_.poll(writer_);
    return record;
  }
  void launch(std::size_t stream, int times = 1) {
    for (int i = 0; i < times; ++i) issue(o_kind::kernel, stream);
  }
  void poll() { follower_.poll(writer_); }
  void finished(std::size_t stream, std::uint32_t ordinal) {
    wire::store(area_.marker(stream), wire::marker::kCompleted, ordinal);
  }

  ProcessRecord without_log() { return session::read_area(area_.bytes()).record; }
  ProcessRecord with_log() {
    writer_.flush_through(follower_.done());
    ProcessRecord record = without_log();
    auto log = LogReader::open(file());
    REQUIRE(log);
    session::join_log(*log, record);
    return record;
  }
  std::filesystem::path file() const { return folder_.path() / "4711.log"; }
  AreaBuilder& area() { return area_; }
  LogWriter& writer() { return writer_; }

 private:
  test::ScratchFolder folder_;
  AreaBuilder area_;
  RingFollower follower_{area_.bytes(), RingFollower::When::returned};
  LogWriter writer_ = std::get<LogWriter>(LogWriter::create(folder_.path(), 4711, 0));
  std::uint64_t serial_ = 0, operations_ = 0;
  std::uint32_t ordinals_[3] = {};
};

const Operation* find(const ProcessRecord& record, std::uint32_t stream, std::uint32_t ordinal) {
  for (const Operation& operation : record.operations) {
    if (operation.stream == stream && operation.ordinal == ordinal) return &operation;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("unfinished operations that the ring has lost come from the log, with their numbers") {
  Program program;
  program.launch(0, 10), program.launch(1, 20);
  program.finished(0, 6), program.finished(1, 20);
  CHECK(find(program.without_log(), 0, 7) == nullptr);

  const ProcessRecord record = program.with_log();
  REQUIRE(record.log);
  CHECK(record.log->whole());
  CHECK(record.log->operations == 30);
  CHECK(record.damaged == 0);
  CHECK(record.operations.size() == 4 + 4);
  for (std::uint32_t ordinal = 7; ordinal <= 10; ++ordinal) {
    const Operation* operation = find(record, 0, ordinal);
    REQUIRE(operation != nullptr);
    CHECK(operation->serial == ordinal);
    CHECK(operation->issued == ordinal);
    CHECK(operation->kernels == ordinal);
    CHECK(operation->logged);
  }
  CHECK(find(record, 0, 6) == nullptr);
  const Operation* newest = find(record, 1, 20);
  REQUIRE(newest != nullptr);
  CHECK_FALSE(newest->logged);
  CHECK(newest->issued == 30);
}

TEST_CASE("an event's recording is known however long ago it was") {
  Program program;
  program.launch(0, 3);
  program.issue(o_kind::event_record, 0, 0xe);  // ordinal 4 on stream 0
  program.launch(0, 2);
  program.issue(o_kind::event_record, 0, 0xf);  // ordinal 7 on stream 0
  program.launch(2, 20);
  program.issue(o_kind::event_wait, 1, 0xe);  // ordinal 1 on stream 1, never passed
  program.launch(1);
  program.launch(2, 20);
  program.issue(o_kind::event_sync, 0, 0xf);
  program.launch(2, 20);
  program.finished(2, 60);
  const ProcessRecord record = program.with_log();
  const Operation* wait = find(record, 1, 1);
  REQUIRE(wait != nullptr);
  REQUIRE(wait->recorded != 0);
  const Operation& recorded = record.operations[wait->recorded - 1];
  CHECK(recorded.kind == o_kind::event_record);
  CHECK(recorded.ordinal == 4);
  const Operation* seen = nullptr;
  for (const Operation& operation : record.operations) {
    if (operation.kind == o_kind::event_sync) seen = &operation;
  }
  REQUIRE(seen != nullptr);
  CHECK(record.operations[seen->recorded - 1].ordinal == 7);
}

TEST_CASE("an event that has come to refer to something else is not connected with its record") {
  Program program;
  program.issue(o_kind::event_record, 0, 0xe);
  bool connected = false;
  SUBCASE("it was destroyed") { program.issue(o_kind::event_forgotten, 0, 0xe); }
  SUBCASE("an unknown graph was launched") { program.issue(o_kind::graph, 2); }
  SUBCASE("a different one was destroyed") {
    program.issue(o_kind::event_forgotten, 0, 0xf);
    connected = true;
  }
  program.issue(o_kind::event_wait, 1, 0xe);
  program.launch(2, 20);
  const ProcessRecord record = program.with_log();
  const Operation* wait = find(record, 1, 1);
  REQUIRE(wait != nullptr);
  CHECK((wait->recorded != 0) == connected);
}

TEST_CASE("an event that is recorded again after a gap refers to nothing that is known") {
  Program program;
  program.issue(o_kind::event_record, 0, 0xe);
  // The ring wraps around before it is read. The event may have been recorded again in the lost records.
  for (int i = 0; i < 9; ++i) program.issue(o_kind::kernel, 2, 0, false);
  program.issue(o_kind::event_wait, 1, 0xe);
  program.launch(2, 9);
  program.finished(2, 18);
  const ProcessRecord record = program.with_log();
  CHECK(record.log->lost == 6);
  CHECK_FALSE(record.log->whole());
  const Operation* wait = find(record, 1, 1);
  REQUIRE(wait != nullptr);
  CHECK(wait->recorded == 0);
  CHECK(wait->issued == 11);
  const Operation* before = find(record, 0, 1);
  REQUIRE(before != nullptr);
  CHECK(before->issued == 0);
}

TEST_CASE("a recording that was fetched before a gap and reported after it is not certain either") {
  Program program;
  program.issue(o_kind::event_record, 0, 0xe, false);
  program.poll();
  for (int i = 0; i < 9; ++i) program.issue(o_kind::kernel, 2, 0, false);
  program.issue(o_kind::event_wait, 1, 0xe);
  program.finished(2, 9);
  const ProcessRecord record = program.with_log();
  const Operation* wait = find(record, 1, 1);
  REQUIRE(wait != nullptr);
  CHECK(wait->recorded == 0);
}

TEST_CASE("forward launches of a node that is being run backwards come from the log") {
  Program program;
  const auto number = [](std::byte* record, std::uint32_t count) {
    wire::store(record, o::kOwnThread, std::uint8_t{1});
    wire::store(record, o::kNumber, count);
  };
  // A record is complete only after its thread has issued another operation. Each operation is therefore followed by a
  // launch.
  for (const std::uint32_t count : {1u, 2u, 5u, 5u, 6u})
    number(program.issue(o_kind::kernel, 0, 0, false), count), program.launch(2);
  program.launch(2, 20);
  std::byte* backward = program.issue(o_kind::kernel, 0, 0, false);
  wire::store(backward, o::kOwnThread, std::uint8_t{2});
  wire::store(backward, o::kNodeThread, std::uint8_t{1});
  wire::store(backward, o::kNode, 4u);
  program.launch(2);
  program.finished(0, 5), program.finished(2, 26);
  const ProcessRecord record = program.with_log();
  std::vector<std::uint32_t> numbers;
  for (const Operation& operation : record.operations) {
    if (operation.origin.thread == 1) numbers.push_back(operation.origin.number);
  }
  CHECK(numbers == std::vector<std::uint32_t>{2, 5, 5});
}

TEST_CASE("a log that ends early leaves what the rings contain, and says so") {
  Program program;
  program.launch(0, 10), program.launch(1, 20);
  program.finished(0, 6), program.finished(1, 20);
  program.with_log();
  std::filesystem::resize_file(program.file(), std::filesystem::file_size(program.file()) / 2);
  ProcessRecord record = program.without_log();
  auto log = LogReader::open(program.file());
  session::join_log(*log, record);
  CHECK_FALSE(record.log->reaches_rings);
  const Operation* newest = find(record, 1, 20);
  REQUIRE(newest != nullptr);
  CHECK(newest->issued == 0);
}

TEST_CASE("on a full disk the log ends, and says why") {
  Program program;
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  program.launch(0, 1000);
  program.writer().flush();
  ::setrlimit(RLIMIT_FSIZE, &before);
  program.launch(0, 10);
  CHECK(program.writer().failure().what == "the full log of process 4711 ends early: File too large");
  const ProcessRecord record = program.with_log();
  CHECK(std::filesystem::file_size(program.file()) == 1000);
  CHECK(record.log->operations > 100);
  CHECK_FALSE(record.log->reaches_rings);
}

TEST_CASE("logs are matched to processes by what they say about their process") {
  const test::ScratchFolder folder;
  std::vector<session::Process> processes(2);
  for (std::size_t i = 0; i < 2; ++i) {
    processes[i].pid = 7;
    processes[i].record.start_realtime = 100 + i;
    std::get<LogWriter>(LogWriter::create(folder.path(), 7, 101 - i)).flush();
  }
  folder.file("8.log", "nonsense");
  session::attach_logs(folder.path(), processes);
  CHECK(processes[0].log.filename() == "7-2.log");
  CHECK(processes[1].log.filename() == "7.log");
}
