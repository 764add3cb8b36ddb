#include "sessions/session_list.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace {

using cudadiag::command::list_json;
using cudadiag::command::list_text;
using cudadiag::command::ListedSession;
using cudadiag::command::RunState;

ListedSession finished(std::size_t number, long long age, std::vector<std::string> command) {
  ListedSession session;
  session.number = number;
  session.folder = "/s/20261126-051800-4711";
  session.age = age;
  session.end.code = 0;
  session.command = std::move(command);
  return session;
}

ListedSession failed() {
  ListedSession session = finished(1, 7200, {"python", "train.py", "--name", "two words"});
  session.end.code = 1;
  session.found = {"async_error",
                   "illegal memory access",
                   700,
                   "/home/me/train.py",
                   41,
                   "forward",
                   "proven",
                   "void (anonymous namespace)::gather<float>(float*, long const*)"};
  return session;
}

}  // namespace

TEST_CASE("a finding is listed with its line, and the command as a shell takes it") {
  CHECK(list_text({failed()}, std::nullopt) ==
        "#  AGE  RESULT                       LINE         KERNEL         COMMAND\n"
        "1  2 h  illegal memory access (700)  train.py:41  gather<float>  python train.py --name 'two words'\n");
}

TEST_CASE("ages are given in a suitable unit") {
  const auto age = [](long long seconds) {
    const std::string row = list_text({finished(1, seconds, {"a"})}, std::nullopt);
    return row.substr(row.find('\n') + 4, row.find("  exit") - row.find('\n') - 4);
  };
  CHECK(age(59) == "59 s");
  CHECK(age(60) == "1 min");
  CHECK(age(3599) == "59 min");
  CHECK(age(3600) == "1 h");
  CHECK(age(47 * 3600) == "47 h");
  CHECK(age(48 * 3600) == "2 days");
}

TEST_CASE("a run without a finding is listed by its state or end") {
  ListedSession session = finished(1, 1, {"a"});
  CHECK(list_text({session}, std::nullopt).find("exit 0") != std::string::npos);
  session.end = {};
  session.end.signal = 9;
  session.kept = true;
  CHECK(list_text({session}, std::nullopt).find("signal 9, kept") != std::string::npos);
  session.state = RunState::running;
  CHECK(list_text({session}, std::nullopt).find("running") != std::string::npos);
  session.end = {};
  session.state = RunState::unfinished;
  CHECK(list_text({session}, std::nullopt).find("not finished") != std::string::npos);
  session.state = RunState::ended;
  CHECK(list_text({session}, std::nullopt).find("  ended, kept") != std::string::npos);
}

TEST_CASE("a row is cut at the width of the terminal, but not inside a character") {
  ListedSession session = finished(1, 1, {"\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"});
  for (int columns = 40; columns < 60; ++columns) {
    const std::string text = list_text({session}, columns);
    const std::string row = text.substr(text.find('\n') + 1);
    CAPTURE(row);
    CHECK(cudadiag::base::width(row) <= static_cast<std::size_t>(columns) + 1);
    const std::size_t cut = row.rfind("...");
    if (cut != std::string::npos) CHECK((static_cast<unsigned char>(row[cut - 1]) & 0xc0u) != 0xc0u);
  }
}

TEST_CASE("on a narrow terminal, the result is cut before the line") {
  CHECK(list_text({failed()}, 40) ==
        "#  AGE  RESULT          LINE         ...\n"
        "1  2 h  illegal mem...  train.py:41  ...\n");
}

TEST_CASE("a column is as wide as its longest text has characters") {
  ListedSession session = failed();
  session.found.file = "/home/me/\u00fcbung.py";
  CHECK(list_text({session}, std::nullopt) ==
        "#  AGE  RESULT                       LINE         KERNEL         COMMAND\n"
        "1  2 h  illegal memory access (700)  \u00fcbung.py:41  gather<float>  python train.py --name 'two words'\n");
  session.command = {"\u00e4\u00e4\u00e4\u00e4"};
  const std::string whole = list_text({session}, std::nullopt);
  CHECK(list_text({session}, static_cast<int>(cudadiag::base::width(whole.substr(whole.find('\n') + 1)))) == whole);
}

TEST_CASE("the JSON has every member, and null for missing values") {
  const auto json = nlohmann::json::parse(list_json({failed(), finished(2, 5, {})}));
  CHECK(json["schema"] == "cudadiag.list/1");
  CHECK(json["sessions"][0]["finding"]["location"]["line"] == 41);
  CHECK(json["sessions"][0]["finding"]["grade"] == "proven");
  CHECK(json["sessions"][0]["finding"]["kernel"] == "void (anonymous namespace)::gather<float>(float*, long const*)");
  CHECK(json["sessions"][0]["exit"]["code"] == 1);
  CHECK(json["sessions"][1]["finding"].is_null());
  CHECK(json["sessions"][1]["exit"]["signal"].is_null());
  CHECK(json["sessions"][1]["command"].empty());
  CHECK(json["sessions"][1]["state"] == "finished");
}
