// One access of one thread: is it inside, is it ordered, has anybody written what it reads?
#pragma once

#include "faults.h"

namespace {

// Lanes of a slot whose access the current thread does not know of.
unsigned unordered(const Slot& s) {
    const BlockClocks& clocks = watch().clocks;
    unsigned lanes = s.lanes, left = 0;
    if (s.block == block->number) {
        if (s.epoch < clocks.epoch) return 0;
        if (s.warp == current / 32) lanes &= ~(1u << current % 32);
    }
    for (int l = 0; l < 32; ++l)
        if (lanes >> l & 1u && !knows(clocks, s.block, s.epoch, s.warp, l, s.clock)) left |= 1u << l;
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
    BlockClocks& clocks = watch().clocks;
    const unsigned me = 1u << current % 32, clock = clocks.threads[current].clock;
    unsigned* link = &g.slot;
    const bool shares = !(kind & WRITE) || kind & VOLATILE;  // no conflict with its like
    unsigned mine = 0;
    int others = 0;
    while (*link) {
        const unsigned at = *link;
        Slot& s = slot_pool[at];
        const bool same = s.block == block->number && s.epoch == clocks.epoch && s.warp == current / 32 &&
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
    const Slot slot = {g.slot, clocks.epoch, clock, pc, me, (int)block->number, (unsigned char)(current / 32), mask, (unsigned char)kind};
    slot_pool[made] = slot;
    g.slot = made;
}

bool inside(const Region& r, const char* p, int bytes) {
    if (p < r.begin || p + bytes > r.end) return false;
    return !r.owner || (r.owner[p - r.begin] && r.owner[p - r.begin] == r.owner[p - r.begin + bytes - 1]);
}


// A plain read in a loop that waits for another thread, which it may never see: let the others run.
void yield_to_others(const char* p, unsigned pc) {
    static const char* last;
    static unsigned last_pc;
    static uint64 since;
    if (p != last || pc != last_pc || steps < since) {
        last = p;
        last_pc = pc;
        since = steps;
    } else if (steps - since > MOST_REPEATS) {
        watch().looks[current].pc = pc;
        wait_at(WAITING_FOR_MEMORY, 0, 0, 0, 0);
        since = steps;
    }
}

// A suspicion ends: no other access can be of its index.
void settle(Suspect& s) {
    if (s.pc && s.access) {
        Raw& r = note(OUT_OF_BOUNDS, s.pc, s.access, 0, 0, -2);
        snprintf(r.text, sizeof r.text, "index %lld of %s", s.index, s.array);
        r.access |= s.kind;
        add_thread(r, s.block, s.thread);
    }
    s.pc = 0;
}
void settle_suspects() {
    for (Suspect& s : suspects) settle(s);
    any_suspect = false;
}
void suspect(const Suspect& made) {  // in the place of the same index, or of the oldest
    static int next;
    int at = next;
    for (int i = 0; i < MOST_SUSPECTS; ++i)
        if (suspects[i].pc == made.pc) at = i;
    settle(suspects[at]);
    suspects[at] = made;
    if (at == next) next = (next + 1) % MOST_SUSPECTS;
    any_suspect = true;
}

// True if an access can be of the suspect's row, as a part of a shared variable of several.
bool is_row(const Suspect& s, const Region& r, const char* p) {
    const char* begin = r.begin;
    if (!s.row) return true;
    if (r.owner) {
        const unsigned short mine = r.owner[p - r.begin];
        for (begin = p; begin > r.begin && r.owner[begin - 1 - r.begin] == mine;) --begin;
    }
    const long long first = p - begin - s.index * s.stride;
    return r.owner ? first >= 0 && first % s.row < s.stride : first >= 0;
}

// True if an access has the size of an element, or of several where the element is an array.
bool fits(const Suspect& s, int bytes) {
    if (!s.leaf || bytes == s.leaf) return true;
    return s.stride > s.leaf && bytes % s.leaf == 0;
}

// An access after indices outside of their arrays: of one of them, or not?
void weigh(const Region* r, const char* p, int bytes, int kind, unsigned pc) {
    any_suspect = false;
    for (Suspect& s : suspects) {
        if (!s.pc) continue;
        if (s.thread != current || s.block != block->number || pc - s.pc >= SUSPECT_CODE) {
            settle(s);
        } else if (r && r->kind != GLOBAL) {
            if (is_row(s, *r, p)) s.pc = 0;
        } else if (fits(s, bytes)) {
            if (!s.access) s.access = pc;
            s.kind |= kind & WRITE;
        }
        any_suspect |= s.pc != 0;
    }
}

void touch(const char* p, int bytes, int kind, unsigned pc) {
    if (++steps > MOST_STEPS) {
        complain(STOPPED, 0, 0, current, "a thread runs on and on without a meeting");
        abandon();
    }
    if (!(kind & (WRITE | VOLATILE))) yield_to_others(p, pc);
    Region* r = region_at(p);
    if (!r || !inside(*r, p, bytes)) return report_outside(r, p, bytes, kind, pc);
    const bool shared = r->kind != GLOBAL;
    if (r->owner && r->owner[p - r->begin] == COMPILERS_OWN) {  // itself it looks at single bytes
        if (bytes > 1) report_outside(r, p, bytes, kind, pc);
        return;
    }
    if (any_suspect) weigh(r, p, bytes, kind, pc);
    if (kind & WRITE && !(kind & ATOMIC)) ++progress;  // what an atomic changes, the next look shows
    Granule* granules = shared ? watch().shared[r->kind - 1] : r->granules;
    const char* first = first_granule(*r);
    bool told = false;
    // a struct may have padding that nobody writes: half of it says more
    const int enough = bytes > 8 ? bytes / 2 : 1;
    int unknown = 0;
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
        if (reads && mask & ~g.known && (shared || r->unwritten)) {
            unknown += __builtin_popcount(mask & ~g.known);
            if (unknown >= enough && !told) {
                report_unwritten(*r, g, pc, bytes, p);
                told = true;
            }
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

bool is_local(const void* p) { return within(p, block->stacks + (long)current * STACK, STACK); }

void misaligned(const char* what, int wanted, const void* p, const void* pc) {
    Raw& r = note(MISALIGNED, relative(pc), 0, 0, 0, -1);
    snprintf(r.text, sizeof r.text, "%s needs a multiple of %d bytes, and is %d off", what, wanted, (int)((unsigned long)p % wanted));
    add_thread(r, block->number, current);
    abandon();
}

void hook(const void* p, int bytes, int kind, const void* pc) {
    if (!is_own(p)) touch((const char*)p, bytes, kind, relative(pc));
    else if (any_suspect && is_local(p)) weigh(0, (const char*)p, bytes, kind, relative(pc));
}
void hook_volatile(const void* p, int bytes, int kind, const void* pc) {
    if (is_own(p)) return hook(p, bytes, kind, pc);
    // the compilers' own checks leave volatile accesses out; those of 16 bytes may be of two numbers
    const int wanted = bytes < 8 ? bytes : 8;
    if ((unsigned long)p % wanted) misaligned("a volatile access", wanted, p, pc);
    Region* r = region_at((const char*)p);
    if (r && inside(*r, (const char*)p, bytes)) {
        if (!(kind & WRITE)) look(p, bytes, relative(pc), true);
        if (kind & WRITE) release(watch().clocks, p, true);
        else acquire(watch().clocks, p);
    }
    touch((const char*)p, bytes, kind | VOLATILE, relative(pc));
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

}  // namespace
