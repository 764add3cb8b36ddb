#include "session/hook_output.h"

#include <doctest/doctest.h>

#include <fstream>

#include "unit/scratch_folder.h"
#include "wire/rerun.h"

using namespace cudadiag::session;

namespace {

std::vector<Delivery> read(const std::string& text) {
  const cudadiag::test::ScratchFolder scratch;
  const auto file = scratch.path() / "1.values";
  std::ofstream(file, std::ios::binary) << text;
  return read_deliveries(file);
}

const std::string kGood = R"(7 900 {"kind":"operator","operator":"aten::embedding","file":"train.py","line":41,)"
                          R"("arguments":[{"name":"idx","origin":"variable","dtype":"<i8","device":"cuda:0",)"
                          R"("shape":[8,512],"min":-1,"max":30050,"outside":3,"first_outside":[0,77],)"
                          R"("first_value":30050,"bound":30000,"pointer":4096},{"name":"p","nan":2,"min":0.5}]})"
                          "\n";

}  // namespace

TEST_CASE("a delivery is read completely") {
  const auto deliveries = read(kGood);
  REQUIRE(deliveries.size() == 1);
  CHECK(deliveries[0].tid == 7);
  CHECK(deliveries[0].ticks == 900);
  CHECK(deliveries[0].kind == DeliveryKind::call);
  CHECK(deliveries[0].op == "aten::embedding");
  CHECK(deliveries[0].file == "train.py");
  CHECK(deliveries[0].line == 41);
  REQUIRE(deliveries[0].values.size() == 2);
  const DeliveredValue& idx = deliveries[0].values[0];
  CHECK(idx.origin == NameSource::variable);
  CHECK(idx.dtype == "int64");
  CHECK(idx.shape == std::vector<std::int64_t>{8, 512});
  CHECK(std::get<std::int64_t>(*idx.min) == -1);
  CHECK(std::get<std::int64_t>(*idx.first_value) == 30050);
  CHECK(idx.outside == 3u);
  CHECK(idx.bound == 30000);
  CHECK(idx.first_outside == std::vector<std::int64_t>{0, 77});
  CHECK(idx.pointer == 4096u);
  CHECK(!idx.nan);
  const DeliveredValue& p = deliveries[0].values[1];
  CHECK(p.origin == NameSource::schema);
  CHECK(std::get<double>(*p.min) == 0.5);
  CHECK(p.nan == 2u);
}

TEST_CASE("invalid deliveries are ignored, and the rest is read") {
  for (const char* line : {"", "{}", "7 {}", "x 1 {}", "7 1 []", "7 1 {\"arguments\":{}}", "7 1 {\"arguments\":[",
                           "-1 1 {\"arguments\":[]}", "7 99999999999999999999 {\"arguments\":[]}", "\xff\xfe"}) {
    CAPTURE(line);
    CHECK(read(std::string(line) + "\n" + kGood).size() == 1);
  }
  const auto odd = read(
      "7 1 {\"kind\":5,\"line\":\"x\",\"arguments\":[3,{\"shape\":[1,\"2\",3],\"min\":\"0\","
      "\"outside\":-1,\"bound\":1e300,\"first_value\":18446744073709551615}]}\n");
  REQUIRE(odd.size() == 1);
  REQUIRE(odd[0].values.size() == 1);
  CHECK(odd[0].values[0].shape == std::vector<std::int64_t>{1});
  CHECK(!odd[0].values[0].min);
  CHECK(!odd[0].values[0].outside);
  CHECK(!odd[0].values[0].bound);
}

TEST_CASE("a forward line is read with the stacks of its node and of outer nodes") {
  const auto deliveries = read(
      R"(7 900 {"kind":"forward","node":"GatherBackward0","number":12,"stacks":[[["a.py",3,"f"],["b.py",4,"g"]],[]]})"
      "\n"
      R"(7 901 {"kind":"forward","node":"","number":-1,"stacks":[[["a.py"],["a.py","3","f"],5,[1,2,3]],7]})"
      "\n"
      R"(7 902 {"kind":"forward","node":"X","number":12})"
      "\n");
  REQUIRE(deliveries.size() == 2);
  CHECK(deliveries[0].node == "GatherBackward0");
  CHECK(deliveries[0].number == 12);
  REQUIRE(deliveries[0].stacks.size() == 2);
  REQUIRE(deliveries[0].stacks[0].size() == 2);
  CHECK(deliveries[0].stacks[0][1].file == "b.py");
  CHECK(deliveries[0].stacks[0][1].line == 4);
  CHECK(deliveries[0].stacks[0][1].function == "g");
  CHECK(deliveries[1].number == 0);
  REQUIRE(deliveries[1].stacks.size() == 1);
  REQUIRE(deliveries[1].stacks[0].size() == 1);
  CHECK(deliveries[1].stacks[0][0].line == 0);
}

TEST_CASE("the start of a thread is read with the starts that led to it") {
  const auto deliveries = read(
      R"(7 900 {"kind":"started","file":"lib.py","line":5,"pool":true,"stacks":[[["a.py",3,"f"]],[["b.py",4,"g"]]]})"
      "\n"
      R"(7 901 {"kind":"started","file":5,"line":"x","pool":"yes","stacks":[[["a.py",-1e99,"f"],["a.py"]],{},"s"]})"
      "\n"
      R"(7 902 {"kind":"started","file":"lib.py","line":5,"pool":false,"stacks":{"a.py":3}})"
      "\n"
      R"(7 903 {"kind":"started","file":"lib.py","line":5,"pool":false})"
      "\n");
  REQUIRE(deliveries.size() == 2);
  CHECK((deliveries[0].tid == 7 && deliveries[0].ticks == 900 && deliveries[0].kind == DeliveryKind::started));
  CHECK((deliveries[0].file == "lib.py" && deliveries[0].line == 5 && deliveries[0].pool));
  REQUIRE(deliveries[0].stacks.size() == 2);
  REQUIRE(deliveries[0].stacks[1].size() == 1);
  const DeliveredFrame& behind = deliveries[0].stacks[1][0];
  CHECK((behind.file == "b.py" && behind.line == 4 && behind.function == "g"));
  CHECK((deliveries[1].file.empty() && deliveries[1].line == 0 && !deliveries[1].pool));
  REQUIRE(deliveries[1].stacks.size() == 1);
  REQUIRE(deliveries[1].stacks[0].size() == 1);
  CHECK(deliveries[1].stacks[0][0].line == 0);
}

TEST_CASE("the allocator's holders are read, and invalid ones are ignored") {
  const auto deliveries = read(
      R"(7 1 {"kind":"memory","asked":7,"reserved":9,"allocated":8,"largest_free":-1,"holders":[{"bytes":5,"count":2,)"
      R"("frames":[["a.py",3,"f"]]},{"bytes":1},3],"exceptions":[{"type":"E","file":"b.py","line":4,"bytes":6},[]]})"
      "\n7 2 {\"kind\":\"memory\",\"holders\":{}}\n");
  REQUIRE(deliveries.size() == 2);
  REQUIRE(deliveries[0].memory);
  const DeliveredMemory& memory = *deliveries[0].memory;
  CHECK((memory.asked == 7 && memory.reserved == 9 && memory.allocated == 8 && memory.largest_free == 0));
  REQUIRE(memory.holders.size() == 1);
  CHECK((memory.holders[0].bytes == 5 && memory.holders[0].count == 2 && memory.holders[0].frames[0].line == 3));
  REQUIRE(memory.exceptions.size() == 1);
  CHECK((memory.exceptions[0].type == "E" && memory.exceptions[0].line == 4 && memory.exceptions[0].bytes == 6));
  CHECK(deliveries[1].memory->holders.empty());
}

TEST_CASE("only the last of very many lines are read, and nothing of an impossible file") {
  std::string many;
  for (int i = 0; i < 9000; ++i) many += kGood;
  CHECK(read(many + "8" + kGood.substr(1)).size() == 8192);
  CHECK(read(many + "8" + kGood.substr(1)).back().tid == 8);
  CHECK(read(std::string(2 * cudadiag::wire::delivery::kMostBytes + 1, ' ')).empty());
  CHECK(read_deliveries("/nonexistent").empty());
}

TEST_CASE("a non-finite value is read with its positions") {
  const auto deliveries = read(
      R"(7 900 {"kind":"non_finite","state":"found","root":9,"role":"loaded","used":"parameter","operator":"aten::div",)"
      R"("step":2,"stack":[["a.py",4,"f"]],"node":"DivBackward0","forward_stack":[["b.py",5,"g"]],"module":"",)"
      R"("shape":[8,1],"index":[3,0],"bad":1,"elements":[{"name":"self","value":"0.0"}],)"
      R"("infinite":{"operator":"aten::exp","stack":[["c.py",6,"h"]]}})"
      "\n");
  REQUIRE(deliveries.size() == 1);
  REQUIRE(deliveries[0].non_finite);
  const DeliveredNonFinite& value = *deliveries[0].non_finite;
  CHECK(value.state == DeliveredNonFinite::State::found);
  CHECK(value.role == DeliveredNonFinite::Role::loaded);
  CHECK(value.root == 9);
  CHECK(value.step == 2);
  CHECK(value.module == "");
  CHECK(value.index == std::vector<std::int64_t>{3, 0});
  CHECK(value.bad == 1);
  REQUIRE(value.elements.size() == 1);
  CHECK(value.elements[0].second == "0.0");
  REQUIRE(value.forward.size() == 1);
  CHECK(value.forward[0].line == 5);
  CHECK(value.infinite == "aten::exp");
  REQUIRE(value.infinite_stack.size() == 1);
  CHECK(value.infinite_stack[0].file == "c.py");
}

TEST_CASE("the origin of a bad value is read with its steps") {
  const auto deliveries =
      read(R"(7 900 {"kind":"origin","operator":"aten::embedding","argument":"indices","index":[33],"value":511,)"
           R"("certain":true,"stack":[["a.py",9,"f"]],"origin":[{"role":"loaded","operator":"DataLoader","value":511,)"
           R"("batch":2,"sample":90,"stack":[["b.py",4,"g"]]},{"role":"passed","operator":"aten::add"},7]})"
           "\n"
           R"(7 901 {"kind":"origin","origin":3})"
           "\n");
  REQUIRE(deliveries.size() == 2);
  REQUIRE(deliveries[0].origin);
  const DeliveredOrigin& origin = *deliveries[0].origin;
  CHECK(origin.certain);
  CHECK(origin.index == std::vector<std::int64_t>{33});
  REQUIRE(origin.steps.size() == 2);
  CHECK(origin.steps[0].role == DeliveredOrigin::Role::loaded);
  CHECK((origin.steps[0].batch == 2 && origin.steps[0].sample == 90));
  CHECK(origin.steps[0].stack.at(0).line == 4);
  CHECK(origin.steps[1].role == DeliveredOrigin::Role::passed);
  CHECK_FALSE(origin.steps[1].value);
  CHECK(deliveries[1].origin->steps.empty());
}

TEST_CASE("a race between tensors is read with both sides") {
  const auto deliveries = read(
      R"(7 900 {"kind":"race","first":{"operator":"aten::add_","name":"head","written":true,"pointer":4096,"stream":16,)"
      R"("stack":[["a.py",9,"f"]]},"second":{"operator":"aten::sum","on_host":true},"begin":4100,"end":4200,"bytes":64})"
      "\n");
  REQUIRE(deliveries.size() == 1);
  REQUIRE(deliveries[0].race);
  const DeliveredRace& race = *deliveries[0].race;
  CHECK((race.begin == 4100 && race.end == 4200 && race.bytes == 64));
  CHECK((race.first.tensor.name == "head" && race.first.stream == 16 && !race.first.on_host));
  CHECK(race.first.tensor.written == true);
  CHECK((race.second.on_host && race.second.op == "aten::sum" && race.second.stack.empty()));
  CHECK_FALSE(race.waited_before);
}

TEST_CASE("a replay with recycled memory is read with its three stacks") {
  const std::string head =
      R"(7 900 {"kind":"recycled","graph":2,"node":1,"offset":8,"address":4200,"begin":4096,"bytes":512)";
  const auto deliveries = read(head + R"(,"stacks":[[["a.py",12,"f"]],[["a.py",13,"f"]],[["a.py",14,"f"]]]})"
                                      "\n");
  REQUIRE(deliveries.size() == 1);
  REQUIRE(deliveries[0].recycled);
  const DeliveredRecycled& found = *deliveries[0].recycled;
  CHECK((found.graph == 2 && found.node == 1 && found.offset == 8));
  CHECK((found.address == 4200 && found.begin == 4096 && found.bytes == 512));
  REQUIRE((found.freed.size() == 1 && found.taken.size() == 1 && found.replay.size() == 1));
  CHECK((found.freed[0].line == 12 && found.taken[0].line == 13 && found.replay[0].line == 14));
  CHECK(read(head + R"(,"stacks":[[["a.py",12,"f"]],[["a.py",13,"f"]]]})"
                    "\n")
            .empty());
  CHECK(read(head + "}\n").empty());
}
