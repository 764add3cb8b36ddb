// Decodes and checks the output of a rerun's Python hook in one process (wire/rerun.h). Ignores invalid lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cudadiag::session {

// The source of a value's name: the operator's schema, the user's variable, or the kernel's parameter.
enum class NameSource : std::uint8_t { schema, variable, kernel };

std::string_view word(NameSource origin);

// A number, stored with the type that it has in the program, so that integers stay exact.
using Number = std::variant<std::int64_t, double>;

struct TensorType {
  std::string dtype, device;
  std::vector<std::int64_t> shape, strides;
};

// A tensor or a number; unknown fields are empty.
struct DeliveredValue : TensorType {
  std::string name;
  NameSource origin = NameSource::schema;
  std::string in_schema;  // for a variable: the parameter's name in the schema
  std::string value;      // as text, for a scalar
  std::optional<Number> min, max;
  std::optional<std::uint64_t> nan, inf, pointer;
  // For indices into a dimension of `bound` entries: how many are outside 0..bound-1, the position of the first of
  // them, and its value.
  std::optional<std::int64_t> bound;
  std::optional<std::uint64_t> outside;
  std::vector<std::int64_t> first_outside;
  std::optional<Number> first_value;
  std::optional<std::uint64_t> extent;  // bytes from the start of the first element to the end of the last one
  std::optional<bool> written;          // whether the operator writes the value, according to its schema
  bool view = false;                    // the tensor is a view of the variable `name`
};

struct DeliveredFrame {
  std::string file, function;
  int line = 0;
};

// The state of PyTorch's caching allocator when it ran out of memory.
struct DeliveredMemory {
  struct Holder {
    std::uint64_t bytes = 0, count = 0;
    std::vector<DeliveredFrame> frames;  // where the memory was allocated, innermost first
  };
  // An exception that is being handled, or that was handled last. Its traceback keeps frames alive, and the frames keep
  // tensors alive.
  struct Exception {
    std::string type, file;
    int line = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t asked = 0, reserved = 0, allocated = 0, largest_free = 0;
  std::vector<Holder> holders;  // largest first
  std::vector<Exception> exceptions;
};

// The first non-finite element of a value that the program used.
struct DeliveredNonFinite {
  enum class State { candidate, found, asked, asked_last };
  enum class Role { made, passed, loaded, uninitialised };
  // How the program used the value. `other` includes uses that the hook does not name.
  enum class Use {
    other,
    parameter,
    loss,
    number,
    printed,
    saved,
    array,
    gradient,
    exception,
    compared,
    refused,
  };

  State state = State::candidate;
  Role role = Role::made;
  std::uint64_t root = 0;  // number of the operator in its process
  Use use = Use::other;
  std::string node;  // in a backward pass: the name of the autograd node; empty otherwise
  std::optional<std::string> module;
  std::string module_class, dtype;
  std::uint64_t step = 0;  // 0 if the program has no optimiser
  std::vector<std::int64_t> shape, index;
  std::optional<std::uint64_t> bad;                            // number of bad elements; nullopt if not counted
  std::vector<std::pair<std::string, std::string>> elements;   // name and value of each argument's element at `index`
  std::vector<DeliveredFrame> stack, forward, backward, uses;  // innermost first
  bool forward_certain = true;
  std::string infinite;  // operator that produced the infinite elements of its input; empty if none
  std::vector<DeliveredFrame> infinite_stack;
};

// The origin of an out-of-bounds element, such as an index, in an argument of an operator.
struct DeliveredOrigin {
  enum class Role { made, passed, copied, loaded };
  struct Step {
    Role role = Role::made;
    std::string op;                             // "aten::remainder.Scalar", "DataLoader"
    std::optional<Number> value;                // nullopt if the value was different there or is unknown
    std::optional<std::int64_t> batch, sample;  // a data loader's batch, from 0, and the sample's index in the data set
    std::vector<DeliveredFrame> stack;          // innermost first
  };

  std::vector<std::int64_t> index;  // index of the element in the operator's argument
  std::optional<Number> value;
  bool certain = false;
  std::vector<DeliveredFrame> stack;  // where the operator was called
  std::vector<Step> steps;            // first the source, then the operators that passed it on; empty if unknown
};

// Two operators of one process that accessed the same bytes in no defined order.
struct DeliveredRace {
  struct Access {
    std::string op;         // "aten::add_.Tensor"
    DeliveredValue tensor;  // `name`: the user's variable, or "" if unknown; `parameter`: its name in the schema
    std::uint64_t stream = 0;
    bool on_host = false;               // not on a stream: an operator that the program itself ran on the CPU
    std::vector<DeliveredFrame> stack;  // innermost first
  };
  Access first, second;                         // in the order of issue
  bool waited_before = false;                   // the second stream had waited for earlier work of the first stream
  std::uint64_t begin = 0, end = 0, bytes = 0;  // the common range, and the number of bytes in common
};

// A replay of a graph whose node uses a block that PyTorch's allocator has given to another tensor.
struct DeliveredRecycled {
  std::uint32_t graph = 0, node = 0;                 // id in ProcessRecord::graphs, and the node's index
  std::uint32_t offset = 0;                          // of the address, in the node's parameters
  std::uint64_t address = 0, begin = 0, bytes = 0;   // the address, and the block at the time of the capture
  bool may_be_leftover = false;                      // it is in a large structure, which may have unused words
  std::vector<DeliveredFrame> freed, taken, replay;  // innermost first
};

enum class DeliveryKind : std::uint8_t {
  other,    // a word that this version does not know
  call,     // the operator that the thread calls next
  results,  // results of the operator that the thread has called
  line,     // the variables at the line that the thread reaches
  watched,  // the variables at a line that the user watches
  forward,  // where the autograd node that the thread now runs backwards was created
  started,  // where the thread's work was started
  memory,   // the state of PyTorch's allocator when it ran out of memory
  untold,   // from here on, some calls are omitted
  non_finite,
  origin,  // the origin of a bad value
  race,    // a race between two operators
  recycled,
  note,      // a sentence for the user
  checking,  // the process looks for non-finite values
};

// Returns "" only for DeliveryKind::other.
std::string_view word(DeliveryKind kind);
std::string_view word(DeliveredOrigin::Role role);
std::string_view word(DeliveredNonFinite::Role role);
// Returns "" for a use that the hook does not name.
std::string_view word(DeliveredNonFinite::Use use);

struct Delivery {
  std::uint32_t tid = 0;
  std::uint64_t ticks = 0;
  DeliveryKind kind = DeliveryKind::other;
  std::string op;  // "aten::embedding"
  std::string overload, schema;
  bool whole = false;  // the operator uses every element of its tensors
  std::string file;    // file name as CPython reports it
  int line = 0;
  std::vector<DeliveredValue> values;
  std::uint64_t visit = 0;            // for a watched line: the number of this visit in the process
  std::vector<std::uint64_t> visits;  // for a watched line: visits to each watched line so far, in the requested order
  std::uint64_t milliseconds = 0;     // for a watched line: the time that reading the values took
  std::string node;                   // "GatherBackward0"
  std::uint64_t number = 0;
  bool pool = false;  // for the start of a thread's work: whether a thread pool received the work
  // Each stack is innermost first. The first stack is where the node was created, or where the thread was started. If a
  // backward function created the node, the next stack is where that function's own node was created, and so on. For a
  // thread, the next stack is where its starting thread was itself started.
  std::vector<std::vector<DeliveredFrame>> stacks;
  std::optional<DeliveredMemory> memory;
  std::optional<DeliveredNonFinite> non_finite;
  std::optional<DeliveredOrigin> origin;
  std::optional<DeliveredRace> race;
  std::optional<DeliveredRecycled> recycled;
  std::string text;  // for a note: its sentence; for `checking`: the version of PyTorch
};

// Returns the deliveries in the order of the file. Reads only the end of a long file.
std::vector<Delivery> read_deliveries(const std::filesystem::path& file);
std::vector<Delivery> parse_deliveries(std::string_view text);

}  // namespace cudadiag::session
