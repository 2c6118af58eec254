// The PTX that runtime/binaries/ptx.py understands: asynchronous copies, ldmatrix, mma.sync.
//
// Fragment layouts from the PTX ISA 9.0, "Matrix Fragments for mma" and "ldmatrix".
OW_INLINE void ow_copy_async(void* to, const void* from, int bytes, int given, int line) {
    if (bytes != 4 && bytes != 8 && bytes != 16) ow_host->fail(OW_STOPPED, "an asynchronous copy takes 4, 8 or 16 bytes", line);
    if ((unsigned long)to % bytes || (unsigned long)from % bytes)
        ow_host->fail(OW_MISALIGNED, "both addresses of an asynchronous copy need a multiple of its bytes", line);
    ow_host->copy_async(to, from, bytes, given < 0 ? 0 : given < bytes ? given : bytes, line);
}

// 32-bit addresses of shared memory: static variables lie around the first, dynamic memory from the
// second on.
enum { OW_STATIC_WINDOW = 1 << 23, OW_DYNAMIC_WINDOW = 1 << 24 };
OW_INLINE void* ow_from_shared(unsigned at) {
    if (at >= OW_DYNAMIC_WINDOW) return ow_dynamic + (at - OW_DYNAMIC_WINDOW);
    return ow_gap_mark + ((long)at - OW_STATIC_WINDOW);
}

// N matrices of 8 rows of 16 bytes; lane l names row l % 8 of matrix l / 8 and receives two elements
// of row l / 4 of each.
template <int N, bool TRANSPOSED> OW_INLINE void ow_ldmatrix(unsigned (&made)[N], unsigned at, int line) {
    const int lane = ow_lane();
    const void* row = lane < 8 * N ? ow_from_shared(at) : 0;
    if ((unsigned long)row % 16) ow_host->fail(OW_MISALIGNED, "ldmatrix needs rows at multiples of 16 bytes", line);
    const unsigned long long* rows = ow_meet(0xffffffffu, (unsigned long long)row, line);
    unsigned long long starts[8 * N];
    for (int r = 0; r < 8 * N; ++r) starts[r] = rows[r];
    for (int m = 0; m < N; ++m) {
        unsigned short halves[2];
        for (int i = 0; i < 2; ++i) {
            const int r = TRANSPOSED ? 2 * (lane % 4) + i : lane / 4;
            const int c = TRANSPOSED ? lane / 4 : 2 * (lane % 4) + i;
            const unsigned short* p = (const unsigned short*)starts[8 * m + r] + c;
            ow_touch(p, 2, 0, line);
            __builtin_memcpy(&halves[i], p, 2);
        }
        made[m] = halves[0] | (unsigned)halves[1] << 16;
    }
}

// mov: the bits, whatever the types.
template <class To, class From> OW_INLINE void ow_move(To& to, From from) {
    static_assert(sizeof(To) == sizeof(From), "mov between registers of different widths");
    __builtin_memcpy(&to, &from, sizeof to);
}

// Elements of a 32-bit register of a fragment.
struct OwF16 { enum { EACH = 2 }; static float of(unsigned r, int i) { return half_to_float((unsigned short)(r >> 16 * i)); } };
struct OwBF16 { enum { EACH = 2 }; static float of(unsigned r, int i) { return host_float(r >> 16 * i << 16); } };
struct OwTF32 { enum { EACH = 1 }; static float of(unsigned r, int) { return host_float(r & 0xffffe000u); } };
struct OwS8 { enum { EACH = 4 }; static int of(unsigned r, int i) { return (signed char)(r >> 8 * i); } };
struct OwU8 { enum { EACH = 4 }; static int of(unsigned r, int i) { return (unsigned char)(r >> 8 * i); } };

// One m16n8kK step: d = a * b + c, element by element in double; a GPU rounds otherwise, so results
// are good for bounds and not for bits.
template <class A, class B, int K, class D, int NA, int NB>
OW_INLINE void ow_mma(D (&d)[4], const unsigned (&a)[NA], const unsigned (&b)[NB], const D (&c)[4], int line) {
    enum { EACH = A::EACH, SPAN = 4 * EACH };
    const int lane = ow_lane();
    unsigned all_a[32][NA], all_b[32][NB];
    for (int r = 0; r < NA; ++r) {
        const unsigned long long* lanes = ow_meet(0xffffffffu, a[r], line);
        for (int l = 0; l < 32; ++l) all_a[l][r] = (unsigned)lanes[l];
    }
    for (int r = 0; r < NB; ++r) {
        const unsigned long long* lanes = ow_meet(0xffffffffu, b[r], line);
        for (int l = 0; l < 32; ++l) all_b[l][r] = (unsigned)lanes[l];
    }
    D made[4];
    for (int n = 0; n < 4; ++n) {
        const int row = lane / 4 + 8 * (n / 2), column = 2 * (lane % 4) + n % 2;
        double sum = c[n];
        for (int k = 0; k < K; ++k) {
            const int part = k / SPAN, holder = k % SPAN / EACH, i = k % EACH;
            const unsigned ra = all_a[4 * (row % 8) + holder][2 * part + row / 8];
            const unsigned rb = all_b[4 * column + holder][part];
            sum += (double)A::of(ra, i) * (double)B::of(rb, i);
        }
        made[n] = (D)sum;
    }
    for (int n = 0; n < 4; ++n) d[n] = made[n];
}
// ... with float16 accumulators, two to a register.
template <class A, class B, int K, int NA, int NB>
OW_INLINE void ow_mma_half(unsigned (&d)[2], const unsigned (&a)[NA], const unsigned (&b)[NB], const unsigned (&c)[2], int line) {
    float wide[4], sums[4];
    for (int n = 0; n < 4; ++n) wide[n] = OwF16::of(c[n / 2], n % 2);
    ow_mma<A, B, K>(sums, a, b, wide, line);
    for (int n = 0; n < 2; ++n) d[n] = float_to_half(sums[2 * n]) | (unsigned)float_to_half(sums[2 * n + 1]) << 16;
}
