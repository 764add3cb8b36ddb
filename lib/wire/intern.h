// The intern heap: data that operations refer to by number. Each entry is written once, in order, and never changes.
//
//    0      4     6       8                     size
//    +------+-----+-------+---------------------+
//    | size | tag | count |  payload            |   size: of the whole entry, a multiple of 8
//    +------+-----+-------+---------------------+
//
// Entries follow each other from the start of the heap. area::kInternUsed is the number of bytes in complete entries.
// Each tag has its own ids: 1, 2, … in order of appearance; 0 means "none". `count` depends on the tag:
//
//    string    count: bytes              payload: UTF-8, not terminated
//    module    count: bytes of build-id  payload: u64 load bias, u64 first address, u64 end address,
//                                                 u32 string id of the path, u32 zero, build-id
//    function  count: 0                  payload: u32 string id of the mangled kernel name, u32 zero
//    code      count: bytes of table     payload: u32 string id of the file, u32 string id of the qualified
//                                                 name, u32 first line, u32 Python minor version, line table
//    python    count: frames             payload: per frame, innermost first: u32 code id, u32 byte offset
//                                                 of the instruction in the code object's bytecode
//    native    count: frames             payload: per frame, innermost first: u32 module id (0: unknown),
//                                                 u32 zero, u64 address minus load bias (unknown: address);
//                                                 the return address, so look up the byte before it
//    site      count: 0                  payload: u32 python id, u32 native id, u32 function id,
//                                                 u32 operation kind | thread index << 16
//    note      count: 0                  payload: u32 string id of a code like "cupti-held", u32 string id of the text
//    property  count: 0                  payload: u32 string id of the key, u32 string id of the value
//    graph     count: 0                  payload: u32 site id of the instantiation or update, u32 nodes, u32 edges,
//                                                 u32 zero; or, for a changed graph: u32 site id, u32 changes,
//                                                 u32 zero, u32 id of the graph before the change
//    graph_nodes  count: nodes           payload: u32 graph id, u32 index of the first, nodes (below)
//    graph_edges  count: edges           payload: u32 graph id, u32 zero, per edge: u32 from, u32 to (node indices)
//    graph_changes count: changes        payload: u32 graph id, u32 zero, per change: u32 index of a node, u32 site id
//                                                 of the call that set its current parameters
//    arguments count: parameters         payload: u64 serial of a kernel launch, u32 its thread's index,
//                                                 u32 ArgumentFlag, per parameter: u32 offset among the kernel's
//                                                 parameters, u32 bytes; then the bytes of all parameters, each
//                                                 padded to a multiple of 8
//    stale_pointer count: 0              payload: u64 serial of a graph launch, u32 its thread's index,
//                                                 u32 index of the node, u64 the pointer's value, u64 serial of
//                                                 the freed allocation that it points to, u32 offset of the pointer
//                                                 among a kernel's parameters (copies and memsets: 0 the destination, 8
//                                                 the source), u32 PointerFlag
//    node_type count: 0                  payload: u32 string id of the mangled C++ type of a node of PyTorch's autograd
//                                                 graph, u32 zero
//
// The nodes and edges of a graph follow its `graph` entry, in as many entries as necessary. For a changed graph, only
// the changes follow: one for each node whose parameters differ from those in the earlier graph. Child graphs are
// flattened: their nodes follow the node that contains them, which is their parent. A node takes 32 bytes:
//
//    0      4          8        12     14     16        18   20   22     23     24             28       32
//    +------+----------+--------+------+------+---------+----+----+------+------+--------------+--------+
//    | site | function | grid x |  y   |  z   | block x |  y |  z | type | zero | shared bytes | parent |
//    +------+----------+--------+------+------+---------+----+----+------+------+--------------+--------+
//
// site: where the node was captured or added. type: CUgraphNodeType. parent: 1 + index of the node whose child graph
// contains this node.
//
// If a stack was truncated at its outer end, the top bit of `count` is set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/bytes.h"

namespace cudadiag::wire::intern {

inline constexpr std::size_t kLongestLineTable = 0x7fff;  // bytes; longer tables are truncated

enum class Tag : std::uint16_t {
  string = 1,
  module = 2,
  function = 3,
  code = 4,
  python = 5,
  native = 6,
  site = 7,
  note = 8,
  property = 9,
  graph = 10,
  graph_nodes = 11,
  graph_edges = 12,
  arguments = 13,
  node_type = 14,
  stale_pointer = 15,
  graph_changes = 16,
};
inline constexpr std::size_t kTags = 17;  // one past the last Tag

inline constexpr std::size_t kHeaderSize = 8;
inline constexpr std::size_t kMaxEntry = 64u << 10;
inline constexpr std::uint16_t kTruncated = 0x8000;

enum ArgumentFlag : std::uint32_t {
  kCut = 1,     // the kernel has more parameters, or more bytes of them, than the entry contains
  kBuffer = 2,  // the driver did not report the layout: the entry has all parameters as one piece
};

// In place of a thread: these are the parameters of a graph's node. The serial is the graph's id, then the node's index
// (32 bits each).
inline constexpr std::uint32_t kOfNode = 0xffffffff;

enum PointerFlag : std::uint32_t {
  kInStructure = 1,  // the pointer is a word of a larger parameter, and may be left over from an earlier call
};

inline constexpr Field<std::uint32_t, 0> kSize;
inline constexpr Field<std::uint16_t, 4> kTag;
inline constexpr Field<std::uint16_t, 6> kCount;

inline constexpr std::size_t kGraphNodeSize = 32;
inline constexpr Field<std::uint32_t, 0> kNodeSite;
inline constexpr Field<std::uint32_t, 4> kNodeFunction;
inline constexpr Field<std::uint32_t, 8> kNodeGridX;
inline constexpr Field<std::uint16_t, 12> kNodeGridY;
inline constexpr Field<std::uint16_t, 14> kNodeGridZ;
inline constexpr Field<std::uint16_t, 16> kNodeBlockX;
inline constexpr Field<std::uint16_t, 18> kNodeBlockY;
inline constexpr Field<std::uint16_t, 20> kNodeBlockZ;
inline constexpr Field<std::uint8_t, 22> kNodeType;
inline constexpr Field<std::uint32_t, 24> kNodeSharedBytes;
inline constexpr Field<std::uint32_t, 28> kNodeParent;

}  // namespace cudadiag::wire::intern
