#include <doctest/doctest.h>

#include "wire/environment.h"

using cudadiag::wire::encode;
using cudadiag::wire::Markers;
using cudadiag::wire::parse_record_options;
using cudadiag::wire::RecordOptions;
using cudadiag::wire::WatchBy;

TEST_CASE("all combinations of options are restored unchanged") {
  for (const Markers markers : {Markers::sparse, Markers::dense, Markers::off}) {
    for (const WatchBy way : {WatchBy::automatic, WatchBy::cupti, WatchBy::hooks}) {
      for (unsigned bits = 0; bits < 256; ++bits) {
        RecordOptions given;
        given.markers = markers;
        given.watch_by = way;
        given.python_stacks = (bits & 1) != 0;
        given.native_stacks = (bits & 2) != 0;
        given.races = (bits & 4) != 0;
        given.once = (bits & 8) != 0;
        given.host_writes = (bits & 16) != 0;
        given.nccl = (bits & 32) != 0;
        given.code = (bits & 64) != 0;
        given.end_on_failure = (bits & 128) != 0;
        given.save_limit = (bits & 1) != 0 ? 2048 : 0;
        given.check_copies = (bits & 2) != 0 ? 100 : 0;
        CAPTURE(encode(given));
        CHECK(parse_record_options(encode(given)) == given);
      }
    }
  }
}

TEST_CASE("missing options have their defaults, and unknown ones are ignored") {
  CHECK(parse_record_options("") == RecordOptions{});
  CHECK(parse_record_options("colour=red,markers=purple,,races") == RecordOptions{});
  CHECK(parse_record_options("later=off,races=on").races);
}

TEST_CASE("an option is recognised only as a whole item") {
  CHECK(parse_record_options("no_python=off").python_stacks);
  CHECK(parse_record_options("python=offline").python_stacks);
}
