// What the checker has seen: faults, with the threads and program counters that they belong to.
#pragma once

#include "grid.h"
#include "clocks.h"
#include "shadow.h"

namespace {

enum { MOST_FAULTS = 2048, EXAMPLES = 8, TRIES = 32, RECENT = 4, MOST_UNWRITTEN = 1 << 16 };
const uint64 MOST_REPEATS = 20000;  // plain reads of one address at one place, one after the other
const uint64 MOST_STEPS = 400000000;  // of one thread without a meeting: it never ends
const unsigned LINE = 0x80000000u;    // marks a "pc" that is a line number

// One fault; the same struct as _Raw in runtime/simt/checker.py.
struct Raw {
    int kind, line, other_line, access, other_access, bytes, region, crosses, count, examples;
    unsigned pc, other_pc;
    long long offset;
    long long blocks[EXAMPLES];
    int variable;
    int threads[EXAMPLES];
    char text[256];
};
Raw* faults;
int fault_count;
const char* image;  // where the kernel's library lies: program counters are relative to it

// An index outside of its array type, until what follows in its line tells what it meant: a row of
// shared memory, which is one array to a GPU (`tile[0][i]`), local memory, or no access at all
// (`&tile[r][i]`).  Compilers differ in what they read between the index and its element, so all
// accesses near it are looked at: one that can be of such a row takes the suspicion away.
struct Suspect {
    unsigned pc, access;  // of the index, and of an access that may be its element's
    int thread;
    long long block, index, stride, row;  // bytes from element to element, and of the array; or 0
    int leaf;                             // bytes of what is accessed, or 0: unknown
    const char* array;
    int kind;  // of the accesses
};
enum { SUSPECT_CODE = 16384 };  // bytes of code within which the access belongs to the index
enum { MOST_SUSPECTS = 4 };  // a compiler may look at all indices of a line before the elements
Suspect suspects[MOST_SUSPECTS];
bool any_suspect;

// What a thread last looked at through volatile reads and atomics, to tell when it waits.
struct Looks { const void* address[RECENT]; uint64 value[RECENT]; int next, tries; unsigned pc; };

struct Watch;
struct Read { Granule* granule; int fault; const Watch* by; };  // of memory that nobody had written
Read* unwritten;
int unwritten_count;

struct Watch {
    BlockClocks clocks;
    Looks looks[MOST_THREADS];
    Granule* shared[2];
    int faults_before;  // those of the present epoch come behind
};

Watch& watch() { return *block->watch; }

Raw lost;  // where faults go that have no place any more
bool is_lost(const Raw& r) { return &r == &lost; }

Raw& note(int kind, unsigned pc, unsigned other_pc, int line, int other_line, int region) {
    for (int i = 0; i < fault_count; ++i) {
        Raw& r = faults[i];
        if (r.kind == kind && r.pc == pc && r.other_pc == other_pc && r.line == line && r.other_line == other_line && r.region == region)
            return ++r.count, r;
    }
    if (fault_count == MOST_FAULTS) return lost.examples = 0, lost;
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
    if (is_lost(found) || unwritten_count == MOST_UNWRITTEN) return;
    const Read read = {&g, (int)(&found - faults), r.kind == GLOBAL ? 0 : &watch()};
    unwritten[unwritten_count++] = read;
}

// Reads that a race explains are not reported a second time as reads of what nobody wrote.  Those of
// shared memory are settled when their block ends, the others (of nobody's) at last.
void settle_unwritten(const Watch* whose) {
    int left = 0;
    for (int i = 0; i < unwritten_count; ++i) {
        const Read& read = unwritten[i];
        if (read.by != whose) unwritten[left++] = read;
        else if (!read.granule->raced) ++faults[read.fault].count;
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
            for (const char* q = p; q >= r->begin && !found.variable; --q)
                if (q < r->end && r->owner[q - r->begin] != COMPILERS_OWN) found.variable = r->owner[q - r->begin];
    }
    add_thread(found, block->number, current);
    if (!r) abandon();  // there is no memory
}

}  // namespace
