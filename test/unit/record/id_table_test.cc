#include "record/output/id_table.h"

#include <doctest/doctest.h>

#include <memory>

#include "record/libc_substitutes.h"

using cudadiag::record::IdTable;
using cudadiag::record::leading_number;

TEST_CASE("a key has the latest id and stamp that were set") {
  const auto table = std::make_unique<IdTable<1024>>();
  CHECK(table->find(5) == 0);
  CHECK(table->insert(5, 7));
  CHECK(table->find(5) == 7);
  CHECK(table->put(5, {9, 3}));
  CHECK(table->find_stamped(5).id == 9);
  CHECK(table->find_stamped(5).stamp == 3);
}

TEST_CASE("keys that share a slot are all found") {
  const auto table = std::make_unique<IdTable<1024>>();
  for (std::uint32_t i = 1; i <= 64; ++i) CHECK(table->insert(5 + std::uint64_t{i} * 1024, i));
  for (std::uint32_t i = 1; i <= 64; ++i) CHECK(table->find(5 + std::uint64_t{i} * 1024) == i);
}

TEST_CASE("a table that is full near a key's slot rejects the key and keeps its entries") {
  const auto table = std::make_unique<IdTable<1024>>();
  for (std::uint32_t i = 1; i <= 64; ++i) REQUIRE(table->insert(5 + std::uint64_t{i} * 1024, i));
  CHECK_FALSE(table->insert(5 + std::uint64_t{65} * 1024, 65));
  CHECK(table->find(5 + std::uint64_t{65} * 1024) == 0);
  CHECK(table->insert(5 + std::uint64_t{64} * 1024, 99));
  CHECK(table->find(5 + std::uint64_t{64} * 1024) == 99);
}

TEST_CASE("a look-up wraps around at the end of the table") {
  const auto table = std::make_unique<IdTable<1024>>();
  CHECK(table->insert(1023, 1));
  CHECK(table->insert(2047, 2));
  CHECK(table->find(2047) == 2);
}

TEST_CASE("a number is read from the start of a text") {
  CHECK(leading_number("4711 (python)") == 4711);
  CHECK(leading_number("x4711") == 0);
  CHECK(leading_number("") == 0);
  CHECK(leading_number("99999999999999999999999") == 0);
}
