// Optimizers, schedules of the learning rate, clipping of gradients, averages of parameters.
//
//     optim::AdamW optimizer(model, {.lr = optim::warmup(optim::cosine(1e-3, 1000), 50), .betas = {0.9, 0.95}});
//     auto [loss, gradients] = value_and_grad(f)(model, x, y);
//     optimizer.step(model, gradients);
//
// An optimizer knows its parameters by name and holds no reference to them: a model may be moved, or copied together
// with its optimizer, and either copy trains on by itself. Learning rates and the number of steps are numbers of the
// plan: changing them compiles nothing.
#pragma once

#include <lento/optim/averages.h>
#include <lento/optim/clip.h>
#include <lento/optim/groups.h>
#include <lento/optim/lr_scheduler.h>
#include <lento/optim/optimizer.h>
#include <lento/optim/optimizers.h>
#include <lento/optim/updates.h>
#include <lento/schedules.h>
