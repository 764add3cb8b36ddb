#include "wire/site_key.h"

#include <doctest/doctest.h>

#include "wire/name_patterns.h"

using namespace cudadiag::wire;

namespace {

site_key::Key key_of(std::string_view file, std::string_view line_table = "table") {
  return site_key::of_code(file, "Net.forward", 7, line_table);
}

}  // namespace

TEST_CASE("the key of code in a temporary file is the same in each run") {
  CHECK(key_of("/tmp/nn.conv.sage_conv_SAGEConv_propagate_q9dx4sbc.py") ==
        key_of("/tmp/nn.conv.sage_conv_SAGEConv_propagate_bvbquf4p.py"));
  CHECK(key_of("/tmp/tmpab12cd_3/generated.py") == key_of("/tmp/tmp_5yq0w1z/generated.py"));
  CHECK(key_of("/var/tmp/tmpab12cd_3/tmpab12cd_3") == key_of("/var/tmp/tmpbb22dd_4/tmpxxxxxxxx"));
  CHECK(key_of("/scratch/u/tmp/nn.conv_q9dx4sbc.py") == key_of("/scratch/u/tmp/nn.conv_bvbquf4p.py"));
}

TEST_CASE("different code has a different key") {
  const auto key = key_of("/tmp/nn.sage_conv_q9dx4sbc.py");
  CHECK(key != key_of("/tmp/nn.gat_conv_q9dx4sbc.py"));
  CHECK(key != key_of("/tmp/nn.sage_conv_q9dx4sbc.txt"));
  CHECK(key != key_of("/var/tmp/nn.sage_conv_q9dx4sbc.py"));
  CHECK(key != key_of("/tmp/nn.sage_conv_bvbquf4p.py", "another table"));
  CHECK(key_of("/tmp/repro.py") != key_of("/tmp/other.py"));
  CHECK(key_of("/tmp/x/main.py") != key_of("/tmp/y/main.py"));
  CHECK(key_of("/home/u/tmp/train_baseline.py") != key_of("/home/u/tmp/train_finetune.py"));
  CHECK(key_of("/tmp/v1.2_baseline/net.py") != key_of("/tmp/v1.2_finetune/net.py"));
  CHECK(key_of("/tmpab12cd_3/a.py") != key_of("/tmpab12cd_4/a.py"));
}

TEST_CASE("the layout of code is not part of its key if the name of its file is stable") {
  CHECK(key_of("/home/u/train.py") == key_of("/home/u/train.py", "another table"));
  CHECK(key_of("/tmp/train.py") == key_of("/tmp/train.py", "another table"));
}

TEST_CASE("generated files are distinguished from files that a person named") {
  for (const char* file : {"/tmp/nn.conv_SAGEConv_propagate_q9dx4sbc.py", "/tmp/nn.conv_propagate_abcdefgh.py",
                           "/var/tmp/tmpab12cd_3.py", "/tmp/__main___RoadConv_propagate_5mk1qcl4.py",
                           "/tmp/__main___Net_5mk1qcl4.py", "/tmp/layers_Gat_edge_updater_q9dx4sbc.py"}) {
    INFO(file);
    CHECK(temporary_file::is_made_by_program(file));
  }
  for (const char* file :
       {"/tmp/repro.py", "/tmp/x/main.py", "/tmp/train_resnet50.py", "/tmp/run_20240101.py", "/tmp/net_baseline.py",
        "/home/u/tmp/lab_2_matmul.py", "/tmp/block_conv2dbn.py", "/tmp/label_propagate_features.py",
        "/tmp/pytest-of-u/pytest-3/test_forward0/net.py", "/tmp/tmpab12cd_3/main.py", "/home/u/conv_q9dx4sbc.py",
        "conv_q9dx4sbc.py", "/tmp/q9dx4sbc.py", "<string>", ""}) {
    INFO(file);
    CHECK_FALSE(temporary_file::is_made_by_program(file));
  }
}
