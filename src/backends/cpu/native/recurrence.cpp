// Recurrent networks over a sequence, and their derivatives.
//
// A step is cut into blocks of rows (examples) and columns (hidden units), by shape alone. A block multiplies its part
// of the state by its rows of the weights and runs the gates on the product while that is in the cache. On the way back
// a block runs the gates first, and the product that a step gives to the one before is made by the same block right
// before that one's gates. So threads meet once per step.
#include "backends/cpu/arena.h"
#include "backends/cpu/divide_up.h"
#include "backends/cpu/native/packed_product.h"
#include "backends/cpu/native/recurrence_gates.h"
#include "backends/cpu/prepared_call.h"
#include "backends/cpu/threads.h"
#include "ir/attrs_contraction.gen.h"
#include "ir/op_contraction.gen.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

namespace lento::cpu {

namespace {

// What is worth handing to another thread, in products: some 5 µs.
constexpr std::int64_t kBlockProducts = std::int64_t{1} << 19;
constexpr std::int64_t kBlockRows = 128;
// Gates are run row by row, and a row of a block should not be short for them.
constexpr std::int64_t kFewestPanels = 6;
constexpr double kNanosecondsPerProduct = 0.01;

/// How a recurrence is run: its extents, and how a step is cut.
struct Plan {
  Cell cell;
  DType dtype;
  std::int64_t length;
  std::int64_t batch;
  std::int64_t hidden;
  std::int64_t gates;  // parts of a product
  bool reverse;
  std::int64_t block_rows = 1;
  std::int64_t block_columns = 1;
  std::int64_t row_blocks = 0;
  std::int64_t column_blocks = 0;

  Plan(Cell cell, const Meta& steps, const Meta& weight, bool reverse)
      : cell(cell),
        dtype(steps.dtype),
        length(steps.shape[0]),
        batch(steps.shape[1]),
        hidden(weight.shape[1]),
        gates(cell == Cell::lstm  ? 4
              : cell == Cell::gru ? 3
                                  : 1),
        reverse(reverse) {
    if (batch == 0 || hidden == 0) return;
    row_blocks = divide_up(batch, kBlockRows);
    block_rows = divide_up(batch, row_blocks);
    const std::int64_t panels = divide_up(hidden, PackedMatrix::kPanel);
    const std::int64_t worth = divide_up(kBlockProducts, block_rows * gates * hidden * PackedMatrix::kPanel);
    column_blocks = std::max<std::int64_t>(1, panels / std::max(worth, kFewestPanels));
    block_columns = divide_up(panels, column_blocks) * PackedMatrix::kPanel;
    column_blocks = divide_up(hidden, block_columns);
  }

  std::int64_t blocks() const { return row_blocks * column_blocks; }
  /// The position of the step that comes `count`-th.
  std::int64_t at(std::int64_t count) const { return reverse ? length - 1 - count : count; }
  std::int64_t element() const { return static_cast<std::int64_t>(size_of(dtype)); }
  /// Bytes of (batch, parts * hidden).
  std::size_t bytes(std::int64_t parts) const { return static_cast<std::size_t>(batch * parts * hidden * element()); }
  double products() const {
    return static_cast<double>(length) * static_cast<double>(batch) * static_cast<double>(gates * hidden) *
           static_cast<double>(hidden);
  }
  double elements() const {
    return static_cast<double>(length) * static_cast<double>(batch) * static_cast<double>(hidden);
  }

  /// Calls `f` with each block of a step, on several threads.
  template <class F>
  void for_blocks(const F& f) const {
    parallel_for(blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t row = block / column_blocks * block_rows;
        const std::int64_t column = block % column_blocks * block_columns;
        f(StepPart{row, std::min(row + block_rows, batch), column, std::min(column + block_columns, hidden)});
      }
    });
  }
};

/// Matrices (batch, parts * hidden) of all steps, or of as many as are needed at a time when nobody wants them.
class StepRows {
 public:
  /// `data` may be null.
  StepRows(const Plan& plan, void* data, std::int64_t parts, std::int64_t kept = 2)
      : plan_(&plan), parts_(parts), kept_(data == nullptr ? kept : plan.length) {
    if (data == nullptr) scratch_.emplace(plan.bytes(parts) * static_cast<std::size_t>(kept));
    data_ = data == nullptr ? scratch_->as<std::byte>() : static_cast<std::byte*>(data);
  }

  /// Part `part` of the step that comes `count`-th.
  StepMatrix of(std::int64_t count, std::int64_t part = 0) const {
    const std::int64_t place = scratch_ ? count % kept_ : plan_->at(count);
    const std::int64_t row = parts_ * plan_->hidden;
    return {data_ + (place * plan_->batch * row + part * plan_->hidden) * plan_->element(), row};
  }

 private:
  const Plan* plan_;
  std::int64_t parts_;
  std::int64_t kept_;
  std::optional<Scratch> scratch_;
  std::byte* data_;
};

/// A matrix (batch, hidden).
StepMatrix state_of(const Plan& plan, void* data) { return {static_cast<std::byte*>(data), plan.hidden}; }

/// Rows and columns of matrices, as bytes.
class Blocks {
 public:
  Blocks(const Plan& plan, const StepPart& part) : plan_(plan), part_(part) {}

  std::byte* address(const StepMatrix& matrix, std::int64_t row) const {
    return matrix.data + (row * matrix.row + part_.first_column) * plan_.element();
  }
  void clear(const StepMatrix& matrix, std::int64_t row) const { std::memset(address(matrix, row), 0, line_bytes()); }
  void copy(const StepMatrix& to, const StepMatrix& from, std::int64_t row) const {
    std::memcpy(address(to, row), address(from, row), line_bytes());
  }
  /// to += more
  void add(const StepMatrix& to, const StepMatrix& more, std::int64_t row) const {
    if (plan_.dtype == DType::float32) {
      add_line<float>(address(to, row), address(more, row));
    } else {
      add_line<double>(address(to, row), address(more, row));
    }
  }

 private:
  std::size_t line_bytes() const {
    return static_cast<std::size_t>((part_.end_column - part_.first_column) * plan_.element());
  }
  template <class T>
  void add_line(std::byte* to, const std::byte* more) const {
    T* const sums = reinterpret_cast<T*>(to);
    const T* const terms = reinterpret_cast<const T*>(more);
    for (std::int64_t i = 0; i < part_.end_column - part_.first_column; ++i) sums[i] += terms[i];
  }

  const Plan& plan_;
  const StepPart& part_;
};

/// Calls `counted` with runs of rows whose step counts, and `skipped` with each row whose step does not.
template <class Counted, class Skipped>
void for_rows(const Plan& plan, const void* mask, std::int64_t count, StepPart part, const Counted& counted,
              const Skipped& skipped) {
  if (mask == nullptr) return counted(part);
  const bool* const counts = static_cast<const bool*>(mask) + plan.at(count) * plan.batch;
  const std::int64_t end = part.end_row;
  for (std::int64_t row = part.first_row; row < end;) {
    if (!counts[row]) {
      skipped(row++);
      continue;
    }
    part.first_row = row;
    while (row < end && counts[row]) ++row;
    part.end_row = row;
    counted(part);
  }
}

class RecurrenceCall : public PreparedCall {
 public:
  RecurrenceCall(const Plan& plan, GateKernel gates) : plan_(plan), gates_(std::move(gates)) {}

  double nanoseconds() const override {
    return plan_.products() * kNanosecondsPerProduct + plan_.elements() * gates_.nanoseconds();
  }

 protected:
  /// product = a @ b for the rows and columns of a part.
  void multiply(const StepPart& part, const StepMatrix& a, const PackedMatrix& b, const StepMatrix& product) const {
    const std::int64_t place = part.first_row * product.row + part.first_column;
    b.multiply(part.end_row - part.first_row, a.data + part.first_row * a.row * plan_.element(), a.row,
               part.first_column, part.end_column, product.data + place * plan_.element(), product.row);
  }

  Plan plan_;
  GateKernel gates_;
};

/// rnn_states, gru_states, lstm_states.
class ForwardCall final : public RecurrenceCall {
 public:
  explicit ForwardCall(const Plan& plan) : RecurrenceCall(plan, GateKernel::forward(plan.cell, plan.dtype)) {}

  void run(const CallArguments& arguments) const override {
    const Plan& plan = plan_;
    if (plan.length == 0 || plan.blocks() == 0) return;
    gates_.note(plan.elements());
    const bool lstm = plan.cell == Cell::lstm;
    const bool gru = plan.cell == Cell::gru;
    // inputs, h, [c,] weight, [bias,] [mask]; states, [cells,] [gates]
    const auto operands = arguments.operands;
    const std::size_t first_weight = lstm ? 3 : 2;
    const std::size_t mask_at = first_weight + (gru ? 2 : 1);
    const auto* const weight = static_cast<const std::byte*>(operands[first_weight]);
    const void* const mask = operands.size() > mask_at ? operands[mask_at] : nullptr;
    const StepRows inputs(plan, operands[0], plan.gates);
    const StepRows states(plan, arguments.results[0], 1);
    std::optional<StepRows> cells, kept;
    if (lstm) cells.emplace(plan, arguments.results[1], 1);
    if (lstm || gru) kept.emplace(plan, arguments.results[lstm ? 2 : 1], 4, 1);
    const StepRows products(plan, nullptr, plan.gates, 1);
    std::deque<PackedMatrix> weights;  // transposed, one per gate
    for (std::int64_t gate = 0; gate < plan.gates; ++gate) {
      weights.emplace_back(plan.dtype, weight + gate * plan.hidden * plan.hidden * plan.element(), plan.hidden,
                           plan.hidden, 1, plan.hidden);
    }
    for (std::int64_t count = 0; count < plan.length; ++count) {
      const StepMatrix state = states.of(count);
      const StepMatrix before = count == 0 ? state_of(plan, operands[1]) : states.of(count - 1);
      const StepMatrix cell_before = !lstm ? before : count == 0 ? state_of(plan, operands[2]) : cells->of(count - 1);
      std::vector<StepMatrix> matrices;
      for (std::int64_t gate = 0; gate < plan.gates; ++gate) matrices.push_back(inputs.of(count, gate));
      for (std::int64_t gate = 0; gate < plan.gates; ++gate) matrices.push_back(products.of(0, gate));
      if (gru) matrices.push_back({static_cast<std::byte*>(operands[3]), 0});
      if (gru) matrices.push_back(before);
      if (lstm) matrices.push_back(cell_before);
      matrices.push_back(state);
      if (lstm) matrices.push_back(cells->of(count));
      for (std::int64_t gate = 0; kept && gate < 4; ++gate) matrices.push_back(kept->of(count, gate));
      plan.for_blocks([&](const StepPart& part) {
        for (std::int64_t gate = 0; gate < plan.gates; ++gate) {
          multiply(part, before, weights[static_cast<std::size_t>(gate)], products.of(0, gate));
        }
        const Blocks blocks(plan, part);
        for_rows(
            plan, mask, count, part, [&](const StepPart& counted) { gates_.run(matrices, counted); },
            [&](std::int64_t row) {
              blocks.copy(state, before, row);
              if (lstm) blocks.copy(cells->of(count), cell_before, row);
              for (std::int64_t gate = 0; kept && gate < 4; ++gate) blocks.clear(kept->of(count, gate), row);
            });
      });
    }
  }
};

/// rnn_states_grad, gru_states_grad, lstm_states_grad.
class BackwardCall final : public RecurrenceCall {
 public:
  explicit BackwardCall(const Plan& plan) : RecurrenceCall(plan, GateKernel::backward(plan.cell, plan.dtype)) {}

  void run(const CallArguments& arguments) const override {
    const Plan& plan = plan_;
    if (plan.blocks() == 0) return;
    gates_.note(plan.elements());
    const bool lstm = plan.cell == Cell::lstm;
    const bool gru = plan.cell == Cell::gru;
    // rnn: cotangent, states, weight; gru: cotangent, gates, states, h, weight;
    // lstm: cotangent, cell cotangent, gates, cells, c, weight; [mask]
    const auto operands = arguments.operands;
    const std::size_t weight_at = lstm ? 5 : gru ? 4 : 2;
    const auto* const weight = static_cast<const std::byte*>(operands[weight_at]);
    const void* const mask = operands.size() > weight_at + 1 ? operands[weight_at + 1] : nullptr;
    const StepRows cotangent(plan, operands[0], 1);
    // What the gates of a step read of the way there: the state, or gates and what was before; of an LSTM its cells.
    const StepRows there(plan, operands[lstm ? 3 : gru ? 2 : 1], 1);
    std::optional<StepRows> gates, cell_cotangent, products;
    if (gru || lstm) gates.emplace(plan, operands[lstm ? 2 : 1], 4);
    if (lstm) cell_cotangent.emplace(plan, operands[1], 1);
    const StepRows of_inputs(plan, arguments.results[0], plan.gates);
    if (gru) products.emplace(plan, arguments.results[1], plan.gates);
    const StepRows& multiplied = gru ? *products : of_inputs;

    const StepRows product(plan, nullptr, 1, 1);
    const StepRows last(plan, nullptr, 1, 1);
    void* const of_h = arguments.results[gru ? 2 : 1];
    const StepMatrix back = product.of(0);
    const StepMatrix kept = of_h == nullptr ? last.of(0) : state_of(plan, of_h);
    const StepRows of_cell(plan, nullptr, 1, 1);
    const StepMatrix cell_back =
        lstm && arguments.results[2] != nullptr ? state_of(plan, arguments.results[2]) : of_cell.of(0);
    for (const StepMatrix& start : {back, kept, cell_back}) std::memset(start.data, 0, plan.bytes(1));

    const PackedMatrix packed(plan.dtype, weight, plan.gates * plan.hidden, plan.hidden, plan.hidden, 1);
    // What a step gives back to the one before, for a part of its columns.
    const auto give_back = [&](std::int64_t count, const StepPart& part) {
      multiply(part, multiplied.of(count), packed, back);
      const Blocks blocks(plan, part);
      // Zeros times the weights are nan where a weight is no number.
      for_rows(plan, mask, count, part, [](const StepPart&) {}, [&](std::int64_t row) { blocks.clear(back, row); });
    };
    for (std::int64_t count = plan.length; count-- > 0;) {
      std::vector<StepMatrix> matrices{cotangent.of(count), back, kept};
      if (lstm) matrices.insert(matrices.end(), {cell_cotangent->of(count), cell_back});
      for (std::int64_t gate = 0; gates && gate < 4; ++gate) matrices.push_back(gates->of(count, gate));
      if (!gru) matrices.push_back(there.of(count));
      if (gru || lstm) matrices.push_back(count == 0 ? state_of(plan, operands[lstm ? 4 : 3]) : there.of(count - 1));
      for (std::int64_t gate = 0; gate < plan.gates; ++gate) matrices.push_back(of_inputs.of(count, gate));
      for (std::int64_t gate = 0; gru && gate < plan.gates; ++gate) matrices.push_back(products->of(count, gate));
      if (gru) matrices.push_back(kept);
      if (lstm) matrices.push_back(cell_back);
      plan.for_blocks([&](const StepPart& part) {
        if (count + 1 < plan.length) give_back(count + 1, part);
        const Blocks blocks(plan, part);
        for_rows(
            plan, mask, count, part,
            [&](const StepPart& counted) {
              gates_.run(matrices, counted);
              if (mask == nullptr || gru) return;
              for (std::int64_t row = counted.first_row; row < counted.end_row; ++row) blocks.clear(kept, row);
            },
            [&](std::int64_t row) {
              blocks.add(kept, back, row);
              blocks.add(kept, cotangent.of(count), row);
              if (lstm) blocks.add(cell_back, cell_cotangent->of(count), row);
              for (std::int64_t gate = 0; gate < plan.gates; ++gate) {
                blocks.clear(of_inputs.of(count, gate), row);
                if (gru) blocks.clear(products->of(count, gate), row);
              }
            });
      });
    }
    if (of_h == nullptr || plan.length == 0) return;
    plan.for_blocks([&](const StepPart& part) {
      give_back(0, part);
      const Blocks blocks(plan, part);
      for (std::int64_t row = part.first_row; row < part.end_row; ++row) blocks.add(kept, back, row);
    });
  }
};

}  // namespace

std::unique_ptr<const PreparedCall> make_recurrence_call(const Graph& graph, const Step& step) {
  const Record& node = graph.nodes[step.nodes[0]];
  const std::span<const OperandRef> operands = graph.operands(node);
  const auto meta = [&](std::size_t i) { return graph.meta_of(operands[i]); };
  switch (node.op) {
    case op::rnn_states: {
      const RnnStatesAttrs attrs = decode_rnn_states(node.attrs);
      const bool relu = attrs.nonlinearity == RnnStatesAttrs::Nonlinearity::relu;
      return std::make_unique<ForwardCall>(Plan(relu ? Cell::relu : Cell::tanh, meta(0), meta(2), attrs.reverse));
    }
    case op::rnn_states_grad: {
      const RnnStatesGradAttrs attrs = decode_rnn_states_grad(node.attrs);
      const bool relu = attrs.nonlinearity == RnnStatesGradAttrs::Nonlinearity::relu;
      return std::make_unique<BackwardCall>(Plan(relu ? Cell::relu : Cell::tanh, meta(0), meta(2), attrs.reverse));
    }
    case op::gru_states:
      return std::make_unique<ForwardCall>(Plan(Cell::gru, meta(0), meta(2), decode_gru_states(node.attrs).reverse));
    case op::gru_states_grad:
      return std::make_unique<BackwardCall>(
          Plan(Cell::gru, meta(0), meta(4), decode_gru_states_grad(node.attrs).reverse));
    case op::lstm_states:
      return std::make_unique<ForwardCall>(Plan(Cell::lstm, meta(0), meta(3), decode_lstm_states(node.attrs).reverse));
    case op::lstm_states_grad:
      return std::make_unique<BackwardCall>(
          Plan(Cell::lstm, meta(0), meta(5), decode_lstm_states_grad(node.attrs).reverse));
    default:
      return nullptr;
  }
}

}  // namespace lento::cpu
