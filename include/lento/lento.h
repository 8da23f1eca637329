// Everything a user of Lento includes, except what needs large standard headers (prefetch.h) or is for meeting other
// libraries (dlpack.h).
#pragma once

#include <lento/about.h>
#include <lento/autograd.h>
#include <lento/cache.h>
#include <lento/checkpoint.h>
#include <lento/closures.h>
#include <lento/compile.h>
#include <lento/constants.h>
#include <lento/device.h>
#include <lento/differentiation.h>
#include <lento/dtype.h>
#include <lento/dtype_info.h>
#include <lento/error.h>
#include <lento/eval.h>
#include <lento/files.h>
#include <lento/indexing.h>
#include <lento/jacobian.h>
#include <lento/memory.h>
#include <lento/metrics.h>
#include <lento/nn.h>
#include <lento/ops.gen.h>
#include <lento/optim.h>
#include <lento/options_scope.h>
#include <lento/print.h>
#include <lento/random.h>
#include <lento/random_state.h>
#include <lento/schedules.h>
#include <lento/tensor.h>
#include <lento/tensor_dict.h>
#include <lento/thread_sanitizer.h>
#include <lento/threads.h>
#include <lento/tree.h>
#include <lento/version.h>
#include <lento/vmap.h>
