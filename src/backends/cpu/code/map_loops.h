// MapLoops: the loops of a kernel that reduces nothing. What does not change along a row is computed before it.
#pragma once

#include "backends/cpu/code/kernel_body.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace lento::cpu {

class MapLoops {
 public:
  explicit MapLoops(KernelBody body);
  MapLoops(const MapLoops&) = delete;
  MapLoops& operator=(const MapLoops&) = delete;
  void write();

 private:
  using Stage = std::vector<std::size_t>;  // instructions

  void write_row();
  /// Whole vectors of a row, up to `end`.
  void write_whole_vectors(llvm::Value* end, bool stream);
  void write_stages(llvm::Value* end, bool stream);
  /// As KernelBody::loop() over vectors; integers that count positions go along, one addition a vector.
  void counting_loop(llvm::Value* end, const std::function<void(llvm::Value*)>& body);
  /// Rows that tiles were made of; the rest is left for write_row().
  llvm::Value* write_tiles();
  /// Writes a body for stores past the caches and one for others, if the code is to have both.
  void in_both_ways(const std::function<void(bool stream)>& write);

  std::vector<Stage> make_stages() const;
  /// What each stage uses of those before it.
  std::vector<Stage> inputs_of(const std::vector<Stage>& stages) const;

  KernelBody body_;
  llvm::IRBuilderBase& b_;
  codegen::Emitter& emitter_;
  const Kernel& kernel_;
  const std::vector<Stage> stages_;  // of all instructions of elements; less than two: there is one loop
};

}  // namespace lento::cpu
