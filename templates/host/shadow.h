// Shadow memory: for every four bytes who last wrote and who has read them since.
#pragma once

namespace {

enum Access { READ = 0, WRITE = 1, VOLATILE = 2, ATOMIC = 4, ASYNC = 8, BLOCK_SCOPE = 16 };

// One access, or the same one of several lanes at one clock of each.
struct Slot {
    unsigned next, epoch, clock, pc, lanes;
    int block;
    unsigned char warp, bytes, kind;
};
struct Granule { unsigned slot; unsigned char known, pending, raced; };

enum RegionKind { GLOBAL, STATIC_SHARED, DYNAMIC_SHARED_MEMORY };
// Memory of a kernel; the same struct as Region in runtime/simt/regions.py.
struct Region {
    char *begin, *end;           // the array
    char *low, *high;            // with the guards around it
    int kind;
    int unwritten;               // nobody has written it yet
    const unsigned short* owner; // per byte of static shared memory: which variable, 0 between them
    Granule* granules;
};

// Owner of what the compiler put beside a kernel's variables; the same in runtime/simt/checker.py.
enum { COMPILERS_OWN = 0xffff };

Region* regions;
int region_count;

enum { MOST_SHARING = 4 };
const unsigned long SLOT_BYTES = 32ul << 30;
Slot* slot_pool;
unsigned slots_made, slots_free;

unsigned new_slot() {
    if (slots_free) {
        const unsigned s = slots_free;
        slots_free = slot_pool[s].next;
        return s;
    }
    if (!slot_pool) slot_pool = (Slot*)reserve(SLOT_BYTES);
    return ++slots_made;
}
void drop_slot(unsigned s) {
    slot_pool[s].next = slots_free;
    slots_free = s;
}
void forget_slots() {
    if (slot_pool) munmap(slot_pool, SLOT_BYTES);
    slot_pool = 0;
    slots_made = slots_free = 0;
}

long long granules_of(const Region& r) { return (r.end - r.begin) / 4 + 2; }
const char* first_granule(const Region& r) { return (const char*)((unsigned long)r.begin & ~3ul); }

// The region that an address lies in, guards included; the last one found is tried first.
Region* region_at(const char* p) {
    static int last;
    if (last < region_count && p >= regions[last].low && p < regions[last].high) return regions + last;
    for (int i = 0; i < region_count; ++i)
        if (p >= regions[i].low && p < regions[i].high) return regions + (last = i);
    return 0;
}

}  // namespace
