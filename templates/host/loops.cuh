// loops.cuh: helpers of whole loops of Python, on one core of the host.
#pragma once
#include "loop_rows.cuh"

extern "C" void* malloc(unsigned long);
extern "C" void free(void*);

// How a loop ends.  An error is in `made`: the line, and three numbers.
enum LoopEnd {
    LOOP_DONE, LOOP_NO_ROUND, LOOP_RAISED, LOOP_NOT_SERVED, LOOP_INDEX, LOOP_SHAPES, LOOP_ASSIGNED, LOOP_PRODUCT,
    LOOP_ZERO_DIVISION, LOOP_OVERFLOW, LOOP_OUT_OF_RANGE, LOOP_EMPTY, LOOP_NO_MEMORY, LOOP_MASK, LOOP_TUPLE, LOOP_NAN,
    LOOP_COMPLEX, LOOP_RESHAPE, LOOP_SPLIT, LOOP_SINGULAR, LOOP_NOT_DEFINITE, LOOP_NOT_SQUARE,
    LOOP_NEGATIVE, LOOP_LIST, LOOP_NO_ITEM, LOOP_UNBOUND, LOOP_COMPLEX_POWER, LOOP_STEP, LOOP_MATH,
    LOOP_PAUSED = -1
};
#define LOOP_FAULT(kind, line, a, b, c) \
    do { made[0] = line; made[1] = (int64)(a); made[2] = (int64)(b); made[3] = (int64)(c); return kind; } while (0)

// Whether a signal's handler of Python has raised, which is asked now and then.
struct LoopWatch {
    bool (*raised)(void*);
    void* how;
    int64 left;
    int64 looks;
    int64 threads;  // that may share rounds: `share` returns whether no signal has stopped them
    bool (*share)(void* how, void (*rounds)(void* of, int64 first, int64 last, LoopWatch*), void* of, int64 count, int64 some);
    long long (*now)();
};
#define LOOP_LOOK_EVERY (1 << 22)
#define LOOP_TICK(steps) \
    do { \
        watch.left -= (steps); \
        if (__builtin_expect(watch.left < 0, 0)) { \
            watch.left += LOOP_LOOK_EVERY, ++watch.looks; \
            if (watch.raised(watch.how)) return LOOP_RAISED; \
        } \
    } while (0)

// Rounds of an innermost loop before signals are looked at again, and what is asked of all of them at once.
#ifndef LOOP_BLOCK
#define LOOP_BLOCK 1024
#endif
OW_INLINE int64 loop_block(int64 first, int64 last) { return last - first < LOOP_BLOCK ? last : first + LOOP_BLOCK; }
OW_INLINE bool loop_is_far(int64 x) { return x > -(1ll << 62) && x < 1ll << 62; }  // from 64 bits

// Rows side by side, see skewing.py: whether there are enough, neither short nor so long that signals wait.
template <int ROWS, int BEHIND> OW_INLINE bool loop_skews(int64 i, int64 rows, int64 first, int64 last) {
    const uint64 columns = last > first ? (uint64)last - (uint64)first : 0;
    return (uint64)rows - (uint64)i >= ROWS && columns >= 2 * ROWS * (BEHIND + 1) && columns <= 1 << 18;
}
// `row(i + r)` gives what computes a column of that row, or ends it; columns in the order of t = j + BEHIND * r.
template <int ROWS, int BEHIND, class Row, class... Rows>
OW_INLINE void loop_skewed(const int64 i, const int64 first, const int64 last, const Row& row, Rows&... rows) {
    if constexpr (sizeof...(rows) < ROWS) {
        auto next = row(i + (int64)sizeof...(rows));
        loop_skewed<ROWS, BEHIND>(i, first, last, row, rows..., next);
    } else {
        const int64 begin = first + (ROWS - 1) * BEHIND, end = last + (ROWS - 1) * BEHIND;
        const auto column = [&](auto& of, const int64 j) OW_INLINED { if (j >= first && j < last) of(Constant<1>(), j); };
        int64 j;  // a row's column
        for (int64 t = first; t < begin; ++t) j = t + BEHIND, (column(rows, j -= BEHIND), ...);
        for (int64 t = begin; t < last; ++t) j = t + BEHIND, (rows(Constant<1>(), j -= BEHIND), ...);
        for (int64 t = last; t < end; ++t) j = t + BEHIND, (column(rows, j -= BEHIND), ...);
        (rows(Constant<0>(), last), ...);
    }
}

// Memory that a call of the loop has left, for the next one: a fresh page costs a fault, and is filled
// with zeros.  Where another thread looks at it, memory is the system's.
#define LOOP_IDLE 8
#define LOOP_IDLE_LEAST (1 << 16)
#define LOOP_IDLE_MOST  (1 << 22)
static void* loop_idle[LOOP_IDLE];
static int64 loop_idle_bytes[LOOP_IDLE];
static bool loop_idle_lock;
static bool loop_leave(void* at, int64 bytes) {
    if (!at || bytes < LOOP_IDLE_LEAST || bytes > LOOP_IDLE_MOST) return false;
    if (__atomic_test_and_set(&loop_idle_lock, __ATOMIC_ACQUIRE)) return false;
    bool left = false;
    for (int n = 0; n < LOOP_IDLE && !left; ++n)
        if (!loop_idle[n]) loop_idle[n] = at, loop_idle_bytes[n] = bytes, left = true;
    __atomic_clear(&loop_idle_lock, __ATOMIC_RELEASE);
    return left;
}
static void* loop_take(int64 asked, int64& bytes) {
    if (asked < LOOP_IDLE_LEAST || asked > LOOP_IDLE_MOST) return 0;
    if (__atomic_test_and_set(&loop_idle_lock, __ATOMIC_ACQUIRE)) return 0;
    void* found = 0;
    for (int n = 0; n < LOOP_IDLE && !found; ++n)
        if (loop_idle[n] && loop_idle_bytes[n] >= asked && loop_idle_bytes[n] / 4 <= asked)
            found = loop_idle[n], bytes = loop_idle_bytes[n], loop_idle[n] = 0;
    __atomic_clear(&loop_idle_lock, __ATOMIC_RELEASE);
    return found;
}

// Memory of an array that a loop makes: it grows, and is left with the function.
struct LoopRoom {
    void* at = 0;
    int64 bytes = 0;
    ~LoopRoom() { let_go(); }
    void let_go() {
        if (!loop_leave(at, bytes)) free(at);
    }
    void* taken() {  // by the caller, who frees it
        void* const found = at;
        at = 0;
        return found;
    }
    template <class T, class... Sizes> T* of(Sizes... sizes) {  // so many elements; 0 where there is no such memory
        const int64 all[] = {(int64)sizes...};
        int64 asked = sizeof(T);
        for (int64 size : all)
            if (__builtin_mul_overflow(asked, size > 0 ? size : 0, &asked)) return 0;
        if (asked < (int64)sizeof(T)) asked = sizeof(T);
        if (asked > bytes) {
            let_go();
            bytes = asked;
            at = loop_take(asked, bytes);
            if (!at) at = malloc(asked);
            if (!at) bytes = 0;
        }
        return (T*)at;
    }
};
OW_INLINE void exchange(LoopRoom& a, LoopRoom& b) {
    void* const at = a.at;
    const int64 bytes = a.bytes;
    a.at = b.at, a.bytes = b.bytes;
    b.at = at, b.bytes = bytes;
}

// Numbers or arrays that a loop appends to a list of Python: handed over with the function's end, whatever that is.
extern "C" void* realloc(void*, unsigned long);
template <class T> struct LoopList {
    int64* made;
    T* at = 0;
    int64 count = 0, room = 0;
    LoopList(int64* made) : made(made) {}
    ~LoopList() { made[0] = (int64)at, made[1] = count; }
    bool append(T x) {
        if (count == room) {
            const int64 more = room ? 2 * room : 64;
            void* const found = realloc(at, more * (int64)sizeof(T));
            if (!found) return false;
            at = (T*)found, room = more;
        }
        at[count++] = x;
        return true;
    }
    T* more(int64 size) {  // the place of an array; all have one size
        if (!at || (count + 1) * size > room) {
            const int64 more = 2 * (count + 1) * size + 64;
            void* const found = realloc(at, more * (int64)sizeof(T));
            if (!found) return 0;
            at = (T*)found, room = more;
        }
        return at + size * count++;
    }
};

// A list of Python that a loop reads: so many words an item.  What becomes of it is handed over likewise.
template <int WORDS> struct LoopItems {
    int64* const made;
    int64 *at, *own = 0;
    int64 count, room;
    bool is_changed = false;
    LoopItems(int64* made, int64* at, int64 count) : made(made), at(at), count(count), room(count) {}
    ~LoopItems() { made[0] = (int64)own, made[1] = count, made[2] = is_changed; }
    template <class T> T get(int64 item, int word) const {
        T x;
        OW_COPY(&x, at + item * WORDS + word, sizeof(T));
        return x;
    }
    template <class T> void put(int64 item, int word, T x) {
        int64 bits = 0;
        OW_COPY(&bits, &x, sizeof(T));
        at[item * WORDS + word] = bits;
    }
    bool more() {  // room for one more item
        is_changed = true;
        if (count == room) {
            const int64 more = 2 * count + 16;
            int64* const found = (int64*)realloc(own, more * WORDS * (int64)sizeof(int64));
            if (!found) return false;
            for (int64 k = 0; !own && k < count * WORDS; ++k) found[k] = at[k];
            at = own = found, room = more;
        }
        return ++count;
    }
    bool insert(int64 item) {  // room for one more, before another one
        if (!more()) return false;
        for (int64 k = count * WORDS - 1; k >= (item + 1) * WORDS; --k) at[k] = at[k - WORDS];
        return true;
    }
    void drop(int64 item) {
        is_changed = true, --count;
        for (int64 k = item * WORDS; k < count * WORDS; ++k) at[k] = at[k + WORDS];
    }
};

// What a loop assigns to an attribute of an object, handed over likewise: which of its types it has, and its words.
struct LoopLeft {
    int64* made;
    LoopRoom* room = 0;
    LoopLeft(int64* made) : made(made) {}
    ~LoopLeft() {
        if (room) made[1] = (int64)room->taken();
    }
    void number(int64 kind, int64 bits) { made[0] = kind, made[1] = bits, room = 0; }
    template <class... Sizes> void array(int64 kind, LoopRoom& of, Sizes... sizes) {
        const int64 all[] = {(int64)sizes...};
        made[0] = kind, room = &of;
        for (int64 n = 0; n < (int64)sizeof...(sizes); ++n) made[2 + n] = all[n];
    }
};

// A word that a call gives, and one that it gets.
template <class T> OW_INLINE T loop_word(int64 bits) {
    T x;
    OW_COPY(&x, &bits, sizeof(T));
    return x;
}
template <class T> OW_INLINE int64 loop_bits(T x) {
    int64 bits = 0;
    OW_COPY(&bits, &x, sizeof(T));
    return bits;
}

// What a mask chooses of a row, so many places at a time: `where` they are is noted in `to`.  Most masks choose few,
// so eight places of which none is chosen are passed over at once.
#define LOOP_CHOSEN 256
#define LOOP_LONGEST (1ll << 31)  // so often may something be repeated
OW_INLINE int64 loop_end(int64 first, int64 size) { return size - first < LOOP_CHOSEN ? size - first : LOOP_CHOSEN; }
template <class Where>
OW_INLINE void loop_note(const bool* chosen, int64 first, int64 end, int64* to, int64& count, Where where) {
    int64 j = 0;
    for (; j + 8 <= end; j += 8) {
        uint64 any;
        OW_COPY(&any, chosen + j, 8);
        if (!any) continue;
        for (int k = 0; k < 8; ++k) to[count] = where(first + j + k), count += chosen[j + k];
    }
    for (; j < end; ++j) to[count] = where(first + j), count += chosen[j];
}

// The bytes that an array has, from the first to the one behind the last; none where it is empty.
struct LoopSpan {
    const char *low, *high;
    bool dense;  // nothing else lies between its elements
};
template <class T, int RANK>
OW_INLINE LoopSpan loop_span(const T* first, const int64 (&sizes)[RANK], const int64 (&strides)[RANK]) {
    const T *low = first, *high = first + 1;
    int64 count = 1;
    for (int axis = 0; axis < RANK; ++axis) {
        if (sizes[axis] == 0) return {0, 0, true};
        count *= sizes[axis];
        (strides[axis] < 0 ? low : high) += (sizes[axis] - 1) * strides[axis];
    }
    return {(const char*)low, (const char*)high, high - low == count};
}
OW_INLINE bool loop_overlap(LoopSpan a, LoopSpan b) { return a.low < b.high && b.low < a.high; }

#include "loop_share.cuh"

// -1, 0 or 1 where an integer is less than a double, the same or more: no bit of it is lost.
OW_INLINE double order_of(int64 x, double y) {
    if (y != y) return y;
    if (y >= 9223372036854775808.0) return -1;
    if (y < -9223372036854775808.0) return 1;
    const int64 whole = (int64)y;
    if (x != whole) return x < whole ? -1 : 1;
    const double rest = y - (double)whole;
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

// Functions of the C library that Python calls, too, under names that no helper has.
#define LOOP_LIBM(name)  extern "C" double libm_##name(double) __asm__(#name);
#define LOOP_LIBM2(name) extern "C" double libm_##name(double, double) __asm__(#name);
LOOP_LIBM(acos) LOOP_LIBM(acosh) LOOP_LIBM(asin) LOOP_LIBM(asinh) LOOP_LIBM(atan) LOOP_LIBM(atanh)
LOOP_LIBM(cos) LOOP_LIBM(cosh) LOOP_LIBM(erf) LOOP_LIBM(erfc) LOOP_LIBM(exp) LOOP_LIBM(expm1)
LOOP_LIBM(fabs) LOOP_LIBM(log) LOOP_LIBM(log10) LOOP_LIBM(log1p) LOOP_LIBM(log2) LOOP_LIBM(sin)
LOOP_LIBM(sinh) LOOP_LIBM(sqrt) LOOP_LIBM(tan) LOOP_LIBM(tanh)
LOOP_LIBM2(atan2) LOOP_LIBM2(copysign) LOOP_LIBM2(fmod) LOOP_LIBM2(pow)
LOOP_LIBM2(hypot)
extern "C" float libm_hypotf(float, float) __asm__("hypotf");
// A pair of doubles goes in and out as C's complex numbers do, in two registers.
#define LOOP_LIBMC(name) extern "C" complex128 libm_##name(complex128) __asm__(#name);
LOOP_LIBMC(cexp) LOOP_LIBMC(clog) LOOP_LIBMC(csqrt) LOOP_LIBMC(csin) LOOP_LIBMC(ccos) LOOP_LIBMC(ctan)
LOOP_LIBMC(csinh) LOOP_LIBMC(ccosh) LOOP_LIBMC(ctanh) LOOP_LIBMC(casin) LOOP_LIBMC(cacos) LOOP_LIBMC(catan)
LOOP_LIBMC(casinh) LOOP_LIBMC(cacosh) LOOP_LIBMC(catanh)

OW_INLINE bool is_finite(double x) { return x - x == 0; }
OW_INLINE bool is_infinite(double x) { return x == x && x - x != 0; }

// The length of a vector as Python's math.hypot has it: squares without loss, and a correction at the end.
extern "C" double libm_fma(double, double, double) __asm__("fma");
// DIVIDES: of subnormal numbers, as by Python 3.11.
template <bool DIVIDES, int N> double loop_hypot(const double (&x)[N]) {
    double most = 0;
    bool is_nan = false;
    for (double each : x) {
        if (is_infinite(each)) return libm_fabs(each);
        is_nan = is_nan || each != each;
        most = libm_fabs(each) > most ? libm_fabs(each) : most;
    }
    if (is_nan) return nan<double>();
    if (most == 0 || N == 1) return most;
    int exponent;
    __builtin_frexp(most, &exponent);
    if (exponent < -1023 && DIVIDES) {
        double sum = 1.0, rest = 0;
        for (double each : x) {
            const double part = libm_fabs(each) / most, square = part * part, before = sum;
            sum = before + square;
            rest += (before - sum) + square;
        }
        return most * libm_sqrt(sum - 1.0 + rest);
    }
    if (exponent < -1023) {  // from subnormal numbers to normal ones
        double larger[N];
        for (int k = 0; k < N; ++k) larger[k] = x[k] / 2.2250738585072014e-308;
        return 2.2250738585072014e-308 * loop_hypot<DIVIDES>(larger);
    }
    const double scale = __builtin_ldexp(1.0, -exponent);
    double sum = 1.0, low = 0, rest = 0;
    const auto add = [&](double a, double b) {
        const double product = a * b, before = sum;
        sum = before + product;
        low += libm_fma(a, b, -product);
        rest += (before - sum) + product;
    };
    for (double each : x) add(each * scale, each * scale);
    double found = libm_sqrt(sum - 1.0 + (low + rest));
    add(-found, found);
    found += (sum - 1.0 + (low + rest)) / (2.0 * found);
    return found / scale;
}

// The largest number that divides both.
OW_INLINE uint64 loop_gcd(int64 x, int64 y) {
    uint64 a = x < 0 ? 0 - (uint64)x : (uint64)x, b = y < 0 ? 0 - (uint64)y : (uint64)y;
    while (b) {
        const uint64 rest = a % b;
        a = b, b = rest;
    }
    return a;
}

// base ** exponent of integers; false where it leaves 64 bits.
OW_INLINE bool loop_power(int64 base, int64 exponent, int64& found) {
    found = 1;
    for (bool is_wide = false; exponent; exponent >>= 1) {  // is_wide: `base` has left 64 bits
        if (exponent & 1)
            if (is_wide || __builtin_mul_overflow(found, base, &found)) return false;
        is_wide = is_wide || __builtin_mul_overflow(base, base, &base);
    }
    return true;
}

// A complex number that was computed.  Of both parts in one vector g++ 12 fuses sums of products, whatever
// -ffp-contract says, where one part is a difference; so one goes by itself.
template <class R> OW_INLINE Complex<R> loop_pair(Complex<R> z) {
#if defined(__x86_64__)
    asm("" : "+x"(z.re));
#elif defined(__aarch64__)
    asm("" : "+w"(z.re));
#endif
    return z;
}

// A quotient and a power of Python's complex numbers (_Py_c_quot and c_powu of Objects/complexobject.c).
OW_INLINE complex128 loop_quotient(complex128 x, complex128 y) {
    const bool turned = !(libm_fabs(y.re) >= libm_fabs(y.im));
    if (turned && !(libm_fabs(y.im) >= libm_fabs(y.re))) return {nan<double>(), nan<double>()};  // y is no number
    const double large = turned ? y.im : y.re, small = turned ? y.re : y.im, ratio = small / large;
    const double size = large + small * ratio;
    const complex128 found = turned ? loop_pair(complex128{x.re * ratio + x.im, x.im * ratio - x.re})
                                    : loop_pair(complex128{x.re + x.im * ratio, x.im - x.re * ratio});
    return {found.re / size, found.im / size};
}
OW_INLINE complex128 loop_power(complex128 base, int exponent) {
    complex128 found = {1.0, 0.0};
    for (; exponent; exponent >>= 1, base = loop_pair(base * base))
        if (exponent & 1) found = loop_pair(found * base);
    return found;
}

// The same of NumPy's (npy_cpow of its npy_math).
OW_INLINE complex128 loop_numpy_power(complex128 base, int exponent) {
    if (!nonzero(base)) return {0.0, 0.0};
    if (exponent == 1) return base;
    if (exponent < 4) return loop_pair(exponent == 2 ? base * base : base * loop_pair(base * base));
    return loop_power(base, exponent);
}

OW_INLINE int64 at_least_0(int64 x) { return x < 0 ? 0 : x; }

// The place that a bound of a slice means, counted from the end where it is negative.
OW_INLINE int64 slice_bound(int64 bound, int64 size, int64 low, int64 high) {
    if (bound < 0) bound += size;
    return bound < low ? low : bound > high ? high : bound;
}
OW_INLINE int64 slice_length(int64 start, int64 stop, int64 step) {
    if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
    return stop < start ? (start - stop - 1) / -step + 1 : 0;
}

// Elements in rising order, NaN behind all others: by insertion where they are few, else by a heap.
#define LOOP_FEW 24
template <class T> OW_INLINE bool loop_before(T x, T y) { return x < y || (y != y && x == x); }
template <class T> void loop_sift(T* a, int64 at, int64 count) {
    const T x = a[at];
    for (int64 child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && loop_before(a[child], a[child + 1])) ++child;
        if (!loop_before(x, a[child])) break;
        a[at] = a[child];
    }
    a[at] = x;
}
template <class T> void loop_sort(T* a, int64 count) {
    if (count <= LOOP_FEW) {
        for (int64 k = 1; k < count; ++k) {
            const T x = a[k];
            int64 at = k;
            for (; at > 0 && loop_before(x, a[at - 1]); --at) a[at] = a[at - 1];
            a[at] = x;
        }
        return;
    }
    for (int64 at = count / 2; at-- > 0;) loop_sift(a, at, count);
    for (int64 end = count; --end > 0;) {
        const T first = a[0];
        a[0] = a[end], a[end] = first;
        loop_sift(a, 0, end);
    }
}
