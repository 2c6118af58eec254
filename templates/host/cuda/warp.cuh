// Memory, barriers and warp functions of CUDA C++ beyond those of simt.cuh.
#define __constant__
#define __managed__
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __builtin_assume(X) ((void)0)
static const int warpSize = 32;

#include "../hints.cuh"

// Dynamic shared memory: `extern __shared__ float tile[];` becomes `float (*tile) = OwDynamic();`.
struct OwDynamic {
    template <class T> __attribute__((always_inline)) inline operator T*() const { return (T*)ow_dynamic; }
};
// Shared memory as PTX addresses it, in 32 bits: the static variables, then the dynamic memory.
OW_INLINE bool ow_is_dynamic(const void* p) { return (unsigned long)((const char*)p - ow_dynamic) < sizeof ow_dynamic; }
OW_INLINE size_t __cvta_generic_to_shared(const void* p) {
    if (ow_is_dynamic(p)) return OW_DYNAMIC_WINDOW + ((const char*)p - ow_dynamic);
    return OW_STATIC_WINDOW + ((const char*)p - ow_gap_mark);
}
OW_INLINE void* __cvta_shared_to_generic(size_t at) { return ow_from_shared((unsigned)at); }
OW_INLINE size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }

#define __threadfence_system() __threadfence()
#define __syncthreads_count(P) (ow_host->count((P) != 0, OW_SITE))
#define __syncthreads_or(P) (ow_host->count((P) != 0, OW_SITE) != 0)
#define __syncthreads_and(P) (ow_host->count((P) == 0, OW_SITE) == 0)
#define __activemask() (ow_host->gather(OW_SITE))
#define __trap() (ow_host->fail(OW_STOPPED, "the kernel calls __trap", OW_SITE))
#define __nanosleep(NS) ((void)(NS))
OW_INLINE void ow_assertion(int line) { ow_host->fail(OW_STOPPED, "an assertion of the kernel fails", line); }
OW_ATOMIC long long clock64() { static long long ow_now; return ++ow_now; }
OW_INLINE int clock() { return (int)clock64(); }
extern "C" int printf(const char*, ...);
// by the names that the checker knows them by
extern "C" void* __tsan_memcpy(void* to, const void* from, unsigned long bytes);
extern "C" void* __tsan_memmove(void* to, const void* from, unsigned long bytes);
extern "C" void* __tsan_memset(void* to, int value, unsigned long bytes);
#define memcpy __tsan_memcpy
#define memmove __tsan_memmove
#define memset __tsan_memset

template <class T> OW_INLINE unsigned ow_match(unsigned mask, T value, int line) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    const unsigned long long* lanes = ow_meet(mask, bits, line);
    unsigned same = 0;
    for (int l = 0; l < 32; ++l)
        if (lanes[32] >> l & 1u && lanes[l] == bits) same |= 1u << l;
    return same;
}
#define __match_any_sync(M, V) ow_match(M, V, OW_SITE)
template <class T, class F> OW_INLINE T ow_reduce(unsigned mask, T value, int line, F join) {
    const unsigned long long* lanes = ow_meet(mask, (unsigned long long)value, line);
    T made = value;
    const int lane = ow_lane();
    for (int l = 0; l < 32; ++l)
        if (lanes[32] >> l & 1u && l != lane) made = join(made, (T)lanes[l]);
    return made;
}
struct OwAdd { template <class T> T operator()(T x, T y) const { return x + y; } };
struct OwMax { template <class T> T operator()(T x, T y) const { return x > y ? x : y; } };
struct OwMin { template <class T> T operator()(T x, T y) const { return x < y ? x : y; } };
struct OwAnd { template <class T> T operator()(T x, T y) const { return x & y; } };
struct OwOr { template <class T> T operator()(T x, T y) const { return x | y; } };
struct OwXor { template <class T> T operator()(T x, T y) const { return x ^ y; } };
#define __reduce_add_sync(M, V) ow_reduce(M, V, OW_SITE, OwAdd())
#define __reduce_max_sync(M, V) ow_reduce(M, V, OW_SITE, OwMax())
#define __reduce_min_sync(M, V) ow_reduce(M, V, OW_SITE, OwMin())
#define __reduce_and_sync(M, V) ow_reduce(M, V, OW_SITE, OwAnd())
#define __reduce_or_sync(M, V) ow_reduce(M, V, OW_SITE, OwOr())
#define __reduce_xor_sync(M, V) ow_reduce(M, V, OW_SITE, OwXor())

// Asynchronous copies by CUDA's own names for them.
#define __pipeline_memcpy_async(TO, FROM, BYTES, ...) ow_pipeline_copy(TO, FROM, BYTES, ow_zero_fill(__VA_ARGS__), OW_SITE)
#define __pipeline_commit() (ow_host->commit_async())
#define __pipeline_wait_prior(N) (ow_host->wait_async(N))
OW_INLINE size_t ow_zero_fill(size_t bytes = 0) { return bytes; }
OW_INLINE void ow_pipeline_copy(void* to, const void* from, size_t bytes, size_t fill, int line) {
    ow_copy_async(to, from, (int)bytes, (int)(bytes - fill), line);
}
