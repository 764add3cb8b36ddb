#include <doctest/doctest.h>

#include "command_line.h"

namespace {

using cudadiag::command::in_current_words;
using cudadiag::command::wrong_first_word;
using Words = std::vector<std::string>;

std::string refusal(const Words& words) {
  CLI::App app;
  app.add_subcommand("report", "");
  app.add_subcommand("run", "");
  app.add_subcommand("doctor-child", "")->group("");
  return wrong_first_word(app, words);
}

}  // namespace

TEST_CASE("subcommands, hidden ones too, and global options are accepted") {
  for (const char* word : {"run", "report", "doctor-child", "-h", "--help", "--help-all", "--version"}) {
    CAPTURE(word);
    CHECK(refusal({word}).empty());
  }
}

TEST_CASE("for a typing error the right subcommand is suggested, but never a hidden one") {
  CHECK(refusal({"reprot"}).find("did you mean report?") != std::string::npos);
  CHECK(refusal({"doctor-chidl"}).find("did you mean") == std::string::npos);
}

TEST_CASE("for a program in place of a subcommand, the message gives the command that runs it") {
  CHECK(refusal({"ls", "-l"}) == "no such command ls; to run a program: cudadiag run -- ls …");
  CHECK(refusal({"./my app"}) == "no such command ./my app; to run a program: cudadiag run -- './my app' …");
}

TEST_CASE("a user who wants to attach to a process is told that this is not possible") {
  CHECK(refusal({"attach", "123"}) == "cudadiag cannot attach to a running process; for what it can do: man cudadiag");
}

TEST_CASE("an option before the subcommand, and an empty command line, are rejected with a hint") {
  CHECK(refusal({"--json"}) ==
        "no such option before a command: --json; options follow the command: cudadiag COMMAND --json");
  CHECK(refusal({"--", "ls"}) == "no command was given before --; to run a program: cudadiag run -- PROGRAM");
  CHECK(refusal({}).find("cudadiag --help") != std::string::npos);
}

TEST_CASE("help COMMAND prints the same as COMMAND --help") {
  CHECK(in_current_words({"help", "run", "more"}) == Words{"run", "--help"});
  CHECK(in_current_words({"help"}) == Words{"--help"});
  CHECK(in_current_words({"run", "--", "help"}) == Words{"run", "--", "help"});
  CHECK(in_current_words({}).empty());
}

TEST_CASE("top is an older name of status --follow") {
  CHECK(in_current_words({"top", "-n", "2"}) == Words{"status", "--follow", "-n", "2"});
  CHECK(in_current_words({"help", "top"}) == Words{"status", "--follow", "--help"});
}

TEST_CASE("for a verb of another tool, the message names cudadiag's command") {
  const std::pair<const char*, const char*> kVerbs[] = {{"record", "cudadiag run -- COMMAND"},
                                                        {"memcheck", "cudadiag run -- COMMAND"},
                                                        {"racecheck", "cudadiag races -- COMMAND"},
                                                        {"initcheck", "compute-sanitizer --tool initcheck COMMAND"},
                                                        {"show", "cudadiag report"},
                                                        {"synccheck", "compute-sanitizer --tool synccheck COMMAND"},
                                                        {"version", "cudadiag --version"},
                                                        {"trace", "cudadiag run -- COMMAND"},
                                                        {"profile", "nsys profile COMMAND"}};
  for (const auto& [verb, command] : kVerbs) {
    CAPTURE(verb);
    CHECK(refusal({verb, "x"}).starts_with("no such command " + std::string(verb) + "; "));
    CHECK(refusal({verb, "x"}).find(command) != std::string::npos);
    CHECK(refusal({verb, "x"}).find("did you mean") == std::string::npos);
  }
}
