#include <doctest/doctest.h>

#include <string>

#include "session/session.h"

using namespace cudadiag;
using namespace cudadiag::session;

TEST_CASE("the manifest is read back unchanged, including bytes that are not text") {
  session::Manifest manifest;
  manifest.command = {"a b", "\xff", ""};
  manifest.working_directory = "/w";
  manifest.host = "h";
  manifest.started = "2026-11-21T10:15:00Z";
  manifest.passes = {{session::PassKind::record, "record", "", 1.5, {std::nullopt, 11}, 0.25, "", {}},
                     {session::PassKind::confirm,
                      "confirm",
                      "the only candidate",
                      2.5,
                      {},
                      std::nullopt,
                      "a.gpucore",
                      session::CutShort::time_limit}};
  manifest.passes[1].debugger = session::Witness{{std::nullopt, 6}, "interrupted", 1.5};
  manifest.passes[1].kernels = {"_Z4fillPii"};
  manifest.passes[1].access = session::FoundAccess{
      "", "_Z4fillPii", "_Z5storei", 0x90, "write", 0x7f0000000000, 4, true, 2, 24, 8, 0x10, {1, 2, 3}, {4, 5, 6}, 2.5};
  manifest.ends[7] = {0, std::nullopt};
  manifest.asked_to_end = true;
  manifest.ended_before_hang = {7, 9};
  manifest.host_stacks = {{7, 8, {{"/home/u/data.py", "load", 12}, {"/home/u/train.py", "main", 3}}}};
  manifest.notes = {"n"};
  manifest.code_rules = {{"/home/u/lib", false}, {"/home/u/lib/mine", true}};
  const auto parsed = session::parse_manifest(session::write_manifest(manifest));
  REQUIRE(std::holds_alternative<session::Manifest>(parsed));
  const auto& back = std::get<session::Manifest>(parsed);
  CHECK(back.command == manifest.command);
  CHECK(back.asked_to_end);
  CHECK(back.ended_before_hang == manifest.ended_before_hang);
  REQUIRE(back.host_stacks.size() == 1);
  CHECK(back.host_stacks[0].pid == 7);
  CHECK(back.host_stacks[0].tid == 8);
  REQUIRE(back.host_stacks[0].frames.size() == 2);
  CHECK(back.host_stacks[0].frames[0].file == "/home/u/data.py");
  CHECK(back.host_stacks[0].frames[0].function == "load");
  CHECK(back.host_stacks[0].frames[0].line == 12);
  CHECK(back.started == manifest.started);
  CHECK(back.passes[0].end.signal == 11);
  CHECK(back.passes[0].failed_after == 0.25);
  CHECK(back.passes[0].kind == session::PassKind::record);
  CHECK(!back.passes[0].cut_short);
  CHECK(back.passes[1].kind == session::PassKind::confirm);
  CHECK(back.passes[1].folder == "confirm");
  CHECK(back.passes[1].waits == "the only candidate");
  CHECK(back.passes[1].cut_short == session::CutShort::time_limit);
  CHECK(back.passes[1].dump == "a.gpucore");
  CHECK(!back.passes[0].debugger);
  REQUIRE(back.passes[1].debugger);
  CHECK(back.passes[1].debugger->end.signal == 6);
  CHECK(back.passes[1].debugger->cut_short == "interrupted");
  CHECK(back.passes[1].debugger->seconds == 1.5);
  CHECK(!back.passes[0].access);
  CHECK(back.passes[1].access == manifest.passes[1].access);
  CHECK(back.passes[1].kernels == std::vector<std::string>{"_Z4fillPii"});
  CHECK(back.ends.at(7).code == 0);
  REQUIRE(back.code_rules.size() == 2);
  CHECK(back.code_rules[1].path == "/home/u/lib/mine");
  CHECK(back.code_rules[1].user);
  CHECK_FALSE(back.code_rules[0].user);
  CHECK(back.notes == manifest.notes);
  const std::string text = session::write_manifest(manifest);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    CHECK(std::holds_alternative<base::Error>(session::parse_manifest(text.substr(0, size))));
  }
}

TEST_CASE("a manifest with words that this version does not know is read") {
  Manifest manifest;
  manifest.passes.resize(1);
  std::string text = write_manifest(manifest);
  const std::string known = "\"name\": \"confirm\"";
  REQUIRE(text.find(known) != std::string::npos);
  text.replace(text.find(known), known.size(), "\"name\": \"profile\"");
  const auto parsed = parse_manifest(text);
  REQUIRE(std::holds_alternative<Manifest>(parsed));
  CHECK(std::get<Manifest>(parsed).passes[0].kind == PassKind::other);
  CHECK(cut_short("it ran out of patience") == CutShort::other);
}
