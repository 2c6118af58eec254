// Results that go past the caches, to memory.
//
// A store of a whole line to memory need not read what it writes over.  That pays for a result as long as the
// last cache (OW_LAST_CACHE bytes), of which the next reader would find little there, and which does not lie on
// an operand, whose lines were read anyway: `a + 1` of 50 MB takes 0.75 of its time.
#pragma once
#if !defined(OW_VERIFY) && (defined(__clang__) || defined(__SSE2__))
// As long as the vectors of loops: what they hold then stays in registers.
#ifdef __AVX512F__
enum { OW_STREAMED = 64 };
#elif defined(__AVX__)
enum { OW_STREAMED = 32 };
#else
enum { OW_STREAMED = 16 };
#endif
typedef long long OwStreamed __attribute__((vector_size(OW_STREAMED)));
typedef long long OwLeastStreamed __attribute__((vector_size(16)));
OW_INLINE void stream(OwLeastStreamed* p, OwLeastStreamed x) {
#if defined(__clang__)
    __builtin_nontemporal_store(x, p);
#else
    __builtin_ia32_movntdq(p, x);
#endif
}
#ifdef __AVX__
OW_INLINE void stream(OwStreamed* p, OwStreamed x) {
#if defined(__clang__)
    __builtin_nontemporal_store(x, p);
#elif defined(__AVX512F__)
    __builtin_ia32_movntdq512(p, x);
#else
    __builtin_ia32_movntdq256(p, x);
#endif
}
#endif
// To an array of NumPy's own, which lies at a multiple of 16 bytes, in so many: they meet in lines again.
template <int... I> OW_INLINE void stream_least(OwLeastStreamed* p, OwStreamed x, OwIndices<I...>) {
    (stream(p + I, __builtin_shufflevector(x, x, 2 * I, 2 * I + 1)), ...);
}
// Others see what was streamed before they see what is stored from here on.
OW_INLINE void end_streams() {
#ifdef __SSE2__
    __builtin_ia32_sfence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
// Of the latest call.  Another thread's call may set it meanwhile: so each chunk is asked where it lies, and every
// call ends its streams, also one that has begun none itself.
static bool ow_streams;
template <int N, class R, class S> OW_INLINE void stream_chunk(S* p, const R (&r)[N], long long inside) {
    enum { BYTES = N * sizeof(S) };
    if constexpr (BYTES % 64 == 0 && !__is_class(S)) {
        if (__atomic_load_n(&ow_streams, __ATOMIC_RELAXED) && inside >= N && (unsigned long long)p % 16 == 0) {
            S kept[N];
            spill(kept, r);
            const bool are_lines = (unsigned long long)p % 64 == 0;
            for (int at = 0; at < BYTES; at += OW_STREAMED) {
                OwStreamed part;
                OW_COPY(&part, (const char*)kept + at, OW_STREAMED);
                if (are_lines) stream((OwStreamed*)((char*)p + at), part);
                else stream_least((OwLeastStreamed*)((char*)p + at), part, typename OwCount<OW_STREAMED / 16>::type());
            }
            return;
        }
    }
    store_chunk(p, r, inside);
}
// What is read, or written, of so many elements at a kernel's argument.
struct Reached { const char* begin; long long bytes; bool is_written; };
template <class T> OW_INLINE Reached reached(T, long long) { return {}; }
template <class T> OW_INLINE Reached reached(const T* p, long long n) { return {(const char*)p, n * (long long)sizeof(T), false}; }
template <class T> OW_INLINE Reached reached(T* p, long long n) { return {(const char*)p, n * (long long)sizeof(T), true}; }
// Whether the results of so many elements go past the caches.
template <class... P> __attribute__((noinline)) bool are_streamed(long long elements, P... given) {
    const Reached all[] = {reached(given, elements)...};
    long long written = 0;
    for (const Reached& one : all)
        if (one.is_written) {
            written += one.bytes;
            for (const Reached& other : all)
                if (&other != &one && one.begin < other.begin + other.bytes && other.begin < one.begin + one.bytes)
                    return false;
        }
    return written >= OW_LAST_CACHE;
}
template <class... P> OW_INLINE void begin_streams(long long elements, P... given) {
    const bool streams = elements >= OW_LAST_CACHE / 64 && are_streamed(elements, given...);
    if (__atomic_load_n(&ow_streams, __ATOMIC_RELAXED) != streams)
        __atomic_store_n(&ow_streams, streams, __ATOMIC_RELAXED);
}
// An entry of maps whose blocks lie along x, EACH elements a block.
#define OW_ENTRY_STREAMING(EACH, ...) \
    OW_BLOCKS_IN_LINE(begin_streams((long long)grid->x * (EACH), given...), end_streams(), __VA_ARGS__)
#else
#define stream_chunk store_chunk
#define OW_ENTRY_STREAMING(EACH, ...) OW_ENTRY_IN_LINE(__VA_ARGS__)
#endif
