#include "session/full_log.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "session/area_reader.h"
#include "unit/scratch_folder.h"
#include "unit/session/area_builder.h"

using namespace cudadiag;
using session::LogReader;
using session::LogWriter;
using session::RingFollower;
using test::AreaBuilder;
using Item = session::LogReader::Item;
using Record = session::OperationCopy;
namespace o = wire::operation;

namespace {

LogWriter writer_in(const std::filesystem::path& folder) {
  return std::get<LogWriter>(LogWriter::create(folder, 4711, 99));
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

Record launch(std::uint32_t serial, std::uint16_t site, std::uint64_t ticks) {
  Record record;
  AreaBuilder::write_kernel(record.bytes.data(), 0, serial, 0, ticks);
  wire::store(record.bytes.data(), o::kFlags, o::kReturned);
  wire::store(record.bytes.data(), o::kSite, site);
  wire::store(record.bytes.data(), o::kOrdinal, serial);
  wire::store(record.bytes.data(), o::kSiteOrdinal, (serial + 9) / 10);
  wire::store(record.bytes.data(), o::kGridX, site * 7u);
  return record;
}

// Builds two kinds of records: records that repeat, and records that have nothing in common with others.
std::vector<Record> mixed_records() {
  std::vector<Record> records;
  std::minstd_rand random(1);
  for (std::uint32_t serial = 1; serial <= 2000; ++serial) {
    Record record = launch(serial, static_cast<std::uint16_t>(1 + serial % 10), 1000 * serial);
    if (serial % 7 == 0) {
      for (std::size_t at = 6; at < record.bytes.size(); ++at) record.bytes[at] = std::byte(random());
      wire::store(record.bytes.data(), o::kKind, static_cast<std::uint8_t>(1 + random() % 11));
    }
    records.push_back(record);
  }
  return records;
}

std::vector<Record> read_all(const std::filesystem::path& file) {
  auto reader = LogReader::open(file);
  REQUIRE(reader);
  std::vector<Record> records;
  while (reader->next() == Item::record) records.push_back(reader->current().copy);
  return records;
}

bool same(const std::vector<Record>& a, const std::vector<Record>& b) {
  const auto equal = [](const Record& x, const Record& y) { return x.bytes == y.bytes; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

}  // namespace

TEST_CASE("a full log returns what was written") {
  const test::ScratchFolder folder;
  LogWriter writer = writer_in(folder.path());
  const auto records = mixed_records();
  for (std::size_t i = 0; i < 1000; ++i) writer.record(records[i].data());
  writer.lost(5, 77);
  for (std::size_t i = 1000; i < records.size(); ++i) writer.record(records[i].data());
  writer.flush_through({2000, 3});

  auto reader = LogReader::open(folder.path() / "4711.log");
  REQUIRE(reader);
  CHECK(reader->pid() == 4711);
  CHECK(reader->start() == 99);
  for (int time = 0; time < 2; ++time) {
    std::vector<Record> read;
    bool told = false;
    for (Item item = reader->next(); item != Item::end; item = reader->next()) {
      if (item == Item::record) read.push_back(reader->current().copy);
      if (item == Item::lost) told = reader->lost_count() == 5 && reader->lost_until() == 77 && read.size() == 1000;
    }
    CHECK(same(read, records));
    CHECK(told);
    CHECK(reader->through() == std::vector<std::uint64_t>{2000, 3});
    CHECK(reader->next() == Item::end);
    reader->rewind();
  }
}

TEST_CASE("serials are complete although records contain only their low half") {
  const test::ScratchFolder folder;
  LogWriter writer = writer_in(folder.path());
  for (const std::uint32_t serial : {0xfffffffeu, 0xffffffffu, 1u, 2u}) writer.record(launch(serial, 1, serial).data());
  writer.flush();
  auto reader = LogReader::open(folder.path() / "4711.log");
  std::vector<std::uint64_t> serials;
  while (reader->next() == Item::record) serials.push_back(reader->serial());
  CHECK(serials == std::vector<std::uint64_t>{0xfffffffe, 0xffffffff, 0x100000001, 0x100000002});
}

TEST_CASE("a repeated launch takes few bytes") {
  const test::ScratchFolder folder;
  LogWriter writer = writer_in(folder.path());
  for (std::uint32_t i = 1; i <= 100000; ++i) {
    writer.record(launch(i, static_cast<std::uint16_t>(1 + i % 10), 7000 * i).data());
  }
  writer.flush();
  CHECK(std::filesystem::file_size(folder.path() / "4711.log") < 100000 * 6);
}

TEST_CASE("a second log with the same pid, from a program that replaced itself, is a separate file") {
  const test::ScratchFolder folder;
  LogWriter first = writer_in(folder.path()), second = writer_in(folder.path());
  first.flush(), second.flush();
  CHECK(LogReader::open(folder.path() / "4711.log"));
  CHECK(LogReader::open(folder.path() / "4711-2.log"));
}

TEST_CASE("a log that is truncated anywhere returns what comes before") {
  const test::ScratchFolder folder;
  const auto file = folder.path() / "4711.log";
  LogWriter writer = writer_in(folder.path());
  auto records = mixed_records();
  records.resize(12);
  for (const Record& record : records) writer.record(record.data());
  writer.flush_through({12});
  const std::string whole = bytes_of(file);
  std::size_t most = 0;
  for (std::size_t size = session::kLogHeader; size < whole.size(); ++size) {
    write_bytes(file, whole.substr(0, size));
    const auto read = read_all(file);
    REQUIRE(read.size() >= most);
    REQUIRE(same(read, {records.begin(), records.begin() + static_cast<std::ptrdiff_t>(read.size())}));
    most = read.size();
  }
  CHECK(most == records.size());
  for (std::size_t size = 0; size < session::kLogHeader; ++size) {
    write_bytes(file, whole.substr(0, size));
    CHECK_FALSE(LogReader::open(file));
  }
}

TEST_CASE("reading a log of random bytes ends, and is safe") {
  const test::ScratchFolder folder;
  const auto file = folder.path() / "4711.log";
  LogWriter writer = writer_in(folder.path());
  for (const Record& record : mixed_records()) writer.record(record.data());
  writer.flush();
  const std::string whole = bytes_of(file);
  AreaBuilder area;
  area.live_thread(0, 1, 4);
  area.live_stream(0);
  std::minstd_rand random(2);
  for (int i = 0; i < 60; ++i) {
    std::string bytes = whole;
    for (int change = 0; change < 20; ++change) {
      bytes[session::kLogHeader + random() % (bytes.size() - session::kLogHeader)] = static_cast<char>(random());
    }
    write_bytes(file, bytes);
    auto reader = LogReader::open(file);
    REQUIRE(reader);
    session::ProcessRecord record = session::read_area(area.bytes()).record;
    session::join_log(*reader, record);
    for (const auto& operation : record.operations) REQUIRE(operation.recorded <= record.operations.size());
  }
  // Counts that are too large for any memory.
  const std::string most = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  for (const std::string& item : {std::string("\0\x02", 2) + most, most + most, std::string("\x02\0", 2) + most}) {
    write_bytes(file, whole.substr(0, session::kLogHeader) + item);
    CHECK(read_all(file).empty());
  }
}

TEST_CASE("a log that is given up is removed, and nothing is written after it") {
  const test::ScratchFolder folder;
  LogWriter writer = writer_in(folder.path());
  writer.record(launch(1, 1, 10).data());
  writer.flush();
  CHECK(writer.give_up().what == "the full log of process 4711 was discarded to make room for the recording");
  writer.record(launch(2, 1, 20).data());
  writer.flush();
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_FALSE(writer.failure().what.empty());
}

TEST_CASE("the log writer waits for a call to return, so that it can write the result") {
  AreaBuilder area;
  const test::ScratchFolder folder;
  LogWriter writer = writer_in(folder.path());
  RingFollower follower(area.bytes(), RingFollower::When::returned);
  wire::store(area.kernel(0, 1, 0, 10), o::kFlags, o::kReturned);
  std::byte* open = area.kernel(0, 2, 0, 20);
  area.live_thread(0, 1, 2);
  follower.poll(writer), follower.poll(writer);
  CHECK(follower.done()[0] == 1);
  wire::store(open, o::kResult, std::uint16_t{700});
  wire::store(open, o::kFlags, o::kReturned);
  follower.poll(writer), follower.poll(writer);
  area.kernel(0, 3, 0, 30);
  area.live_thread(0, 1, 3);
  follower.poll(writer), follower.poll(writer);
  writer.flush();
  auto read = read_all(folder.path() / "4711.log");
  REQUIRE(read.size() == 2);
  CHECK(wire::load(read[1].data(), o::kResult) == 700);
  follower.finish(writer);
  writer.flush();
  read = read_all(folder.path() / "4711.log");
  REQUIRE(read.size() == 3);
  CHECK(wire::load(read[2].data(), o::kFlags) == 0);
}
