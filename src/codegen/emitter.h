// Emitter: LLVM code for single operations on vectors of `lanes` elements. Whoever uses it puts loops around them.
//
// A value in registers is a vector, or a scalar where there is one lane: of i1 for bool, of integers, of float or
// double. float16 and bfloat16 are held as float, always rounded to what their dtype can represent. In memory a bool is
// a byte and a 16-bit float is 16 bits. A complex number is two neighbouring elements of a vector twice as long, in
// registers as in memory.
//
// Nothing here may trap, whatever the lanes hold: the last lanes of a row that does not fill a vector hold anything.
#pragma once

#include <lento/dtype.h>

#include "codegen/target_hooks.h"
#include "ir/op_reduction.gen.h"

#include <cstdint>
#include <span>
#include <vector>

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace lento::codegen {

/// True for arg_max and arg_min.
constexpr bool finds_position(Op op) { return op == op::arg_max || op == op::arg_min; }

/// The dtype that a reduction accumulates in: float32 for 16-bit floats, bool for any and all. For arg_max and arg_min
/// it is that of the elements, which for bools is uint8.
DType accumulator_dtype(Op op, DType input);

class Emitter {
 public:
  /// `builder` stands in the entry block of the function.
  Emitter(llvm::IRBuilderBase& builder, unsigned lanes, const TargetHooks& hooks = {});

  unsigned lanes() const { return lanes_; }

  // ---- Memory (emitter_memory.cpp). A mask of null means all lanes.

  /// Elements that lie next to each other.
  llvm::Value* load(DType dtype, llvm::Value* pointer, llvm::Value* mask);
  void store(DType dtype, llvm::Value* value, llvm::Value* pointer, llvm::Value* mask);
  /// Elements at `pointer` + `offsets` (a vector of i64, in bytes). A masked lane reads the first one.
  llvm::Value* gather(DType dtype, llvm::Value* pointer, llvm::Value* offsets, llvm::Value* mask);
  void scatter(DType dtype, llvm::Value* value, llvm::Value* pointer, llvm::Value* offsets, llvm::Value* mask);
  /// One element, in all lanes.
  llvm::Value* load_one(DType dtype, llvm::Value* pointer);
  /// Lane 0.
  void store_one(DType dtype, llvm::Value* value, llvm::Value* pointer);
  /// The first `count` lanes.
  llvm::Value* mask_of(llvm::Value* count);
  /// `stride` (an i64) times 0, 1, 2, ….
  llvm::Value* lane_offsets(llvm::Value* stride);
  /// `first` (an i64) plus 0, 1, 2, …, as values of int64.
  llvm::Value* positions(llvm::Value* first);
  /// `value` (an integer) in all lanes.
  llvm::Value* splat(llvm::Value* value);
  /// As store() of all lanes, past the caches; `pointer` is at the start of a line of the cache or of a vector in it.
  void stream(DType dtype, llvm::Value* value, llvm::Value* pointer);
  /// Lines of neighbours, `stride` bytes apart; null means that all elements of a line exist.
  struct Lines {
    llvm::Value* first;
    llvm::Value* stride;
    llvm::Value* mask = nullptr;
  };
  /// Reads a square of `lanes` by `lanes` elements and writes its columns as lines.
  void turn_tile(DType dtype, const Lines& from, const Lines& to);
  /// Memory of the function for `bytes`, for as long as it runs.
  llvm::Value* local(std::uint64_t bytes);
  /// The same for one value as it is in registers, where it will be if no address is computed from it.
  llvm::Value* local_value(DType dtype);
  llvm::Value* load_local(DType dtype, llvm::Value* local);

  // ---- Operations.

  /// Elementwise `op` of operands of `dtype`, giving `result`. When all lanes are known to be equal, `uniform` saves
  /// work. Null when there is no code for this op and the target names no function for it (TargetHooks::loop_symbol).
  llvm::Value* compute(Op op, DType dtype, DType result, std::span<llvm::Value* const> args, bool uniform);
  /// As op::astype (emitter_cast.cpp).
  llvm::Value* cast(llvm::Value* value, DType from, DType to);

  // ---- Elements made of positions (emitter_create.cpp): of `position` (an i64) in the first lane, and in each lane
  // `stride` (an i64) more than in the one before. What does not change in a call is made once, before all loops.

  /// Of an iota: its numbers, and what stands between lanes.
  struct Spacing {
    llvm::Value* start;
    llvm::Value* step;
    llvm::Value* between;
    llvm::Value* advance = nullptr;  // of integers: from a vector to the one behind it, in every lane
  };
  /// `start` and `step` are values of iota_dtype(dtype), equal in all lanes.
  Spacing iota_spacing(DType dtype, llvm::Value* start, llvm::Value* step, llvm::Value* stride);
  llvm::Value* iota(DType dtype, const Spacing& spacing, llvm::Value* position);

  /// Of random bits: where their blocks begin, and what each round is given.
  struct Stream {
    llvm::Value* counter;
    std::vector<llvm::Value*> keys;
    bool compact;  // a loop over rounds, and one way for neighbours wherever they begin: little code, half as fast
  };
  /// `key` and `counter` are values of uint64, equal in all lanes; `dtype` is that of the bits.
  Stream random_stream(DType dtype, llvm::Value* key, llvm::Value* counter, bool compact);
  /// The stride is 1: one block serves several lanes.
  llvm::Value* random_neighbours(DType dtype, const Stream& stream, llvm::Value* position);
  llvm::Value* random_scattered(DType dtype, const Stream& stream, llvm::Value* position, llvm::Value* stride);

  // ---- Reductions, on values of the accumulator's dtype.

  llvm::Value* combine(Op reduction, DType dtype, llvm::Value* a, llvm::Value* b);
  /// As combine() for reduce_max and reduce_min of floats, where neither is nan; otherwise the result is anything.
  llvm::Value* combine_numbers(Op reduction, llvm::Value* a, llvm::Value* b);
  /// For arg_max and arg_min: whether `a` is to be found rather than `b`, wherever they are. A nan beats all others.
  llvm::Value* beats(Op op, DType dtype, llvm::Value* a, llvm::Value* b);
  /// What changes nothing when combined.
  llvm::Value* identity(Op reduction, DType dtype);
  /// Lane i becomes lane i + `distance`, for i < `distance`; the others are anything. For two lanes and more.
  llvm::Value* shift_down(DType dtype, llvm::Value* value, unsigned distance);
  llvm::Value* select(DType dtype, llvm::Value* mask, llvm::Value* a, llvm::Value* b);
  llvm::Value* number(DType dtype, double value);

  /// The value rounded to a 16-bit float dtype; other dtypes have no need of it.
  llvm::Value* rounded(DType dtype, llvm::Value* value);

 private:
  /// One of these in each lane: a vector, or the element itself.
  llvm::Type* in_lanes(llvm::Type* element, unsigned parts = 1) const;
  /// The type in registers, and how many elements a lane has.
  llvm::Type* type(DType dtype) const;
  llvm::Type* memory_type(DType dtype) const;
  llvm::Type* memory_vector(DType dtype) const;
  static unsigned parts(DType dtype) { return is_complex(dtype) ? 2 : 1; }
  llvm::Value* to_memory(DType dtype, llvm::Value* value);
  llvm::Value* from_memory(DType dtype, llvm::Value* value);
  llvm::Value* widened(DType dtype, llvm::Value* mask);
  /// For masked loads and stores, which take vectors alone: also of one element.
  llvm::Value* as_vector(llvm::Value* value);
  llvm::Value* mask_vector(DType dtype, llvm::Value* mask);
  /// 0, 1, 2, … in integers of this type.
  llvm::Value* lane_numbers(llvm::Type* integer) const;

  llvm::Value* lane(llvm::Value* value, unsigned number);
  llvm::Value* compute_bool(Op op, std::span<llvm::Value* const> args);
  llvm::Value* compute_integer(Op op, DType dtype, std::span<llvm::Value* const> args);
  llvm::Value* compute_float(Op op, std::span<llvm::Value* const> args);
  llvm::Value* extreme(Op op, llvm::Value* a, llvm::Value* b);
  llvm::Value* extreme_of_numbers(Op op, llvm::Value* a, llvm::Value* b);
  llvm::Value* compute_complex(Op op, DType dtype, std::span<llvm::Value* const> args);
  /// The real or imaginary parts of complex numbers, as floats.
  llvm::Value* part_of(llvm::Value* value, unsigned part);
  /// The real parts of one and the imaginary parts of the other.
  llvm::Value* alternating(llvm::Value* real, llvm::Value* imaginary);
  llvm::Value* complex_product(llvm::Value* a, llvm::Value* b);
  llvm::Value* divide_integers(Op op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* quotient(DType dtype, llvm::Value* a, llvm::Value* b);
  /// The function that the target calls for this op.
  llvm::Value* call_loop(Op op, DType dtype, DType result, std::span<llvm::Value* const> args, bool uniform);

  llvm::Value* double_to_half(DType to, llvm::Value* value);
  llvm::Value* wide_integer_to_double(DType from, llvm::Value* value);
  llvm::Value* float_to_integer(DType to, llvm::Value* value);

  llvm::IRBuilderBase& b_;
  unsigned lanes_;
  TargetHooks hooks_;
  llvm::Value* scratch_ = nullptr;   // operands and result of call_loop: four vectors of 16-byte elements
  llvm::Value* pointers_ = nullptr;  // to the operands
  llvm::Value* strides_ = nullptr;   // all 1
};

}  // namespace lento::codegen
