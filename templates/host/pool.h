// Memory for large results on the host: blocks of pages that are kept when nobody holds them any more.
//
// A fresh page costs more than a kernel's pass over it (a fault, and zeros that the kernel overwrites), so a
// result goes into pages that an earlier one has left.  NumPy takes and gives memory through these functions
// (PyDataMem_Handler, NEP 49), so that an array owns its memory as any other does.
#pragma once

extern "C" {
void* mmap(void*, unsigned long, int, int, int, long);
int munmap(void*, unsigned long);
int madvise(void*, unsigned long, int);
int pthread_atfork(void (*)(), void (*)(), void (*)());
}

namespace {

enum { MOST_IDLE = 64 };                       // blocks
const unsigned long HEAD = 64;                 // bytes before the data: how long the mapping is
const unsigned long FINE = 1ul << 18, HUGE = 1ul << 21;  // sizes of blocks are multiples of one of these

struct Head {
    unsigned long mapped;
};

Head* idle_blocks[MOST_IDLE];  // those that were given back last stand last
int idle_count;
unsigned long idle_bytes, idle_limit, pool_served, pool_mapped;
char pool_lock;

void lock_pool() { while (__atomic_test_and_set(&pool_lock, __ATOMIC_ACQUIRE)) {} }
void unlock_pool() { __atomic_clear(&pool_lock, __ATOMIC_RELEASE); }
struct PoolGuard {
    PoolGuard() { lock_pool(); }
    ~PoolGuard() { unlock_pool(); }
};

// A child is forked between two uses, and has the pool whole.
__attribute__((constructor)) void pool_at_fork() { pthread_atfork(lock_pool, unlock_pool, unlock_pool); }

Head* take_idle(int place) {
    Head* const found = idle_blocks[place];
    for (int i = place + 1; i < idle_count; ++i) idle_blocks[i - 1] = idle_blocks[i];
    --idle_count;
    idle_bytes -= found->mapped;
    return found;
}

// Give the oldest blocks back to the system until no more than `limit` bytes are kept.
void release_idle(unsigned long limit) {
    while (idle_count && idle_bytes > limit) {
        Head* const oldest = take_idle(0);
        munmap(oldest, oldest->mapped);
    }
}

unsigned long rounded_up(unsigned long bytes, unsigned long unit) { return (bytes + unit - 1) / unit * unit; }

// Pages of the system, huge ones where the system has them (madvise(2), MADV_HUGEPAGE).
Head* map_block(unsigned long bytes) {
    const unsigned long extra = bytes >= 2 * HUGE ? HUGE : 0;  // so that a huge page's boundary is inside
    char* raw = (char*)mmap(0, bytes + extra, 3 /* read, write */, 0x22 /* private, anonymous */, -1, 0);
    if (raw == (char*)-1) return 0;
    if (extra) {
        char* const begin = (char*)rounded_up((unsigned long)raw, HUGE);
        if (begin > raw) munmap(raw, begin - raw);
        if (begin + bytes < raw + bytes + extra) munmap(begin + bytes, raw + extra - begin);
        madvise(begin, bytes, 14 /* MADV_HUGEPAGE */);
        raw = begin;
    }
    Head* const made = (Head*)raw;
    made->mapped = bytes;
    ++pool_mapped;
    return made;
}

}  // namespace

extern "C" void* ow_pool_malloc(void*, unsigned long size) {
    const unsigned long whole = size + HEAD;
    if (whole < size) return 0;
    const unsigned long bytes = rounded_up(whole, whole < 2 * HUGE ? FINE : HUGE);
    PoolGuard guard;
    int best = -1;  // the newest that fits best, and wastes no more than a quarter
    for (int i = idle_count - 1; i >= 0; --i) {
        const unsigned long has = idle_blocks[i]->mapped;
        if (has >= bytes && has - bytes <= bytes / 4 && (best < 0 || has < idle_blocks[best]->mapped)) best = i;
    }
    Head* found = best >= 0 ? take_idle(best) : 0;
    pool_served += found != 0;
    if (!found) found = map_block(bytes);
    if (!found) {
        release_idle(0);
        found = map_block(bytes);
    }
    return found ? (char*)found + HEAD : 0;
}

extern "C" void ow_pool_free(void*, void* data, unsigned long) {
    if (!data) return;
    Head* const block = (Head*)((char*)data - HEAD);
    PoolGuard guard;
    if (block->mapped > idle_limit) {
        munmap(block, block->mapped);
        return;
    }
    if (idle_count == MOST_IDLE) release_idle(idle_bytes - 1);
    idle_blocks[idle_count++] = block;
    idle_bytes += block->mapped;
    release_idle(idle_limit);
}

extern "C" void* ow_pool_calloc(void* context, unsigned long count, unsigned long each) {
    unsigned long size;
    if (__builtin_mul_overflow(count, each, &size)) return 0;
    void* const made = ow_pool_malloc(context, size);
    return made ? memset(made, 0, size) : 0;
}

extern "C" void* ow_pool_realloc(void* context, void* data, unsigned long size) {
    if (!data) return ow_pool_malloc(context, size);
    const unsigned long had = ((Head*)((char*)data - HEAD))->mapped - HEAD;
    if (size <= had && size >= had / 2) return data;
    void* const made = ow_pool_malloc(context, size);
    if (!made) return 0;
    memcpy(made, data, size < had ? size : had);
    ow_pool_free(context, data, 0);
    return made;
}

// Keep no more than `bytes` that nobody holds.
extern "C" void ow_pool_limit(unsigned long bytes) {
    PoolGuard guard;
    idle_limit = bytes;
    release_idle(bytes);
}

// Bytes that are kept, blocks served from them, and blocks mapped so far.
extern "C" void ow_pool_counts(unsigned long* out) {
    PoolGuard guard;
    out[0] = idle_bytes;
    out[1] = pool_served;
    out[2] = pool_mapped;
}
