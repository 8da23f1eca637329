// What the calling thread draws from generators, remembered: to draw the same again (checkpoint), and to give back what
// an op drew that was refused afterwards.
#pragma once

#include <lento/random.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lento {

/// What a generator handed out.
struct Draw {
  Generator* generator;  // null: it was drawn again and moved no generator
  Generator::State state;
  std::uint64_t blocks;
};

/// A scope of the calling thread that sees the draws inside of it. Scopes nest.
class DrawScope {
 public:
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;

  /// The next blocks for an op: those of the innermost RepeatedDraws, else new ones. All scopes on the way note them;
  /// those outside of a RepeatedDraws do not, as they saw them the first time.
  static Draw next(Generator& generator, std::uint64_t blocks);
  /// True inside of a RepeatedDraws.
  static bool repeating();

 protected:
  DrawScope();
  ~DrawScope();
  std::vector<Draw> drawn_;

 private:
  virtual bool repeats(std::uint64_t /*blocks*/, Draw& /*draw*/) { return false; }
  virtual bool repeats_at_all() const { return false; }

  DrawScope* outer_;
};

/// Notes what is drawn while it lives.
class RecordedDraws final : public DrawScope {
 public:
  std::vector<Draw> take() { return std::move(drawn_); }
};

/// While it lives the same is drawn again, in the same order, whatever the generators are; they do not move and cannot
/// be set. Drawing something else is a ValueError.
class RepeatedDraws final : public DrawScope {
 public:
  explicit RepeatedDraws(std::span<const Draw> draws) : draws_(draws) {}
  /// Throws ValueError when not all has been drawn again.
  void finish() const;

 private:
  bool repeats(std::uint64_t blocks, Draw& draw) override;
  bool repeats_at_all() const override { return true; }

  std::span<const Draw> draws_;
  std::size_t next_ = 0;
};

/// What is drawn inside is given back when an exception ends it: an op that is refused leaves its generator as it was,
/// unless another thread has drawn from it since.
class RefusableDraws final : public DrawScope {
 public:
  RefusableDraws();
  ~RefusableDraws();

 private:
  int exceptions_;  // in flight when it began
};

}  // namespace lento
