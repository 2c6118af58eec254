// Threads of a grid as fibres that take turns, in verify mode and for the checker: switching, and what
// a kernel asks of the scheduler.
//
// A fibre starts on its own stack through makecontext and from then on switches by
// _setjmp/_longjmp, which costs tens of nanoseconds where swapcontext enters the kernel.
// Header-free, so that any C++ front end can build it; the prototypes below are those of glibc on
// Linux.
//
// Who includes this defines: watch_launch, watch_begin, watch_barrier and so on, called when these
// happen, and complain, called for faults; it sets `failed` if the run is to stop.
#pragma once

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
void* memcpy(void*, const void*, unsigned long);
void* memmove(void*, const void*, unsigned long);
int snprintf(char*, unsigned long, const char*, ...);
unsigned long pthread_self(void);
int raise(int);
}

typedef unsigned long long uint64;
struct Triple { unsigned x, y, z; };
struct Host {  // the same struct as OwHost in simt.cuh
    Triple thread, block, block_dim, grid_dim;
    void* dynamic_shared;
    void (*barrier)(int line);
    const uint64* (*meet)(unsigned mask, uint64 value, int kind, int line);
    unsigned (*gather)(int line);
    int (*count)(bool predicate, int line);
    void (*fail)(int kind, const char* what, int line);
    void (*copy_async)(void* to, const void* from, int bytes, int given, int line);
    void (*commit_async)();
    void (*wait_async)(int groups);
};
extern "C" { Host ow_the_host; }

namespace {

enum State { READY, WAITING_FOR_MEMORY, AT_BARRIER, AT_MEETING, AT_GATHERING, FINISHED };
// Kinds of faults, in the order of KINDS in runtime/simt/findings.py.
enum Fault {
    SHARED_RACE, GLOBAL_RACE, BARRIER_DIVERGENCE, OUT_OF_BOUNDS, MISALIGNED, UNINITIALISED,
    WARP_SYNC_MISSING, ASYNC_WAIT_MISSING, SHUFFLE_MASK, STOPPED, WAITS,
};
enum Meeting { WARP_BARRIER, EXCHANGE };
// A thread of a GPU may have 512 KiB of local memory; pages that nobody touches cost nothing.
enum { MOST_THREADS = 1024, WARPS = MOST_THREADS / 32, MOST_RESIDENT = 512, STACK = 640 * 1024 };
enum { LINE_BITS = 18 };  // of a site, see OW_SITE in simt.cuh

// An asynchronous copy that has not landed; it lands as late as the program allows.
struct Copy { char* to; const char* from; int bytes, given, group, line; };
struct Copies { Copy* first; int count, room, group; };

struct Fibre {
    alignas(16) char jump[256];
    State state;
    bool started;
    int site, line, kind;
    unsigned mask;
    uint64 value;
    Triple thread;
    Copies copies;
};

struct Watch;  // the checker's knowledge of a block

// A resident block: its fibres, its place in the grid, its shared memory while another one runs.
struct Block {
    Fibre* fibres;
    char* stacks;
    char* shared;
    Triple index;
    long long number;
    bool abandoned;
    int counted;  // threads that came to the last barrier with a predicate that held
    uint64 progress;
    uint64 exchanged[WARPS][33];  // by lane, and behind them the mask of those that came
    Watch* watch;
};

struct Range { char* begin; long long bytes; };

Host& host = ow_the_host;
Block* slots[MOST_RESIDENT];
Block* block;     // the one that runs
Block* loaded;    // the one whose shared memory is in place
int current, threads;
alignas(16) char home[256], way_out[256];
void (*run_thread)(const char*);
const char* arguments;
long long arguments_bytes;
Range shared_static, shared_dynamic;
char message[512];
bool failed, interrupted, out_of_memory;
bool inside_fibre;  // a thread of the kernel runs, not the scheduler
unsigned long launcher;  // the thread whose stack the fibres leave and come back to
uint64 progress;  // counts what may let a waiting thread go on
uint64 steps;     // accesses of a thread since it was resumed

void watch_launch();
void watch_begin(Block&);
void watch_barrier(Block&);
void watch_meeting(Block&, int warp, unsigned mask, int kind);
void watch_stuck(Block&);
void watch_end(Block&);
void watch_copy(const Copy&);
void watch_landing(const Copy&);
void complain(int kind, int line, int other_line, int example, const char* what);

void* reserve(unsigned long bytes) {  // zeroed, and memory only once it is touched; ends the launch where there is none
    void* made = mmap(0, bytes, 3, 0x4022, -1, 0);
    if (made != (void*)-1) return made;
    out_of_memory = true;
    inside_fibre = false;
    _longjmp(way_out, 1);
}

void to_scheduler() {
    if (!_setjmp(block->fibres[current].jump)) _longjmp(home, 1);
}

void fibre_main() {
    for (;;) {
        run_thread(arguments);
        block->fibres[current].state = FINISHED;
        ++progress;
        to_scheduler();
    }
}

int line_of(int site) { return site & ((1 << LINE_BITS) - 1); }

void wait_at(State state, int site, int kind, unsigned mask, uint64 value) {
    Fibre& f = block->fibres[current];
    f.state = state;
    f.site = site;
    f.line = line_of(site);
    f.kind = kind;
    f.mask = mask;
    f.value = value;
    to_scheduler();
}

// Give up a block half way: what its threads would have done next means nothing.
void abandon() {
    block->abandoned = true;
    block->fibres[current].state = FINISHED;
    block->fibres[current].started = false;
    _longjmp(home, 1);
}

void barrier(int line) { wait_at(AT_BARRIER, line, 0, 0, 0); }
int count(bool predicate, int line) {
    wait_at(AT_BARRIER, line, 0, 0, predicate);
    return block->counted;
}

const uint64* meet(unsigned mask, uint64 value, int kind, int line) {
    if (!(mask >> current % 32 & 1u)) {
        complain(SHUFFLE_MASK, line_of(line), 0, current, "a lane calls it with a mask that leaves the lane out");
        if (failed) abandon();
        block->exchanged[current / 32][current % 32] = value;
        block->exchanged[current / 32][32] = 0;
        return block->exchanged[current / 32];
    }
    wait_at(AT_MEETING, line, kind, mask, value);
    return block->exchanged[current / 32];
}

// The lanes of a warp that come to one place while no other lane of it can go on.
unsigned gather(int line) {
    wait_at(AT_GATHERING, line, 0, 0, 0);
    return block->fibres[current].mask;
}

void fail(int kind, const char* what, int line) {
    complain(kind, line_of(line), 0, current, what);
    if (failed || kind == MISALIGNED || kind == STOPPED) abandon();
}

void copy_async(void* to, const void* from, int bytes, int given, int line) {
    Copies& c = block->fibres[current].copies;
    if (c.count == c.room) {
        const int room = c.room ? 2 * c.room : 64;
        Copy* more = (Copy*)reserve(room * sizeof(Copy));
        if (c.room) {
            memcpy(more, c.first, c.count * sizeof(Copy));
            munmap(c.first, c.room * sizeof(Copy));
        }
        c.first = more;
        c.room = room;
    }
    Copy made = {(char*)to, (const char*)from, bytes, given, c.group, line_of(line)};
    c.first[c.count++] = made;
    watch_copy(made);
}

void commit_async() { ++block->fibres[current].copies.group; }

void land(Copies& c, int last_group) {
    int left = 0;
    for (int i = 0; i < c.count; ++i) {
        const Copy copy = c.first[i];
        if (copy.group > last_group) {
            c.first[left++] = copy;
            continue;
        }
        memset(copy.to, 0, copy.bytes);
        memcpy(copy.to, copy.from, copy.given);
        watch_landing(copy);
    }
    c.count = left;
}

// Wait until at most `groups` of the committed groups are under way; -1 waits for every copy.
void wait_async(int groups) {
    Copies& c = block->fibres[current].copies;
    land(c, groups < 0 ? c.group : c.group - 1 - groups);
}

void restore_faults();
void on_fault(int signal, void* info, void*) {
    // A fault of ours, or of another thread: whoever handled faults before meets it again.
    if (!inside_fibre || pthread_self() != launcher) {
        restore_faults();
        raise(signal);
        return;
    }
    const void* address = ((void**)info)[2];  // si_addr
    char what[128];
    snprintf(what, sizeof what, "%s at address %p: outside every array of the kernel",
             signal == 11 ? "access" : "bus error", address);
    complain(OUT_OF_BOUNDS, 0, 0, current, what);
    abandon();
}

void resume(int t) {
    Fibre& f = block->fibres[t];
    current = t;
    steps = 0;
    host.thread = f.thread;
    if (_setjmp(home)) {
        inside_fibre = false;
        return;
    }
    inside_fibre = true;
    if (f.started) _longjmp(f.jump, 1);
    f.started = true;
    static Context c;  // only the way in: a fibre never comes back to it
    getcontext(&c);
    c.stack = block->stacks + (long)t * STACK;
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
    if (schedule >= 0 && schedule < 2) return;
    for (int i = n - 1; i > 0; --i) {
        const int j = (int)random_below(i + 1), held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
}

int lanes_of_warp(int first) { return threads - first < 32 ? threads - first : 32; }

}  // namespace
