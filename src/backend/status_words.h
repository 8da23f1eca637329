// Status words: how a device with queues says that an op went wrong while it ran. Hardware writes no text and calls
// nobody, so it writes a number, into memory that the host reads when the run has ended (clause D4). What the number
// means is known to whoever asked for the word: the runtime for indices, the prepared call for the rest.
#pragma once

#include <cstdint>
#include <span>

namespace lento {

/// Zero: nothing went wrong. Where several threads of a device find something wrong, the greatest word stays (an atomic
/// maximum), so that what is told does not depend on who comes first.
///
/// For an index that is out of range the word is the index, extended to 64 bits as its dtype is. An index of 0 is never
/// out of range, since ops refuse empty axes.
using StatusWord = std::uint64_t;

/// The words of one run, zero at first. They lie where the driver likes: in memory of the host that the device writes
/// to, or in memory of the device that is copied at the end.
class StatusWords {
 public:
  /// Not before the device has done all that was queued for the run.
  virtual ~StatusWords() = default;
  /// The address of the first one, for the device.
  virtual StatusWord* address() const = 0;
  /// Everything that writes them has been queued: queues what it takes for the host to read them. May throw.
  virtual void collect() {}
  /// Once a fence behind that has been reached.
  virtual std::span<const StatusWord> read() const = 0;
};

}  // namespace lento
