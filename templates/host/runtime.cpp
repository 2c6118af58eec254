// The host executor: fibres for verify mode, a pool of threads for run mode.
//
// Compiled once and cached.  Header-free, so that any C++ front end can build it; the prototypes
// below are those of glibc on Linux.
//
// A fibre starts on its own stack through makecontext and from then on switches by
// _setjmp/_longjmp, which costs tens of nanoseconds where swapcontext enters the kernel.

extern "C" {
struct Context { unsigned long flags; Context* link; void* stack; int stack_flags; unsigned long stack_size; char rest[8192]; };
int getcontext(Context*);
int setcontext(const Context*);
void makecontext(Context*, void (*)(), int, ...);
int _setjmp(void*) __attribute__((returns_twice));
void _longjmp(void*, int) __attribute__((noreturn));
void* mmap(void*, unsigned long, int, int, int, long);
int munmap(void*, unsigned long);
void* memset(void*, int, unsigned long);
int snprintf(char*, unsigned long, const char*, ...);
int sched_yield(void);
int pthread_create(unsigned long*, const void*, void* (*)(void*), void*);
int pthread_detach(unsigned long);
int pthread_atfork(void (*)(), void (*)(), void (*)());
int pthread_mutex_lock(void*);
int pthread_mutex_unlock(void*);
int pthread_cond_wait(void*, void*);
int pthread_cond_broadcast(void*);
int sigaction(int, const void*, void*);
int sigaltstack(const void*, void*);
int sigprocmask(int, const void*, void*);
}

namespace {

typedef unsigned long long uint64;
struct Triple { unsigned x, y, z; };
struct Host {  // the same struct as OwHost in opweave.cuh
    Triple thread, block, block_dim, grid_dim;
    void* dynamic_shared;
    void (*barrier)(int line);
    const uint64* (*meet)(unsigned mask, uint64 value, int line);
    void (*fail)(const char* what, int line);
};

// ---- verify mode: one fibre a thread, one block at a time, on the calling thread --------------

enum State { READY, AT_BARRIER, AT_MEETING, FINISHED };
enum { MOST_THREADS = 1024, STACK = 64 * 1024 };

struct Fibre {
    alignas(16) char jump[512];
    Context context;
    State state;
    bool started;
    int line;
    unsigned mask;
    uint64 value;
    Triple thread;
};

Host host;
Fibre* fibres;
char* stacks;
alignas(16) char home[512];
int current, threads;
void (*run_thread)(const char*);
const char* arguments;
uint64 exchanged[MOST_THREADS / 32][32];
char message[512];
bool failed;

void to_scheduler() {
    if (!_setjmp(fibres[current].jump)) _longjmp(home, 1);
}

void fibre_main() {
    for (;;) {
        run_thread(arguments);
        fibres[current].state = FINISHED;
        to_scheduler();
    }
}

void wait_at(State state, int line, unsigned mask, uint64 value) {
    Fibre& f = fibres[current];
    f.state = state;
    f.line = line;
    f.mask = mask;
    f.value = value;
    to_scheduler();
}

void barrier(int line) { wait_at(AT_BARRIER, line, 0, 0); }
const uint64* meet(unsigned mask, uint64 value, int line) {
    wait_at(AT_MEETING, line, mask, value);
    return exchanged[current / 32];
}
void fail(const char* what, int line) {
    if (!failed) {
        const Triple t = fibres[current].thread, b = host.block;
        snprintf(message, sizeof message, "line %d: %s (thread %u,%u,%u of block %u,%u,%u)", line, what,
                 t.x, t.y, t.z, b.x, b.y, b.z);
    }
    failed = true;
    fibres[current].state = FINISHED;
    fibres[current].started = false;  // its stack is abandoned half way
    _longjmp(home, 1);
}

void on_fault(int signal, void* info, void*) {
    const void* address = ((void**)info)[2];  // si_addr
    char what[128];
    snprintf(what, sizeof what, "%s at address %p: outside every array of the kernel",
             signal == 11 ? "access" : "bus error", address);
    fail(what, 0);
}

void resume(int t) {
    current = t;
    host.thread = fibres[t].thread;
    if (_setjmp(home)) return;
    if (fibres[t].started) _longjmp(fibres[t].jump, 1);
    fibres[t].started = true;
    Context& c = fibres[t].context;
    getcontext(&c);
    c.stack = stacks + (long)t * STACK;
    c.stack_size = STACK;
    c.link = 0;
    makecontext(&c, fibre_main, 0);
    setcontext(&c);
}

uint64 random_state;
unsigned random_below(unsigned n) {
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)((random_state >> 33) % n);
}

// Order of threads or blocks: 0 forward, 1 reverse, else a seeded shuffle.
void fill_order(int* order, int n, int schedule) {
    for (int i = 0; i < n; ++i) order[i] = schedule == 1 ? n - 1 - i : i;
    if (schedule < 2) return;
    for (int i = n - 1; i > 0; --i) {
        const int j = (int)random_below(i + 1), held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
}

// Release the lanes of a warp that stand at one meeting with everyone in their mask.
bool release_meetings(int first) {
    const int lanes = threads - first < 32 ? threads - first : 32;
    for (int l = 0; l < lanes; ++l) {
        const Fibre& f = fibres[first + l];
        if (f.state != AT_MEETING || !(f.mask >> l & 1u)) continue;
        bool all = true;
        for (int k = 0; k < lanes; ++k) {
            const Fibre& g = fibres[first + k];
            if (!(f.mask >> k & 1u)) continue;
            all = all && g.state == AT_MEETING && g.line == f.line && g.mask == f.mask;
        }
        if (!all) continue;
        const unsigned mask = f.mask;
        for (int k = 0; k < lanes; ++k)
            if (mask >> k & 1u) {
                exchanged[first / 32][k] = fibres[first + k].value;
                fibres[first + k].state = READY;
            }
        return true;
    }
    return false;
}

// Run one warp for as long as it can go on without the others: warps drift as far apart as the
// barriers allow, so that a missing barrier shows.
void run_warp(int first, const int* order) {
    do {
        bool ran = true;
        while (ran && !failed) {
            ran = false;
            for (int i = 0; i < threads && !failed; ++i) {
                const int t = order[i];
                if (t / 32 != first / 32 || fibres[t].state != READY) continue;
                resume(t);
                ran = true;
            }
        }
    } while (!failed && release_meetings(first));
}

// Release the block if every thread stands at the same barrier.
bool release_barrier() {
    int line = 0;
    for (int t = 0; t < threads; ++t) {
        if (fibres[t].state != AT_BARRIER) return false;
        if (t == 0) line = fibres[t].line;
        if (fibres[t].line != line) return false;
    }
    for (int t = 0; t < threads; ++t) fibres[t].state = READY;
    return true;
}

// Nobody can go on: say where the threads stand.
void report_stuck() {
    int counts[4] = {0, 0, 0, 0}, lines[2] = {0, 0}, other = 0, example = 0;
    for (int t = 0; t < threads; ++t) {
        const Fibre& f = fibres[t];
        ++counts[f.state];
        if (f.state == FINISHED) continue;
        if (!lines[0]) { lines[0] = f.line; example = t; }
        else if (f.line != lines[0] && !lines[1]) { lines[1] = f.line; other = t; }
    }
    const char* what = counts[AT_MEETING] ? "warp meeting" : "barrier";
    const Triple b = host.block;
    int at = snprintf(message, sizeof message,
        "line %d: divergent %s: thread %d waits in block %u,%u,%u", lines[0], what, example, b.x, b.y, b.z);
    if (lines[1]) at += snprintf(message + at, sizeof message - at, ", thread %d waits at line %d", other, lines[1]);
    snprintf(message + at, sizeof message - at, "; %d of %d threads wait, %d have returned",
             threads - counts[FINISHED], threads, counts[FINISHED]);
    failed = true;
}

void run_block(int* order, int schedule) {
    int warps[MOST_THREADS / 32];
    const int count = (threads + 31) / 32;
    for (int t = 0; t < threads; ++t) fibres[t].state = READY;
    for (;;) {
        bool all = true;
        fill_order(order, threads, schedule);
        fill_order(warps, count, schedule);
        for (int w = 0; w < count && !failed; ++w) run_warp(32 * warps[w], order);
        if (failed) return;
        for (int t = 0; t < threads; ++t) all = all && fibres[t].state == FINISHED;
        if (all) return;
        if (!release_barrier()) return report_stuck();
    }
}

}  // namespace

extern "C" const char* ow_message() { return message; }

// Run a kernel under a schedule.  Returns 0, or 1 with ow_message().
extern "C" int ow_verify(void (*bind)(Host*), void (*thread)(const char*), char* shared_begin, char* shared_end,
                         const char* args, const Triple* grid, const Triple* block, void* dynamic_shared,
                         long long dynamic_bytes, int schedule, int* orders) {
    if (!fibres) {
        fibres = (Fibre*)mmap(0, sizeof(Fibre) * MOST_THREADS, 3, 0x22, -1, 0);
        stacks = (char*)mmap(0, (unsigned long)STACK * MOST_THREADS, 3, 0x22, -1, 0);
    }
    // Faults are caught on a stack of their own; SA_SIGINFO | SA_ONSTACK | SA_NODEFER.
    static char fault_stack[65536];
    struct { void* pointer; int flags; unsigned long size; } alternate = {fault_stack, 0, sizeof fault_stack}, old_alternate;
    struct Action { void (*handler)(int, void*, void*); unsigned long mask[16]; int flags; void (*restorer)(); };
    Action action, old_segv, old_bus;
    memset(&action, 0, sizeof action);
    action.handler = on_fault;
    action.flags = 4 | 0x08000000 | 0x40000000;
    sigaltstack(&alternate, &old_alternate);
    sigaction(11, &action, &old_segv);
    sigaction(7, &action, &old_bus);

    run_thread = thread;
    arguments = args;
    threads = (int)(block->x * block->y * block->z);
    failed = false;
    message[0] = 0;
    random_state = (uint64)schedule;
    host.block_dim = *block;
    host.grid_dim = *grid;
    host.dynamic_shared = dynamic_shared;
    host.barrier = barrier;
    host.meet = meet;
    host.fail = fail;
    bind(&host);
    for (int t = 0; t < threads; ++t) {
        fibres[t].thread.x = t % block->x;
        fibres[t].thread.y = t / block->x % block->y;
        fibres[t].thread.z = t / block->x / block->y;
        fibres[t].started = false;
    }
    const int blocks = (int)((long long)grid->x * grid->y * grid->z);
    int* block_order = orders;
    fill_order(block_order, blocks, schedule);
    for (int i = 0; i < blocks && !failed; ++i) {
        const int b = block_order[i];
        host.block.x = b % grid->x;
        host.block.y = b / grid->x % grid->y;
        host.block.z = b / grid->x / grid->y;
        // signalling NaNs, large integers: what nobody has written shows
        if (shared_end > shared_begin) memset(shared_begin, 0xfd, shared_end - shared_begin);
        if (dynamic_bytes) memset(dynamic_shared, 0xfd, dynamic_bytes);
        run_block(orders + blocks, schedule);
    }
    sigaction(11, &old_segv, 0);
    sigaction(7, &old_bus, 0);
    sigaltstack(&old_alternate, 0);
    return failed;
}

// ---- run mode: blocks on all cores ----------------------------------------------------------------

namespace {

typedef void (*Blocks)(const char*, const Triple*, long long, long long);
struct Job {
    Blocks blocks;
    const char* args;
    const Triple* grid;
    long long total, share, next;
    int working;
};

alignas(64) char lock[64], wake[64], idle[64];  // zero is an initialised pthread object in glibc
Job* job;
uint64 generation;
int workers;

void take_shares(Job* j) {
    for (;;) {
        const long long first = __atomic_fetch_add(&j->next, j->share, __ATOMIC_RELAXED);
        if (first >= j->total) return;
        const long long last = first + j->share < j->total ? first + j->share : j->total;
        j->blocks(j->args, j->grid, first, last);
    }
}

void* worker(void*) {
    uint64 seen = 0;
    pthread_mutex_lock(lock);
    for (;;) {
        while (!job || generation == seen) pthread_cond_wait(wake, lock);
        seen = generation;
        Job* mine = job;
        ++mine->working;
        pthread_mutex_unlock(lock);
        take_shares(mine);
        pthread_mutex_lock(lock);
        if (--mine->working == 0) pthread_cond_broadcast(idle);
    }
    return 0;
}

// In a forked child the workers are gone: start again with none.
void after_fork() {
    memset(lock, 0, sizeof lock);
    memset(wake, 0, sizeof wake);
    memset(idle, 0, sizeof idle);
    job = 0;
    workers = 0;
}

}  // namespace

// Run the blocks of a grid on up to `cores` threads, the caller's among them.
extern "C" void ow_run(Blocks blocks, const char* args, const Triple* grid, int cores, long long share) {
    const long long total = (long long)grid->x * grid->y * grid->z;
    if (cores <= 1 || total <= share) return blocks(args, grid, 0, total);
    pthread_mutex_lock(lock);
    if (job) {  // another thread has the pool: run on the caller's alone
        pthread_mutex_unlock(lock);
        return blocks(args, grid, 0, total);
    }
    static bool registered;
    if (!registered) registered = !pthread_atfork(0, 0, after_fork);
    for (; workers < cores - 1; ++workers) {
        unsigned long thread;
        if (pthread_create(&thread, 0, worker, 0)) break;
        pthread_detach(thread);
    }
    Job mine = {blocks, args, grid, total, share, 0, 0};
    job = &mine;
    ++generation;
    pthread_cond_broadcast(wake);
    pthread_mutex_unlock(lock);
    take_shares(&mine);
    pthread_mutex_lock(lock);
    job = 0;
    while (mine.working) pthread_cond_wait(idle, lock);
    pthread_mutex_unlock(lock);
}
