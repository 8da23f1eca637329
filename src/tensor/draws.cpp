#include "tensor/draws.h"

#include "base/fail.h"

#include <exception>
#include <ranges>

namespace lento {

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local DrawScope* innermost = nullptr;

[[noreturn]] void fail_other_draws() {
  fail<ValueError>(
      "checkpoint: when the function is computed again for its derivative it draws other random numbers than the first "
      "time");
}

}  // namespace

DrawScope::DrawScope() : outer_(innermost) { innermost = this; }
DrawScope::~DrawScope() { innermost = outer_; }

Draw DrawScope::next(Generator& generator, std::uint64_t blocks) {
  Draw draw{nullptr, {}, blocks};
  DrawScope* end = innermost;
  while (end != nullptr && !end->repeats(blocks, draw)) end = end->outer_;
  if (end == nullptr) draw = {&generator, generator.advance(blocks), blocks};
  for (DrawScope* scope = innermost; scope != end; scope = scope->outer_) scope->drawn_.push_back(draw);
  return draw;
}

bool DrawScope::repeating() {
  for (const DrawScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->repeats_at_all()) return true;
  }
  return false;
}

bool RepeatedDraws::repeats(std::uint64_t blocks, Draw& draw) {
  if (next_ == draws_.size() || draws_[next_].blocks != blocks) fail_other_draws();
  draw = {nullptr, draws_[next_++].state, blocks};
  return true;
}

void RepeatedDraws::finish() const {
  if (next_ != draws_.size()) fail_other_draws();
}

RefusableDraws::RefusableDraws() : exceptions_(std::uncaught_exceptions()) {}

RefusableDraws::~RefusableDraws() {
  if (std::uncaught_exceptions() == exceptions_) return;
  // The last first: each is what its generator moved by last.
  for (const Draw& draw : std::views::reverse(drawn_)) {
    if (draw.generator != nullptr) draw.generator->give_back(draw.state, draw.blocks);
  }
}

}  // namespace lento
