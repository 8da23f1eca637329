// lento.nn.init: the functions of <lento/nn/init.h>.
#include "init.h"

#include "arguments.h"
#include "functions.h"

#include <lento/nn/init.h>

namespace lento::python {
namespace {

Parameter kUniformParameters[] = {{"shape", Kind::integers},
                                  {"a", Kind::real, kDefaulted},
                                  {"b", Kind::real, kDefaulted},
                                  {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                  {"device", Kind::device, kOptional | kKeywordOnly},
                                  {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kUniform{"uniform", kUniformParameters};

PyObject* py_uniform(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kUniform, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::uniform(a.integers(0), a.real(1, 0.0), a.real(2, 1.0), a.optional_dtype(3),
                                  a.optional_device(4), a.generator(5)));
  });
}

Parameter kNormalParameters[] = {{"shape", Kind::integers},
                                 {"mean", Kind::real, kDefaulted},
                                 {"std", Kind::real, kDefaulted},
                                 {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                 {"device", Kind::device, kOptional | kKeywordOnly},
                                 {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kNormal{"normal", kNormalParameters};

PyObject* py_normal(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kNormal, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::normal(a.integers(0), a.real(1, 0.0), a.real(2, 1.0), a.optional_dtype(3),
                                 a.optional_device(4), a.generator(5)));
  });
}

Parameter kTruncNormalParameters[] = {{"shape", Kind::integers},
                                      {"mean", Kind::real, kDefaulted},
                                      {"std", Kind::real, kDefaulted},
                                      {"a", Kind::real, kDefaulted},
                                      {"b", Kind::real, kDefaulted},
                                      {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                      {"device", Kind::device, kOptional | kKeywordOnly},
                                      {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kTruncNormal{"trunc_normal", kTruncNormalParameters};

PyObject* py_trunc_normal(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kTruncNormal, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::trunc_normal(a.integers(0), a.real(1, 0.0), a.real(2, 1.0), a.real(3, -2.0), a.real(4, 2.0),
                                       a.optional_dtype(5), a.optional_device(6), a.generator(7)));
  });
}

Parameter kConstantParameters[] = {{"shape", Kind::integers},
                                   {"value", Kind::real},
                                   {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                   {"device", Kind::device, kOptional | kKeywordOnly}};
Signature kConstant{"constant", kConstantParameters};

PyObject* py_constant(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kConstant, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::constant(a.integers(0), a.real(1), a.optional_dtype(2), a.optional_device(3)));
  });
}

Parameter kOnesParameters[] = {{"shape", Kind::integers},
                               {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                               {"device", Kind::device, kOptional | kKeywordOnly}};
Signature kOnes{"ones", kOnesParameters};

PyObject* py_ones(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kOnes, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::ones(a.integers(0), a.optional_dtype(1), a.optional_device(2)));
  });
}

Parameter kZerosParameters[] = {{"shape", Kind::integers},
                                {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                {"device", Kind::device, kOptional | kKeywordOnly}};
Signature kZeros{"zeros", kZerosParameters};

PyObject* py_zeros(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kZeros, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::zeros(a.integers(0), a.optional_dtype(1), a.optional_device(2)));
  });
}

Parameter kXavierUniformParameters[] = {{"shape", Kind::integers},
                                        {"gain", Kind::real, kDefaulted},
                                        {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                        {"device", Kind::device, kOptional | kKeywordOnly},
                                        {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kXavierUniform{"xavier_uniform", kXavierUniformParameters};

PyObject* py_xavier_uniform(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kXavierUniform, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::xavier_uniform(a.integers(0), a.real(1, 1.0), a.optional_dtype(2), a.optional_device(3),
                                         a.generator(4)));
  });
}

Parameter kXavierNormalParameters[] = {{"shape", Kind::integers},
                                       {"gain", Kind::real, kDefaulted},
                                       {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                       {"device", Kind::device, kOptional | kKeywordOnly},
                                       {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kXavierNormal{"xavier_normal", kXavierNormalParameters};

PyObject* py_xavier_normal(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kXavierNormal, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::xavier_normal(a.integers(0), a.real(1, 1.0), a.optional_dtype(2), a.optional_device(3),
                                        a.generator(4)));
  });
}

Parameter kKaimingUniformParameters[] = {{"shape", Kind::integers},
                                         {"a", Kind::real, kDefaulted},
                                         {"mode", Kind::string, kDefaulted},
                                         {"nonlinearity", Kind::string, kDefaulted},
                                         {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                         {"device", Kind::device, kOptional | kKeywordOnly},
                                         {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kKaimingUniform{"kaiming_uniform", kKaimingUniformParameters};

PyObject* py_kaiming_uniform(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kKaimingUniform, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::kaiming_uniform(a.integers(0), a.real(1, 0.0), a.string(2, "fan_in"),
                                          a.string(3, "leaky_relu"), a.optional_dtype(4), a.optional_device(5),
                                          a.generator(6)));
  });
}

Parameter kKaimingNormalParameters[] = {{"shape", Kind::integers},
                                        {"a", Kind::real, kDefaulted},
                                        {"mode", Kind::string, kDefaulted},
                                        {"nonlinearity", Kind::string, kDefaulted},
                                        {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                        {"device", Kind::device, kOptional | kKeywordOnly},
                                        {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kKaimingNormal{"kaiming_normal", kKaimingNormalParameters};

PyObject* py_kaiming_normal(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kKaimingNormal, self, args, count, names, [](const Arguments& a) {
    return wrap(nn::init::kaiming_normal(a.integers(0), a.real(1, 0.0), a.string(2, "fan_in"),
                                         a.string(3, "leaky_relu"), a.optional_dtype(4), a.optional_device(5),
                                         a.generator(6)));
  });
}

Parameter kOrthogonalParameters[] = {{"shape", Kind::integers},
                                     {"gain", Kind::real, kDefaulted},
                                     {"dtype", Kind::dtype, kOptional | kKeywordOnly},
                                     {"device", Kind::device, kOptional | kKeywordOnly},
                                     {"generator", Kind::generator, kOptional | kKeywordOnly}};
Signature kOrthogonal{"orthogonal", kOrthogonalParameters};

PyObject* py_orthogonal(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kOrthogonal, self, args, count, names, [](const Arguments& a) {
    return wrap(
        nn::init::orthogonal(a.integers(0), a.real(1, 1.0), a.optional_dtype(2), a.optional_device(3), a.generator(4)));
  });
}

Parameter kGainParameters[] = {{"nonlinearity", Kind::string}, {"param", Kind::real, kDefaulted}};
Signature kGain{"calculate_gain", kGainParameters};

PyObject* py_calculate_gain(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call(kGain, self, args, count, names, [](const Arguments& a) {
    return checked(PyFloat_FromDouble(nn::init::calculate_gain(a.string(0), a.real(1, 0.01))));
  });
}

const Export kExports[] = {
    {"nn.init", "uniform", py_uniform, "(shape, a=0.0, b=1.0, *, dtype=None, device=None, generator=None)",
     "Uniform numbers from a to b.\n\n    >>> lento.nn.init.uniform((2, 3), -1.0, 1.0).shape\n    (2, 3)\n"},
    {"nn.init", "normal", py_normal, "(shape, mean=0.0, std=1.0, *, dtype=None, device=None, generator=None)",
     "Normal numbers."},
    {"nn.init", "trunc_normal", py_trunc_normal,
     "(shape, mean=0.0, std=1.0, a=-2.0, b=2.0, *, dtype=None, device=None, generator=None)",
     "Normal numbers that lie between a and b."},
    {"nn.init", "constant", py_constant, "(shape, value, *, dtype=None, device=None)", "value everywhere."},
    {"nn.init", "ones", py_ones, "(shape, *, dtype=None, device=None)", "Ones."},
    {"nn.init", "zeros", py_zeros, "(shape, *, dtype=None, device=None)", "Zeros."},
    {"nn.init", "xavier_uniform", py_xavier_uniform, "(shape, gain=1.0, *, dtype=None, device=None, generator=None)",
     "Glorot and Bengio: uniform up to gain * sqrt(6 / (fan_in + fan_out)) on either side. A weight of "
     "shape\n(outputs, inputs, …) has a fan in of inputs times the extents behind them, and a fan out of outputs times "
     "those."},
    {"nn.init", "xavier_normal", py_xavier_normal, "(shape, gain=1.0, *, dtype=None, device=None, generator=None)",
     "As xavier_uniform, with normal numbers of standard deviation gain * sqrt(2 / (fan_in + fan_out))."},
    {"nn.init", "kaiming_uniform", py_kaiming_uniform,
     "(shape, a=0.0, mode='fan_in', nonlinearity='leaky_relu', *, dtype=None, device=None, generator=None)",
     "He and others: uniform up to calculate_gain(nonlinearity, a) * sqrt(3 / fan) on either side; mode says which "
     "fan,\n'fan_in' or 'fan_out'.\n\n    >>> lento.nn.init.kaiming_uniform((8, 2, 3, 3), nonlinearity='relu').shape\n "
     "   (8, 2, 3, 3)\n"},
    {"nn.init", "kaiming_normal", py_kaiming_normal,
     "(shape, a=0.0, mode='fan_in', nonlinearity='leaky_relu', *, dtype=None, device=None, generator=None)",
     "As kaiming_uniform, with normal numbers of standard deviation calculate_gain(nonlinearity, a) / sqrt(fan)."},
    {"nn.init", "orthogonal", py_orthogonal, "(shape, gain=1.0, *, dtype=None, device=None, generator=None)",
     "A matrix with orthogonal rows or columns, whichever are fewer, of length gain; all axes but the first are "
     "its\ncolumns."},
    {"nn.init", "calculate_gain", py_calculate_gain, "(nonlinearity, param=0.01)",
     "By how much the values before this function ('relu', 'tanh', 'leaky_relu', 'selu', 'sigmoid', 'linear') are "
     "scaled "
     "so that\nthose behind it keep their size; param is the slope of a leaky relu.\n\n"
     "    >>> lento.nn.init.calculate_gain('leaky_relu', 1.0)\n    1.0\n"},
};

}  // namespace

void add_init(PyObject* module) { add_functions(module, kExports); }

}  // namespace lento::python
