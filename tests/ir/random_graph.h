// Random graphs over every primitive of the catalogue: valid by construction, small, reproducible from a seed. Used to
// test that graphs print and parse, and made for comparing backends: each input says which values make the graph run
// without data errors.
//
//     RandomGraph random = random_graph(seed, 50);
//     RandomGraphBuilder builder(seed); builder.add(op::top_k); ... builder.finish();
#pragma once

#include "ir/graph.h"
#include "ir/graph_maker.h"
#include "ir/op.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace lento::test {

/// What an input may hold.
struct InputDomain {
  enum class Kind : std::uint8_t {
    any,                // whatever the dtype can hold
    range,              // integers from low to high, both included: indices
    positive_definite,  // well conditioned matrices, Hermitian and positive definite
    sorted,             // ascending
  };
  Kind kind = Kind::any;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct RandomGraph {
  Graph graph;
  std::vector<InputDomain> domains;  // one an input
};

class RandomGraphBuilder {
 public:
  /// Axes are up to 5 long, and now and then one is up to `longest`.
  explicit RandomGraphBuilder(std::uint64_t seed, std::int64_t longest = 5);

  /// Adds a node of this op, with its further results or some of them, on operands that are there already or on new
  /// inputs. False when nobody has said how to make operands for it.
  bool add(Op op);
  /// Chooses outputs; the builder is empty afterwards.
  RandomGraph finish();

 private:
  using Named = std::initializer_list<std::pair<std::string_view, Ints>>;

  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(double probability);
  template <class List>
  const auto& any_of(const List& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(std::size(list)) - 1))];
  }
  DType any_dtype(DTypeSet set);
  Shape any_shape(std::int64_t low_rank, std::int64_t high_rank, std::int64_t low_extent = 0);
  Ints any_ints(std::size_t count, std::int64_t low, std::int64_t high);

  OperandRef input(DType dtype, const Shape& shape, InputDomain domain = {});
  OperandRef number(DType dtype);
  OperandRef number(std::int64_t value);
  /// A value that is there already and for which the test holds, or nothing.
  std::optional<OperandRef> existing(const std::function<bool(const Meta&)>& test);
  /// A value of exactly this type.
  OperandRef value(DType dtype, const Shape& shape);
  /// A value with one of these dtypes and at least so many axes, none of them shorter than `low_extent`.
  OperandRef value(DTypeSet set, std::int64_t low_rank = 0, std::int64_t low_extent = 0, std::int64_t high_rank = 4);
  OperandRef indices(const Shape& shape, std::int64_t length);
  Meta meta(OperandRef operand) const { return maker_.meta(operand); }

  void append(Op op, std::initializer_list<OperandRef> operands, Named attributes = {});
  void append(Op op, const std::vector<OperandRef>& operands, Named attributes = {});
  AttrsId attributes(Op op, Named named);

  void add_elementwise(Op op);
  void add_creation(Op op);
  void add_cast(Op op);
  void add_along_axes(Op op);  // reductions, scans, transforms, sorts: one operand and axes
  bool add_index_map(Op op);
  bool add_gather(Op op);
  bool add_scatter(Op op);
  bool add_sort(Op op);
  bool add_fft(Op op);
  bool add_contraction(Op op);
  bool add_recurrence(Op op);
  void add_attention(Op op);
  void add_window(Op op);
  bool add_linalg(Op op);

  std::mt19937_64 random_;
  std::int64_t longest_;
  GraphMaker maker_;
  std::vector<InputDomain> domains_;
};

/// A graph of at least `nodes` nodes; primitives are chosen with equal probability.
RandomGraph random_graph(std::uint64_t seed, std::size_t nodes, std::int64_t longest = 5);

/// The ops a graph can hold: all but the bookkeeping ones.
std::vector<Op> all_primitives();

}  // namespace lento::test
