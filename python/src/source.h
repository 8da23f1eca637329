// Where in Python a call came from: the calling frame's code object and instruction, turned into "train.py:41" only
// when somebody looks (clause T7).
#pragma once

#include "errors.h"

#include "base/source.h"

#include <string_view>

namespace lento::python {

/// The line of Python that is calling into Lento now; frames of Lento's own package are skipped. A few nanoseconds: it
/// notes the code object and the instruction, not the line. Needs the GIL.
Source current_source();

/// Marks everything recorded while it lives with the calling Python line.
class PythonSourceScope {
 public:
  PythonSourceScope() : scope_(current_source()) {}

 private:
  SourceScope scope_;
};

/// The same line as warnings want it: the whole path of the file, and the number. No file when no user code is running.
struct Line {
  PyRef file;
  int number = 0;
};
Line current_line();

/// Frames of files below this folder are not user code.
void set_package_folder(std::string_view folder);

/// Teaches the engine how to print Python sources and stacks. Called once.
void install_source_resolver();

}  // namespace lento::python
