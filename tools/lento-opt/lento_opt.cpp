// lento-opt: the stages of the CPU device's compiler, one after the other, as CompiledProgram goes through them.
#include "lento_opt.h"

#include <lento/error.h>
#include <lento/eval.h>

#include "backends/cpu/code/jit.h"
#include "backends/cpu/driver.h"
#include "base/format.h"
#include "codegen/c_source.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/simplify.h"
#include "compiler/schedule.h"
#include "executor/compile_settings.h"
#include "ir/graph.h"
#include "print_plan.h"
#include "settings.h"

#include <exception>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <utility>

extern "C" {
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
}

namespace lento::opt {

namespace {

/// Something other than the graph is wrong with what is read or written.
struct StreamError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read_all(const std::string& file, std::istream& input) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) throw StreamError("there is no such file, or it cannot be read");
  }
  std::istream& from = file == "-" ? input : opened;
  return {std::istreambuf_iterator<char>(from), {}};
}

class Stages final : SimplifyObserver {
 public:
  Stages(const Settings& settings, const CompileOptions& options, std::ostream& output)
      : settings_(settings), options_(options), output_(output) {}

  void run(Graph graph) {
    show(Stage::parse, to_string(graph));
    if (settings_.last < Stage::rules) return;
    if (settings_.simplify && options_.fusion) {
      simplify(graph, this);
      // From here on names are those of the graph that was shown last.
      graph.origins.clear();
    } else {
      show(Stage::rules, "# not run\n");
      show(Stage::dead_code, "# not run\n");
    }
    if (settings_.last < Stage::schedule) return;
    Target target = cpu::cpu_driver().target();
    if (settings_.tile_elements) target.tile_elements = *settings_.tile_elements;
    const Schedule schedule = make_schedule(graph, target, options_);
    if (settings_.shows(Stage::schedule)) {
      show(Stage::schedule, steps_text(schedule, graph) + operands_text(schedule, graph, options_));
    }
    show(Stage::kernels, kernels_text(schedule));
    show(Stage::memory, memory_text(schedule, graph));
    if (settings_.shows(Stage::code)) show(Stage::code, code_text(schedule));
  }

 private:
  void on_rule(const Rule& rule, std::uint32_t node) override { log_ += fmt::format("# %{}: {}\n", node, rule.name); }
  void on_merge(std::uint32_t node, std::uint32_t equal) override {
    log_ += fmt::format("# %{}: the same as %{}\n", node, equal);
  }
  void on_pass(std::string_view pass, const Graph& graph) override {
    if (pass == kStageNames[static_cast<std::size_t>(Stage::rules)]) {
      nodes_ = graph.nodes.size();
      show(Stage::rules, log_ + to_string(graph));
    } else {
      show(Stage::dead_code, fmt::format("# {} nodes left out\n", nodes_ - graph.nodes.size()) + to_string(graph));
    }
  }

  std::string code_text(const Schedule& schedule) const {
    const cpu::Isa isa = settings_.isa ? *settings_.isa : cpu::host_isa();
    if (isa == cpu::Isa::neon) {
      LLVMInitializeAArch64TargetInfo();
      LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC();
      LLVMInitializeAArch64AsmPrinter();
    }
    std::string text = fmt::format("# tier {} for {}\n", static_cast<int>(settings_.tier), cpu::code_target(isa));
    for (std::size_t i = 0; i < schedule.kernels.size(); ++i) {
      const Kernel& kernel = schedule.kernels[i];
      if (settings_.llvm) {
        text += fmt::format("# kernel {}, LLVM\n{}", i, cpu::llvm_text(kernel, settings_.tier, isa));
      }
      if (settings_.assembly) {
        text += fmt::format("# kernel {}, assembly\n{}", i, cpu::assembly_text(kernel, settings_.tier, isa));
      }
    }
    return text;
  }

  void show(Stage stage, const std::string& text) {
    if (!settings_.shows(stage)) return;
    if (!first_) output_ << '\n';
    first_ = false;
    output_ << "### " << kStageNames[static_cast<std::size_t>(stage)] << '\n' << text;
  }

  const Settings& settings_;
  const CompileOptions& options_;
  std::ostream& output_;
  std::string log_;        // of the rules
  std::size_t nodes_ = 0;  // after the rules
  bool first_ = true;
};

/// The options under which the graph is compiled: the environment's, and over them the command line's.
const CompileOptions* options_of(const Settings& settings) {
  Options options;
  options.fusion = settings.fusion;
  options.force_fallback = settings.force_fallback;
  try {
    return find_compile_options(options);
  } catch (const ValueError& e) {
    throw UsageError(e.what());
  }
}

}  // namespace

int run(std::span<const std::string> arguments, std::istream& input, std::ostream& output, std::ostream& errors) {
  std::string where = "lento-opt";
  try {
    const Settings settings = read_settings(arguments);
    if (settings.help) {
      output << help_text();
      return 0;
    }
    if (!settings.math_c.empty()) {
      output << codegen::c_source(settings.math_c);
      return 0;
    }
    const CompileOptions* const compile_options = options_of(settings);
    where = settings.file == "-" ? "standard input" : settings.file;
    Graph graph = parse_graph(read_all(settings.file, input));
    Stages(settings, *compile_options, output).run(std::move(graph));
    if (!output.flush()) throw StreamError("the output cannot be written");
    return 0;
  } catch (const UsageError& e) {
    errors << "lento-opt: " << e.what() << "\nlento-opt --help says more\n";
    return 2;
  } catch (const std::exception& e) {
    errors << where << ": " << e.what() << '\n';
    return 1;
  }
}

}  // namespace lento::opt
