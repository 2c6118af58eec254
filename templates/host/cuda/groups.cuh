// <cooperative_groups.h>: blocks, tiles of a warp and the lanes that are together.
#pragma once
namespace cooperative_groups {

struct thread_block {
    void sync(int line = __builtin_LINE()) const { ow_host->barrier(line); }
    static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static uint3 thread_index() { return threadIdx; }
    static uint3 group_index() { return blockIdx; }
    static dim3 group_dim() { return dim3(blockDim); }
};
OW_INLINE thread_block this_thread_block() { return thread_block(); }

// A value of another lane, of any number of bytes: 8 at each meeting.
template <class T> OW_INLINE T ow_shuffled(unsigned mask, T value, int source, int line) {
    T made;
    for (unsigned at = 0; at < sizeof(T); at += 8) {
        const unsigned bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        unsigned long long word = 0;
        __builtin_memcpy(&word, (const char*)&value + at, bytes);
        word = ow_exchange(mask, word, source, line);
        __builtin_memcpy((char*)&made + at, &word, bytes);
    }
    return made;
}

// The lanes of `mask`, which are `count` from lane `first` on.
struct ow_lanes {
    unsigned mask;
    int first, count;
    void sync(int line = __builtin_LINE()) const { (void)ow_host->meet(mask, 0, OW_WARP_BARRIER, line); }
    unsigned thread_rank() const { return __builtin_popcount(mask & ((1u << ow_lane()) - 1u)); }
    unsigned size() const { return count; }
    unsigned num_threads() const { return count; }
    unsigned meta_group_rank() const { return thread_block::thread_rank() / count; }
    unsigned meta_group_size() const { return (thread_block::size() + count - 1) / count; }
    int lane_of(int rank) const {  // the lane with a rank
        for (int l = 0; l < 32; ++l)
            if (mask >> l & 1u && rank-- == 0) return l;
        return ow_lane();
    }
    template <class T> T shfl(T v, int rank, int line = __builtin_LINE()) const { return ow_shuffled(mask, v, lane_of(rank), line); }
    template <class T> T shfl_down(T v, int d, int line = __builtin_LINE()) const {
        const int rank = (int)thread_rank() + d;
        return ow_shuffled(mask, v, rank < count ? lane_of(rank) : ow_lane(), line);
    }
    template <class T> T shfl_up(T v, int d, int line = __builtin_LINE()) const {
        const int rank = (int)thread_rank() - d;
        return ow_shuffled(mask, v, rank >= 0 ? lane_of(rank) : ow_lane(), line);
    }
    template <class T> T shfl_xor(T v, int d, int line = __builtin_LINE()) const {
        return ow_shuffled(mask, v, lane_of((int)thread_rank() ^ d), line);
    }
    unsigned ballot(int p, int line = __builtin_LINE()) const { return ow_vote(mask, p != 0, line) >> first; }
    bool any(int p, int line = __builtin_LINE()) const { return ow_vote(mask, p != 0, line) != 0; }
    bool all(int p, int line = __builtin_LINE()) const { return ow_vote(mask, p != 0, line) == mask; }
};
template <int N, class P = thread_block> struct thread_block_tile : ow_lanes {
    static_assert(N > 0 && N <= 32 && !(N & (N - 1)), "a tile has 1, 2, 4, 8, 16 or 32 threads");
    thread_block_tile() = default;
    template <class Q> thread_block_tile(const thread_block_tile<N, Q>& of) : ow_lanes(of) {}
    template <class T> T shfl(T v, int rank, int line = __builtin_LINE()) const {  // modulo its size
        return ow_shuffled(mask, v, lane_of((int)((unsigned)rank % N)), line);
    }
};
typedef ow_lanes coalesced_group;
template <int N, class G> OW_INLINE thread_block_tile<N> tiled_partition(const G&) {
    thread_block_tile<N> made;
    made.first = ow_lane() / N * N;
    made.count = N;
    made.mask = (N == 32 ? 0xffffffffu : (1u << N % 32) - 1u) << made.first;
    return made;
}
OW_INLINE coalesced_group coalesced_threads(int line = __builtin_LINE()) {
    const unsigned mask = ow_host->gather(line);
    return {mask, __builtin_ctz(mask), __builtin_popcount(mask)};
}
template <class G> OW_INLINE void sync(const G& group, int line = __builtin_LINE()) { group.sync(line); }

}  // namespace cooperative_groups
