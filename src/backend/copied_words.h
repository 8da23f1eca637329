// CopiedWords: status words in memory of a device, copied to the host at the end of a run.
#pragma once

#include "backend/status_words.h"
#include "base/buffer.h"

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace lento {

class CopiedWords final : public StatusWords {
 public:
  /// Queues a copy of the device's words to the host, in a submission of the run.
  using Copy = std::function<void(std::span<StatusWord> to_host)>;

  /// `words` has been queued to be zero before the run.
  CopiedWords(BufferRef words, std::size_t count, Copy copy)
      : words_(std::move(words)), on_host_(count), copy_(std::move(copy)) {}

  StatusWord* address() const override { return static_cast<StatusWord*>(words_->data()); }
  void collect() override { copy_(on_host_); }
  std::span<const StatusWord> read() const override { return on_host_; }

 private:
  const BufferRef words_;
  std::vector<StatusWord> on_host_;
  const Copy copy_;
};

}  // namespace lento
