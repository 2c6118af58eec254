// rows.cuh for the host compiler: where its helpers meet, the line is that of the kernel's call.
#pragma once

#ifdef OW_VERIFY
#undef OW_LINE
#define OW_LINE ow_line
#include "../rows.cuh"
#undef OW_LINE
#define OW_LINE __LINE__
#else
#include "../rows.cuh"

// The chunks of a row, which one thread has: those that lie inside of it, and what is left.  SHORT: one
// of bytes is two or three instructions, as much as a turn of the loop, so that four are taken at once.
template <bool SHORT = false, class Body>
OW_INLINE void ow_run_chunks(index_t c, const index_t end, const index_t step, const index_t whole, const Body& body) {
    static_assert(sizeof(Body) && THREADS_PER_ROW == 1, "one thread does a row");
    if constexpr (SHORT)
        for (; c + 3 * step < end && c + 3 * step < whole; c += 4 * step) {
            body(Constant<1>(), c), body(Constant<1>(), c + step);
            body(Constant<1>(), c + 2 * step), body(Constant<1>(), c + 3 * step);
        }
    for (; c < end && c < whole; c += step) body(Constant<1>(), c);
    for (; c < end; c += step) body(Constant<0>(), c);
}
#include "places.cuh"
#endif
