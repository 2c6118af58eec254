// What CUDA C's own words mean on a CPU: qualifiers, indices, barriers, warp functions, atomics.
//
// Without OW_VERIFY (run mode) a block is one thread, blocks run on all cores, and barriers and
// shuffles have nothing to do.  With OW_VERIFY each thread of a block is a fibre of the scheduler in
// fibres.h; every meeting point goes through it, with its line.  With OW_SANITIZE too, the compiler
// puts a call to the checker (accesses.h) in front of every access.
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
#define OW_INLINED __attribute__((always_inline))  // of a lambda
#ifdef __clang__  // of one that changes what it holds: in the order that the compiler takes
#define OW_INLINED_MUTABLE OW_INLINED mutable
#else
#define OW_INLINED_MUTABLE mutable OW_INLINED
#endif
#define OW_COPY __builtin_memcpy
#define OW_SPECIAL inline __attribute__((always_inline))

struct uint3 { unsigned x, y, z; };

// Kinds of faults and meetings, as in fibres.h.
enum { OW_MISALIGNED = 4, OW_SHUFFLE_MASK = 8, OW_STOPPED = 9, OW_WARP_BARRIER = 0, OW_EXCHANGE = 1 };

// The part of the scheduler that kernels see; fibres.h has the same struct.
struct OwHost {
    uint3 thread, block, block_dim, grid_dim;
    void* dynamic_shared;
    void (*barrier)(int line);
    const unsigned long long* (*meet)(unsigned mask, unsigned long long value, int kind, int line);
    unsigned (*gather)(int line);
    int (*count)(bool predicate, int line);
    void (*fail)(int kind, const char* what, int line);
    void (*copy_async)(void* to, const void* from, int bytes, int given, int line);
    void (*commit_async)();
    void (*wait_async)(int groups);
};

#ifdef OW_VERIFY

#ifdef OW_SANITIZE
extern "C" OwHost ow_the_host;  // the checker's
#define ow_host (&ow_the_host)
#define OW_BIND(HOST) ((void)HOST)
#else
static OwHost* ow_host;
#define OW_BIND(HOST) (ow_host = HOST)
#endif
#define threadIdx (ow_host->thread)
#define blockIdx (ow_host->block)
#define blockDim (ow_host->block_dim)
#define gridDim (ow_host->grid_dim)
#ifdef OW_SANITIZE
// One run of memory for all shared variables, those of templates too: thread-local storage, for all
// fibres are one thread.  A gap in front of each, so that what runs past its neighbour's end shows.
#define OW_SHARED static __thread __attribute__((used))
#define __shared__ OW_SHARED char OW_NAME(ow_gap_, __COUNTER__)[256]; OW_SHARED
#define OW_NAME(A, B) OW_NAME2(A, B)
#define OW_NAME2(A, B) A##B
OW_SHARED char ow_gap_mark[256];
// as much dynamic shared memory as a block of any GPU can have, and room behind
static char ow_dynamic[256 * 1024] __attribute__((aligned(1024)));
#else
#define __shared__ static __attribute__((section("ow_shared"), used))
extern "C" __attribute__((weak, visibility("hidden"))) char __start_ow_shared[];
extern "C" __attribute__((weak, visibility("hidden"))) char __stop_ow_shared[];
#endif
// Where a meeting stands: its line, and a number of its own, for a line may have several.  In
// helpers it is the line of the kernel that calls them.
#define OW_LINE __LINE__
#define OW_SITE ((__COUNTER__ % 8192) << 18 | OW_LINE)
#define OW_CALLED_FROM , int ow_line = __builtin_LINE()
#define OW_CALLER , ow_line
#define __syncthreads() (ow_host->barrier(OW_SITE))
#define __syncwarp(...) ((void)ow_host->meet(ow_mask(__VA_ARGS__), 0, OW_WARP_BARRIER, OW_SITE))
OW_INLINE unsigned ow_mask(unsigned mask = 0xffffffffu) { return mask; }
OW_INLINE unsigned ow_thread_number() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
OW_INLINE int ow_lane() { return ow_thread_number() % 32; }
// Values by lane, and behind them the mask of the lanes that came.
OW_INLINE const unsigned long long* ow_meet(unsigned mask, unsigned long long value, int line) {
    return ow_host->meet(mask, value, OW_EXCHANGE, line);
}
template <class T> OW_INLINE T ow_exchange(unsigned mask, T value, int source, int line) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    const unsigned long long* lanes = ow_meet(mask, bits, line);
    if (!(lanes[32] >> source & 1u)) {
        const bool named = mask >> source & 1u;
        ow_host->fail(OW_SHUFFLE_MASK, named ? "a shuffle reads a lane that the block does not have"
                                             : "a shuffle reads a lane outside its mask", line);
        return value;
    }
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
OW_INLINE int ow_from_lane(int source, int width) {
    return ow_lane() / width * width + (int)((unsigned)source % (unsigned)width);
}
OW_INLINE unsigned ow_vote(unsigned mask, bool predicate, int line) {
    const unsigned long long* lanes = ow_meet(mask, predicate, line);
    unsigned found = 0;
    for (int l = 0; l < 32; ++l)
        if (lanes[32] >> l & 1u) found |= (unsigned)lanes[l] << l;
    return found;
}
OW_INLINE int ow_width(int width = 32) { return width; }
#define __shfl_sync(m, v, s, ...) ow_exchange(m, v, ow_from_lane(s, ow_width(__VA_ARGS__)), OW_SITE)
#define __shfl_down_sync(m, v, d, ...) ow_exchange(m, v, ow_from_above(d, ow_width(__VA_ARGS__)), OW_SITE)
#define __shfl_up_sync(m, v, d, ...) ow_exchange(m, v, ow_from_below(d, ow_width(__VA_ARGS__)), OW_SITE)
#define __shfl_xor_sync(m, v, d, ...) ow_exchange(m, v, ow_from_other(d, ow_width(__VA_ARGS__)), OW_SITE)
#define __ballot_sync(m, p) ow_vote(m, (p) != 0, OW_SITE)
#define __any_sync(m, p) (ow_vote(m, (p) != 0, OW_SITE) != 0)
#define __all_sync(m, p) (ow_vote(m, (p) == 0, OW_SITE) == 0)
#define OW_FOUND_ONCE(p) (p)
#define DYNAMIC_SHARED(TYPE, NAME) TYPE* NAME = (TYPE*)ow_host->dynamic_shared
OW_INLINE void ow_check_aligned(const void* p, int bytes, int line) {
    if ((unsigned long long)p % bytes) ow_host->fail(OW_MISALIGNED, "a wide access is misaligned", line);
}

#else

static const uint3 threadIdx = {0, 0, 0};
static const uint3 blockDim = {1, 1, 1};
static thread_local uint3 blockIdx;
static thread_local uint3 gridDim;
#define __shared__ static thread_local
// Clang takes registers 16 to 31 of AVX-512 as kept by the call that finds a thread's own memory.  A thread's
// first call for a library gets that memory, and a call behind many new libraries makes the thread's table of
// them longer: glibc clears both by these registers.  So it is found before anything else is read.
OW_INLINE void ow_begin(const uint3* grid) {
    gridDim = *grid;
#if defined(__clang__) && defined(__AVX512F__)
    asm volatile("" : : "r"(&blockIdx) : "memory");
#endif
}
// Where a thread's own memory lies a call tells, which g++ would make at each use.
template <class T> OW_INLINE T* ow_found_once(T* p) { asm("" : "+r"(p)); return p; }
#define OW_FOUND_ONCE(p) ow_found_once(p)
#define __syncthreads() ((void)0)
#define __syncwarp(...) ((void)0)
#define OW_CALLED_FROM
#define OW_CALLER
OW_INLINE void ow_check_aligned(const void*, int, int) {}

#endif

#ifdef OW_SANITIZE
// The checker sees an atomic and a fence as such, not the plain accesses that they are made of.
extern "C" void ow_touch_atomic(void* p, int bytes, int device, int polls, void* pc);
extern "C" void ow_fence(int device, void* pc);
extern "C" void ow_touch(const void* p, int bytes, int writes, int line);
#define OW_ATOMIC static __attribute__((noinline, no_sanitize("thread", "undefined")))
// POLLS: it may be there to look, for another thread to write
#define OW_TOUCH(P, DEVICE, POLLS) \
    ow_touch_atomic((void*)(P), sizeof(*(P)), DEVICE, POLLS, __builtin_return_address(0))
OW_ATOMIC void __threadfence() { ow_fence(1, __builtin_return_address(0)); }
OW_ATOMIC void __threadfence_block() { ow_fence(0, __builtin_return_address(0)); }
#else
#define OW_ATOMIC OW_INLINE
#define OW_TOUCH(P, DEVICE, POLLS) ((void)0)
// What was written before an atomic is seen behind another thread's: no kernel of ours asks for more.
OW_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
OW_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
#endif

template <class T> struct OwSame { typedef T type; };
template <class T> struct OwNoReference { typedef T type; };
template <class T> struct OwNoReference<T&> { typedef T type; };
#ifdef OW_VERIFY  // fibres take turns and are never interrupted: plain updates are atomic
#define OW_UPDATE(MADE) T old = *p; *p = (T)(MADE); return old
#else
#define OW_UPDATE(MADE)                                                               \
    T old, made;                                                                      \
    __atomic_load(p, &old, __ATOMIC_RELAXED);                                         \
    do made = (T)(MADE);                                                              \
    while (!__atomic_compare_exchange(p, &old, &made, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
    return old
#endif
#define OW_ATOMICS(NAME, DEVICE, MADE, POLLS)                                          \
    template <class T> OW_ATOMIC T NAME(T* p, typename OwSame<T>::type x) {            \
        OW_TOUCH(p, DEVICE, POLLS);                                                   \
        OW_UPDATE(MADE);                                                              \
    }
#define OW_ATOMIC_SCOPES(NAME, MADE, POLLS)                                           \
    OW_ATOMICS(NAME, 1, MADE, POLLS)                                                  \
    OW_BLOCK_ATOMICS(NAME##_block, MADE, POLLS) OW_ATOMICS(NAME##_system, 1, MADE, POLLS)
#ifdef OW_VERIFY
#define OW_BLOCK_ATOMICS(NAME, MADE, POLLS) OW_ATOMICS(NAME, 0, MADE, POLLS)
#else  // a block is one thread
#define OW_BLOCK_ATOMICS(NAME, MADE, POLLS) \
    template <class T> OW_INLINE T NAME(T* p, typename OwSame<T>::type x) { T old = *p; *p = (T)(MADE); return old; }
#endif
OW_ATOMIC_SCOPES(atomicAdd, old + x, x == T(0))
OW_ATOMIC_SCOPES(atomicSub, old - x, x == T(0))
OW_ATOMIC_SCOPES(atomicMax, old > x ? old : x, 0)
OW_ATOMIC_SCOPES(atomicMin, old < x ? old : x, 0)
OW_ATOMIC_SCOPES(atomicExch, x, 1)
OW_ATOMIC_SCOPES(atomicAnd, old & x, 1)
OW_ATOMIC_SCOPES(atomicOr, old | x, 1)
OW_ATOMIC_SCOPES(atomicXor, old ^ x, x == T(0))
OW_ATOMIC_SCOPES(atomicInc, old >= x ? 0 : old + 1, 0)
OW_ATOMIC_SCOPES(atomicDec, old == 0 || old > x ? x : old - 1, 0)
#define OW_CAS(NAME, DEVICE)                                                          \
    template <class T>                                                                \
    OW_ATOMIC T NAME(T* p, typename OwSame<T>::type expected, typename OwSame<T>::type x) { \
        OW_TOUCH(p, DEVICE, 1);                                                       \
        OW_UPDATE(old == expected ? x : old);                                         \
    }
OW_CAS(atomicCAS, 1)
OW_CAS(atomicCAS_block, 0)
OW_CAS(atomicCAS_system, 1)

// Entry points.  `slots` holds the arguments, 8 bytes each.  They are read once: read again for each block,
// as what a store may have changed, they make a copy beyond the caches take 1.7 times as long.
template <int... I> struct OwIndices {};
template <int N, int... I> struct OwCount { typedef typename OwCount<N - 1, N - 1, I...>::type type; };
template <int... I> struct OwCount<0, I...> { typedef OwIndices<I...> type; };
template <auto F> struct OwKernel;
template <class... P, void (*F)(P...)> struct OwKernel<F> {
    template <class Run, int... I> OW_INLINE void call(const char* slots, const Run& run, OwIndices<I...>) {
        run(*(const P*)(slots + 8 * I)...);
    }
    template <class Run> OW_INLINE void call(const char* slots, const Run& run) {
        call(slots, run, typename OwCount<sizeof...(P)>::type());
    }
};

#ifdef OW_SANITIZE
#define OW_MEMORY_ENTRIES                                                                     \
    extern "C" char* ow_shared_mark() { return ow_gap_mark; }                                 \
    extern "C" char* ow_dynamic_begin() { return ow_dynamic; }                                \
    extern "C" int ow_dynamic_bytes() { return sizeof ow_dynamic; }
#else
#define OW_MEMORY_ENTRIES                                                                     \
    extern "C" char* ow_shared_begin() { return __start_ow_shared; }                          \
    extern "C" char* ow_shared_end() { return __stop_ow_shared; }
#endif
#ifdef OW_VERIFY
#define OW_ENTRY(...)                                                                         \
    OW_MEMORY_ENTRIES                                                                         \
    extern "C" void ow_bind(OwHost* host) { OW_BIND(host); }                                  \
    extern "C" void ow_thread(const char* slots) { OwKernel<__VA_ARGS__>::call(slots, __VA_ARGS__); }
#define OW_ENTRY_IN_LINE OW_ENTRY
#else
// One after the other in the order of memory: the blocks of a row, of which a map counts along y,
// and parts of a row along x.
#ifdef PARTS
#define OW_INNER x
#define OW_OUTER y
#else
#define OW_INNER y
#define OW_OUTER x
#endif
#define OW_ENTRY(...)                                                                         \
    extern "C" void ow_blocks(const char* slots, const uint3* grid, long long first, long long last) { \
        if (first >= last) return;                                                            \
        ow_begin(grid);                                                                       \
        const long long inner = grid->OW_INNER;                                               \
        unsigned outer_at = (unsigned)(first / inner), inner_at = (unsigned)(first % inner);  \
        OwKernel<__VA_ARGS__>::call(slots, [&](auto... given) __attribute__((always_inline)) { \
            for (long long left = last - first; left; --left) {                               \
                blockIdx.OW_OUTER = outer_at;                                                 \
                blockIdx.OW_INNER = inner_at;                                                 \
                (__VA_ARGS__)(given...);                                                      \
                if (++inner_at == inner) inner_at = 0, ++outer_at;                            \
            }                                                                                 \
        });                                                                                   \
    }
// The same of a kernel whose blocks lie along x alone, which counts them with fewer registers; BEGIN and END
// stand around all blocks.
#define OW_BLOCKS_IN_LINE(BEGIN, END, ...)                                                    \
    extern "C" void ow_blocks(const char* slots, const uint3* grid, long long first, long long last) { \
        ow_begin(grid);                                                                       \
        OwKernel<__VA_ARGS__>::call(slots, [&](auto... given) __attribute__((always_inline)) { \
            BEGIN;                                                                            \
            for (unsigned b = (unsigned)first, end = (unsigned)last; b < end; ++b) {          \
                blockIdx.x = b;                                                               \
                (__VA_ARGS__)(given...);                                                      \
            }                                                                                 \
            END;                                                                              \
        });                                                                                   \
    }
#define OW_ENTRY_IN_LINE(...) OW_BLOCKS_IN_LINE(, , __VA_ARGS__)
#endif
