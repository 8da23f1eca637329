// Special functions against values computed with 40 digits (mpmath), and their special values.
#include "backends/reference/scalar_math.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace lento::testing {
namespace {

namespace math = reference::math;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Table = std::vector<std::pair<double, double>>;

const Table kErfinv = {
    {-0.999999, -3.458910737275499}, {-0.9, -1.1630871536766743},       {-0.5, -0.4769362762044699},
    {-0.1, -0.08885599049425769},    {-1e-10, -8.862269254527581e-11},  {1e-300, 8.86226925452758e-301},
    {1e-05, 8.862269254759594e-06},  {0.05, 0.044340387910005497},      {0.1, 0.08885599049425769},
    {0.3, 0.2724627147267543},       {0.5, 0.4769362762044699},         {0.7, 0.7328690779592167},
    {0.99, 1.8213863677184494},      {0.9999999999, 4.572824958544925}, {0.9999999999999999, 5.8635847487551676},
};
const Table kDigamma = {
    {-10.5, 2.3982391295357814},
    {-2.3, 3.3173231575618227},
    {-0.5, 0.03648997397857652},
    {-1e-05, 99999.42276788563},
    {1e-10, -10000000000.577215},
    {0.1, -10.423754940411076},
    {0.5, -1.9635100260214235},
    {1.0, -0.5772156649015329},
    {1.4, -0.06138454458511624},
    {1.4616321449683622, -9.241265521729427e-17},
    {1.4616321449683625, 1.2245374622004068e-16},
    {1.462, 0.00035590320380104274},
    {1.5, 0.03648997397857652},
    {2.0, 0.42278433509846713},
    {5.5, 1.6110931485817512},
    {19.9, 2.9653837242676784},
    {20.0, 2.970523992242149},
    {100.0, 4.600161852738087},
    {10000000000.0, 23.025850929890456},
    {1e+300, 690.7755278982137},
};
const Table kI0 = {
    {-700.0, 1.5295933476718737e+302},
    {-30.5, 1278062138712.5664},
    {-3.0, 4.8807925858650245},
    {1e-10, 1.0},
    {0.0, 1.0},
    {0.5, 1.0634833707413236},
    {1.0, 1.2660658777520084},
    {5.0, 27.239871823604446},
    {10.0, 2815.7166284662544},
    {29.9, 708478330489.0145},
    {30.1, 862432920031.7792},
    {100.0, 1.0737517071310738e+42},
    {713.9, 1.6481551866951379e+308},
};
const Table kI0e = {
    {-1000.0, 0.012617240455891257}, {-30.5, 0.07253878407077907},
    {-3.0, 0.2430003541618254},      {0.0, 1.0},
    {0.5, 0.6450352704491501},       {1.0, 0.46575960759364043},
    {5.0, 0.18354081260932836},      {10.0, 0.1278333371634286},
    {29.9, 0.07326921904600191},     {30.1, 0.07302329413106094},
    {100.0, 0.03994437929909668},    {10000000000.0, 3.9894228040641945e-06},
};
const Table kI1 = {
    {-700.0, -1.5285003902339006e+302},
    {-30.5, -1256932623308.4714},
    {-3.0, -3.9533702174026093},
    {1e-310, 5e-311},
    {1e-10, 5e-11},
    {0.0, 0.0},
    {0.5, 0.2578943053908963},
    {1.0, 0.565159103992485},
    {5.0, 24.335642142450528},
    {10.0, 2670.9883037012546},
    {29.9, 696528308361.0927},
    {30.1, 847983630191.5414},
    {100.0, 1.0683693903381625e+42},
    {713.9, 1.6470004499232343e+308},
};
const Table kI1e = {
    {-1000.0, -0.012610930256928629},
    {-30.5, -0.071339539285262},
    {-3.0, -0.19682671329730086},
    {1e-10, 4.9999999995e-11},
    {0.0, 0.0},
    {0.5, 0.1564208031848717},
    {1.0, 0.20791041534970844},
    {5.0, 0.16397226694454237},
    {10.0, 0.12126268138445552},
    {29.9, 0.07203337491186879},
    {30.1, 0.07179985435101434},
    {100.0, 0.03974415302513025},
    {10000000000.0, 3.989422803864723e-06},
};
const Table kLgamma = {
    {-10.5, -15.147270590717842}, {-0.5, 1.2655121234846454},
    {1e-10, 23.025850929882736},  {0.1, 2.252712651734206},
    {0.5, 0.5723649429247001},    {1.0, 0.0},
    {1.5, -0.12078223763524522},  {2.0, 0.0},
    {3.7, 1.428072326665388},     {10.0, 12.801827480081469},
    {100.5, 361.4355404677776},   {10000000000.0, 220258509288.81058},
};
const std::vector<std::array<double, 3>> kZeta = {
    {2.0, 1.0, 1.6449340668482264},   {3.0, 1.0, 1.2020569031595942},    {1.0001, 0.5, 10001.963645377935},
    {2.0, 0.25, 17.19732915450711},   {2.5, 19.5, 0.008046195190247558}, {2.0, -0.5, 8.934802200544679},
    {3.0, -2.25, -61.94847488703008}, {4.0, -10.75, 259.7573428985799},  {50.0, 2.0, 8.881784210930816e-16},
    {1.5, 30.0, 0.3682166281870004},  {20.0, 0.9, 8.225266000820337},
};

/// Within `ulps` units in the last place in double, and correctly rounded from there in float.
void check(const Table& table, double (*f)(double), float (*narrow)(float), double ulps) {
  for (const auto& [x, expected] : table) {
    const double unit = std::nextafter(std::fabs(expected), kInf) - std::fabs(expected);
    EXPECT_LE(std::fabs(f(x) - expected), ulps * unit) << "at " << x << ": " << f(x) << " and not " << expected;
    const auto x32 = static_cast<float>(x);
    EXPECT_TRUE(narrow(x32) == static_cast<float>(f(x32)) || std::isnan(narrow(x32))) << "float at " << x;
  }
}

TEST(ScalarSpecial, ValuesAreRightToTheLastPlace) {
  check(kErfinv, math::erfinv<double>, math::erfinv<float>, 1);
  check(kDigamma, math::digamma<double>, math::digamma<float>, 1);
  check(kI0, math::i0<double>, math::i0<float>, 1);
  check(kI0e, math::i0e<double>, math::i0e<float>, 1);
  check(kI1, math::i1<double>, math::i1<float>, 1);
  check(kI1e, math::i1e<double>, math::i1e<float>, 1);
  check(kLgamma, math::lgamma<double>, math::lgamma<float>, 1);
  for (const auto& [s, q, expected] : kZeta) EXPECT_DOUBLE_EQ(math::zeta(s, q), expected) << s << ", " << q;
}

TEST(ScalarSpecial, Poles) {
  EXPECT_EQ(math::erfinv(1.0), kInf);
  EXPECT_EQ(math::erfinv(-1.0), -kInf);
  EXPECT_TRUE(std::isnan(math::erfinv(1.5)));
  EXPECT_TRUE(std::isnan(math::erfinv(kNan)));
  EXPECT_TRUE(std::signbit(math::erfinv(-0.0)));
  EXPECT_EQ(math::digamma(0.0), -kInf);
  EXPECT_EQ(math::digamma(-0.0), kInf);
  EXPECT_TRUE(std::isnan(math::digamma(-3.0)));
  EXPECT_TRUE(std::isnan(math::digamma(-kInf)));
  EXPECT_EQ(math::digamma(kInf), kInf);
  EXPECT_EQ(math::lgamma(0.0), kInf);
  EXPECT_EQ(math::lgamma(-4.0), kInf);
  EXPECT_EQ(math::lgamma(-kInf), kInf);
  EXPECT_EQ(math::zeta(1.0, 2.0), kInf);
  EXPECT_EQ(math::zeta(2.0, 0.0), kInf);
  EXPECT_EQ(math::zeta(2.0, -3.0), kInf);
  EXPECT_TRUE(std::isnan(math::zeta(0.5, 1.0)));
  EXPECT_TRUE(std::isnan(math::zeta(2.5, -0.5)));
  EXPECT_EQ(math::zeta(2.0, kInf), 0);
  EXPECT_EQ(math::zeta(kInf, 1.0), 1);
  EXPECT_LT(math::zeta(2.0, -1e15 + 0.5), 9.87);  // ends at once although a quadrillion terms lie below 0
}

TEST(ScalarSpecial, BesselFunctionsAtTheEnds) {
  EXPECT_EQ(math::i0(-kInf), kInf);
  EXPECT_EQ(math::i0(720.0), kInf);
  EXPECT_EQ(math::i1(-kInf), -kInf);
  EXPECT_EQ(math::i1(-720.0), -kInf);
  EXPECT_EQ(math::i0e(kInf), 0);
  EXPECT_TRUE(std::signbit(math::i1e(-kInf)));
  EXPECT_TRUE(std::signbit(math::i1(-0.0)));
  EXPECT_TRUE(std::isnan(math::i0(kNan)));
  EXPECT_TRUE(std::isnan(math::i1e(kNan)));
}

}  // namespace
}  // namespace lento::testing
