// The SIMT checker: every access of a kernel, seen before it is made.
//
// A kernel that was compiled to be sanitized calls the functions at the end of this file, whose names
// are those that the compilers' own instrumentation uses.  Faults are collected and the run goes on
// as far as it means anything; runtime/findings.py turns them into lines and sentences.
#include "fibres.h"
#include "clocks.h"
#include "shadow.h"

namespace {

enum { MOST_FAULTS = 2048, EXAMPLES = 8, TRIES = 32, RECENT = 4, MOST_UNWRITTEN = 1 << 16 };
const uint64 MOST_STEPS = 400000000;  // of one thread without a meeting: it never ends
const unsigned LINE = 0x80000000u;    // marks a "pc" that is a line number

// One fault; the same struct as _Raw in runtime/checker.py.
struct Raw {
    int kind, line, other_line, access, other_access, bytes, region, crosses, count, examples;
    unsigned pc, other_pc;
    long long offset;
    int variable, pad;
    long long blocks[EXAMPLES];
    int threads[EXAMPLES];
    char text[256];
};
Raw* faults;
int fault_count, faults_lost;
const char* image;  // where the kernel's library lies: program counters are relative to it

// An index outside of its array type, until an access tells whether it stays in the array's memory:
// `tile[0][i]` may run over the end of a row of shared memory, which is one array to a GPU.
struct Suspect { unsigned pc; int fault, thread; };
enum { SUSPECT_CODE = 256 };  // bytes of code within which the access belongs to the index
Suspect suspect;

// What a thread last looked at through volatile reads and atomics, to tell when it waits.
struct Looks { const void* address[RECENT]; uint64 value[RECENT]; int next, tries; unsigned pc; };

struct Read { Granule* granule; int fault; };  // of memory that nobody had written
Read* unwritten;
int unwritten_count;

}  // namespace

struct WatchOf {
    Meta meta;
    Looks looks[MOST_THREADS];
    Granule* shared[2];
    int faults_before;  // those of the present epoch come behind
};

namespace {

WatchOf& watch() { return *(WatchOf*)block->watch; }

Raw& note(int kind, unsigned pc, unsigned other_pc, int line, int other_line, int region) {
    static Raw lost;
    for (int i = 0; i < fault_count; ++i) {
        Raw& r = faults[i];
        if (r.kind == kind && r.pc == pc && r.other_pc == other_pc && r.line == line && r.other_line == other_line && r.region == region)
            return ++r.count, r;
    }
    if (fault_count == MOST_FAULTS) return ++faults_lost, lost;
    Raw& r = faults[fault_count++];
    memset(&r, 0, sizeof r);
    r.kind = kind;
    r.pc = pc;
    r.other_pc = other_pc;
    r.line = line;
    r.other_line = other_line;
    r.region = region;
    r.count = 1;
    return r;
}
void add_thread(Raw& r, long long block_number, int thread) {
    for (int i = 0; i < r.examples; ++i)
        if (r.blocks[i] == block_number && r.threads[i] == thread) return;
    if (r.examples == EXAMPLES) return;
    r.blocks[r.examples] = block_number;
    r.threads[r.examples++] = thread;
}

void complain(int kind, int line, int other_line, int example, const char* what) {
    unsigned pc = 0;
    if (!line && block->fibres[example].state == WAITING_FOR_MEMORY) pc = watch().looks[example].pc;
    Raw& r = note(kind, pc, 0, line, other_line, -1);
    snprintf(r.text, sizeof r.text, "%s", what);
    add_thread(r, block->number, example);
    if (kind == STOPPED) failed = true;
    if (kind == BARRIER_DIVERGENCE || kind == SHUFFLE_MASK)
        for (int t = 0; t < threads; ++t)
            if (block->fibres[t].state != FINISHED && block->fibres[t].line == line) add_thread(r, block->number, t);
}

unsigned relative(const void* pc) { return (unsigned)((const char*)pc - image); }

// Lanes of a slot whose access the current thread does not know of.
unsigned unordered(const Slot& s) {
    const Meta& meta = watch().meta;
    unsigned lanes = s.lanes, left = 0;
    if (s.block == block->number) {
        if (s.epoch < meta.epoch) return 0;
        if (s.warp == current / 32) lanes &= ~(1u << current % 32);
    }
    for (int l = 0; l < 32; ++l)
        if (lanes >> l & 1u && !knows(meta, s.block, s.epoch, s.warp, l, s.clock)) left |= 1u << l;
    return left;
}

bool conflict(const Slot& s, int kind) {
    if (!((s.kind | kind) & WRITE)) return false;
    const int both = s.kind & kind, strong = VOLATILE | ATOMIC;
    if (!(s.kind & strong) || !(kind & strong)) return true;
    // one reads what the other writes: right for a flag that is waited for, which findings() knows
    if (both & VOLATILE) return !(both & WRITE);
    return s.block != block->number && (s.kind | kind) & BLOCK_SCOPE;
}

void race(const Region& r, Granule& g, const Slot& s, unsigned lanes, int kind, unsigned pc, const char* p, int bytes) {
    Raw& found = note(r.kind == GLOBAL ? GLOBAL_RACE : SHARED_RACE, pc, s.pc, 0, 0, (int)(&r - regions));
    found.access = kind;
    found.other_access = s.kind;
    found.bytes = bytes;
    found.offset = p - r.begin;
    if (r.owner && p >= r.begin && p < r.end) found.variable = r.owner[p - r.begin];
    found.crosses |= s.block != block->number || s.warp != current / 32;
    int lane = 0;
    while (!(lanes >> lane & 1u)) ++lane;
    add_thread(found, block->number, current);
    add_thread(found, s.block, 32 * s.warp + lane);
    g.raced = 1;
}

// Many threads read one address: one of them, any one, is forgotten.
void make_room(Granule& g, int others) {
    unsigned skip = random_below(others);
    for (unsigned* link = &g.slot; *link; link = &slot_pool[*link].next) {
        const unsigned at = *link;
        const Slot& s = slot_pool[at];
        if ((s.kind & WRITE && !(s.kind & VOLATILE)) || skip--) continue;
        *link = s.next;
        drop_slot(at);
        return;
    }
}

// Check one granule against who was there before, then note the access.
void visit(const Region& r, Granule& g, unsigned char mask, int kind, unsigned pc, const char* p, int bytes) {
    Meta& meta = watch().meta;
    const unsigned me = 1u << current % 32, clock = meta.threads[current].clock;
    unsigned* link = &g.slot;
    const bool shares = !(kind & WRITE) || kind & VOLATILE;  // no conflict with its like
    unsigned mine = 0;
    int others = 0;
    while (*link) {
        const unsigned at = *link;
        Slot& s = slot_pool[at];
        const bool same = s.block == block->number && s.epoch == meta.epoch && s.warp == current / 32 &&
                          s.clock == clock && s.pc == pc && s.bytes == mask && s.kind == kind;
        if (same && s.lanes == me) return;
        if (s.bytes & mask && !(same && shares)) {
            const unsigned lanes = unordered(s);
            if (lanes && conflict(s, kind)) race(r, g, s, lanes, kind, pc, p, bytes);
            // an access takes the place of what it is known to follow, a write also of what it races
            // with, and an atomic that of the atomics whose results it has seen
            const bool over = kind & WRITE || !(s.kind & WRITE);
            const bool ends = !lanes || (kind & WRITE && conflict(s, kind)) || (kind & s.kind & ATOMIC);
            if (over && ends && !(s.bytes & ~mask) && !(s.kind & ASYNC)) {
                *link = s.next;
                drop_slot(at);
                continue;
            }
        }
        if (same) mine = at;
        others += !(s.kind & WRITE) || s.kind & VOLATILE;
        link = &s.next;
    }
    if (mine && shares) {
        slot_pool[mine].lanes |= me;
        return;
    }
    if (r.kind == GLOBAL && shares && others >= MOST_SHARING) make_room(g, others);
    const unsigned made = new_slot();
    const Slot slot = {g.slot, meta.epoch, clock, pc, me, (int)block->number, (unsigned char)(current / 32), mask, (unsigned char)kind};
    slot_pool[made] = slot;
    g.slot = made;
}

void report_pending(const Region& r, const Granule& g, unsigned char mask, unsigned pc, int kind, int bytes, const char* p) {
    unsigned copy = 0;
    for (unsigned s = g.slot; s; s = slot_pool[s].next)
        if (slot_pool[s].kind & ASYNC && slot_pool[s].bytes & mask) copy = slot_pool[s].pc;
    Raw& found = note(ASYNC_WAIT_MISSING, pc, copy, 0, 0, (int)(&r - regions));
    found.access = kind;
    found.bytes = bytes;
    found.offset = p - r.begin;
    if (r.owner) found.variable = r.owner[p - r.begin];
    add_thread(found, block->number, current);
}

void report_unwritten(const Region& r, Granule& g, unsigned pc, int bytes, const char* p) {
    Raw& found = note(UNINITIALISED, pc, 0, 0, 0, (int)(&r - regions));
    if (found.count == 1) {
        found.bytes = bytes;
        found.offset = p - r.begin;
        if (r.owner) found.variable = r.owner[p - r.begin];
        found.count = 0;  // counted when the block ends, if no race explains it
    } else {
        --found.count;
    }
    add_thread(found, block->number, current);
    if (unwritten_count == MOST_UNWRITTEN) return;
    unwritten[unwritten_count].granule = &g;
    unwritten[unwritten_count++].fault = (int)(&found - faults);
}

// Reads that a race explains are not reported a second time as reads of what nobody wrote.
void settle_unwritten(bool shared_only) {
    int left = 0;
    for (int i = 0; i < unwritten_count; ++i) {
        Granule* g = unwritten[i].granule;
        const Region* r = regions + faults[unwritten[i].fault].region;
        if (shared_only && r->kind == GLOBAL) unwritten[left++] = unwritten[i];
        else if (!g->raced) ++faults[unwritten[i].fault].count;
    }
    unwritten_count = left;
}

void report_outside(const Region* r, const char* p, int bytes, int kind, unsigned pc) {
    Raw& found = note(OUT_OF_BOUNDS, pc, 0, 0, 0, r ? (int)(r - regions) : -1);
    found.access = kind;
    found.bytes = bytes;
    if (found.count == 1) {
        found.offset = r ? p - r->begin : (long long)p;
        if (r && r->owner)  // the variable that it runs off
            for (const char* q = p; q >= r->begin && !found.variable; --q) if (q < r->end) found.variable = r->owner[q - r->begin];
    }
    add_thread(found, block->number, current);
    if (!r) abandon();  // there is no memory
}

bool inside(const Region& r, const char* p, int bytes) {
    if (p < r.begin || p + bytes > r.end) return false;
    return !r.owner || (r.owner[p - r.begin] && r.owner[p - r.begin] == r.owner[p - r.begin + bytes - 1]);
}

bool belongs(unsigned pc) {
    return suspect.pc && suspect.thread == current && pc - suspect.pc < SUSPECT_CODE;
}

void touch(const char* p, int bytes, int kind, unsigned pc) {
    if (++steps > MOST_STEPS) {
        complain(STOPPED, 0, 0, current, "a thread runs on and on without a meeting");
        abandon();
    }
    Region* r = region_at(p);
    if (!r || !inside(*r, p, bytes)) return report_outside(r, p, bytes, kind, pc);
    const bool shared = r->kind != GLOBAL;
    if (r->owner && r->owner[p - r->begin] == COMPILERS_OWN) return;
    if (shared && belongs(pc)) {
        --faults[suspect.fault].count;
        suspect.pc = 0;
    }
    if (kind & WRITE && !(kind & ATOMIC)) ++progress;  // what an atomic changes, the next look shows
    if (shared) kind &= ~VOLATILE;  // volatile orders nothing between the lanes of a warp
    Granule* granules = shared ? watch().shared[r->kind - 1] : r->granules;
    const char* first = first_granule(*r);
    bool told = false;
    for (const char* at = p; at < p + bytes;) {
        const long long number = (at - first) / 4;
        const int low = (int)((at - first) % 4);
        const int count = 4 - low < p + bytes - at ? 4 - low : (int)(p + bytes - at);
        const unsigned char mask = (unsigned char)(((1 << count) - 1) << low);
        Granule& g = granules[number];
        at += count;
        if (g.pending & mask) {
            report_pending(*r, g, mask, pc, kind, bytes, p);
            continue;
        }
        const bool reads = !(kind & WRITE) || kind & ATOMIC;
        if (reads && mask & ~g.known && (shared || r->unwritten) && !told) {
            report_unwritten(*r, g, pc, bytes, p);
            told = true;
        }
        if (kind & WRITE && !(kind & ASYNC)) g.known |= mask;
        visit(*r, g, mask, kind, pc, p, bytes);
    }
}

// A thread that looks at the same memory again and again waits for another to write it.
void look(const void* address, int bytes, unsigned pc, bool waits) {
    Looks& l = watch().looks[current];
    uint64 value = 0;
    memcpy(&value, address, bytes < 8 ? bytes : 8);
    for (int i = 0; i < RECENT; ++i) {
        if (l.address[i] != address) continue;
        if (l.value[i] != value) break;
        if (waits && l.pc == pc) note(WAITS, pc, 0, 0, 0, -1);
        l.pc = pc;
        if (++l.tries < TRIES) return;
        l.tries = 0;
        wait_at(WAITING_FOR_MEMORY, 0, 0, 0, 0);
        return;
    }
    l.address[l.next] = address;
    l.value[l.next] = value;
    l.next = (l.next + 1) % RECENT;
    l.tries = 0;
    l.pc = pc;
    ++progress;
}

bool within(const void* p, const void* begin, unsigned long bytes) {
    return (unsigned long)p - (unsigned long)begin < bytes;
}
bool is_own(const void* p) {  // the thread's stack, the indices that the scheduler gives it, arguments
    if (!block) return true;  // no kernel runs: the library is being asked what it is
    return within(p, block->stacks + (long)current * STACK, STACK) || within(p, &host, sizeof host) ||
           within(p, arguments, arguments_bytes) || within(p, block->exchanged, sizeof block->exchanged);
}

void hook(const void* p, int bytes, int kind, const void* pc) {
    if (!is_own(p)) touch((const char*)p, bytes, kind, relative(pc));
    else if (suspect.pc && belongs(relative(pc))) suspect.pc = 0;
}
void hook_volatile(const void* p, int bytes, int kind, const void* pc) {
    if (is_own(p)) return;
    Region* r = region_at((const char*)p);
    if (r && inside(*r, (const char*)p, bytes)) {
        if (!(kind & WRITE)) look(p, bytes, relative(pc), r->kind == GLOBAL);
        if (r->kind == GLOBAL) {
            if (kind & WRITE) release(watch().meta, p, true);
            else acquire(watch().meta, p);
        }
    }
    touch((const char*)p, bytes, kind | VOLATILE, relative(pc));
}

// What the scheduler tells.
void watch_begin(Block& b) {
    if (!b.watch) b.watch = (Watch*)reserve(sizeof(WatchOf));
    WatchOf& w = watch();
    for (int t = 0; t < threads; ++t) {
        Knowledge& k = w.meta.threads[t];
        memset(&k, 0, sizeof k);
        k.clock = 1;
        memset(&w.looks[t], 0, sizeof w.looks[t]);
    }
    memset(w.meta.bucket, 0, sizeof w.meta.bucket);
    w.meta.foreign = 0;
    w.meta.fenced = 0;
    w.meta.epoch = 1;
    w.faults_before = fault_count;
    for (int i = 0; i < region_count; ++i)
        if (regions[i].kind != GLOBAL && !w.shared[regions[i].kind - 1])
            w.shared[regions[i].kind - 1] = (Granule*)reserve(granules_of(regions[i]) * sizeof(Granule));
}
void watch_barrier(Block&) {
    join_block(watch().meta);
    watch().faults_before = fault_count;
}
// Threads that went past a barrier without the others race with them: one fault, not two.
void watch_stuck(Block&) {
    int left = watch().faults_before;
    for (int i = left; i < fault_count; ++i) {
        const int kind = faults[i].kind;
        if (kind == SHARED_RACE || kind == GLOBAL_RACE || kind == UNINITIALISED) continue;
        faults[left++] = faults[i];
    }
    int kept = 0;
    for (int i = 0; i < unwritten_count; ++i)
        if (unwritten[i].fault < watch().faults_before) unwritten[kept++] = unwritten[i];
    unwritten_count = kept;
    fault_count = left;
}
void watch_meeting(Block&, int warp, unsigned mask, int kind) {
    if (kind == WARP_BARRIER) join_warp(watch().meta, warp, mask);  // an exchange orders no memory
}
void watch_end(Block&) {
    settle_unwritten(true);
    for (int i = 0; i < region_count; ++i) {
        if (regions[i].kind == GLOBAL) continue;
        Granule* granules = watch().shared[regions[i].kind - 1];
        for (long long n = 0; n < granules_of(regions[i]); ++n) {
            for (unsigned s = granules[n].slot; s;) {
                const unsigned next = slot_pool[s].next;
                drop_slot(s);
                s = next;
            }
            const Granule none = {0, 0, 0, 0};
            granules[n] = none;
        }
    }
}

// Every granule of a run of bytes, with the bits of the bytes that lie in the run.
template <class F> void each_granule(const char* p, int bytes, F f) {
    Region* r = region_at(p);
    if (!r || !inside(*r, p, bytes)) return;
    Granule* granules = r->kind == GLOBAL ? r->granules : watch().shared[r->kind - 1];
    for (int i = 0; i < bytes; ++i) {
        const long at = p + i - first_granule(*r);
        f(granules[at / 4], (unsigned char)(1 << at % 4));
    }
}

void watch_copy(const Copy& c) {
    const unsigned pc = LINE | (unsigned)c.line;
    if (c.given) touch(c.from, c.given, READ, pc);
    touch(c.to, c.bytes, WRITE | ASYNC, pc);
    each_granule(c.to, c.bytes, [](Granule& g, unsigned char bit) { g.pending |= bit; });
}
void watch_landing(const Copy& c) {
    each_granule(c.to, c.bytes, [](Granule& g, unsigned char bit) {
        g.pending &= ~bit;
        for (unsigned* link = &g.slot; *link;) {  // the copy becomes a write of its thread, now
            const unsigned at = *link;
            Slot& s = slot_pool[at];
            if (s.kind & ASYNC && !((s.bytes &= ~bit))) {
                *link = s.next;
                drop_slot(at);
            } else {
                link = &s.next;
            }
        }
    });
    touch(c.to, c.bytes, WRITE, LINE | (unsigned)c.line);
}

}  // namespace

// Run a kernel under a schedule.  Returns the number of faults, which lie in `found`.
extern "C" int ow_sanitize(const Launch* launch, Region* given, int count, Raw* found, const char* library) {
    regions = given;
    region_count = count;
    faults = found;
    fault_count = faults_lost = 0;
    image = library;
    if (!unwritten) unwritten = (Read*)reserve(sizeof(Read) * MOST_UNWRITTEN);
    unwritten_count = 0;
    for (int i = 0; i < count; ++i)
        if (given[i].kind == GLOBAL) given[i].granules = (Granule*)reserve(granules_of(given[i]) * sizeof(Granule));
    run_launch(*launch);
    block = 0;
    settle_unwritten(false);
    for (int i = 0; i < count; ++i)
        if (given[i].kind == GLOBAL) munmap(given[i].granules, granules_of(given[i]) * sizeof(Granule));
    for (int s = 0; s < MOST_RESIDENT && slots[s]; ++s) {
        WatchOf* w = (WatchOf*)slots[s]->watch;
        for (int k = 0; w && k < 2; ++k)
            for (int i = 0; i < count; ++i)
                if (w->shared[k] && given[i].kind == k + 1) {
                    munmap(w->shared[k], granules_of(given[i]) * sizeof(Granule));
                    w->shared[k] = 0;
                }
    }
    forget_slots();
    forget_launch();
    return fault_count;
}

// ---- what instrumented kernels call ----------------------------------------------------------------

#define PC __builtin_return_address(0)
#define HOOKS(BYTES)                                                                                \
    extern "C" void __tsan_read##BYTES(void* p) { hook(p, BYTES, READ, PC); }                       \
    extern "C" void __tsan_write##BYTES(void* p) { hook(p, BYTES, WRITE, PC); }                     \
    extern "C" void __tsan_unaligned_read##BYTES(void* p) { hook(p, BYTES, READ, PC); }             \
    extern "C" void __tsan_unaligned_write##BYTES(void* p) { hook(p, BYTES, WRITE, PC); }           \
    extern "C" void __tsan_volatile_read##BYTES(void* p) { hook_volatile(p, BYTES, READ, PC); }     \
    extern "C" void __tsan_volatile_write##BYTES(void* p) { hook_volatile(p, BYTES, WRITE, PC); }   \
    extern "C" void __tsan_unaligned_volatile_read##BYTES(void* p) { hook_volatile(p, BYTES, READ, PC); } \
    extern "C" void __tsan_unaligned_volatile_write##BYTES(void* p) { hook_volatile(p, BYTES, WRITE, PC); }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}
extern "C" void __tsan_read_range(void* p, long bytes) { hook(p, (int)bytes, READ, PC); }
extern "C" void __tsan_write_range(void* p, long bytes) { hook(p, (int)bytes, WRITE, PC); }
extern "C" void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
    hook(from, (int)bytes, READ, PC);
    hook(to, (int)bytes, WRITE, PC);
    return memcpy(to, from, bytes);
}
extern "C" void* __tsan_memmove(void* to, const void* from, unsigned long bytes) { return __tsan_memcpy(to, from, bytes); }
extern "C" void* __tsan_memset(void* to, int value, unsigned long bytes) {
    hook(to, (int)bytes, WRITE, PC);
    return memset(to, value, bytes);
}

// Undefined-behaviour checks: the descriptors are those of both compilers.
struct Described { unsigned short kind, info; char name[1]; };
struct Mismatch { const char* file; unsigned line, column; const Described* type; unsigned char log_alignment, kind; };
struct Outside { const char* file; unsigned line, column; const Described *array, *index; };
extern "C" void __ubsan_handle_type_mismatch_v1(const Mismatch* m, unsigned long p) {
    const int wanted = 1 << m->log_alignment;
    if (!p || p % wanted == 0) return;
    Raw& r = note(MISALIGNED, relative(PC), 0, 0, 0, -1);
    snprintf(r.text, sizeof r.text, "%s needs a multiple of %d bytes, and is %d off", m->type->name, wanted, (int)(p % wanted));
    add_thread(r, block->number, current);
    abandon();
}
extern "C" void __ubsan_handle_out_of_bounds(const Outside* o, unsigned long index) {
    Raw& r = note(OUT_OF_BOUNDS, relative(PC), 0, 0, 0, -2);
    snprintf(r.text, sizeof r.text, "index %lld of %s", (long long)(int)index, o->array->name);
    add_thread(r, block->number, current);
    suspect.pc = r.pc;
    suspect.fault = (int)(&r - faults);
    suspect.thread = current;
}

// What simt.cuh and cuda.cuh call.
extern "C" void ow_touch_atomic(void* p, int bytes, int device, void* pc) {
    Region* r = region_at((const char*)p);
    if (is_own(p)) return;
    if (r && inside(*r, (const char*)p, bytes)) {
        if ((unsigned long)p % bytes) {
            Raw& found = note(MISALIGNED, relative(pc), 0, 0, 0, -1);
            snprintf(found.text, sizeof found.text, "an atomic of %d bytes needs a multiple of them", bytes);
            add_thread(found, block->number, current);
            abandon();
        }
        look(p, bytes, relative(pc), false);
        acquire(watch().meta, p);
        release(watch().meta, p, false);
    }
    touch((const char*)p, bytes, WRITE | ATOMIC | (device ? 0 : BLOCK_SCOPE), relative(pc));
}
extern "C" void ow_fence(int device, void*) { fence(watch().meta, device); }
extern "C" void ow_touch(const void* p, int bytes, int writes, int line) {
    if (!is_own(p)) touch((const char*)p, bytes, writes ? WRITE : READ, LINE | (unsigned)line);
}
