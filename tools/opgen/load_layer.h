// From an entry of a layer to the model.
#pragma once

#include "model.h"
#include "yaml_file.h"

namespace lento::opgen {

/// Reads an entry that starts with 'layer: Name'. What is wrong is reported with its line.
void read_layer(YamlFile& file, const YAML::Node& node, Catalogue& catalogue);

}  // namespace lento::opgen
