// The host executor: fibres for verify mode, a pool of threads for run mode.  Compiled once and cached.
#include "grid.h"

extern "C" {
int pthread_create(unsigned long*, const void*, void* (*)(void*), void*);
int pthread_detach(unsigned long);
int pthread_atfork(void (*)(), void (*)(), void (*)());
int pthread_mutex_lock(void*);
int pthread_mutex_unlock(void*);
int pthread_cond_wait(void*, void*);
int pthread_cond_broadcast(void*);
}

// ---- verify mode: the first fault stops the kernel ------------------------------------------------

namespace {

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

// Run a kernel under a schedule.  Returns 0, 1 with ow_message(), or -1 after Ctrl-C.
extern "C" int ow_verify(const Launch* launch) {
    run_launch(*launch);
    block = 0;
    return interrupted ? -1 : failed;
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
