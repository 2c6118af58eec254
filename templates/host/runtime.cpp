// The host executor: fibres for verify mode, a pool of threads for run mode.  Compiled once and cached.
#include "grid.h"
#include "pool.h"
#include "products.h"

extern "C" {
int pthread_create(unsigned long*, const void*, void* (*)(void*), void*);
int pthread_detach(unsigned long);
int pthread_mutex_lock(void*);
int pthread_mutex_trylock(void*);
int pthread_mutex_unlock(void*);
int pthread_cond_wait(void*, void*);
int pthread_cond_broadcast(void*);
int clock_gettime(int, long*);
void* malloc(unsigned long);
void free(void*);
int memcmp(const void*, const void*, unsigned long);
int getpid();
long syscall(long, ...);
}

// ---- verify mode: the first fault stops the kernel ------------------------------------------------

namespace {

void watch_launch() {}
void watch_begin(Block&) {}
void watch_barrier(Block&) {}
void watch_meeting(Block&, int, unsigned, int) {}
void watch_stuck(Block&) {}
void watch_end(Block&) {}
void watch_copy(const Copy&) {}
void watch_landing(const Copy&) {}
void complain(int, int line, int, int example, const char* what) {
    if (!failed) {
        const Triple t = block->fibres[example].thread, b = block->index;
        snprintf(message, sizeof message, "line %d: %s (thread %u,%u,%u of block %u,%u,%u)", line, what,
                 t.x, t.y, t.z, b.x, b.y, b.z);
    }
    failed = true;
}

}  // namespace

extern "C" const char* ow_message() { return message; }

// Run a kernel under a schedule.  Returns 0, 1 with ow_message(), or an Outcome.
extern "C" int ow_verify(const Launch* launch) {
    run_launch(*launch);
    block = 0;
    return outcome(failed);
}

// ---- run mode: blocks on all cores ----------------------------------------------------------------

namespace {

typedef void (*Blocks)(const char*, const Triple*, long long, long long);
struct Zeroed { long long slot, bytes; };  // what a kernel adds to
struct Run {  // a kernel that is ready but for its arguments
    Blocks blocks;
    long long share;  // blocks that a thread takes at a time
    long long alone;  // nanoseconds that one thread takes: a guess, then as measured
    long long shared[2], left;  // see pays_to_share
    Triple grid;
    int zeroed_count;
    Zeroed zeroed[2];
};
struct Job {
    Blocks blocks;
    const char* args;
    const Triple* grid;
    long long total, share, next;
    int working, places;  // workers at it, and how many more may join
    int helped;           // workers that came in time for a share
    bool soon;            // whether it came soon behind another: then workers look for the next one
};

// Python's functions, see FOR_LAUNCHES in runtime/host/launcher.py.
void* (*let_go)();
void (*take_back)(void*);
int (*handle_signals)();

// Waking a thread takes some 25 microseconds, so a kernel this short (nanoseconds) runs on the caller's alone.
// Where kernels come soon behind each other, in one call or in several, threads look for the next one before
// they sleep, for no longer than waking them takes; then it is enough that the kernels in a row take so long.
const long long WORTH_WAKING = 60000, WORTH_SHARING = 12000, SOON = 30000;
const long long LOOK_EVERY = 50000000;  // nanoseconds between looks at signals
// What is over this soon (nanoseconds) keeps Python's lock: who lets go of it among many threads may wait
// for milliseconds to get it back.
const long long WORTH_LETTING_GO = 10000;
enum { TRIED_AGAIN = 32 };  // part of the time that trying what was slower may take
enum { SPINS = 4096 };  // looks at a lock, or for the last share of a kernel, which is short, before a thread sleeps

void relax() {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

long long now() {
    long t[2];
    clock_gettime(1 /* CLOCK_MONOTONIC */, t);
    return 1000000000ll * t[0] + t[1];
}

// The thread in which Python handles signals; there is no shorter way to ask in every C library.
bool on_main_thread() {
#ifdef __x86_64__
    return syscall(186 /* gettid */) == getpid();
#else
    return syscall(178) == getpid();
#endif
}

alignas(64) char lock[64], wake[64], idle[64];  // zero is an initialised pthread object in glibc
Job* job;
uint64 generation;
int workers;
int most_threads = 1, callers;  // of a launch; launches that have work for several threads
long long last_end, in_a_row;  // of kernels worth sharing: when the last one ended, and time of those in a row
int forks;  // that made this process

bool take_share(Job* j) {
    const long long first = __atomic_fetch_add(&j->next, j->share, __ATOMIC_RELAXED);
    if (first >= j->total) return false;
    const long long last = first + j->share < j->total ? first + j->share : j->total;
    j->blocks(j->args, j->grid, first, last);
    return true;
}

bool comes_behind_another(long long start) { return start - __atomic_load_n(&last_end, __ATOMIC_RELAXED) < SOON; }
void note_end(long long end, long long row) {
    __atomic_store_n(&last_end, end, __ATOMIC_RELAXED);
    __atomic_store_n(&in_a_row, row, __ATOMIC_RELAXED);
}

// Let Python handle signals, if it is time to; true if a handler has raised something, as that of Ctrl-C.
bool raised_meanwhile(long long* next_look, void** python) {
    if (now() < *next_look) return false;
    bool raised = false;
    if (on_main_thread()) {
        if (*python) take_back(*python);
        raised = handle_signals();
        if (*python) *python = let_go();
    }
    *next_look = now() + LOOK_EVERY;
    return raised;
}

// The shares of the thread that launched: now and then it looks at signals; true if one stops the kernel.
bool take_watched(Job* j, void** python) {
    long long next_look = now() + LOOK_EVERY;
    while (take_share(j)) {
        if (!raised_meanwhile(&next_look, python)) continue;
        __atomic_store_n(&j->next, j->total, __ATOMIC_RELAXED);
        return true;
    }
    return false;
}

// It is held for some instructions: who finds it taken does not sleep at once.
void take_lock() {
    for (int i = 0; i < SPINS; ++i) {
        if (!pthread_mutex_trylock(lock)) return;
        relax();
    }
    pthread_mutex_lock(lock);
}

bool comes_soon(uint64 last) {
    for (const long long end = now() + SOON; now() < end; relax())
        if (__atomic_load_n(&generation, __ATOMIC_RELAXED) != last) return true;
    return false;
}

// With the lock held: return when there is a job behind the one seen.
void wait_for_job(uint64 seen, bool soon) {
    while (!job || generation == seen) {
        const uint64 last = generation;  // it may be over already
        pthread_mutex_unlock(lock);
        soon = soon && comes_soon(last);
        take_lock();
        if (!soon && generation == last) pthread_cond_wait(wake, lock);
    }
}

void* worker(void*) {
    uint64 seen = 0;
    bool soon = false;
    pthread_mutex_lock(lock);
    for (;;) {
        wait_for_job(seen, soon);
        seen = generation;
        Job* mine = job;
        if (!mine->places) continue;
        --mine->places;
        ++mine->working;
        soon = mine->soon;
        pthread_mutex_unlock(lock);
        const bool helped = take_share(mine);
        while (helped && take_share(mine)) {}
        take_lock();
        mine->helped += helped;
        if (--mine->working == 0) pthread_cond_broadcast(idle);
    }
    return 0;
}

// In a forked child the workers are gone: start again with none.  A launch may be going on, where the
// handler of a signal forks: no worker is at it any more.
void workers_after_fork() {
    if (job) job->working = 0;
    ++forks;
    memset(lock, 0, sizeof lock);
    memset(wake, 0, sizeof wake);
    memset(idle, 0, sizeof idle);
    job = 0;
    workers = callers = 0;
}
__attribute__((constructor)) void workers_at_fork() { pthread_atfork(0, 0, workers_after_fork); }

}  // namespace

// Run all blocks on the caller's thread and on up to `helpers` others; how many threads took part, or 0
// if a signal has stopped it.
static int run_helped(const Run* run, const char* args, long long total, bool soon, int helpers, void** python) {
    Job mine = {run->blocks, args, &run->grid, total, run->share, 0, 0, helpers, 0, soon};
    if (helpers > 0) take_lock();
    if (helpers <= 0 || job) {  // another thread has the pool: run on the caller's alone
        if (helpers > 0) pthread_mutex_unlock(lock);
        return !take_watched(&mine, python);
    }
    for (; workers < helpers; ++workers) {
        unsigned long thread;
        if (pthread_create(&thread, 0, worker, 0)) break;
        pthread_detach(thread);
    }
    job = &mine;
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(lock);
    pthread_cond_broadcast(wake);
    const bool stopped = take_watched(&mine, python);
    take_lock();
    job = 0;  // nobody joins from here on
    pthread_mutex_unlock(lock);
    for (int i = 0; i < SPINS && __atomic_load_n(&mine.working, __ATOMIC_ACQUIRE); ++i) relax();
    take_lock();
    while (mine.working) pthread_cond_wait(idle, lock);
    pthread_mutex_unlock(lock);
    return stopped ? 0 : mine.helped + 1;
}

// Callers that run at the same time share the threads out among them, so that an outer pool does not
// have more than there are.
static int run_shared(const Run* run, const char* args, long long total, bool soon, void** python) {
    const int others = __atomic_fetch_add(&callers, 1, __ATOMIC_RELAXED), before = forks;
    const int threads = run_helped(run, args, total, soon, most_threads - 1 - others, python);
    if (forks == before) __atomic_fetch_sub(&callers, 1, __ATOMIC_RELAXED);
    return threads;
}

// How many threads a launch takes.
extern "C" void ow_threads(int most) { most_threads = most; }

extern "C" void ow_python(void* (*save)(), void (*restore)(void*), int (*check)()) {
    let_go = save;
    take_back = restore;
    handle_signals = check;
}

// What was thought of a time, and what was seen: one disturbed call decides nothing.
static void note_time(long long* known, long long was, long long seen) {
    const long long most = 4 * was, counts = seen < most ? seen : most;
    __atomic_store_n(known, was + (counts - was) / (counts < was ? 2 : 4), __ATOMIC_RELAXED);
}

// Whether several threads are quicker than one, as calls have shown: for `shared`, where it comes soon behind
// another or not, they took so many nanoseconds.  They lose where memory is what a kernel waits for, or where
// what passes for a core is half of one.  The other way is tried again once a call's loss by that is a small
// part of the time since: `left` is what it may still lose.
static bool pays_to_share(Run* run, long long alone, bool soon) {
    const long long shared = __atomic_load_n(&run->shared[soon], __ATOMIC_RELAXED);
    if (!shared) return true;
    const bool pays = shared < alone;
    const long long takes = pays ? shared : alone, loss = alone + shared - 2 * takes;
    const long long left = __atomic_load_n(&run->left, __ATOMIC_RELAXED) + takes / TRIED_AGAIN;
    const bool tries = left > loss;
    __atomic_store_n(&run->left, tries ? 0 : left, __ATOMIC_RELAXED);
    return pays != tries;
}

// The first time, threads begin and memory is new, which says nothing about the next.
static void note_shared(long long* known, long long alone, long long seen) {
    const long long was = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (was > 1) note_time(known, was, seen);
    else __atomic_store_n(known, !was ? 1 : seen < alone ? seen : alone, __ATOMIC_RELAXED);
}

// Run the blocks of a grid, on several threads where that has shown to pay; false if a signal's handler
// has raised something, which is left to Python.
static bool run_grid_of(Run* run, const char* args, void** python) {
    const long long total = (long long)run->grid.x * run->grid.y * run->grid.z;
    for (int i = 0; i < run->zeroed_count; ++i)
        memset(*(char* const*)(args + 8 * run->zeroed[i].slot), 0, run->zeroed[i].bytes);
    if (total <= run->share) {  // nothing to share, and no time to take
        run->blocks(args, &run->grid, 0, total);
        return true;
    }
    const long long alone = __atomic_load_n(&run->alone, __ATOMIC_RELAXED), start = now();
    const bool soon = comes_behind_another(start);
    const long long row = alone + (soon ? __atomic_load_n(&in_a_row, __ATOMIC_RELAXED) : 0);
    const bool is_long = alone >= WORTH_SHARING && row >= WORTH_WAKING;
    int threads = 1;
    if (!is_long) run->blocks(args, &run->grid, 0, total);
    else if (most_threads > 1 && pays_to_share(run, alone, soon)) threads = run_shared(run, args, total, soon, python);
    else threads = run_helped(run, args, total, soon, 0, python);  // which looks at signals
    const long long end = now();
    if (alone >= WORTH_SHARING) note_end(end, row);
    if (!threads) return false;
    if (threads > 1) note_shared(&run->shared[soon], alone, end - start);
    // before one thread has run it, all that is known is that it takes no longer than these together
    if (threads == 1 || (end - start) * threads < alone) note_time(&run->alone, alone, (end - start) * threads);
    return true;
}

// Python's lock is held by who calls.
extern "C" void ow_run(Run* run, const char* args) {
    void* python = run->alone < WORTH_LETTING_GO ? 0 : let_go();
    run_grid_of(run, args, &python);
    if (python) take_back(python);
}

// ---- what arguments hold in the end, copied by as many threads as a kernel has ----------------------

namespace {

struct Stored { char* to; const char* from; long long bytes; };
enum { PIECE = 1 << 17, BYTES_PER_NS = 10 };  // what a thread copies at a time, and how fast: a guess

void copy_pieces(const char* args, const Triple*, long long first, long long last) {
    const Stored& c = *(const Stored*)args;
    const long long begin = first * PIECE, end = last * PIECE < c.bytes ? last * PIECE : c.bytes;
    memcpy(c.to + begin, c.from + begin, end - begin);
}

}  // namespace

// Of memory that does not overlap.
extern "C" void ow_copy(char* to, const char* from, long long bytes) {
    const Stored stored = {to, from, bytes};
    const unsigned pieces = (unsigned)((bytes + PIECE - 1) / PIECE);
    Run run = {copy_pieces, 1, bytes / BYTES_PER_NS, {0, 0}, 0, {pieces, 1, 1}, 0, {}};
    ow_run(&run, (const char*)&stored);
}

// ---- products by BLAS, as kernels of one block ------------------------------------------------------

namespace {

// cblas_?gemm with integers of 64 bits: factors are numbers, those of complex matrices addresses.
template <class A, class T>
void multiply(const Product& p, A one, A zero) {
    typedef void (*Gemm)(int, int, int, long long, long long, long long, A, const T*, long long, const T*,
                         long long, A, T*, long long);
    ((Gemm)p.routine)(PRODUCT_ROW_MAJOR, (int)p.x_lies, (int)p.y_lies, p.m, p.n, p.k, one, (const T*)p.x, p.x_line,
                      (const T*)p.y, p.y_line, zero, (T*)p.out, p.out_line);
}

// cblas_?gemv: x_lies is the order of the matrix, y_lies whether it is transposed.
template <class A, class T>
void multiply_vector(const Product& p, A one, A zero) {
    typedef void (*Gemv)(int, int, long long, long long, A, const T*, long long, const T*, long long, A, T*,
                         long long);
    const bool first = p.kind < PRODUCT_VECTOR_BY;
    ((Gemv)p.routine)((int)p.x_lies, (int)p.y_lies, p.k, p.m, one, (const T*)(first ? p.x : p.y), p.x_line,
                      (const T*)(first ? p.y : p.x), p.y_line, zero, (T*)p.out, p.out_line);
}

// cblas_?dot, which returns a number, and cblas_?dotu_sub, which stores it.
template <class T> void multiply_vectors(const Product& p) {
    typedef T (*Dot)(long long, const T*, long long, const T*, long long);
    *(T*)p.out = ((Dot)p.routine)(p.k, (const T*)p.x, p.x_line, (const T*)p.y, p.y_line);
}
void multiply_complex_vectors(const Product& p) {
    typedef void (*Dot)(long long, const void*, long long, const void*, long long, void*);
    ((Dot)p.routine)(p.k, p.x, p.x_line, p.y, p.y_line, p.out);
}

struct Pair { double real, imag; };

// cblas_?syrk fills what is on the diagonal and above; the rest is the same.
template <class A, class T, class E>
void multiply_by_itself(const Product& p, A one, A zero) {
    typedef void (*Syrk)(int, int, int, long long, long long, A, const T*, long long, A, T*, long long);
    enum { UPPER = 121 };
    ((Syrk)p.routine)(PRODUCT_ROW_MAJOR, UPPER, (int)p.x_lies, p.m, p.k, one, (const T*)p.x, p.x_line, zero,
                      (T*)p.out, p.out_line);
    E* const out = (E*)p.out;
    for (long long i = 0; i < p.m; ++i)
        for (long long j = 0; j < i; ++j) out[i * p.out_line + j] = out[j * p.out_line + i];
}

void compute_product(const Product* product) {
    const Product& p = *product;
    // of complex numbers, in single and in double precision
    static const float single[] = {1, 0, 0, 0};
    static const double whole[] = {1, 0, 0, 0};
    switch (p.kind) {
        case 0: return multiply<float, float>(p, 1, 0);
        case 1: return multiply<double, double>(p, 1, 0);
        case 2: return multiply<const void*, void>(p, single, single + 2);
        case 3: return multiply<const void*, void>(p, whole, whole + 2);
        case 4: case 8: return multiply_vector<float, float>(p, 1, 0);
        case 5: case 9: return multiply_vector<double, double>(p, 1, 0);
        case 6: case 10: return multiply_vector<const void*, void>(p, single, single + 2);
        case 12: return multiply_vectors<float>(p);
        case 13: return multiply_vectors<double>(p);
        case 14: case 15: return multiply_complex_vectors(p);
        case 16: return multiply_by_itself<float, float, float>(p, 1, 0);
        case 17: return multiply_by_itself<double, double, double>(p, 1, 0);
        case 18: return multiply_by_itself<const void*, void, uint64>(p, single, single + 2);
        case 19: return multiply_by_itself<const void*, void, Pair>(p, whole, whole + 2);
        default: return multiply_vector<const void*, void>(p, whole, whole + 2);
    }
}

}  // namespace

extern "C" void ow_product(const char* args, const Triple*, long long, long long) {
    Product p = *(const Product*)args;
    for (long long each = 0; each < p.count; ++each) {
        compute_product(&p);
        p.x = (const char*)p.x + p.x_step;
        p.y = (const char*)p.y + p.y_step;
        p.out = (char*)p.out + p.out_step;
    }
}
// What a loop gets; `routines` are those that NumPy's BLAS has.
extern "C" void ow_product_library(ProductLibrary* library) { library->compute = compute_product; }

// ---- the kernels of a call, one after the other ---------------------------------------------------

namespace {

struct Step {
    Run* run;
    long long args;              // where its arguments begin
    long long zero, zero_bytes;  // of the arena: counters that begin at zero
    long long refused;           // of the arena: what is not zero where it cannot compute the call; or -1
};
// Eight bytes of the arguments that a call fills in: a word plus an offset; of an array's object the
// address that it holds `held` bytes from its start.
struct Patch { int at, word, held, unused; long long offset; };
struct CallPlan {
    const Step* steps;
    const Patch* patches;
    const char* args;
    long long step_count, patch_count, args_bytes;
    int arena, held;  // the word of the arena, and where its object holds the address
};
enum { ARGS_ON_STACK = 16384 };

// Where a plan has come to: all of its steps are done, a signal's handler has raised something, or, below
// that, a step could not compute the call.
enum { DONE, RAISED = -1, FIRST_REFUSED = -2 };

long long run_plan(const CallPlan& plan, const uint64* words, char* args, void** python) {
    memcpy(args, plan.args, plan.args_bytes);
    for (long long i = 0; i < plan.patch_count; ++i) {
        const Patch& p = plan.patches[i];
        const uint64 word = words[p.word];
        *(uint64*)(args + p.at) = (p.held ? *(const uint64*)(word + p.held) : word) + p.offset;
    }
    for (long long i = 0; i < plan.step_count; ++i) {
        const Step& s = plan.steps[i];
        char* const arena = s.zero_bytes || s.refused >= 0 ? *(char* const*)(words[plan.arena] + plan.held) : 0;
        if (s.zero_bytes) memset(arena + s.zero, 0, s.zero_bytes);
        if (!run_grid_of(s.run, args + s.args, python)) return RAISED;
        if (s.refused >= 0 && *(const uint64*)(arena + s.refused)) return FIRST_REFUSED - i;
    }
    return DONE;
}

long long time_of(const CallPlan& plan) {
    long long total = 0;
    for (long long i = 0; i < plan.step_count; ++i) total += plan.steps[i].run->alone;
    return total;
}

}  // namespace

// Words that a step of a loop leaves to the next: what it wrote is what the next one reads.  The first
// writes to `out`, the second to `spare`, and from then on two arrays take turns.
struct Turn { int in, out; uint64 spare; };

static void turn(Turn& t, uint64* words) {
    const uint64 was = words[t.in];
    words[t.in] = words[t.out];
    words[t.out] = t.spare ? t.spare : was;
    t.spare = 0;
}

// Run the steps of a plan a number of times, whose arguments are words: addresses, and numbers as they
// lie in memory.  Where these differ from time to time, `rows` has `row` words for each.  `enough`, if it is
// given, points to a bool that each time writes: a true one ends the loop.  A call has its arguments to
// itself, so that many threads may run one plan.  Returns how often they ran, -1 where there is no memory for
// the arguments, or ``FIRST_REFUSED`` and less.  Python's lock is held by who calls, as of ow_run.
extern "C" long long ow_plan(const CallPlan* plan, uint64* words, long long times, Turn* turns, long long count,
                             const uint64* rows, long long row, const bool* enough) {
    alignas(16) char on_stack[ARGS_ON_STACK];
    const bool fits = plan->args_bytes <= ARGS_ON_STACK;
    char* const args = fits ? on_stack : (char*)malloc(plan->args_bytes);
    if (!args) return -1;
    void* python = times * time_of(*plan) < WORTH_LETTING_GO ? 0 : let_go();
    long long next_look = now() + LOOK_EVERY, t = 0;
    while (t < times) {
        if (row) memcpy(words + plan->arena + 1, rows + t * row, row * sizeof(uint64));
        const long long end = run_plan(*plan, words, args, &python);
        if (end <= FIRST_REFUSED) t = end;
        if (end != DONE) break;
        ++t;
        if (enough && *enough) break;
        for (long long i = 0; i < count; ++i) turn(turns[i], words);
        if (raised_meanwhile(&next_look, &python)) break;
    }
    if (python) take_back(python);
    if (!fits) free(args);
    return t;
}

// ---- whole loops of Python, on the caller's thread and, where rounds allow it, on others ----------------

struct LoopWatch {  // of loops.cuh
    bool (*raised)(void*);
    void* how;
    long long left;
    long long looks;
    long long threads;
    bool (*share)(void*, void (*)(void*, long long, long long, LoopWatch*), void*, long long, long long);
    long long (*now)();
};

namespace {

struct Looks {
    long long next;
    void** python;
};

bool raised_in_loop(void* looks) { return raised_meanwhile(&((Looks*)looks)->next, ((Looks*)looks)->python); }

struct SharedRounds {
    void (*run)(void*, long long, long long, LoopWatch*);
    void* of;
    void** python;
    int raised;
};
struct SharedLooks {
    SharedRounds* rounds;
    Looks own;  // which only the thread has that started the loop, if any has
};

bool raised_in_rounds(void* how) {
    SharedLooks* const looks = (SharedLooks*)how;
    if (__atomic_load_n(&looks->rounds->raised, __ATOMIC_RELAXED)) return true;
    if (!raised_in_loop(&looks->own)) return false;
    __atomic_store_n(&looks->rounds->raised, 1, __ATOMIC_RELAXED);
    return true;
}

void some_rounds(const char* of, const Triple*, long long first, long long last) {
    SharedRounds* const rounds = (SharedRounds*)of;
    SharedLooks looks = {rounds, {now() + LOOK_EVERY, rounds->python}};
    LoopWatch watch = {raised_in_rounds, &looks, 0, 0, 1, 0, now};
    rounds->run(rounds->of, first, last, &watch);
}

// Rounds of a loop, on all threads; false if a signal's handler has raised something.
bool share_rounds(void* how, void (*run)(void*, long long, long long, LoopWatch*), void* of, long long count,
                  long long some) {
    SharedRounds rounds = {run, of, ((Looks*)how)->python, 0};
    const Run all = {some_rounds, some, 0, {0, 0}, 0, {1, 1, 1}, 0, {}};
    const bool soon = comes_behind_another(now());
    const bool done = run_shared(&all, (const char*)&rounds, count, soon, rounds.python);
    note_end(now(), WORTH_WAKING);
    return done && !rounds.raised;
}

}  // namespace

extern "C" int ow_loop(int (*loop)(const long long*, long long*, LoopWatch), const long long* given, long long* made) {
    void* python = let_go();
    Looks looks = {now() + LOOK_EVERY, &python};
    const int end = loop(given, made, {raised_in_loop, &looks, 0, 0, most_threads, share_rounds, now});
    take_back(python);
    return end;
}

// The first array that does not lie as it did, or -1.  `like` has for each the number of dimensions, the
// object of its dtype, the extents and the strides.  An array's object has them from `at` on: the number,
// where extents and strides stand, the owner, the dtype (PyArrayObject_fields of NumPy's ndarraytypes.h).
extern "C" long long ow_differs(const uint64* objects, int at, const uint64* like, long long count) {
    for (long long i = 0; i < count; ++i) {
        const char* const object = (const char*)objects[i] + at;
        const uint64* const fields = (const uint64*)object;
        const unsigned long dims = *(const int*)object, bytes = dims * sizeof(uint64);
        if (dims != like[0] || fields[4] != like[1]) return i;
        const void *extents = (const void*)fields[1], *strides = (const void*)fields[2];
        if (memcmp(extents, like + 2, bytes) || memcmp(strides, like + 2 + dims, bytes)) return i;
        like += 2 + 2 * dims;
    }
    return -1;
}

// ---- calls of Python that come again ----------------------------------------------------------------

#include "python.h"
#include "numbers.h"
#include "arguments.h"
#include "results.h"
#include "calls.h"
#include "loop_calls.h"
