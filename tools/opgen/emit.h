// The emitters: each turns the catalogue into the text of some files.
#pragma once

#include <map>
#include <string>

#include "model.h"

namespace lento::opgen {

/// Path below the output folder → contents.
using Files = std::map<std::string, std::string>;

void emit_autograd(const Catalogue& catalogue, Files& files);       ///< autograd/*
void emit_ir(const Catalogue& catalogue, Files& files);             ///< ir/*
void emit_ops(const Catalogue& catalogue, Files& files);            ///< lento/*, ops/*
void emit_reference(const Catalogue& catalogue, Files& files);      ///< reference/*
void emit_python(const Catalogue& catalogue, Files& files);         ///< python/*
void emit_stubs(const Catalogue& catalogue, Files& files);          ///< lento/*.pyi
void emit_layers(const Catalogue& catalogue, Files& files);         ///< lento/nn/*, nn/*
void emit_layers_python(const Catalogue& catalogue, Files& files);  ///< lento/_layers.py
std::string emit_docs(const Catalogue& catalogue);                  ///< docs/ops.md
std::string emit_layers_docs(const Catalogue& catalogue);           ///< docs/layers.md
std::string emit_samples(const Catalogue& catalogue);               ///< tests/op_samples.json
std::string emit_list(const Catalogue& catalogue);                  ///< what `opgen list` prints

}  // namespace lento::opgen
