// What is wrong with a graph, a file or the command line is said, with the exit status that belongs to it.
#include "lento_opt/call.h"

#include <gtest/gtest.h>

namespace lento::testing {
namespace {

TEST(LentoOptErrors, AWrongGraphIsNamedWithLineAndColumn) {
  const Called called = call({}, "graph(%in0: float32(4,)) {\n  %0 = mutliply(%in0, %in0) : float32(4,)\n");
  EXPECT_EQ(called.status, 1);
  EXPECT_EQ(called.output, "");
  EXPECT_EQ(called.errors, "standard input: line 2, column 8: unknown op 'mutliply' (did you mean 'multiply'?)\n");
}

TEST(LentoOptErrors, AFileThatIsNotThereIsNamed) {
  const Called called = call({"/no/such/graph.txt"}, "");
  EXPECT_EQ(called.status, 1);
  EXPECT_EQ(called.errors, "/no/such/graph.txt: there is no such file, or it cannot be read\n");
}

TEST(LentoOptErrors, WrongUsageIsExplained) {
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } cases[] = {
      {{"--onyl=rules"}, "unknown option '--onyl' (did you mean '--only'?)"},
      {{"--only=kernals"},
       "--only takes parse, rules, dead-code, simplify, schedule, kernels, memory, code, not 'kernals' (did you mean "
       "'kernels'?)"},
      {{"--only="}, "--only takes parse, rules, dead-code, simplify, schedule, kernels, memory, code, not ''"},
      {{"--only"}, "--only needs a value: --only=…"},
      {{"--no-fusion=1"}, "--no-fusion takes no value"},
      {{"--tier=2"}, "--tier takes 0, 1, not '2'"},
      {{"--isa=avx"}, "--isa takes avx2, avx512, neon, not 'avx' (did you mean 'avx2'?)"},
      {{"--tile=0"}, "--tile takes a number above 0, not '0'"},
      {{"--only=code", "--stop-after=rules"}, "--only=code comes after --stop-after=rules"},
      {{"--force-fallback=no_op"}, "force_fallback names 'no_op', which is no primitive"},
      {{"--math-c=exq"}, "--math-c knows no function 'exq' (did you mean 'exp'?)"},
      {{"--math-c=exp,add_f32"}, "--math-c knows no function 'add_f32'"},
      {{"a.txt", "b.txt"}, "one file at a time: 'a.txt' and 'b.txt'"},
  };
  for (const auto& [arguments, message] : cases) {
    const Called called = call(arguments, "graph() { return }");
    EXPECT_EQ(called.status, 2) << message;
    EXPECT_EQ(called.output, "");
    EXPECT_EQ(called.errors, std::string("lento-opt: ") + message + "\nlento-opt --help says more\n");
  }
}

TEST(LentoOptErrors, HelpNamesEveryOptionAndStage) {
  const Called called = call({"--help"}, "");
  EXPECT_EQ(called.status, 0);
  for (const char* word : {"--stop-after=", "--only=", "--code=", "--tier=", "--isa=", "--no-simplify", "--no-fusion",
                           "--force-fallback=", "--tile=", "--math-c=", "--help", "parse", "rules", "dead-code",
                           "schedule", "kernels", "memory", "code"}) {
    EXPECT_NE(called.output.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace lento::testing
