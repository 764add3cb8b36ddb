#include "evidence/flight_dump.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "unit/evidence/pickle_builder.h"

using namespace cudadiag;
using namespace cudadiag::evidence;
using test::PickleBuilder;

namespace {

struct Written {
  std::string version = "2.10", name = "nccl:all_reduce", state = "completed";
  bool has_number = true;
  std::int64_t first_record = 0;
  std::string group = "1";
};

void add_frames(PickleBuilder& to) {
  to.text("frames").open_list();
  to.open_dictionary().texts("name", "forward").texts("filename", "/home/u/model.py").number("line", 41);
  to.close_dictionary().close_list();
}

void add_sizes(PickleBuilder& to, const char* key) {
  to.text(key).open_list().open_list().integer(4).integer(256).close_list().close_list();
}

std::string dump(const Written& written) {
  PickleBuilder to;
  to.open_dictionary().texts("version", written.version);
  to.text("pg_config").open_dictionary().text("1").open_dictionary();
  to.texts("name", "1").texts("desc", "tp").texts("ranks", "[2, 3]").close_dictionary().close_dictionary();
  to.text("entries").open_list();
  for (std::int64_t i = 0; i < 2; ++i) {
    to.open_dictionary();
    add_frames(to);
    to.number("record_id", written.first_record + i).text("process_group").text(written.group).text("tp").raw("\x86");
    if (written.has_number) to.number("collective_seq_id", 480 + i);
    to.number("p2p_seq_id", 0).texts("profiling_name", written.name).number("time_created_ns", 1700000000000000000 + i);
    add_sizes(to, "input_sizes");
    to.text("input_dtypes").open_list().text("BFloat16").close_list();
    add_sizes(to, "output_sizes");
    to.texts("state", written.state).text("is_p2p").raw("\x89").close_dictionary();
  }
  return to.close_list().close_dictionary().bytes();
}

FlightDump flight_dump_of(const std::string& bytes) {
  auto result = read_flight_dump(bytes);
  REQUIRE(std::holds_alternative<FlightDump>(result));
  return std::get<FlightDump>(std::move(result));
}

std::string of_pytorch(const std::string& name) {
  std::ifstream file(std::string(TEST_DATA "/flight_recorder/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string parse_error(const std::string& bytes) {
  const auto result = read_flight_dump(bytes);
  const auto* failure = std::get_if<base::Error>(&result);
  return failure == nullptr ? "" : failure->what;
}

}  // namespace

TEST_CASE("a dump gives groups, calls and their lines") {
  const FlightDump found = flight_dump_of(dump({}));
  CHECK(found.version == "2.10");
  REQUIRE(found.groups.size() == 1);
  CHECK(found.groups[0].description == "tp");
  CHECK(found.groups[0].ranks == std::vector<std::int32_t>{2, 3});
  REQUIRE(found.calls.size() == 2);
  const FlightCall& call = found.calls[1];
  CHECK(call.collective == 481);
  CHECK(call.function == "all_reduce");
  CHECK(call.input == 1024);
  CHECK(call.output == 1024);
  CHECK(call.input_type == "BFloat16");
  CHECK(call.state == FlightCall::State::completed);
  CHECK(call.created == doctest::Approx(1.7e9));
  REQUIRE(call.stack != 0);
  CHECK(found.stacks[call.stack - 1] == std::vector<FlightFrame>{{"/home/u/model.py", "forward", 41}});
  CHECK(found.is_whole);
}

TEST_CASE("a dump without its first call is not whole") {
  CHECK_FALSE(flight_dump_of(dump({.first_record = 5})).is_whole);
}

TEST_CASE("any minor version is read, but a different major version is rejected") {
  CHECK(flight_dump_of(dump({.version = "2.4"})).calls.size() == 2);
  CHECK(flight_dump_of(dump({.version = "2.99"})).calls.size() == 2);
  CHECK(parse_error(dump({.version = "3.0"})) == "its format version is 3.0, but cudadiag reads only version 2");
}

TEST_CASE("calls without numbers are rejected") {
  CHECK(parse_error(dump({.has_number = false})) == "its calls have no numbers (PyTorch before 2.4)");
}

TEST_CASE("a call of an undescribed group is ignored") { CHECK(flight_dump_of(dump({.group = "7"})).calls.empty()); }

TEST_CASE("a pickle with other contents is not a dump") {
  CHECK(parse_error(PickleBuilder().open_dictionary().texts("a", "b").close_dictionary().bytes()) ==
        "it is not a Flight Recorder dump");
  CHECK(parse_error(PickleBuilder().raw("N").bytes()) == "it is not a Flight Recorder dump");
  CHECK(parse_error("no dump") == "it is not a protocol 2 pickle");
}

TEST_CASE("the JSON form is read as well, without lines") {
  const FlightDump found =
      flight_dump_of(R"({"version": "2.10", "pg_config": {"0": {"desc": "default_pg", "name": "0", "ranks": "[0, 1]"}},
    "entries": [{"record_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 1, "p2p_seq_id": 0,
    "profiling_name": "nccl:_all_gather_base", "input_sizes": [[8]], "output_sizes": [[16]], "input_dtypes": ["Float"],
    "output_dtypes": ["Float"], "state": "started", "is_p2p": false, "time_created_ns": 1700000000000000000}]})");
  REQUIRE(found.calls.size() == 1);
  CHECK(found.calls[0].function == "_all_gather_base");
  CHECK(found.calls[0].state == FlightCall::State::started);
  CHECK(found.calls[0].output == 16);
  CHECK(found.calls[0].stack == 0);
}

// Reads dumps that data/flight_recorder/make_dumps.py wrote with PyTorch 2.11.
TEST_CASE("dumps of PyTorch's own recorder are read") {
  const FlightDump found = flight_dump_of(of_pytorch("rank_1"));
  CHECK(found.version == "2.10");
  CHECK(found.is_whole);
  REQUIRE(found.groups.size() == 3);
  CHECK(found.groups[1].description == "tp1");
  CHECK(found.groups[1].ranks == std::vector<std::int32_t>{1, 2});
  CHECK(found.groups[2].description == "");
  REQUIRE(found.calls.size() == 7);
  const FlightCall& last = found.calls.back();
  CHECK(last.function == "all_reduce");
  CHECK(last.collective == 2);
  CHECK(last.input == 1024);
  CHECK(last.input_type == "BFloat16");
  CHECK(last.state == FlightCall::State::scheduled);
  CHECK(found.calls[2].state == FlightCall::State::completed);
  CHECK(found.calls[3].function == "send 0->1");
  CHECK(found.calls[3].is_message);
  CHECK(found.calls[3].message == 1);
  const std::string library = "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py";
  const std::vector<FlightFrame>& stack = found.stacks[last.stack - 1];
  REQUIRE(stack.size() > 2);
  CHECK(stack[0] == FlightFrame{library, "all_reduce", 2});
  CHECK(stack[1] == FlightFrame{"/home/u/model.py", "forward", 2});
}

TEST_CASE("PyTorch's JSON has the same calls as its pickle") {
  const FlightDump pickle = flight_dump_of(of_pytorch("rank_1")), json = flight_dump_of(of_pytorch("rank_1.json"));
  REQUIRE(json.calls.size() == pickle.calls.size());
  for (std::size_t i = 0; i < json.calls.size(); ++i) {
    CHECK(json.calls[i].function == pickle.calls[i].function);
    CHECK(json.calls[i].state == pickle.calls[i].state);
    CHECK(json.calls[i].input == pickle.calls[i].input);
    CHECK(json.calls[i].created == pickle.calls[i].created);
    CHECK(json.calls[i].stack == 0);
  }
}

TEST_CASE("a PyTorch dump that ends early is rejected, wherever it ends") {
  const std::string whole = of_pytorch("rank_0");
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(parse_error(whole.substr(0, size)) != "");
}

TEST_CASE("JSON without calls gives none") {
  const FlightDump found = flight_dump_of(R"({"version": "2.10", "pg_config": {}})");
  CHECK(found.calls.empty());
  CHECK(found.is_whole);
}
