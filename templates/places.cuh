// The largest or smallest element so far, and the first place that it was found at, as NumPy's
// argmax and argmin: NaN is beyond all numbers.  Included by common.cuh.
//
// Whoever joins them, in whatever order, finds the same: of equal elements the first place wins.
#pragma once

// What no element is less than: of floats an infinity.
template <class T> OW_INLINE T least() { return lowest<T>(); }
template <> OW_SPECIAL float least<float>() { return -infinity<float>(); }
template <> OW_SPECIAL double least<double>() { return -infinity<double>(); }
template <class T> OW_INLINE T most() { return highest<T>(); }
template <> OW_SPECIAL float most<float>() { return infinity<float>(); }
template <> OW_SPECIAL double most<double>() { return infinity<double>(); }

template <class T> OW_INLINE bool are_same(T x, T y) { return (x == y) | ((x != x) & (y != y)); }
template <class T> OW_INLINE bool is_beyond(T x, T y, bool beyond) { return beyond | ((x != x) & (y == y)); }

// No constructor, so that shared memory may hold it.  `wins`: x is further than y.
#define OW_PLACED(NAME, BEGIN, END, BEYOND, FURTHER)                                          \
    template <class T, class I> struct NAME {                                                 \
        typedef T Value;                                                                      \
        typedef I Place;                                                                      \
        T value;                                                                              \
        I place;                                                                              \
        OW_SPECIAL static NAME none() { return {BEGIN<T>(), highest<I>()}; }                  \
        OW_SPECIAL static T end() { return END<T>(); }                                        \
        template <class V> OW_SPECIAL static V further(V x, V y) { return FURTHER(x, y); }    \
        template <class V> OW_SPECIAL static bool wins(V x, V y) { return is_beyond(x, y, x BEYOND y); } \
    };                                                                                        \
    template <class T, class I> OW_INLINE NAME<T, I> first_of(NAME<T, I> x, NAME<T, I> y) {   \
        const bool second = NAME<T, I>::wins(y.value, x.value) | (are_same(y.value, x.value) & (y.place < x.place)); \
        return {second ? y.value : x.value, second ? y.place : x.place};                      \
    }                                                                                         \
    template <class T, class I> OW_INLINE NAME<T, I> taken(NAME<T, I> acc, typename Same<T>::type x, index_t place) { \
        return first_of(acc, NAME<T, I>{x, (I)place});                                        \
    }                                                                                         \
    template <class T, class I> OW_INLINE NAME<T, I> chosen(bool first, NAME<T, I> x, NAME<T, I> y) { \
        return {first ? x.value : y.value, first ? x.place : y.place};                        \
    }                                                                                         \
    template <class T, class I> OW_INLINE I place_of(NAME<T, I> x) { return x.place; }        \
    template <class T, class I> struct Volatile<NAME<T, I>> { typedef VolatilePlaced<NAME<T, I>, T, I> type; };

template <class P, class T, class I> struct VolatilePlaced {
    volatile T value;
    volatile I place;
    OW_SPECIAL operator P() const { return {value, place}; }
    OW_SPECIAL void operator=(P x) { value = x.value, place = x.place; }
};
OW_PLACED(Largest, least, most, >, max_nan)
OW_PLACED(Smallest, most, least, <, min_nan)
