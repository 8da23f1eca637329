// Plan: a compiled step. Two traces of the same structure share one; values of numbers and buffers are not part of it.
#pragma once

#include "backend/backend.h"
#include "executor/compile_settings.h"
#include "ir/graph.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

namespace lento {

struct Plan {
  Graph graph;                    // the structure; sources and scalar values are those of the trace that compiled it
  std::uint8_t device;            // where it runs
  const CompileOptions* options;  // under which it was made
  std::uint64_t hash;             // of the structure
  std::uint64_t pattern;          // hash of what same_pattern compares
  std::size_t bytes;              // what the cache counts
  double compile_seconds = 0;
  std::unique_ptr<Program> program;
  /// Set when a thread replays the plan without asking the cache; spares it once when the cache evicts.
  std::atomic<bool> used{false};
  /// What the last run took; 0 before there was one.
  std::atomic<float> last_microseconds{0};
};
using PlanPtr = std::shared_ptr<Plan>;

/// Hash of what same_structure compares. Built with LENTO_CONSTANT_HASH it is the same for every graph, to prove that
/// nothing trusts it.
std::uint64_t structure_hash(const Graph& graph, std::uint8_t device);
/// Ops, attributes, dtypes, shapes, which operands are the same value, outputs and their order: everything but sources
/// and the values of numbers.
bool same_structure(const Graph& a, const Graph& b);
/// Hash of what same_pattern compares.
std::uint64_t pattern_hash(const Graph& graph, std::uint8_t device);
/// As same_structure, but an extent may be any other number except 1: what code is compiled for. Extents of 1 stay,
/// because they decide what is broadcast.
bool same_pattern(const Graph& a, const Graph& b);
std::size_t graph_bytes(const Graph& graph);

/// Lists of plain values compared as bytes.
template <class T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
  static_assert(std::has_unique_object_representations_v<T>);
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace lento
