// Results that go past the caches, to memory.
//
// A store of a whole line to memory need not read what it writes over.  That pays where a kernel reads and writes
// a quarter more than the last cache has (OW_LAST_CACHE bytes), so that the next reader would find little of it, and
// for a result that does not lie on an operand, whose lines were read anyway: `a + 1` of 50 MB takes 0.75 of its time.
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
OW_INLINE void stream(OwStreamed* p, OwStreamed x) {
#if defined(__clang__)
    __builtin_nontemporal_store(x, p);
#elif defined(__AVX512F__)
    __builtin_ia32_movntdq512(p, x);
#elif defined(__AVX__)
    __builtin_ia32_movntdq256(p, x);
#else
    __builtin_ia32_movntdq(p, x);
#endif
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
// Arrays of NumPy's own lie at a multiple of 16 bytes: of a chunk there the first and the last line are stored as
// ever, since a neighbour has the rest of them.  In short chunks these would be half of all lines.
template <int N, class R, class S> OW_INLINE void stream_chunk(S* p, const R (&r)[N], long long inside) {
    enum { BYTES = N * sizeof(S), LEAST = 256 };
    if constexpr (BYTES % 64 == 0 && !__is_class(S)) {
        const int head = -(unsigned long long)p % 64;
        const bool is_served = head == 0 || (BYTES >= LEAST && head % 16 == 0);
        if (__atomic_load_n(&ow_streams, __ATOMIC_RELAXED) && inside >= N && is_served) {
            S kept[N];
            spill(kept, r);
            const int end = head ? head + BYTES - 64 : BYTES;  // of whole lines
            for (int at = 0; at < head; at += 16) OW_COPY((char*)p + at, (const char*)kept + at, 16);
            for (int at = head; at < end; at += OW_STREAMED) {
                OwStreamed part;
                OW_COPY(&part, (const char*)kept + at, OW_STREAMED);
                stream((OwStreamed*)((char*)p + at), part);
            }
            for (int at = end; at < BYTES; at += 16) OW_COPY((char*)p + at, (const char*)kept + at, 16);
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
    long long touched = 0;
    for (const Reached& one : all) {
        touched += one.bytes;
        for (const Reached& other : all)
            if (one.is_written && &other != &one && one.begin < other.begin + other.bytes
                && other.begin < one.begin + one.bytes)
                return false;
    }
    return touched >= OW_LAST_CACHE + OW_LAST_CACHE / 4;
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
