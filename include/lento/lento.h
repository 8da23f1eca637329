// Everything a user of Lento includes.
#pragma once

#include <lento/about.h>
#include <lento/autograd.h>
#include <lento/cache.h>
#include <lento/closures.h>
#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/error.h>
#include <lento/eval.h>
#include <lento/indexing.h>
#include <lento/memory.h>
#include <lento/metrics.h>
#include <lento/ops.gen.h>
#include <lento/random.h>
#include <lento/tensor.h>
#include <lento/threads.h>
#include <lento/version.h>
#include <lento/vmap.h>
