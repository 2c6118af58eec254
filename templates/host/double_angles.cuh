// Angles of double and their functions, for the host compiler: see math.cuh and angles.cuh.
// Polynomials and the table: tests/support/fits.py.
#pragma once
#include "pairs.cuh"
OW_NO_CONTRACTION

// 2**(16 j) modulo 2 pi in three parts; j = 0 is 1.
static const double OW_TURNS[189] = {
    0x1.0000000000000p+0, 0x0.0p+0, 0x0.0p+0,
    0x1.304999cb579e8p+1, -0x1.e90aa2efac07ep-53, 0x1.ee5b3418c0091p-109,
    -0x1.54a767d1830eep+1, -0x1.c66f1d081359ap-53, 0x1.003e2932b2f19p-107,
    0x1.09f4683d25023p-3, 0x1.fee10ecf6f246p-59, -0x1.f37734e4c32c2p-113,
    0x1.8f1a5c3d52d34p+1, 0x1.ade7e21ae7526p-55, 0x1.13766ce428f76p-112,
    -0x1.082d219bb0225p+0, 0x1.29b05b18df9e2p-55, 0x1.ea18c651a2fa8p-109,
    0x1.89a58c41dc40cp+1, -0x1.27745096c7eeep-53, 0x1.1c367bf8e3319p-107,
    0x1.5c544fdfdc12fp+0, -0x1.129246c2f32dbp-55, -0x1.b817d20a9f345p-110,
    0x1.589bfb31f1687p+0, 0x1.1994c1edb7977p-57, -0x1.d15afd80892a0p-111,
    -0x1.1ca1213572c8ap+1, 0x1.0f79e88407e30p-53, 0x1.695b3c9719355p-110,
    0x1.f0c944a632d6dp+0, 0x1.a944086c73367p-54, 0x1.f2241db2728bdp-111,
    -0x1.5f0c6b8b10e8cp-1, -0x1.b09adfe677f7dp-56, 0x1.23c25ace46f84p-110,
    0x1.90cd81db49ee4p+1, -0x1.22966de59968cp-53, 0x1.903434f80c4bep-107,
    0x1.1757f8b517d3dp+1, 0x1.71ecd269b28f4p-53, 0x1.19e715c90a0c7p-107,
    -0x1.a20a16ee1e9f5p-3, -0x1.3524ed8b462d0p-60, -0x1.7aa3df62753f2p-116,
    -0x1.704f4454a16a3p-2, 0x1.d3585fba1472dp-58, -0x1.0245c5fc49563p-112,
    0x1.58e6ccb957b3cp+1, 0x1.37cb278177cdfp-56, -0x1.7cf9fd8c6274dp-111,
    0x1.5a4a4671a3606p-1, 0x1.6fc3b1a2bddd5p-56, -0x1.70923530d0279p-112,
    -0x1.5e0c7f82bf485p+1, 0x1.dae90fc92cff8p-56, -0x1.bb3d0225bd0d2p-111,
    0x1.6eaececa482bcp+1, -0x1.1439a7edcb20ap-53, 0x1.ed5341a369874p-107,
    0x1.3bf65f73a0474p-5, 0x1.7deda97eb4131p-62, 0x1.a32118f8f578fp-117,
    0x1.dbd1083e85fe4p+0, 0x1.9d5389af92ffep-57, -0x1.f596ca9108000p-113,
    -0x1.8a698de14145fp+1, -0x1.f2819f5553792p-54, -0x1.e03ad905c042fp-108,
    0x1.3bd1aaa3bc92ep+1, 0x1.067f922d118fep-56, 0x1.8ae866b7ca6f2p-112,
    0x1.8f2a74c1702e5p+0, -0x1.7dfaf487d57bfp-54, 0x1.342b94db344aap-112,
    0x1.81b7f1358cde7p+1, 0x1.1494dbd7041d7p-55, -0x1.38c8cae1ebb6ep-109,
    0x1.16495a1dba484p+0, 0x1.add24fc602d98p-55, 0x1.20fc1a4e5dfd2p-109,
    0x1.4c6a9ab57b090p+1, -0x1.fc231f005fce6p-55, -0x1.699f10b74b69ap-112,
    -0x1.b7062566ea23cp+0, -0x1.73feccf32c9f7p-55, -0x1.15da2d4e1c7c3p-109,
    -0x1.67bedc20870e7p+1, 0x1.4da49449637dap-53, 0x1.d33c8ee384148p-107,
    0x1.db8790a123243p+0, -0x1.955a6beb277b3p-54, 0x1.0f6c899feb071p-108,
    -0x1.267e81d012672p+0, -0x1.dd301ff366e82p-54, 0x1.941209e54fc69p-113,
    0x1.6ef4977841c08p+0, -0x1.79d65d16c633bp-54, 0x1.e817bc01f5706p-108,
    0x1.605556ae21cfdp-1, 0x1.5677a4d919188p-61, -0x1.b70d5d483e30cp-116,
    -0x1.04758f7f19501p+1, -0x1.1dbdae02729f3p-53, 0x1.e49d94e3a2f93p-109,
    -0x1.979b4b22ff8d7p-1, 0x1.5ee73af4296a9p-56, 0x1.6327141d3b1b0p-110,
    0x1.ec8dd916fa3b6p+0, 0x1.2c834374ed2afp-54, 0x1.25586c285a0d8p-108,
    0x1.71504711d1f94p+1, 0x1.106af195b8e3fp-53, -0x1.11f102490f84ap-108,
    0x1.3034552ba0ca5p+1, -0x1.08ed6e1d60dc9p-55, -0x1.9854ebfa77813p-109,
    -0x1.371669d409fcep+0, 0x1.e4b546f4eb4b7p-54, 0x1.553b18a16c0e4p-110,
    0x1.ebb681c8ab9d5p-1, 0x1.38935b1b16f31p-55, 0x1.50c88c92ba873p-111,
    0x1.2c2a8bc913712p-1, 0x1.e605f904e5eddp-58, 0x1.dde16e4e0c813p-114,
    -0x1.9edbb19ee8f85p-2, 0x1.bbcb1a293c295p-56, 0x1.6697bcac272e1p-110,
    0x1.d151891e086b2p+0, 0x1.ee6039203f938p-55, -0x1.b38bd1733dc29p-111,
    -0x1.5fe760d6c6585p+0, 0x1.567f3cb7365e3p-57, -0x1.a78e121af5cafp-113,
    0x1.dd853c8236277p-1, 0x1.a2ea3abca8363p-55, 0x1.197923b9cbb80p-109,
    -0x1.aafb64c55ac6bp-3, 0x1.93c89586c6d32p-57, 0x1.7a37422b513c7p-113,
    0x1.407dc83af98cfp+1, -0x1.22d61453921a4p-53, -0x1.db68f02b9f705p-108,
    -0x1.a6a2ba841372ap-4, -0x1.ce3de7392db7bp-58, -0x1.4f967009b4a7fp-112,
    -0x1.7690b593c7f16p+0, -0x1.213f99db20665p-56, 0x1.447c9c6bf3ce2p-111,
    -0x1.04b02ee451172p+0, -0x1.e6a81bb44769fp-56, -0x1.f056a94d48d88p-110,
    -0x1.3c6b467b33ee3p+1, -0x1.bb9be2777dcc1p-53, -0x1.e17a1fe662e57p-108,
    -0x1.cd253669e9369p-1, -0x1.78a687979297ep-57, 0x1.546cd2c4522dbp-112,
    -0x1.2e873495cbc46p+1, 0x1.f43e52f9a0b7ap-53, 0x1.c362d8364ae41p-107,
    -0x1.539df23f10f28p+0, -0x1.c1b42db4e1327p-56, 0x1.7948d609fa288p-111,
    -0x1.82dca6b42779cp+0, -0x1.577efee026a1bp-55, -0x1.a9bf7f10f059ep-112,
    -0x1.15999411a2845p+0, -0x1.8872d46e5089ap-54, -0x1.a9d32e22b25e7p-109,
    -0x1.605435c222411p+1, 0x1.e33d6d6a6552bp-53, -0x1.06c0774579c0bp-108,
    -0x1.15bc9785de636p+1, -0x1.4d2a160879407p-54, -0x1.258ddb06058b4p-109,
    -0x1.123a8fd0d5630p-3, 0x1.23c76b97dbb8cp-58, -0x1.ffa48e44bbd01p-112,
    0x1.25134dab12d3ap+1, 0x1.895ab5085f89ap-56, 0x1.5f386433a5aa7p-110,
    -0x1.b2ea8979d4847p-2, 0x1.9ade6c7117984p-57, -0x1.e41de2e746fe7p-113,
    -0x1.f93683004ad28p-4, 0x1.7d01d87278572p-58, -0x1.95d6746c7a90fp-112
};
// Of an angle that is a whole number m times 2**(16 j) the whole number times the power modulo 2 pi,
// which is the same angle: the product in the parts that it has.
struct TurnedAngle { double first, first_low, second, second_low, third; };
OW_INLINE TurnedAngle turned_by(double x, unsigned long long j) {
    const double m = x * host_double(1023 - 16 * j << 52);
    const double a = OW_TURNS[3 * j], b = OW_TURNS[3 * j + 1], first = m * a, second = m * b;
    return {first, fma(m, a, -first), second, fma(m, b, -second), m * OW_TURNS[3 * j + 2]};
}
// An angle less a multiple of pi / 2, without a branch for any number: its upper 26 bits and its
// lower 27 are taken modulo 2 pi by themselves, where they are whole numbers of 2**16 or more.
OW_INLINE Angle<double> far_angle(double x) {
    x = zero_if_tiny(x);
    const unsigned long long bits = host_bits(x), biased = bits >> 52 & 2047;
    const double upper = host_double(bits & ~0x7ffffffULL);
    const TurnedAngle u = turned_by(upper, biased < 1064 ? 0 : biased - 1048 >> 4);
    const TurnedAngle l = turned_by(x - upper, biased < 1091 ? 0 : biased - 1075 >> 4);
    const Pair<double> whole = two_sum(u.first, l.first);
    const double t = fma(whole.hi, 0.6366197723675814, 6755399441055744.0), n = t - 6755399441055744.0;
    const double taken = n * 0x1.1a62633145c07p-54, taken_low = fma(n, 0x1.1a62633145c07p-54, -taken);
    Pair<double> sum = two_sum(fma(-n, 0x1.921fb54442d18p+0, whole.hi), whole.lo);
    sum = plus(plus(sum, u.first_low), l.first_low);
    sum = plus(plus(plus(sum, -taken), u.second), l.second);
    const double low = fma(n, 0x1.f1976b7ed8fbcp-110, (u.second_low + l.second_low) - taken_low);
    return {fast_two_sum(sum.hi, sum.lo + (low + (u.third + l.third))), host_bits(t)};
}
OW_INLINE Angle<double> angle_of(double x) {
    return chosen_angle(is_near_angle(x), near_angle(x), far_angle(x));
}
OW_INLINE double sin(double x) { return sin_of(angle_of(x), x); }
OW_INLINE double cos(double x) { return cos_of(angle_of(x)); }
OW_INLINE double tan(double x) { return of_finite(tan_of(angle_of(x), x), x); }

// asin of a number from 0 to 1/2; of one beyond half the angle that is left to a quarter turn.
OW_INLINE Pair<double> asin_pair(double size) {
    const bool beyond = size > 0.5;
    const double z = beyond ? (1.0 - size) * 0.5 : size * size, root = __builtin_sqrt(z);
    const double s = beyond ? root : size;
    const double lost = beyond && root > 0.0 ? fma(-root, root, z) / (root + root) : 0.0;
    const double p = horner(z, 0.028757816835701666, -0.014851845777569983, 0.017400860046142254,
        0.005457510722596912, 0.010322814316145797, 0.011479177245484142, 0.013971213014278236,
        0.017352392716021472, 0.022372172942479864, 0.030381944138518618, 0.04464285714635567,
        0.07499999999998433, 0.16666666666666669);
    return {s, fma(s * z, p, lost)};
}
template <bool ORDINARY = false> OW_INLINE double asin_of(double x) {
    const double size = ORDINARY ? fabs(x) : zero_if_tiny(fabs(x));
    const Pair<double> a = asin_pair(size), sum = two_sum(1.5707963267948966, -2.0 * a.hi);
    const double y = sum.hi + (sum.lo + fma(-2.0, a.lo, 6.123233995736766e-17));
    return !ORDINARY && is_tiny(x) ? x : copysign(size > 0.5 ? y : a.hi + a.lo, x);
}
template <bool ORDINARY = false> OW_INLINE double acos_of(double x) {
    const double size = ORDINARY ? fabs(x) : zero_if_tiny(fabs(x));
    const bool beyond = size > 0.5, negative = x < 0.0;
    const Pair<double> a = asin_pair(size);
    const double times = beyond ? negative ? -2.0 : 2.0 : negative ? 1.0 : -1.0;
    const double turn = beyond ? negative ? 3.141592653589793 : 0.0 : 1.5707963267948966;
    const double turn_low = beyond ? negative ? 1.2246467991473532e-16 : 0.0 : 6.123233995736766e-17;
    const Pair<double> sum = two_sum(turn, times * a.hi);
    return sum.hi + (sum.lo + fma(times, a.lo, turn_low));
}
// atan(a / b) for a and b from 0 on, not both 0 or both infinite, less an eighth or a
// quarter turn, so that the quotient is at most tan(pi / 8).  `side` -1: a half turn less that.
OW_INLINE double atan_of(double a, double b, double side) {
    const bool middle = a > 0.41421356237309503 * b, steep = a > 2.414213562373095 * b;
    const Pair<double> difference = two_sum(a, -b), total = two_sum(a, b);
    double up = middle ? difference.hi : a, up_low = middle ? difference.lo : 0.0;
    double across = middle ? total.hi : b, across_low = middle ? total.lo : 0.0;
    double eighths = middle ? 1.0 : 0.0;
    up = steep ? -b : up;
    up_low = steep ? 0.0 : up_low;
    across = steep ? a : across;
    across_low = steep ? 0.0 : across_low;
    eighths = steep ? 2.0 : eighths;
    const Pair<double> q = quotient(up, up_low, {across, across_low});
    const double s = side * q.hi, z = s * s;
    eighths = side < 0.0 ? 4.0 - eighths : eighths;
    const double s_low = total.hi < __builtin_inf() ? side * q.lo : 0.0;  // infinity less infinity
    const double p = horner(z, -0.019176935929348236, 0.03923170683075284, -0.050854517639930055,
        0.05858149376502006, -0.06664511511008672, 0.07692183196194288, -0.09090904578398214,
        0.111111110152644, -0.14285714284666665, 0.1999999999999552, -0.3333333333333333);
    const Pair<double> sum = two_sum(0.7853981633974483 * eighths, s);
    return sum.hi + (sum.lo + fma(s * z, p, fma(3.061616997868383e-17, eighths, s_low)));
}
template <bool ORDINARY = false> OW_INLINE double atan_alone(double x) {
    const double size = ORDINARY ? fabs(x) : zero_if_tiny(fabs(x)), far = 0x1p60;  // as near a quarter turn as infinity
    return !ORDINARY && is_tiny(x) ? x : copysign(atan_of(size > far ? far : size, 1.0, 1.0), x);
}
OW_INLINE double asin(double x) { return asin_of(x); }
OW_INLINE double acos(double x) { return acos_of(x); }
OW_INLINE double atan(double x) { return atan_alone(x); }
OW_INLINE double atan2(double y, double x) {
    const double endless = __builtin_inf(), size = fabs(y), width = fabs(x);
    const double most = size > width ? size : width, tiny = most < 0x1p-900 ? 0x1p100 : 1.0;
    const double scale = most > 0x1p1020 ? 0.125 : tiny;  // so that sums end, and products have all bits
    // both infinite are as 1 and 1; of NaN and an infinite number NaN is left in its place
    const double a = (width < size ? width : size) == endless ? 1.0 : size * scale;
    const double b = (size < width ? size : width) == endless ? 1.0 : width * scale;
    return copysign(atan_of(a, most == 0.0 ? 1.0 : b, copysign(1.0, x)), y);
}
OW_AS_BEFORE
