#include "backends/cpu/native/panel_product.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/divide_up.h"
#include "backends/cpu/native/panels.h"
#include "backends/cpu/threads.h"

#include <algorithm>

namespace lento::cpu {

namespace {

/// Elements that are packed before they are multiplied, for each thread: half of its second cache.
constexpr std::int64_t kPackedOfThread = std::int64_t{1} << 17;
/// Panels of rows that a thread multiplies with one panel of columns, while they stay in its cache.
constexpr std::int64_t kStripe = 16;
/// Terms that are multiplied before the next ones: a stripe of a stays in the second cache.
constexpr std::int64_t kMostTerms = 4 * kPanelTerms;
/// What is packed at a time: some 1 µs. Where rows of b are read as they lie, so many terms of them.
constexpr std::int64_t kPartElements = 4096;
constexpr std::int64_t kStripTerms = 16;
/// What is worth handing to another thread: some 5 µs.
constexpr std::int64_t kGrainProducts = std::int64_t{1} << 18;
constexpr std::int64_t kGrainPacked = std::int64_t{1} << 13;
/// What a thread takes at a time, at least: some 1 µs.
constexpr std::int64_t kStepProducts = kGrainProducts / 4;

/// A part of a range.
struct Range {
  std::int64_t begin;
  std::int64_t count;
};

/// Calls f with parts of at most `most` that together are 0 … count - 1.
template <class F>
void in_parts(std::int64_t count, std::int64_t most, const F& f) {
  for (std::int64_t begin = 0; begin < count; begin += most) f(Range{begin, std::min(most, count - begin)});
}

/// How the lines of an operand, rows of a or columns of b, lie in memory.
struct Lines {
  std::int64_t line_stride;
  std::int64_t term_stride;
  std::int64_t width;      // of a panel
  bool as_it_lies;         // most panels need not be packed
  bool whole_as_they_lie;  // if so, only those with all their lines
};

/// The panels of one operand for some of its lines and terms, for each of a group of products.
class Panels {
 public:
  /// For at most so many lines and terms at a time.
  Panels(const Lines& lie, std::int64_t products, std::int64_t lines, std::int64_t terms)
      : lie_(lie),
        most_packed_(!lie.as_it_lies         ? divide_up(lines, lie.width)
                     : lie.whole_as_they_lie ? 1
                                             : 0),
        panel_size_(lie.width * terms),
        scratch_(static_cast<std::size_t>(products * most_packed_ * panel_size_) * sizeof(float)) {}

  void begin(Range lines, Range terms) {
    lines_ = lines;
    terms_ = terms;
    count_ = divide_up(lines.count, lie_.width);
    first_packed_ = !lie_.as_it_lies ? 0 : lie_.whole_as_they_lie ? lines.count / lie_.width : count_;
  }

  std::int64_t count() const { return count_; }
  std::int64_t lines_of(std::int64_t panel) const { return std::min(lie_.width, lines_.count - panel * lie_.width); }

  /// A panel from some term on.
  struct Place {
    const float* data;
    std::int64_t line_stride;
    std::int64_t term_stride;
  };
  Place place(const float* data, std::int64_t product, std::int64_t panel, std::int64_t term) const {
    if (panel < first_packed_) return {source(data, panel, term), lie_.line_stride, lie_.term_stride};
    return {packed(product, panel) + term * lie_.width, 1, lie_.width};
  }

  /// Parts that can be packed apart. Where the elements of a term are neighbours they are some terms of many lines, so
  /// that memory is read as it lies, which is several times as fast.
  std::int64_t parts() const { return panel_parts() * divide_up(terms_.count, terms_of_part()); }
  std::int64_t elements() const {
    return std::max<std::int64_t>(lines_.count - first_packed_ * lie_.width, 0) * terms_.count;
  }

  /// Packs a part of a product's operand, with one of the loops.
  void pack(void (*loop)(const PanelSource&, float*), const float* data, std::int64_t product,
            std::int64_t part) const {
    const std::int64_t term = part / panel_parts() * terms_of_part();
    const std::int64_t terms = std::min(terms_of_part(), terms_.count - term);
    const std::int64_t first = first_packed_ + part % panel_parts() * panels_of_part();
    for (std::int64_t panel = first; panel < std::min(first + panels_of_part(), count_); ++panel) {
      loop({source(data, panel, term), lines_of(panel), terms, lie_.line_stride, lie_.term_stride},
           packed(product, panel) + term * lie_.width);
    }
  }

 private:
  const float* source(const float* data, std::int64_t panel, std::int64_t term) const {
    return data + (lines_.begin + panel * lie_.width) * lie_.line_stride + (terms_.begin + term) * lie_.term_stride;
  }
  float* packed(std::int64_t product, std::int64_t panel) const {
    return scratch_.as<float>() + (product * most_packed_ + panel - first_packed_) * panel_size_;
  }
  bool in_strips() const { return lie_.line_stride == 1; }
  std::int64_t terms_of_part() const { return in_strips() ? kStripTerms : kPartElements / lie_.width; }
  std::int64_t panels_of_part() const { return in_strips() ? kPartElements / kStripTerms / lie_.width : 1; }
  std::int64_t panel_parts() const { return divide_up(count_ - first_packed_, panels_of_part()); }

  Lines lie_;
  std::int64_t most_packed_;
  std::int64_t panel_size_;
  std::int64_t count_ = 0;
  std::int64_t first_packed_ = 0;
  Range lines_{0, 0};
  Range terms_{0, 0};
  Scratch scratch_;
};

/// The rows of a need no packing where their elements are neighbours.
Lines rows_of_a(const PanelShape& shape) {
  return {shape.a_row, shape.a_column, kPanelRows, shape.a_column == 1, false};
}

/// Nor do columns of b that are neighbours, except where vectors would lie across lines of the caches, and where the
/// terms of a panel would fall on the same lines and be read again by many rows.
Lines columns_of_b(const PanelShape& shape) {
  constexpr std::int64_t kLine = 16;
  constexpr std::int64_t kSameLines = 512;  // elements; 2 KiB
  const bool in_lines = shape.b_row % kLine == 0;
  const bool apart = shape.b_row % kSameLines != 0 || shape.k <= kSameLines / 4;
  const bool stays = (in_lines && apart) || shape.m <= 2 * kPanelRows;
  return {shape.b_column, shape.b_row, kPanelColumns, shape.b_column == 1 && stays, true};
}

std::int64_t most_packed() { return kPackedOfThread * (inside_parallel_for() ? 1 : get_num_threads()); }

/// What is multiplied between two times of packing.
struct Extents {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t terms;

  static Extents of(const PanelShape& shape) {
    const std::int64_t packed_rows = rows_of_a(shape).as_it_lies ? 0 : shape.m;
    const std::int64_t packed_columns = columns_of_b(shape).as_it_lies ? 0 : shape.n;
    const std::int64_t lines = std::max<std::int64_t>(packed_rows + packed_columns, 1);
    const auto whole = [](std::int64_t count, std::int64_t unit) {
      return std::max(count / unit, std::int64_t{1}) * unit;
    };
    Extents extents{shape.m, shape.n, std::min(shape.k, kMostTerms)};
    if (lines * extents.terms <= most_packed()) return extents;
    extents.terms = std::min(extents.terms, whole(most_packed() / lines, kPanelTerms));
    const std::int64_t most = most_packed() / extents.terms;
    if (packed_rows != 0) extents.rows = std::min(shape.m, whole(most, kStripe * kPanelRows));
    if (packed_columns != 0) extents.columns = std::min(shape.n, whole(most, kPanelColumns));
    return extents;
  }
};

/// Some products of one shape, together.
class Group {
 public:
  Group(const PanelShape& shape, std::int64_t count, FunctionRef<PanelOperands(std::int64_t)> operands_of)
      : shape_(shape),
        extents_(Extents::of(shape)),
        count_(count),
        operands_of_(operands_of),
        a_(rows_of_a(shape), count, extents_.rows, extents_.terms),
        b_(columns_of_b(shape), count, extents_.columns, extents_.terms) {}

  /// Products first … first + count - 1.
  void run(std::int64_t first) {
    in_parts(shape_.n, extents_.columns, [&](Range columns) {
      in_parts(shape_.k, extents_.terms, [&](Range terms) {
        b_.begin(columns, terms);
        in_parts(shape_.m, extents_.rows, [&](Range rows) {
          a_.begin(rows, terms);
          pack(first, rows.begin == 0);
          multiply(first, rows, columns, terms);
        });
      });
    });
  }

 private:
  void pack(std::int64_t first, bool with_b) {
    const std::int64_t a_parts = a_.parts();
    const std::int64_t parts = a_parts + (with_b ? b_.parts() : 0);
    const std::int64_t elements = a_.elements() + (with_b ? b_.elements() : 0);
    if (parts == 0) return;
    const LoopCut cut{.grain = divide_up(kGrainPacked * parts, elements), .step = 1};
    parallel_for(count_ * parts, cut, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t product = task / parts;
        const std::int64_t part = task % parts;
        const PanelOperands operands = operands_of_(first + product);
        if (part < a_parts) {
          a_.pack(loops_.pack_rows, operands.a, product, part);
        } else {
          b_.pack(loops_.pack_columns, operands.b, product, part - a_parts);
        }
      }
    });
  }

  void multiply(std::int64_t first, Range rows, Range columns, Range terms) {
    const std::int64_t blocks = a_.count() * b_.count();
    const std::int64_t products = kPanelRows * kPanelColumns * terms.count;
    const std::int64_t step = divide_up(kStepProducts, products);
    parallel_for(count_ * blocks, {.grain = divide_up(kGrainProducts, products), .step = step},
                 [&](std::int64_t begin, std::int64_t end) {
                   while (begin < end) {
                     const std::int64_t product = begin / blocks;
                     const std::int64_t last = std::min(end, (product + 1) * blocks);
                     const PanelOperands operands = operands_of_(first + product);
                     const Part part{.product = product,
                                     .a = operands.a,
                                     .b = operands.b,
                                     .c = operands.c + rows.begin * shape_.n + columns.begin,
                                     .terms = terms};
                     multiply_blocks(part, begin - product * blocks, last - product * blocks);
                     begin = last;
                   }
                 });
  }

  /// What is computed of one product.
  struct Part {
    std::int64_t product;
    const float* a;
    const float* b;
    float* c;  // the first of its elements
    Range terms;
  };

  /// Blocks begin … end - 1. They go down a stripe of rows, then on to the next columns, so that what is read again and
  /// again is in the nearest caches.
  void multiply_blocks(const Part& part, std::int64_t begin, std::int64_t end) const {
    const std::int64_t stripes = divide_up(a_.count(), kStripe);
    const auto first_of = [&](std::int64_t stripe) { return stripe * a_.count() / stripes; };
    while (begin < end) {
      const std::int64_t stripe = ((begin / b_.count() + 1) * stripes - 1) / a_.count();
      const std::int64_t height = first_of(stripe + 1) - first_of(stripe);
      const std::int64_t inside = begin - first_of(stripe) * b_.count();
      const std::int64_t row = inside % height;
      const std::int64_t count = std::min(height - row, end - begin);
      multiply_column(part, {first_of(stripe) + row, count}, inside / height);
      begin += count;
    }
  }

  void multiply_column(const Part& part, Range rows, std::int64_t column) const {
    for (std::int64_t term = 0; term < part.terms.count; term += kPanelTerms) {
      const Panels::Place b = b_.place(part.b, part.product, column, term);
      for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
        const Panels::Place a = a_.place(part.a, part.product, row, term);
        loops_.multiply({.rows = a_.lines_of(row),
                         .columns = b_.lines_of(column),
                         .terms = std::min(kPanelTerms, part.terms.count - term),
                         .a = a.data,
                         .a_row = a.line_stride,
                         .a_term = a.term_stride,
                         .b = b.data,
                         .b_term = b.term_stride,
                         .c = part.c + row * kPanelRows * shape_.n + column * kPanelColumns,
                         .c_row = shape_.n,
                         .added = part.terms.begin + term != 0});
      }
    }
  }

  const PanelLoops& loops_ = panel_loops();
  PanelShape shape_;
  Extents extents_;
  std::int64_t count_;
  FunctionRef<PanelOperands(std::int64_t)> operands_of_;
  Panels a_;
  Panels b_;
};

}  // namespace

void multiply_in_panels(const PanelShape& shape, std::int64_t count,
                        FunctionRef<PanelOperands(std::int64_t)> operands_of) {
  // Of many products each thread does some, from packing to the end: nobody waits, and all stays in its caches.
  if (count >= 2 * get_num_threads()) {
    const double products = static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    const auto grain = static_cast<std::int64_t>(kGrainProducts / products) + 1;
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      Group one(shape, 1, operands_of);
      for (std::int64_t product = begin; product < end; ++product) one.run(product);
    });
    return;
  }
  const std::int64_t packed = std::max<std::int64_t>((shape.m + shape.n) * shape.k, 1);
  in_parts(count, std::max<std::int64_t>(most_packed() / packed, 1),
           [&](Range products) { Group(shape, products.count, operands_of).run(products.begin); });
}

}  // namespace lento::cpu
