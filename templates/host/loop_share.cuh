// loop_share.cuh: rounds of a loop of Python that touch nothing of each other's, shared by all cores.
#pragma once

// Steps that are worth no look at the clock, the most of them in a nanosecond, and what is worth waking threads:
// nanoseconds, and of each byte that is kept for the case of an error.
#ifndef LOOP_SHORT
#define LOOP_SHORT 4096
#define LOOP_WORTH_SHARING 60000
#define LOOP_WORTH_KEEPING 0.5
#endif
#define LOOP_FASTEST 16
#define LOOP_NEVER (1ll << 62)

// What a function of rounds counts by, next to its loop; the caller's has it when the function ends.
struct LoopOwnWatch : LoopWatch {
    LoopWatch& of;
    explicit LoopOwnWatch(LoopWatch& of) : LoopWatch(of), of(of) {}
    ~LoopOwnWatch() { of = *this; }
};
OW_INLINE int64 loop_steps(const LoopWatch& watch) { return watch.looks * LOOP_LOOK_EVERY - watch.left; }
// A round that begins behind so many steps is left for later.
#define LOOP_PAUSE(round) \
    do { if (__builtin_expect(loop_steps(watch) >= pause, 0)) { first = round; return LOOP_PAUSED; } } while (0)

// What a loop has written to, as it was.
template <int ARRAYS> struct LoopBefore {
    LoopRoom rooms[ARRAYS];
    const LoopSpan* spans;
    static int64 size_of(LoopSpan span) { return span.high - span.low; }
    bool keep(const LoopSpan* written) {
        spans = written;
        for (int n = 0; n < ARRAYS; ++n) {
            char* const kept = rooms[n].template of<char>(size_of(spans[n]));
            if (!kept) return false;
            OW_COPY(kept, spans[n].low, size_of(spans[n]));
        }
        return true;
    }
    void put_back() const {
        for (int n = 0; n < ARRAYS; ++n) OW_COPY((char*)spans[n].low, rooms[n].at, size_of(spans[n]));
    }
};

// The rounds that a thread takes at a time; what they count and how they end is joined.
template <class Rounds> struct LoopParts {
    const Rounds& rounds;
    int64 first, steps, made[4];
    int end;
    static void run(void* of, int64 begin, int64 end, LoopWatch* watch) {
        LoopParts& parts = *(LoopParts*)of;
        if (__atomic_load_n(&parts.end, __ATOMIC_RELAXED)) return;
        int64 from = parts.first + begin, made[4];
        const int64 before = loop_steps(*watch);
        const int how = parts.rounds(from, parts.first + end, LOOP_NEVER, made, *watch);
        __atomic_fetch_add(&parts.steps, loop_steps(*watch) - before, __ATOMIC_RELAXED);
        int none = LOOP_DONE;
        if (how && __atomic_compare_exchange_n(&parts.end, &none, how, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            OW_COPY(parts.made, made, sizeof made);
    }
};

// All rounds from ``first`` on, one after the other until it shows that there is work for several threads.
// Where they may fail an error leaves what it leaves in Python: what was written is put back, and they run
// again, in order.
template <class Rounds, int ARRAYS>
int loop_share(const Rounds& rounds, int64 first, int64 last, bool can_fail, const LoopSpan (&written)[ARRAYS],
               int64* made, LoopWatch& watch) {
    if (watch.threads < 2) return rounds(first, last, LOOP_NEVER, made, watch);
    const int64 all = last - first, steps = loop_steps(watch);
    int how = rounds(first, last, loop_steps(watch) + LOOP_SHORT, made, watch);
    if (how != LOOP_PAUSED) return how;
    const int64 second = first, start = watch.now();
    double time = (double)(loop_steps(watch) - steps) / LOOP_FASTEST;  // nanoseconds of the rounds so far
    if (time < LOOP_WORTH_SHARING) {
        how = rounds(first, last, loop_steps(watch) + LOOP_SHORT, made, watch);
        if (how != LOOP_PAUSED) return how;
        time = watch.now() - start;
    }
    const int64 left = last - first;
    time *= (double)left / (second == first ? all - left : first - second);
    int64 bytes = 0;
    bool dense = true;  // what lies between an array's elements is not ours to keep and put back
    for (LoopSpan span : written) bytes += can_fail ? span.high - span.low : 0, dense = dense && span.dense;
    LoopBefore<ARRAYS> before;
    if (left < 2 || (can_fail && !dense) || time < LOOP_WORTH_SHARING + LOOP_WORTH_KEEPING * bytes || (can_fail && !before.keep(written)))
        return rounds(first, last, LOOP_NEVER, made, watch);
    LoopParts<Rounds> parts = {rounds, first, 0, {}, LOOP_DONE};
#ifdef LOOP_BACKWARDS  // in the worst order, for tests
    bool stopped = false;
    for (int64 k = left; k-- > 0;) LoopParts<Rounds>::run(&parts, k, k + 1, &watch);
    parts.steps = 0;
#else
    const int64 some = left / (16 * watch.threads);
    const bool stopped = !watch.share(watch.how, LoopParts<Rounds>::run, &parts, left, some ? some : 1);
#endif
    watch.looks += parts.steps / LOOP_LOOK_EVERY, watch.left -= parts.steps % LOOP_LOOK_EVERY;
    if (stopped || parts.end == LOOP_RAISED) return LOOP_RAISED;
    if (parts.end && can_fail) {
        before.put_back();
        return rounds(first, last, LOOP_NEVER, made, watch);
    }
    if (parts.end) OW_COPY(made, parts.made, sizeof parts.made);
    return parts.end;
}
#define LOOP_SHARE(...) \
    do { if (const int how_shared = loop_share(__VA_ARGS__, made, watch)) return how_shared; } while (0)
