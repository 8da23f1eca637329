// Neural networks: the functions of the catalogue (activations, normalisations, convolutions, pooling, losses,
// attention), and modules that hold their weights. A function is written small, as `linear`, the module large, as
// `Linear`.
#pragma once

#include <lento/nn/attention.h>
#include <lento/nn/batch_norm.h>
#include <lento/nn/init.h>
#include <lento/nn/layers.gen.h>
#include <lento/nn/module.h>
#include <lento/nn/recurrent.h>
#include <lento/nn/sequential.h>
#include <lento/ops.gen.h>
