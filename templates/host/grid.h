// Meetings of fibres, blocks and the grid: who goes on when, and what happens if nobody can.
//
// Warps drift as far apart as barriers allow; blocks run one after the other, and one that waits for
// memory stays resident beside those that follow.
#pragma once

#include "fibres.h"

extern "C" {
int sigaction(int, const void*, void*);
int sigaltstack(const void*, void*);
int pthread_atfork(void (*)(), void (*)(), void (*)());
}

namespace {

enum { MOST_IDLE_ROUNDS = 256 };  // turns for all before a grid that waits is given up

// Release the lanes of a warp that stand at one meeting with everyone in their mask.
bool release_meetings(int first) {
    const int lanes = lanes_of_warp(first);
    Fibre* warp = block->fibres + first;
    for (int l = 0; l < lanes; ++l) {
        const Fibre& f = warp[l];
        if (f.state != AT_MEETING) continue;
        bool all = true;
        for (int k = 0; k < lanes; ++k) {
            const Fibre& g = warp[k];
            if (!(f.mask >> k & 1u)) continue;
            all = all && g.state == AT_MEETING && g.site == f.site && g.mask == f.mask;
        }
        if (!all) continue;
        const unsigned mask = f.mask;
        unsigned came = 0;
        for (int k = 0; k < lanes; ++k)
            if (mask >> k & 1u) {
                block->exchanged[first / 32][k] = warp[k].value;
                came |= 1u << k;
                warp[k].state = READY;
            }
        block->exchanged[first / 32][32] = came;
        watch_meeting(*block, first / 32, came, f.kind);  // a last warp may have fewer lanes than its mask
        ++progress;
        return true;
    }
    return false;
}

// Release the lanes of a warp that gather at one line, now that no other can go on.
bool release_gathering(int first) {
    const int lanes = lanes_of_warp(first);
    Fibre* warp = block->fibres + first;
    unsigned mask = 0;
    int line = 0;
    for (int l = 0; l < lanes; ++l) {
        if (warp[l].state != AT_GATHERING || (mask && warp[l].site != line)) continue;
        line = warp[l].site;
        mask |= 1u << l;
    }
    for (int l = 0; l < lanes; ++l)
        if (mask >> l & 1u) {
            warp[l].mask = mask;
            warp[l].state = READY;
        }
    return mask;
}

bool stopped() { return failed || interrupted || block->abandoned; }

// Run one warp for as long as it can go on without the others: warps drift as far apart as the
// barriers allow, so that a missing barrier shows.
void run_warp(int first, const int* order) {
    do {
        bool ran = true;
        while (ran && !stopped()) {
            ran = false;
            for (int i = 0; i < threads && !stopped(); ++i) {
                const int t = order[i];
                if (t / 32 != first / 32 || block->fibres[t].state != READY) continue;
                resume(t);
                ran = true;
            }
        }
    } while (!stopped() && (release_meetings(first) || release_gathering(first)));
}

// Release the block if every thread stands at the same barrier.
bool release_barrier() {
    const int site = block->fibres[0].site;
    for (int t = 0; t < threads; ++t) {
        const Fibre& f = block->fibres[t];
        if (f.state != AT_BARRIER || f.site != site) return false;
    }
    watch_barrier(*block);
    block->counted = 0;
    for (int t = 0; t < threads; ++t) {
        block->counted += (int)block->fibres[t].value;
        block->fibres[t].state = READY;
    }
    ++progress;
    return true;
}

// Nobody can go on: say where the threads stand.  A warp that cannot meet is the reason for others
// that wait at a barrier, so it is named first.
void report_stuck() {
    int counts[FINISHED + 1] = {0}, lines[2] = {0, 0}, other = 0, example = 0, waiting = 0;
    for (int t = 0; t < threads; ++t) ++counts[block->fibres[t].state];
    const bool meeting = counts[AT_MEETING] > 0;
    for (int pass = 0; pass < 2; ++pass)
        for (int t = 0; t < threads; ++t) {
            const Fibre& f = block->fibres[t];
            if (f.state == FINISHED || (meeting && pass == 0) != (f.state == AT_MEETING)) continue;
            if (!lines[0]) { lines[0] = f.line; example = t; waiting = f.kind; }
            else if (f.line != lines[0] && !lines[1]) { lines[1] = f.line; other = t; }
        }
    char what[256];
    int at = snprintf(what, sizeof what, "divergent %s: thread %d waits", meeting ? "warp meeting" : "barrier", example);
    if (lines[1]) at += snprintf(what + at, sizeof what - at, ", thread %d waits at line %d", other, lines[1]);
    snprintf(what + at, sizeof what - at, "; %d of %d threads wait, %d have returned",
             threads - counts[FINISHED], threads, counts[FINISHED]);
    const bool exchange = meeting && waiting == EXCHANGE;
    watch_stuck(*block);
    complain(exchange ? SHUFFLE_MASK : BARRIER_DIVERGENCE, lines[0], lines[1], example, what);
    block->abandoned = true;
}

// Let those that wait for memory look again, if anything has happened since they last did.
bool wake_waiting() {
    bool any = false;
    for (int t = 0; t < threads; ++t) any = any || block->fibres[t].state == WAITING_FOR_MEMORY;
    if (!any || block->progress == progress) return false;
    block->progress = progress;
    for (int t = 0; t < threads; ++t)
        if (block->fibres[t].state == WAITING_FOR_MEMORY) block->fibres[t].state = READY;
    return true;
}

bool any_in(State state) {
    for (int t = 0; t < threads; ++t)
        if (block->fibres[t].state == state) return true;
    return false;
}

// Run a block as far as it comes; true if it is done with, false if it waits for another block.
bool run_block(int* order, int schedule) {
    int warps[WARPS];
    const int count = (threads + 31) / 32;
    for (;;) {
        bool all = true;
        fill_order(order, threads, schedule);
        fill_order(warps, count, schedule);
        for (int w = 0; w < count && !stopped(); ++w) run_warp(32 * warps[w], order);
        if (stopped()) return true;
        for (int t = 0; t < threads; ++t) all = all && block->fibres[t].state == FINISHED;
        if (all) return true;
        if (any_in(WAITING_FOR_MEMORY)) {
            if (!wake_waiting()) return false;
        } else if (!release_barrier()) {
            report_stuck();
            return true;
        }
    }
}

// Shared memory stands in one place; a resident block that does not run keeps a copy of its own.
void save_shared(char* to) {
    if (shared_static.bytes) memcpy(to, shared_static.begin, shared_static.bytes);
    if (shared_dynamic.bytes) memcpy(to + shared_static.bytes, shared_dynamic.begin, shared_dynamic.bytes);
}
void put_shared(const char* from) {
    if (shared_static.bytes) memcpy(shared_static.begin, from, shared_static.bytes);
    if (shared_dynamic.bytes) memcpy(shared_dynamic.begin, from + shared_static.bytes, shared_dynamic.bytes);
}

long long shared_bytes() { return shared_static.bytes + shared_dynamic.bytes; }
void forget_shared() {  // the next kernel may have more of it
    for (int s = 0; s < MOST_RESIDENT && slots[s]; ++s) {
        if (slots[s]->shared) munmap(slots[s]->shared, shared_bytes());
        slots[s]->shared = 0;
    }
}

void load_block(Block* b) {
    block = b;
    host.block = b->index;
    if (loaded == b) return;
    const long long bytes = shared_bytes();
    if (loaded && bytes) {
        if (!loaded->shared) loaded->shared = (char*)reserve(bytes);
        save_shared(loaded->shared);
    }
    if (b->shared) put_shared(b->shared);
    loaded = b;
}

void start_block(int slot, long long number) {
    if (!slots[slot]) {
        const unsigned long stacks = (unsigned long)STACK * MOST_THREADS, fibres = sizeof(Fibre) * MOST_THREADS;
        char* made = (char*)reserve(stacks + fibres + sizeof(Block));
        slots[slot] = (Block*)(made + stacks + fibres);
        slots[slot]->fibres = (Fibre*)(made + stacks);
        slots[slot]->stacks = made;
    }
    Block& b = *slots[slot];
    const Triple d = host.block_dim, g = host.grid_dim;
    b.number = number;
    b.index.x = (unsigned)(number % g.x);
    b.index.y = (unsigned)(number / g.x % g.y);
    b.index.z = (unsigned)(number / g.x / g.y);
    b.abandoned = false;
    for (int t = 0; t < threads; ++t) {
        Fibre& f = b.fibres[t];
        f.state = READY;
        f.thread.x = t % d.x;
        f.thread.y = t / d.x % d.y;
        f.thread.z = t / d.x / d.y;
        f.copies.count = f.copies.group = 0;
    }
    load_block(&b);
    // signalling NaNs, large integers: what nobody has written shows
    if (shared_static.bytes) memset(shared_static.begin, 0xfd, shared_static.bytes);
    if (shared_dynamic.bytes) memset(shared_dynamic.begin, 0xfd, shared_dynamic.bytes);
    watch_begin(b);
}

void end_block() {
    if (!block->abandoned)
        for (int t = 0; t < threads; ++t) land(block->fibres[t].copies, 0x7fffffff);
    for (int t = 0; t < threads; ++t)
        if (block->fibres[t].state != FINISHED) block->fibres[t].started = false;
    watch_end(*block);
    if (loaded == block) loaded = 0;
}

// Every resident block waits for memory, and none can start that might write it.
void report_waiting(int live) {
    int example = 0, count = 0, line = 0;
    for (int t = threads - 1; t >= 0; --t)
        if (block->fibres[t].state == WAITING_FOR_MEMORY) { example = t; line = block->fibres[t].line; ++count; }
    char what[160];
    snprintf(what, sizeof what,
             "no thread can go on: %d threads of this block and %d blocks wait for memory that nobody writes", count, live);
    complain(BARRIER_DIVERGENCE, line, 0, example, what);
    failed = true;
}

void run_grid(int* orders, int blocks, int schedule) {
    int* block_order = orders;
    fill_order(block_order, blocks, schedule);
    int next = 0, live = 0, idle = 0;
    while (!failed && !interrupted && (live || next < blocks)) {
        const uint64 before = progress;
        for (int s = 0; s < live && !failed; ++s) {
            load_block(slots[s]);
            if (!run_block(orders + blocks, schedule)) continue;
            end_block();
            Block* done = slots[s];
            slots[s--] = slots[--live];
            slots[live] = done;
            ++progress;
        }
        if (failed) return;
        if (progress != before) {
            idle = 0;
        } else if (next < blocks && live < MOST_RESIDENT) {
            start_block(live++, block_order[next++]);
        } else if (live) {  // another turn for all: some loops end after a number of tries
            ++progress;
            if (++idle > MOST_IDLE_ROUNDS) report_waiting(live);
        }
    }
}

struct Launch {  // the same struct as Launch in runtime/simt/fibres.py
    void (*bind)(Host*);
    void (*thread)(const char*);
    char *shared_begin, *shared_end, *dynamic_begin;
    long long dynamic_bytes;
    const char* args;
    long long args_bytes;
    Triple grid, block;
    int schedule;
    int* orders;
};

// Ctrl-C stops the kernel; who launched it raises what Python would have raised.
void on_interrupt(int, void*, void*) {
    interrupted = true;
    if (pthread_self() != launcher || !inside_fibre) return;
    failed = true;
    abandon();
}

struct Action { void (*handler)(int, void*, void*); unsigned long mask[16]; int flags; void (*restorer)(); };
Action old_segv, old_bus, old_interrupt;
bool launching;  // signals are ours
void restore_faults() {
    sigaction(11, &old_segv, 0);
    sigaction(7, &old_bus, 0);
}
void restore_signals() {
    restore_faults();
    sigaction(2, &old_interrupt, 0);
    launching = false;
}

// A child that is forked while another thread runs a kernel has that thread's handlers, and not the thread.
void grid_after_fork() {
    if (launching) restore_signals();
    inside_fibre = false;
    block = 0;
}
__attribute__((constructor)) void grid_at_fork() { pthread_atfork(0, 0, grid_after_fork); }

enum Outcome { WITHOUT_MEMORY = -2, INTERRUPTED = -1 };  // as in runtime/simt/fibres.py; else how many faults
int outcome(int found) { return out_of_memory ? WITHOUT_MEMORY : interrupted ? INTERRUPTED : found; }

// Run a kernel under a schedule; faults go to `complain`.
void run_launch(const Launch& l) {
    // Faults are caught on a stack of their own; SA_SIGINFO | SA_ONSTACK | SA_NODEFER.
    static char fault_stack[65536];
    struct { void* pointer; int flags; unsigned long size; } alternate = {fault_stack, 0, sizeof fault_stack}, old_alternate;
    Action action, interrupt;
    memset(&action, 0, sizeof action);
    action.handler = on_fault;
    action.flags = 4 | 0x08000000 | 0x40000000;
    sigaltstack(&alternate, &old_alternate);
    sigaction(11, &action, &old_segv);
    sigaction(7, &action, &old_bus);
    interrupt = action;
    interrupt.handler = on_interrupt;
    sigaction(2, &interrupt, &old_interrupt);
    launching = true;
    interrupted = out_of_memory = false;
    launcher = pthread_self();

    run_thread = l.thread;
    arguments = l.args;
    arguments_bytes = l.args_bytes;
    threads = (int)(l.block.x * l.block.y * l.block.z);
    failed = false;
    message[0] = 0;
    random_state = (uint64)l.schedule;
    loaded = 0;
    const Host made = {{0, 0, 0}, {0, 0, 0}, l.block, l.grid, l.dynamic_begin, barrier, meet, gather, count, fail,
                       copy_async, commit_async, wait_async};
    host = made;
    shared_static.begin = l.shared_begin;
    shared_static.bytes = l.shared_end - l.shared_begin;
    shared_dynamic.begin = l.dynamic_begin;
    shared_dynamic.bytes = l.dynamic_bytes;
    l.bind(&host);
    for (int s = 0; s < MOST_RESIDENT && slots[s]; ++s)
        for (int t = 0; t < threads; ++t) slots[s]->fibres[t].started = false;
    if (!_setjmp(way_out)) {
        watch_launch();
        run_grid(l.orders, (int)((long long)l.grid.x * l.grid.y * l.grid.z), l.schedule);
    }

    forget_shared();
    loaded = 0;
    restore_signals();
    sigaltstack(&old_alternate, 0);
}

}  // namespace
