// What a thread knows of the others: happens-before over barriers, warp barriers, fences, atomics.
//
// Vector clocks (Lamport; Mattern; FastTrack, PLDI 2009) cut to the shape of a grid, as BARRACUDA
// (PLDI 2017) does: a block barrier begins an *epoch* of its block and makes all before it known;
// within an epoch a thread has a clock for each lane of its warp, and for the other warps of its
// block only once an atomic or a partial warp barrier has told it about one.  What a fence orders
// is a *snapshot*; an atomic or a volatile store after the fence leaves it at its address, and who
// reads it there takes it over.  Snapshots are the only way to know another block.
#pragma once

namespace {

struct Snapshot;
struct Known { Snapshot* what; Known* next; };

// All that a thread knew at a fence; never changed after.
struct Snapshot {
    long long block;
    unsigned epoch;
    int warp;
    bool device;          // or of its block only
    unsigned lane[32];
    unsigned* far;        // clocks of all threads of the block, or null: none known
    Known *mine, *blocks; // snapshots of other blocks that it knew
    uint64 taken_by;
    bool kept;            // somebody may hold it: it must not change
};

struct ThreadClocks {  // of one thread
    unsigned clock;
    unsigned lane[32];
    unsigned* far;
    Snapshot *fenced, *fenced_block;
    Known* foreign;
};

enum { BUCKETS = 256, ARENA = 1 << 30 };

struct BlockClocks {  // of one block
    unsigned epoch;
    ThreadClocks threads[MOST_THREADS];
    Known* bucket[BUCKETS];  // snapshots of other blocks that all its threads know, by their block
    Known* foreign;          // the same as one list
    Snapshot* fenced;        // what its threads had fenced at the last barrier
};

char* arena;  // of one launch
unsigned long arena_used;
void* take(unsigned long bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (!arena) arena = (char*)reserve(64ul * ARENA);
    void* made = arena + arena_used;
    arena_used += bytes;
    return memset(made, 0, bytes);
}

uint64 thread_id(long long block_number, int thread) { return (uint64)block_number * MOST_THREADS + thread + 1; }

Known* with(Snapshot* what, Known* next) {
    Known* made = (Known*)take(sizeof(Known));
    made->what = what;
    made->next = next;
    return made;
}

bool covers(const Snapshot& s, unsigned epoch, int warp, int lane, unsigned clock) {
    if (s.epoch != epoch) return s.epoch > epoch;
    return (warp == s.warp && s.lane[lane] >= clock) || (s.far && s.far[32 * warp + lane] >= clock);
}

// Does the current thread know what a lane of this or another block did at a clock?
bool knows(const BlockClocks& clocks, long long owner, unsigned epoch, int warp, int lane, unsigned clock) {
    const ThreadClocks& k = clocks.threads[current];
    if (owner == block->number) {
        if (epoch < clocks.epoch || (warp == current / 32 && k.lane[lane] >= clock)) return true;
        return k.far && k.far[32 * warp + lane] >= clock;
    }
    for (const Known* n = k.foreign; n; n = n->next)
        if (n->what->block == owner && covers(*n->what, epoch, warp, lane, clock)) return true;
    for (const Known* n = clocks.bucket[owner % BUCKETS]; n; n = n->next)
        if (n->what->block == owner && covers(*n->what, epoch, warp, lane, clock)) return true;
    return false;
}

unsigned* far_of(ThreadClocks& k) {
    if (!k.far) k.far = (unsigned*)take(sizeof(unsigned) * MOST_THREADS);
    return k.far;
}
void raise(unsigned& known, unsigned to) { if (known < to) known = to; }

// Lanes of a warp have met: each knows what any of them knew.
void join_warp(BlockClocks& clocks, int warp, unsigned mask) {
    unsigned lane[32] = {0};
    unsigned* far = 0;
    Known* foreign = 0;
    static uint64 joins;
    const uint64 stamp = 1ull << 63 | ++joins;
    ThreadClocks* first = clocks.threads + 32 * warp;
    for (int l = 0; l < 32; ++l) {
        if (!(mask >> l & 1u)) continue;
        raise(lane[l], first[l].clock);
        for (int k = 0; k < 32; ++k) raise(lane[k], first[l].lane[k]);
        for (Known* n = first[l].foreign; n; n = n->next) {
            if (n->what->taken_by == stamp) continue;
            n->what->taken_by = stamp;
            foreign = with(n->what, foreign);
        }
        if (!first[l].far) continue;
        if (!far) far = (unsigned*)take(sizeof(unsigned) * MOST_THREADS);
        for (int t = 0; t < threads; ++t) raise(far[t], first[l].far[t]);
    }
    for (int l = 0; l < 32; ++l) {
        if (!(mask >> l & 1u)) continue;
        memcpy(first[l].lane, lane, sizeof lane);
        if (far) memcpy(far_of(first[l]), far, sizeof(unsigned) * threads);
        first[l].foreign = foreign;
        ++first[l].clock;
    }
}

// The current thread orders what it knows before what it does next.
void fence(BlockClocks& clocks, bool device) {
    ThreadClocks& k = clocks.threads[current];
    Snapshot* before = device ? k.fenced : k.fenced_block;
    Snapshot* s = before && !before->kept && !before->far && !k.far ? before : (Snapshot*)take(sizeof(Snapshot));
    s->block = block->number;
    s->epoch = clocks.epoch;
    s->warp = current / 32;
    s->device = device;
    memcpy(s->lane, k.lane, sizeof k.lane);
    raise(s->lane[current % 32], k.clock);
    if (k.far) s->far = (unsigned*)memcpy(take(sizeof(unsigned) * MOST_THREADS), k.far, sizeof(unsigned) * threads);
    s->mine = k.foreign;
    s->blocks = clocks.foreign;
    (device ? k.fenced : k.fenced_block) = s;
    ++k.clock;
}

void learn(BlockClocks& clocks, Snapshot* s) {
    ThreadClocks& k = clocks.threads[current];
    const uint64 me = thread_id(block->number, current);
    if (s->taken_by == me) return;
    s->taken_by = me;
    if (s->block != block->number) {
        k.foreign = with(s, k.foreign);
    } else if (s->epoch == clocks.epoch) {
        unsigned* far = far_of(k);
        for (int l = 0; l < 32; ++l) {
            raise(far[32 * s->warp + l], s->lane[l]);
            if (s->warp == current / 32) raise(k.lane[l], s->lane[l]);
        }
        for (int t = 0; s->far && t < threads; ++t) raise(far[t], s->far[t]);
    }
    for (Known* n = s->mine; n; n = n->next) learn(clocks, n->what);
    for (Known* n = s->blocks; n; n = n->next) learn(clocks, n->what);
}

// All threads of the block have met: a new epoch, in which each knows what any knew.
void join_block(BlockClocks& clocks) {
    Snapshot* fenced = 0;
    for (int t = 0; t < threads; ++t) {
        ThreadClocks& k = clocks.threads[t];
        for (Known* n = k.foreign; n; n = n->next) {
            Known*& bucket = clocks.bucket[n->what->block % BUCKETS];
            bool had = false;
            for (Known* m = bucket; m && !had; m = m->next) had = m->what == n->what;
            if (had) continue;
            bucket = with(n->what, bucket);
            clocks.foreign = with(n->what, clocks.foreign);
        }
        const Snapshot* s = k.fenced;
        if (!s || s->epoch != clocks.epoch) continue;
        if (!fenced) {
            fenced = (Snapshot*)take(sizeof(Snapshot));
            fenced->block = block->number;
            fenced->epoch = clocks.epoch;
            fenced->warp = -1;
            fenced->device = true;
            fenced->far = (unsigned*)take(sizeof(unsigned) * MOST_THREADS);
        }
        for (int l = 0; l < 32; ++l) raise(fenced->far[32 * s->warp + l], s->lane[l]);
        for (int u = 0; s->far && u < threads; ++u) raise(fenced->far[u], s->far[u]);
        for (Known* n = s->mine; n; n = n->next) fenced->mine = with(n->what, fenced->mine);
        fenced->blocks = s->blocks;
    }
    if (fenced) clocks.fenced = fenced;
    ++clocks.epoch;
    for (int t = 0; t < threads; ++t) {
        ThreadClocks& k = clocks.threads[t];
        k.clock = 1;
        memset(k.lane, 0, sizeof k.lane);
        if (k.far) memset(k.far, 0, sizeof(unsigned) * threads);
        k.foreign = 0;
    }
}

// Addresses at which snapshots lie: an open hash table of this launch.
struct Place { const void* address; Known* left; };
Place* places;
enum { PLACES = 1 << 20 };
Place* place_of(const void* address, bool make) {
    if (!places) places = (Place*)reserve(sizeof(Place) * PLACES);
    unsigned long at = ((unsigned long)address >> 2) * 0x9e3779b97f4a7c15ul >> 44;
    for (int tried = 0; tried < PLACES; ++tried, at = (at + 1) % PLACES) {
        if (places[at].address == address) return places + at;
        if (places[at].address) continue;
        if (!make) return 0;
        places[at].address = address;
        return places + at;
    }
    return 0;
}

void acquire(BlockClocks& clocks, const void* address) {
    const Place* place = place_of(address, false);
    for (const Known* n = place ? place->left : 0; n; n = n->next)
        if (n->what->device || n->what->block == block->number) learn(clocks, n->what);
}
void leave(Place& place, Snapshot* s) {
    for (const Known* n = place.left; n; n = n->next)
        if (n->what == s) return;
    s->kept = true;
    place.left = with(s, place.left);
}
void release(BlockClocks& clocks, const void* address, bool replaces) {
    Place* place = place_of(address, true);
    if (!place) return;
    if (replaces) place->left = 0;
    const ThreadClocks& k = clocks.threads[current];
    Snapshot* all[] = {k.fenced, k.fenced_block, clocks.fenced};
    for (Snapshot* s : all)
        if (s) leave(*place, s);
}

void forget_launch() {
    if (arena_used) munmap(arena, 64ul * ARENA);
    if (places) munmap(places, sizeof(Place) * PLACES);
    arena = 0;
    arena_used = 0;
    places = 0;
}

}  // namespace
