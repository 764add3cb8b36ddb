#include <doctest/doctest.h>

#include <random>
#include <set>

#include "diagnose/unreported/findings.h"

namespace strided_overlap_test {

using namespace cudadiag;
using diagnose::RaceOverlap;
using diagnose::RaceTensor;

namespace {

RaceTensor tensor(std::uint64_t begin, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                  const char* type = "float32") {
  RaceTensor made;
  made.begin = begin;
  made.dtype = type;
  made.shape = std::move(shape);
  made.strides = std::move(strides);
  return made;
}

RaceOverlap overlap(const RaceTensor& a, const RaceTensor& b) {
  return diagnose::overlap(diagnose::strided_bytes(a).value(), diagnose::strided_bytes(b).value()).value();
}

// A simple reference implementation, which collects the tensor's byte addresses one by one.
std::set<std::uint64_t> bytes_of(const RaceTensor& tensor, std::uint64_t element) {
  std::set<std::uint64_t> starts = {tensor.begin}, bytes;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::set<std::uint64_t> next;
    for (const std::uint64_t start : starts) {
      for (std::int64_t at = 0; at < tensor.shape[i]; ++at)
        next.insert(start + static_cast<std::uint64_t>(at * tensor.strides[i]) * element);
    }
    starts = std::move(next);
  }
  for (const std::uint64_t start : starts) {
    for (std::uint64_t byte = 0; byte < element; ++byte) bytes.insert(start + byte);
  }
  return bytes;
}

}  // namespace

TEST_CASE("two slices of one tensor share the bytes that are in both") {
  const RaceOverlap found = overlap(tensor(1000, {3 << 20}, {1}), tensor(1000 + (1 << 22), {3 << 20}, {1}));
  CHECK(found.begin == 1000 + (1 << 22));
  CHECK(found.end == 1000 + 4 * (3u << 20));
  CHECK(found.bytes == 8u << 20);
}

TEST_CASE("two columns of one matrix share no byte") {
  const RaceTensor left = tensor(1000, {512, 4}, {8, 1}), right = tensor(1016, {512, 4}, {8, 1});
  CHECK(overlap(left, right).bytes == 0);
  CHECK(overlap(left, left).bytes == 512u * 16);
  // The second tensor crosses the border between the columns, so only half of its bytes are in `right`.
  const RaceOverlap found = overlap(right, tensor(1012, {512, 2}, {8, 1}));
  CHECK(found.bytes == 512u * 4);
  CHECK(found.begin == 1016);
  CHECK(found.end == 1016 + 511u * 32 + 4);
}

TEST_CASE("even and odd elements share no byte") {
  CHECK(overlap(tensor(64, {100}, {2}, "int8"), tensor(65, {100}, {2}, "int8")).bytes == 0);
  CHECK(overlap(tensor(64, {100}, {2}, "int8"), tensor(64, {70}, {3}, "int8")).bytes == 34);
}

TEST_CASE("a transposed or expanded tensor has the same bytes") {
  const RaceTensor plain = tensor(0, {6, 10}, {10, 1});
  CHECK(overlap(plain, tensor(0, {10, 6}, {1, 10})).bytes == 240);
  CHECK(overlap(plain, tensor(40, {8, 10}, {0, 1})).bytes == 40);
  CHECK(overlap(plain, tensor(236, {}, {})).bytes == 4);
  CHECK(overlap(plain, tensor(240, {}, {})).bytes == 0);
}

TEST_CASE("tensors that cannot be compared exactly give no result") {
  CHECK_FALSE(diagnose::strided_bytes(tensor(0, {8, 3}, {1, 1})).has_value());
  CHECK_FALSE(diagnose::strided_bytes(tensor(0, {8}, {})).has_value());
  CHECK_FALSE(diagnose::strided_bytes(tensor(0, {8}, {-1})).has_value());
  CHECK_FALSE(diagnose::strided_bytes(tensor(0, {8}, {1}, "quint4x2")).has_value());
  CHECK_FALSE(diagnose::strided_bytes(tensor(0, {std::int64_t{1} << 40, 2}, {1 << 20, 1})).has_value());
  const auto many = diagnose::strided_bytes(tensor(0, {1 << 22}, {2}));
  CHECK_FALSE(diagnose::overlap(*many, *many).has_value());
  CHECK(diagnose::overlap(*many, *diagnose::strided_bytes(tensor(4, {100}, {2})))->bytes == 0);
}

TEST_CASE("the overlap of random views equals a byte-by-byte count") {
  std::mt19937 random(7);
  const auto upto = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1)); };
  const auto view = [&] {
    std::vector<std::int64_t> shape, strides;
    std::int64_t next = 1 + upto(2);
    for (std::int64_t i = upto(3); i > 0; --i) {
      shape.push_back(1 + upto(4));
      strides.push_back(next);
      next = next * shape.back() + upto(3);
    }
    return tensor(4000 + 4 * static_cast<std::uint64_t>(upto(40)), shape, strides);
  };
  for (int round = 0; round < 2000; ++round) {
    const RaceTensor a = view(), b = view();
    const std::set<std::uint64_t> of_a = bytes_of(a, 4), of_b = bytes_of(b, 4);
    std::vector<std::uint64_t> common;
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(common));
    const auto strided_a = diagnose::strided_bytes(a), strided_b = diagnose::strided_bytes(b);
    if (!strided_a || !strided_b) continue;
    const RaceOverlap found = *diagnose::overlap(*strided_a, *strided_b);
    REQUIRE(found.bytes == common.size());
    if (common.empty()) continue;
    REQUIRE(found.begin == common.front());
    REQUIRE(found.end == common.back() + 1);
  }
}

}  // namespace strided_overlap_test
