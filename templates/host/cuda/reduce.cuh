// <cooperative_groups/reduce.h>: the values of a group's threads as one, in the order of the lanes.
#pragma once
#include "groups.cuh"
namespace cooperative_groups {

#define OW_JOIN(NAME, MADE)                                                                   \
    template <class T> struct NAME { T operator()(T x, T y) const { return MADE; } };         \
    template <> struct NAME<void> { template <class T> T operator()(T x, T y) const { return MADE; } };
template <class T = void> struct plus;
template <class T = void> struct less;  // the lesser of two
template <class T = void> struct greater;
template <class T = void> struct bit_and;
template <class T = void> struct bit_or;
template <class T = void> struct bit_xor;
OW_JOIN(plus, x + y)
OW_JOIN(less, y < x ? y : x)
OW_JOIN(greater, x < y ? y : x)
OW_JOIN(bit_and, x & y)
OW_JOIN(bit_or, x | y)
OW_JOIN(bit_xor, x ^ y)
#undef OW_JOIN

// On a GPU the order is not said, so what rounds may differ in its last bits.
template <class T, class F> T ow_joined(const ow_lanes& group, T value, F join, int line) {
    T values[32];
    unsigned came = 0;
    for (unsigned at = 0; at < sizeof(T); at += 8) {
        const unsigned bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        unsigned long long word = 0;
        __builtin_memcpy(&word, (const char*)&value + at, bytes);
        const unsigned long long* lanes = ow_meet(group.mask, word, line);
        came = (unsigned)lanes[32] & group.mask;
        for (int l = 0; l < 32; ++l) __builtin_memcpy((char*)&values[l] + at, &lanes[l], bytes);
    }
    if (!came) return value;  // told by the meeting: this lane is none of the group
    int first = __builtin_ctz(came);
    T made = values[first];
    for (int l = first + 1; l < 32; ++l)
        if (came >> l & 1u) made = join(made, values[l]);
    return made;
}
template <int N, class P, class T, class F>
T reduce(const thread_block_tile<N, P>& group, T value, F&& join, int line = __builtin_LINE()) {
    return ow_joined(group, value, join, line);
}
template <class T, class F>
T reduce(const coalesced_group& group, T value, F&& join, int line = __builtin_LINE()) {
    return ow_joined(group, value, join, line);
}

}  // namespace cooperative_groups
