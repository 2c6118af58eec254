// The SIMT checker: every access of a kernel, seen before it is made.
//
// A kernel that was compiled to be sanitized calls the functions at the end of this file, whose names
// are those that the compilers' own instrumentation uses.  Faults are collected and the run goes on
// as far as it means anything; runtime/simt/findings.py turns them into lines and sentences.
#include "accesses.h"

namespace {

// What the scheduler tells.
void watch_launch() {
    if (!unwritten) unwritten = (Read*)reserve(sizeof(Read) * MOST_UNWRITTEN);
    for (int i = 0; i < region_count; ++i)
        if (regions[i].kind == GLOBAL) regions[i].granules = (Granule*)reserve(granules_of(regions[i]) * sizeof(Granule));
}
void watch_begin(Block& b) {
    if (!b.watch) b.watch = (Watch*)reserve(sizeof(Watch));
    Watch& w = watch();
    for (int t = 0; t < threads; ++t) {
        ThreadClocks& k = w.clocks.threads[t];
        memset(&k, 0, sizeof k);
        k.clock = 1;
        memset(&w.looks[t], 0, sizeof w.looks[t]);
    }
    memset(w.clocks.bucket, 0, sizeof w.clocks.bucket);
    w.clocks.foreign = 0;
    w.clocks.fenced = 0;
    w.clocks.epoch = 1;
    w.faults_before = fault_count;
    for (int i = 0; i < region_count; ++i)
        if (regions[i].kind != GLOBAL && !w.shared[regions[i].kind - 1])
            w.shared[regions[i].kind - 1] = (Granule*)reserve(granules_of(regions[i]) * sizeof(Granule));
}
void watch_barrier(Block&) {
    join_block(watch().clocks);
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
    if (kind == WARP_BARRIER) join_warp(watch().clocks, warp, mask);  // an exchange orders no memory
}
void watch_end(Block&) {
    settle_suspects();
    settle_unwritten(&watch());
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

// Run a kernel under a schedule.  Returns the number of faults, which lie in `found`, or an Outcome.
extern "C" int ow_sanitize(const Launch* launch, Region* given, int count, Raw* found, const char* library) {
    regions = given;
    region_count = count;
    faults = found;
    fault_count = 0;
    image = library;
    unwritten_count = 0;
    for (Suspect& s : suspects) s.pc = 0;
    run_launch(*launch);
    settle_suspects();
    block = 0;
    settle_unwritten(0);
    for (int i = 0; i < count; ++i)
        if (given[i].kind == GLOBAL && given[i].granules) munmap(given[i].granules, granules_of(given[i]) * sizeof(Granule));
    for (int s = 0; s < MOST_RESIDENT && slots[s]; ++s) {
        Watch* w = slots[s]->watch;
        for (int k = 0; w && k < 2; ++k)
            for (int i = 0; i < count; ++i)
                if (w->shared[k] && given[i].kind == k + 1) {
                    munmap(w->shared[k], granules_of(given[i]) * sizeof(Granule));
                    w->shared[k] = 0;
                }
    }
    forget_slots();
    forget_launch();
    return outcome(fault_count);
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

// Bytes of an array type's elements from its name, such as 'unsigned char [4][16]'; 0: unknown.
bool has_word(const char* name, const char* word) {
    for (const char* at = name; *at && *at != '['; ++at) {
        const char *p = at, *q = word;
        while (*q && *p == *q) ++p, ++q;
        if (!*q && (*p == ' ' || *p == '[') && (at == name || at[-1] == ' ' || at[-1] == '\'')) return true;
    }
    return false;
}
int leaf_bytes(const char* name) {
    static const struct { const char* word; int bytes; } known[] = {
        {"char", 1}, {"bool", 1}, {"short", 2}, {"long", 8}, {"double", 8}, {"float", 4}, {"int", 4}, {"unsigned", 4},
    };
    for (const char* p = name; *p && *p != '['; ++p)
        if (*p == '*') return p[1] == '[' ? 8 : 0;
    for (const auto& k : known)
        if (has_word(name, k.word)) return k.bytes;
    return 0;
}
void measure(Suspect& s) {
    s.leaf = leaf_bytes(s.array);
    s.stride = s.row = s.leaf;
    bool first = true;
    for (const char* p = s.array; *p; ++p) {
        if (*p != '[') continue;
        long long extent = 0;
        for (++p; *p >= '0' && *p <= '9'; ++p) extent = 10 * extent + *p - '0';
        s.row *= extent;
        if (!first) s.stride *= extent;
        first = false;
    }
}

// Undefined-behaviour checks: the descriptors are those of both compilers.
struct Described { unsigned short kind, info; char name[1]; };
struct Mismatch { const char* file; unsigned line, column; const Described* type; unsigned char log_alignment, kind; };
struct Outside { const char* file; unsigned line, column; const Described *array, *index; };
extern "C" void __ubsan_handle_type_mismatch_v1(const Mismatch* m, unsigned long p) {
    const int wanted = 1 << m->log_alignment;
    if (block && p && p % wanted) misaligned(m->type->name, wanted, (const void*)p, PC);
}
extern "C" void __ubsan_handle_out_of_bounds(const Outside* o, unsigned long index) {
    if (!block) return;
    Suspect made = {relative(PC), 0, current, block->number, (int)index, 0, 0, 0, o->array->name, READ};
    measure(made);
    suspect(made);
}

// What clang_ir.py makes of the copies and fills of whole structs, which know their alignment.
void aligned(const void* p, int align, const void* pc) {
    if (block && !is_own(p) && (unsigned long)p % align) misaligned("a struct", align, p, pc);
}
extern "C" void ow_copy_aligned(void* to, const void* from, long bytes, int to_align, int from_align) {
    aligned(from, from_align, PC);
    aligned(to, to_align, PC);
    hook(from, (int)bytes, READ, PC);
    hook(to, (int)bytes, WRITE, PC);
    memmove(to, from, bytes);
}
extern "C" void ow_fill_aligned(void* to, char value, long bytes, int align) {
    aligned(to, align, PC);
    hook(to, (int)bytes, WRITE, PC);
    memset(to, value, bytes);
}

// What simt.cuh and cuda.cuh call.
extern "C" void ow_touch_atomic(void* p, int bytes, int device, int polls, void* pc) {
    Region* r = region_at((const char*)p);
    if (is_own(p)) return;
    if (r && inside(*r, (const char*)p, bytes)) {
        if ((unsigned long)p % bytes) {
            Raw& found = note(MISALIGNED, relative(pc), 0, 0, 0, -1);
            snprintf(found.text, sizeof found.text, "an atomic of %d bytes needs a multiple of them", bytes);
            add_thread(found, block->number, current);
            abandon();
        }
        if (polls) look(p, bytes, relative(pc), false);
        acquire(watch().clocks, p);
        release(watch().clocks, p, false);
    }
    touch((const char*)p, bytes, WRITE | ATOMIC | (device ? 0 : BLOCK_SCOPE), relative(pc));
}
extern "C" void ow_fence(int device, void*) { fence(watch().clocks, device); }
extern "C" void ow_touch(const void* p, int bytes, int writes, int line) {
    if (!is_own(p)) touch((const char*)p, bytes, writes ? WRITE : READ, LINE | (unsigned)line_of(line));
}
