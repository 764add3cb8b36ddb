#include <doctest/doctest.h>

#include "evidence/pickle_document.h"
#include "unit/evidence/pickle_builder.h"

using namespace cudadiag;
using namespace cudadiag::evidence;
using test::PickleBuilder;

namespace {

std::optional<std::string> refused(const std::string& bytes) {
  Document document(bytes);
  return read_pickle(document);
}

// Reads a pickle that consists of these operations, between the protocol header and the end.
std::optional<std::string> refused_with(std::string_view operations) {
  return refused(PickleBuilder().raw(operations).bytes());
}

}  // namespace

TEST_CASE("reading a pickle gives the values that were written") {
  PickleBuilder builder;
  builder.open_dictionary();
  builder.texts("name", "all_reduce").number("small", 7).number("two", 700).number("four", -3);
  builder.number("eight", std::int64_t{1} << 40);
  builder.text("flag").raw("\x88").text("nothing").raw("N");
  builder.text("pair").text("1").text("tp").raw("\x86");
  builder.text("sizes").open_list().open_list().integer(4).integer(8).close_list().close_list();
  builder.text("real").raw(std::string("G\x3f\xf0\0\0\0\0\0\0", 9));
  Document document(builder.close_dictionary().bytes());
  REQUIRE_FALSE(read_pickle(document));
  const Value root = document.root();
  CHECK(root.size() == 10);
  CHECK(root.member("name").text() == "all_reduce");
  CHECK(root.member("small").integer() == 7);
  CHECK(root.member("two").integer() == 700);
  CHECK(root.member("four").integer() == -3);
  CHECK(root.member("eight").integer() == std::int64_t{1} << 40);
  CHECK(root.member("flag").integer() == 1);
  CHECK_FALSE(root.member("nothing").integer());
  CHECK(root.member("pair").item(1).text() == "tp");
  CHECK(root.member("sizes").item(0).item(1).integer() == 8);
  CHECK_FALSE(root.member("real").integer());
  CHECK_FALSE(root.member("other"));
}

TEST_CASE("several values may contain the same stored value") {
  PickleBuilder builder;
  builder.open_list().open_list().integer(5).close_list().store().recall(0).close_list();
  Document document(builder.bytes());
  REQUIRE_FALSE(read_pickle(document));
  CHECK(document.root().item(1).item(0).integer() == 5);
  CHECK(document.root().item(0).index() == document.root().item(1).index());
}

TEST_CASE("a pickle with a different protocol is rejected") {
  CHECK(refused("") == "it is not a protocol 2 pickle");
  CHECK(refused("\x80\x04N.") == "it is not a protocol 2 pickle");
  CHECK(refused("(dp0\n.") == "it is not a protocol 2 pickle");
}

TEST_CASE("an operation that imports or calls something is rejected") {
  CHECK(refused_with("cos\nsystem\n") == "it has the opcode 0x63 at byte 2, which PyTorch does not write");
  for (const char operation : {'R', 'b', 'i', 'o', 'P', 'Q', '\x81', '\x82', '\x93', '\x95', 'd', 'l', 'a', 's', '0'}) {
    const auto why = refused_with(std::string(1, operation));
    REQUIRE(why);
    CHECK(why->ends_with("at byte 2, which PyTorch does not write"));
  }
}

TEST_CASE("a pickle that ends early is rejected, wherever it ends") {
  PickleBuilder builder;
  builder.open_dictionary().texts("name", "x").number("eight", std::int64_t{1} << 40).number("two", 700);
  const std::string whole = builder.close_dictionary().bytes();
  REQUIRE_FALSE(refused(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(refused(whole.substr(0, size)));
  CHECK(refused_with("X\xff\xff\xff\x7f") == "it ends within a string");
}

TEST_CASE("a stack that does not fit its operations is rejected") {
  CHECK(refused_with("") == "it does not end with one value");
  CHECK(refused_with("NN") == "it does not end with one value");
  CHECK(refused_with("N(") == "it does not end with one value");
  CHECK(refused_with("e") == "it closes a value that was not opened");
  CHECK(refused_with("(e") == "it uses a value that does not exist");
  CHECK(refused_with("N(N\x86") == "it uses a value that does not exist");
  CHECK(refused_with("]((Ne") == "it uses a value that does not exist");
  CHECK(refused_with("](Nu") == "it adds items to a value of a different kind");
  CHECK(refused_with("}(Ne") == "it adds items to a value of a different kind");
  CHECK(refused_with("}(Nu") == "it has a key without a value");
  CHECK(refused_with("\x8a\x09") == "it has an integer of a size that PyTorch does not write");
}

TEST_CASE("a value that could contain itself is rejected") {
  CHECK(refused_with(std::string("]q\0(h\0e", 7)) == "it adds items to a value that is complete");
  CHECK(refused_with("](Ne(Ne") == "it adds items to a value that is complete");
}

TEST_CASE("a memo that is not in order is rejected") {
  CHECK(refused_with(std::string("Nq\1", 3)) == "it stores a value out of order");
  CHECK(refused_with(std::string("h\0", 2)) == "it refers to a value that was not stored");
  CHECK(refused_with(std::string("q\0", 2)) == "it uses a value that does not exist");
}

TEST_CASE("nesting is limited") {
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "](";
  CHECK(refused_with(deep) == "its values are nested too deeply");
}

TEST_CASE("the number of values is limited") {
  CHECK(refused_with(std::string(Document::kMostValues + 1, 'N')) == "it has more than 8388608 values");
}

TEST_CASE("JSON gives the same values") {
  Document document(
      R"({"name": "x", "pair": ["1", "tp"], "n": -4, "big": 18446744073709551615, "f": 1.5, "no": null})");
  REQUIRE_FALSE(read_json(document));
  const Value root = document.root();
  CHECK(root.member("name").text() == "x");
  CHECK(root.member("pair").item(1).text() == "tp");
  CHECK(root.member("n").integer() == -4);
  CHECK_FALSE(root.member("big").integer());
  CHECK_FALSE(root.member("f").integer());
  CHECK_FALSE(root.member("no").integer());
}

TEST_CASE("JSON that is broken, or nested too deeply, is rejected") {
  for (const std::string& text :
       {std::string(R"({"a": )"), std::string("{} {}"), std::string(100, '['), std::string("{\"a\": [1, }")}) {
    Document document(text);
    CHECK(read_json(document) == "it is not JSON, or it is too large");
  }
}
