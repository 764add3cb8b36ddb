#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "diagnose/session_state.h"
#include "diagnose/torch_compile.h"
#include "unit/analyse/picture_builder.h"
#include "unit/scratch_folder.h"

namespace compiled_line_test {

using namespace cudadiag;
using diagnose::generated_kernel_at;
using diagnose::line_of_nodes;
using diagnose::SourceNode;

namespace {

// An excerpt from a file that PyTorch 2.11 generated.
constexpr const char* kGenerated = R"(# AOT ID: ['0_inference']
async_compile = AsyncCompile()


# kernel path: /tmp/torchinductor_u/ab/cab.py
# Topologically Sorted Source Nodes: [hidden, scaled, picked], Original ATen: [aten.embedding, aten.relu, aten.index]
# Source node to ATen node mapping:
#   hidden => embedding
#   picked => index_1
#   scaled => relu
# Graph fragment:
#   %arg1_1 : Tensor "i64[8][1]cuda:0" = PlaceHolder[target=arg1_1]
#   return %embedding,%relu
triton_poi_fused_embedding_index_relu_0 = async_compile.triton('triton_poi_fused_embedding_index_relu_0', '''
import triton
@triton.jit
def triton_poi_fused_embedding_index_relu_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''', device_str='cuda')


class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        with torch.cuda._DeviceGuard(0):
            buf0 = empty_strided_cuda((8, 16), (16, 1), torch.float32)
            # Topologically Sorted Source Nodes: [hidden, scaled, picked], Original ATen: [aten.embedding, aten.relu, aten.index]
            stream0 = get_raw_stream(0)
            triton_poi_fused_embedding_index_relu_0.run(arg1_1, buf0, 128, stream=stream0)
            del arg0_1
            # Topologically Sorted Source Nodes: [logits], Original ATen: [aten.addmm]
            extern_kernels.addmm(arg5_1, buf0, arg4_1, alpha=1, beta=1, out=buf1)
            # File: /work/other.py:7 in helper, code: y = x.cumsum(0)
            triton_poi_fused_1.run(buf1, 8, stream=stream0)
)";

constexpr int kFused = 29, kLinear = 32, kHelper = 34;

constexpr const char* kModel = R"(import torch


class Model(torch.nn.Module):
    def forward(self, idx, table,
                rows):
        hidden = self.emb(idx)
        scaled = torch.relu(hidden) * 2
        logits = self.head(scaled)
        return logits.softmax(-1) + table[rows]

    def other(self):
        hidden = 1
)";

std::vector<std::string> names(const diagnose::GeneratedKernel& kernel) {
  std::vector<std::string> out;
  for (const SourceNode& node : kernel.nodes) out.push_back(node.name);
  return out;
}

int line_in(const char* source, const std::vector<SourceNode>& nodes, bool by_index = false) {
  return line_of_nodes(source, 1, nodes, by_index);
}

}  // namespace

TEST_CASE("the nodes of the kernel launched at a line of a generated file") {
  const auto fused = generated_kernel_at(kGenerated, kFused);
  CHECK(names(fused) == std::vector<std::string>{"hidden", "scaled", "picked"});
  REQUIRE(fused.nodes.size() == 3);
  CHECK(fused.nodes[0].operators == std::vector<std::string>{"embedding"});
  CHECK(fused.nodes[2].operators == std::vector<std::string>{"index"});
  CHECK(names(generated_kernel_at(kGenerated, kLinear)) == std::vector<std::string>{"logits"});
  // The line comes from a comment in the generated code. The nodes listed above this launch belong to the previous
  // launch.
  const auto helper = generated_kernel_at(kGenerated, kHelper);
  CHECK(names(helper).empty());
  CHECK(helper.file == "/work/other.py");
  CHECK(helper.line == 7);
  for (const int line : {0, -1, 10'000}) CHECK(names(generated_kernel_at(kGenerated, line)).empty());
}

TEST_CASE("a node's line is the one that assigns its variable") {
  CHECK(line_of_nodes(kModel, 5, {{"hidden"}}, false) == 7);
  CHECK(line_of_nodes(kModel, 5, {{"logits"}}, false) == 9);
  // Different lines assign the two variables, so neither line is reported.
  CHECK(line_of_nodes(kModel, 5, {{"hidden"}, {"scaled"}}, false) == 0);
  // The variable is assigned in another function.
  CHECK(line_of_nodes(kModel, 5, {{"weight"}}, false) == 0);
  CHECK(line_of_nodes(kModel, 12, {{"scaled"}}, false) == 0);
}

TEST_CASE("a node without a variable is named after its operator") {
  CHECK(line_of_nodes(kModel, 5, {{"softmax"}}, false) == 10);
  CHECK(line_of_nodes(kModel, 5, {{"relu"}}, false) == 8);
  CHECK(line_of_nodes(kModel, 5, {{"getitem"}}, false) == 10);
  CHECK(line_in("def f(x):\n  a = x.sum(0)\n  return x.sum()\n", {{"sum_1"}}) == 0);
}

TEST_CASE("if an index was bad, only indexing nodes count") {
  const std::vector<SourceNode> nodes = {{"hidden", {"embedding"}}, {"scaled", {"relu", "mul"}}};
  CHECK(line_of_nodes(kModel, 5, nodes, true) == 7);
  CHECK(line_of_nodes(kModel, 5, nodes, false) == 0);
}

TEST_CASE("if several lines assign a variable, only the operator's name can decide") {
  const char* source = "def f(x):\n  x = x.relu()\n  x = g(x)\n  x = x.exp()\n  return x\n";
  CHECK(line_in(source, {{"x_1", {"exp"}}}) == 4);
  CHECK(line_in(source, {{"x_1", {"mul"}}}) == 0);
}

TEST_CASE("statements that look like assignments") {
  CHECK(line_in("def f(x):\n  if y == 1: pass\n  y: int = x + 1\n", {{"y"}}) == 3);
  CHECK(line_in("def f(x):\n  g(y=1)\n  y, z = x\n", {{"y"}}) == 3);
  CHECK(line_in("def f(x):\n  # y = 1\n  y += x\n", {{"y"}}) == 3);
  CHECK(line_in("def f(x):\n  d[y] = 1\n  y <= x\n", {{"y"}}) == 0);
  CHECK(line_in("@torch.compile\n@other\ndef f(x):\n  y = x\n", {{"y"}}) == 4);
  CHECK(line_in("x = 1\n", {{"x"}}) == 0);
}

TEST_CASE("a finding in compiled code has the line inside the function") {
  const test::ScratchFolder folder;
  const auto write = [&](const std::string& name, const char* text) {
    const std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  };
  const std::string generated = write("torchinductor_u/ab/cab.py", kGenerated), model = write("model.py", kModel);
  analyse::PictureBuilder picture(710);
  const auto site = picture.site("triton_poi_fused_embedding_index_relu_0");
  picture.issue_at(site, picture.stream(0), 0);
  session::ProcessRecord& record = picture.process.record;
  const auto frame = [&](const std::string& file, const char* function, std::uint32_t line) {
    record.codes.push_back({file, function, line, 11, std::string("\xef\0", 2)});
    return session::RawPythonFrame{static_cast<std::uint32_t>(record.codes.size()), 0};
  };
  session::RawStack<session::RawPythonFrame> stack;
  stack.frames = {frame(generated, "Runner.call", kLinear), frame(model, "Model.forward", 5)};
  record.python_stacks.push_back(stack);
  record.sites[site - 1].python = 1;
  session::Session session;
  session.processes = {picture.process};
  session.manifest.passes.emplace_back().kind = session::PassKind::record;
  const auto lines = [&] {
    const auto diagnosis = diagnose::SessionState(session).diagnosis();
    std::vector<int> out;
    for (const diagnose::Related& related : diagnosis.findings.at(0).related) {
      if (related.role == diagnose::Role::source && related.location.file == model)
        out.push_back(related.location.line);
    }
    return out;
  };
  CHECK(lines() == std::vector<int>{9});
  CHECK(diagnose::SessionState(session).diagnosis().findings.at(0).location.line == 9);
  std::filesystem::remove(generated);
  CHECK(lines().empty());
}

}  // namespace compiled_line_test
