// loop_rows.cuh: rows that whole loops of Python reduce, by the accumulation plan of the host: 32 running
// values, joined pairwise; a long row is 16 runs, whose results are joined in order.
#pragma once

#define LOOP_LANES 32
#define LOOP_LONG_ROW 65536
#define LOOP_PARTS 16

// Of a function that is called in several places, and is to be part of the loop in each.
#define LOOP_INLINE __attribute__((always_inline))

// What takes the elements of a row that runs along several axes, the last one fastest: it gets the places
// along those before, and along the last one.
template <int AXES, class Take> struct LoopAxes {
    int64 sizes[AXES];
    Take take;
    // The places of the elements from one to another: ``run`` gets those before, the first and how many.
    template <class Run> LOOP_INLINE void each_run(int64 begin, int64 end, Run run) const {
        int64 at[AXES] = {}, rest = begin;
        for (int axis = AXES - 1; begin && axis >= 0; --axis) at[axis] = rest % sizes[axis], rest /= sizes[axis];
        while (begin < end) {
            const int64 from = at[AXES - 1], most = sizes[AXES - 1] - from;
            const int64 count = most < end - begin ? most : end - begin;
            run((const int64*)at, from, count);
            begin += count;
            at[AXES - 1] = 0;
            for (int axis = AXES - 2; axis >= 0 && ++at[axis] == sizes[axis]; --axis) at[axis] = 0;
        }
    }
};
template <int AXES, class Take> OW_INLINE LoopAxes<AXES, Take> along_axes(const int64 (&sizes)[AXES], Take take) {
    LoopAxes<AXES, Take> made = {{}, take};
    for (int axis = 0; axis < AXES; ++axis) made.sizes[axis] = sizes[axis];
    return made;
}

// Elements taken into running values, the k-th into the k-th of 32 and so on.
template <class T, class Take>
OW_INLINE void take_into(T (&acc)[LOOP_LANES], int64 begin, int64 end, const Take& take) {
    int64 k = begin;
    for (; k + LOOP_LANES <= end; k += LOOP_LANES)
        for (int l = 0; l < LOOP_LANES; ++l) take(k + l, acc[l]);
    for (int l = 0; k + l < end; ++l) take(k + l, acc[l]);
}
template <class T, int AXES, class Take>
OW_INLINE void take_into(T (&acc)[LOOP_LANES], int64 begin, int64 end, const LoopAxes<AXES, Take>& axes) {
    int64 lane = 0;
    axes.each_run(begin, end, [&](const int64* at, int64 k, int64 count) LOOP_INLINE {
        for (; !lane && count >= LOOP_LANES; count -= LOOP_LANES, k += LOOP_LANES)
            for (int l = 0; l < LOOP_LANES; ++l) axes.take(at, k + l, acc[l]);
        while (count) {
            const int64 some = count < LOOP_LANES - lane ? count : LOOP_LANES - lane;
            #pragma GCC ivdep
            for (int64 l = 0; l < some; ++l) axes.take(at, k + l, acc[lane + l]);
            lane = (lane + some) % LOOP_LANES, k += some, count -= some;
        }
    });
}

template <class T, class Take, class Join>
OW_INLINE T lanes_of(int64 begin, int64 end, T start, const Take& take, Join join) {
    T acc[LOOP_LANES];
    for (int l = 0; l < LOOP_LANES; ++l) acc[l] = start;
    take_into(acc, begin, end, take);
    for (int half = LOOP_LANES / 2; half; half /= 2)
        for (int l = 0; l < half; ++l) acc[l] = join(acc[l], acc[l + half]);
    return acc[0];
}
// Of a row of up to 4 elements: the others of the 32 values are as at their start, and change nothing.
template <class T, class Take, class Join>
OW_INLINE T few_of(int64 begin, int64 count, T start, const Take& take, Join join) {
    T first = start, second = start, third = start, fourth = start;
    if (count > 0) take(begin, first);
    if (count > 1) take(begin + 1, second);
    if (count > 2) take(begin + 2, third);
    if (count > 3) take(begin + 3, fourth);
    return join(join(first, third), join(second, fourth));
}
template <class T, class Take, class Join>
OW_INLINE T run_of(int64 begin, int64 end, T start, const Take& take, Join join) {
    if (end - begin <= 4) return few_of<T>(begin, end - begin, start, take, join);
    return lanes_of<T>(begin, end, start, take, join);
}
template <class T, int AXES, class Take, class Join>
OW_INLINE T run_of(int64 begin, int64 end, T start, const LoopAxes<AXES, Take>& axes, Join join) {
    return lanes_of<T>(begin, end, start, axes, join);
}
template <class T, class Take, class Join>
OW_INLINE T row_of(int64 count, T start, const Take& take, Join join) {
    if (count <= LOOP_LONG_ROW) return run_of<T>(0, count, start, take, join);
    const int64 chunks = (count + LOOP_LANES - 1) / LOOP_LANES;
    const int64 run = (chunks + LOOP_PARTS - 1) / LOOP_PARTS * LOOP_LANES;
    T found = start;
    for (int part = 0; part < LOOP_PARTS; ++part) {
        const int64 begin = part * run, end = begin + run < count ? begin + run : count;
        found = join(found, run_of<T>(begin < end ? begin : end, end, start, take, join));
    }
    return found;
}
// One of several rows along the last axis: a long one is cut where there are few of them.
template <class T, class Take, class Join>
OW_INLINE T row_of_rows(bool few, int64 count, T start, const Take& take, Join join) {
    return few ? row_of<T>(count, start, take, join) : run_of<T>(0, count, start, take, join);
}

// One column of several: what takes its elements.
template <class Take> OW_INLINE auto of_column(int64 column, const Take& take) {
    return [=](int64 k, auto& acc) LOOP_INLINE { take(column, k, acc); };
}
template <int AXES, class Take> OW_INLINE auto of_column(int64 column, const LoopAxes<AXES, Take>& axes) {
    const Take take = axes.take;
    return along_axes(axes.sizes, [=](const int64* at, int64 k, auto& acc) LOOP_INLINE { take(column, at, k, acc); });
}
// The elements of columns one row behind the other: ``use`` gets which one, and what takes an element of it.
template <class Take, class Use> OW_INLINE void each_row(int64 count, const Take& take, Use use) {
    for (int64 k = 0; k < count; ++k) use(k, [&](int64 column, auto& acc) LOOP_INLINE { take(column, k, acc); });
}
template <int AXES, class Take, class Use>
OW_INLINE void each_row(int64 count, const LoopAxes<AXES, Take>& axes, Use use) {
    int64 k = 0;
    axes.each_run(0, count, [&](const int64* at, int64 from, int64 some) LOOP_INLINE {
        for (int64 i = from; i < from + some; ++i)
            use(k++, [&](int64 column, auto& acc) LOOP_INLINE { axes.take(column, at, i, acc); });
    });
}

// Columns that are reduced each, side by side: their elements lie next to each other, and the running
// values of so many stay in the nearest cache.  Of a few elements fewer running values are in use: the
// others are as at their start, and change nothing.
template <int WIDTH, int LANES, class T, class Take, class Join, class Put>
OW_INLINE int64 some_columns_of(int64 c, int64 columns, int64 count, T start, const Take& take, Join join, Put put) {
    int used = LANES;
    while (used > 1 && used / 2 >= count) used /= 2;
    for (; c + WIDTH <= columns; c += WIDTH) {
        T acc[LANES][WIDTH];
        for (int l = 0; l < used; ++l)
            for (int j = 0; j < WIDTH; ++j) acc[l][j] = start;
        each_row(count, take, [&](int64 k, auto take_of) LOOP_INLINE {
            T* const row = acc[k % LANES];
            #pragma GCC ivdep
            for (int j = 0; j < WIDTH; ++j) take_of(c + j, row[j]);
        });
        for (int half = used / 2; half; half /= 2)
            for (int l = 0; l < half; ++l)
                for (int j = 0; j < WIDTH; ++j) acc[l][j] = join(acc[l][j], acc[l + half][j]);
        for (int j = 0; j < WIDTH; ++j) put(c + j, acc[0][j]);
    }
    return c;
}
// LANES: running values of a column; of integers, which are the same in any order, one is enough.
template <class T, int LANES, class Take, class Join, class Put>
OW_INLINE void columns_of(int64 columns, int64 count, T start, const Take& take, Join join, Put put) {
    constexpr int most = (LANES == 1 ? 2048 : 8192 / LANES) / sizeof(T), fewer = most > 64 ? most / 8 : 16;
    int64 c = some_columns_of<most, LANES, T>(0, columns, count, start, take, join, put);
    c = some_columns_of<fewer, LANES, T>(c, columns, count, start, take, join, put);
    c = some_columns_of<8, LANES, T>(c, columns, count, start, take, join, put);
    for (; c < columns; ++c) put(c, run_of<T>(0, count, start, of_column(c, take), join));
}

// The place of the first element that none is beyond, or of the first NaN, in a row that has some.
template <class T, class Take, class Beyond>
OW_INLINE int64 first_of(int64 count, Take take, Beyond beyond) {
    T best = take(0);
    int64 found = 0;
    for (int64 k = 1; k < count && !(best != best); ++k) {
        const T x = take(k);
        if (beyond(x, best) || x != x) best = x, found = k;
    }
    return found;
}
