// opweave.cuh for the host compiler: what CUDA C means on a CPU.
//
// Without OW_VERIFY (run mode) a block is one thread, blocks run on all cores, and barriers and
// shuffles have nothing to do.  With OW_VERIFY each thread of a block is a fibre of the scheduler in
// runtime.cpp; every meeting point goes through it, with its line.
#pragma once

#ifdef OW_VERIFY
#define __global__
#else
// hidden: what a kernel of another library with the same name shares is its own
#define __global__ inline __attribute__((always_inline, visibility("hidden")))
#endif
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define OW_INLINE static inline __attribute__((always_inline))
#define OW_COPY __builtin_memcpy
#define OW_SPECIAL inline __attribute__((always_inline))
#define OW_UNROLL
#define OW_UNROLL_CHANNELS _Pragma("GCC unroll 4")  // so that the loop over pixels vectorises

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };

// The part of the scheduler that kernels see; runtime.cpp has the same struct.
struct OwHost {
    uint3 thread, block, block_dim, grid_dim;
    void* dynamic_shared;
    void (*barrier)(int line);
    const unsigned long long* (*meet)(unsigned mask, unsigned long long value, int line);
    void (*fail)(const char* what, int line);
};

#ifdef OW_VERIFY

static OwHost* ow_host;
#define threadIdx (ow_host->thread)
#define blockIdx (ow_host->block)
#define blockDim (ow_host->block_dim)
#define gridDim (ow_host->grid_dim)
#define __shared__ static __attribute__((section("ow_shared"), used))
#define __syncthreads() (ow_host->barrier(__LINE__))
#define __syncwarp(...) ((void)ow_host->meet(ow_mask(__VA_ARGS__), 0, __LINE__))
OW_INLINE unsigned ow_mask(unsigned mask = 0xffffffffu) { return mask; }
OW_INLINE int ow_lane() {
    const unsigned linear = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    return linear % 32;
}
template <class T> OW_INLINE T ow_exchange(unsigned mask, T value, int source, int line) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    const unsigned long long* lanes = ow_host->meet(mask, bits, line);
    if (!(mask >> source & 1u)) ow_host->fail("a shuffle reads a lane outside its mask", line);
    __builtin_memcpy(&value, &lanes[source], sizeof(T));
    return value;
}
// Source lanes as in the CUDA C++ Programming Guide, "Warp Shuffle Functions".
OW_INLINE int ow_from_below(int delta, int width) {
    const int lane = ow_lane(), first = lane / width * width;
    return lane - delta < first ? lane : lane - delta;
}
OW_INLINE int ow_from_above(int delta, int width) {
    const int lane = ow_lane(), first = lane / width * width;
    return lane + delta >= first + width ? lane : lane + delta;
}
OW_INLINE int ow_from_other(int other, int width) {
    const int lane = ow_lane(), first = lane / width * width;
    const int source = lane ^ other;
    return source >= first + width ? lane : source;
}
OW_INLINE int ow_from_lane(int source, int width) { return ow_lane() / width * width + source % width; }
OW_INLINE unsigned ow_vote(unsigned mask, bool predicate, int line) {
    const unsigned long long* lanes = ow_host->meet(mask, predicate, line);
    unsigned found = 0;
    for (int l = 0; l < 32; ++l)
        if (mask >> l & 1u) found |= (unsigned)lanes[l] << l;
    return found;
}
#define OW_WIDTH(...) ow_width(__VA_ARGS__)
OW_INLINE int ow_width(int width = 32) { return width; }
#define __shfl_sync(m, v, s, ...) ow_exchange(m, v, ow_from_lane(s, ow_width(__VA_ARGS__)), __LINE__)
#define __shfl_down_sync(m, v, d, ...) ow_exchange(m, v, ow_from_above(d, ow_width(__VA_ARGS__)), __LINE__)
#define __shfl_up_sync(m, v, d, ...) ow_exchange(m, v, ow_from_below(d, ow_width(__VA_ARGS__)), __LINE__)
#define __shfl_xor_sync(m, v, d, ...) ow_exchange(m, v, ow_from_other(d, ow_width(__VA_ARGS__)), __LINE__)
#define __ballot_sync(m, p) ow_vote(m, (p) != 0, __LINE__)
#define __any_sync(m, p) (ow_vote(m, (p) != 0, __LINE__) != 0)
#define __all_sync(m, p) (ow_vote(m, (p) != 0, __LINE__) == (m))
#define DYNAMIC_SHARED(TYPE, NAME) TYPE* NAME = (TYPE*)ow_host->dynamic_shared
OW_INLINE void ow_check_aligned(const void* p, int bytes, int line) {
    if ((unsigned long long)p % bytes) ow_host->fail("a wide access is misaligned", line);
}

#else

static const uint3 threadIdx = {0, 0, 0};
static const uint3 blockDim = {1, 1, 1};
static thread_local uint3 blockIdx;
static thread_local uint3 gridDim;
#define __shared__ static thread_local
#define __syncthreads() ((void)0)
#define __syncwarp(...) ((void)0)
OW_INLINE void ow_check_aligned(const void*, int, int) {}

#endif

// Fibres take turns and are never interrupted, so plain updates are atomic in verify mode.
OW_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
OW_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
template <class T> OW_INLINE T atomicAdd(T* p, T x) {
    T old, sum;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do sum = old + x;
    while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
template <class T> OW_INLINE T atomicMax(T* p, T x) {
    T old, most;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do most = old > x ? old : x;
    while (!__atomic_compare_exchange(p, &old, &most, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
template <class T> OW_INLINE T atomicMin(T* p, T x) {
    T old, least;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do least = old < x ? old : x;
    while (!__atomic_compare_exchange(p, &old, &least, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
template <class T> OW_INLINE T atomicExch(T* p, T x) {
    T old;
    __atomic_exchange(p, &x, &old, __ATOMIC_SEQ_CST);
    return old;
}
template <class T> OW_INLINE T atomicCAS(T* p, T expected, T x) {
    __atomic_compare_exchange(p, &expected, &x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

#include "math.cuh"

template <int N, class R, class S> OW_INLINE void load_vector(R (&r)[N], const S* p);
template <int N, class R, class S> OW_INLINE void store_vector(S* p, const R (&r)[N]);

#include "../common.cuh"

// Wide accesses mean narrow ones here, but must be aligned as a GPU asks.
template <int N, class R, class S> OW_INLINE void load_vector(R (&r)[N], const S* p) {
    ow_check_aligned(p, Access<N * sizeof(S)>::BYTES_EACH, __LINE__);
    for (int l = 0; l < N; ++l) r[l] = load(p + l);
}
template <int N, class R, class S> OW_INLINE void store_vector(S* p, const R (&r)[N]) {
    ow_check_aligned(p, Access<N * sizeof(S)>::BYTES_EACH, __LINE__);
    for (int l = 0; l < N; ++l) store(p + l, r[l]);
}

// Entry points.  `slots` holds the arguments, 8 bytes each.
template <int... I> struct OwIndices {};
template <int N, int... I> struct OwCount { typedef typename OwCount<N - 1, N - 1, I...>::type type; };
template <int... I> struct OwCount<0, I...> { typedef OwIndices<I...> type; };
template <auto F> struct OwKernel;
template <class... P, void (*F)(P...)> struct OwKernel<F> {
    template <int... I> OW_INLINE void call(const char* slots, OwIndices<I...>) { F(*(const P*)(slots + 8 * I)...); }
    OW_INLINE void call(const char* slots) { call(slots, typename OwCount<sizeof...(P)>::type()); }
};

#ifdef OW_VERIFY
extern "C" __attribute__((weak, visibility("hidden"))) char __start_ow_shared[];
extern "C" __attribute__((weak, visibility("hidden"))) char __stop_ow_shared[];
#define OW_ENTRY(NAME)                                                                        \
    extern "C" void ow_bind(OwHost* host) { ow_host = host; }                                 \
    extern "C" void ow_thread(const char* slots) { OwKernel<NAME>::call(slots); }                    \
    extern "C" char* ow_shared_begin() { return __start_ow_shared; }                          \
    extern "C" char* ow_shared_end() { return __stop_ow_shared; }
#else
#define OW_ENTRY(NAME)                                                                        \
    extern "C" void ow_blocks(const char* slots, const uint3* grid, long long first, long long last) { \
        gridDim = *grid;                                                                      \
        for (long long b = first; b < last; ++b) {                                            \
            blockIdx.x = (unsigned)(b % grid->x);                                             \
            blockIdx.y = (unsigned)(b / grid->x % grid->y);                                   \
            blockIdx.z = (unsigned)(b / grid->x / grid->y);                                   \
            OwKernel<NAME>::call(slots);                                                       \
        }                                                                                     \
    }
#endif
