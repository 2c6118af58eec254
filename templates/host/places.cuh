// Places of extremes (../places.cuh) in the chunks of a row: first how far some thousand elements go,
// in vectors, and only where that is further than all before, the place among these, which still lie
// in the nearest cache.  So memory is read once, at the speed of a maximum.
#pragma once

// So many bytes of elements at once: a part of the nearest cache, which operands of a map share.
enum { OW_SEARCHED = 4096 };
// So many chunks are searched before anybody looks whether there was something.
enum { OW_SOUGHT = 8 };

// A truth value as a number, of which g++ makes vectors.
template <class T> struct Numeric { typedef T type; };
template <> struct Numeric<bool> { typedef unsigned char type; };

// How far a lane goes.
template <class P> using NumberOf = typename Numeric<typename P::Value>::type;
template <class P> struct Extreme { NumberOf<P> value; };
template <class P> OW_INLINE Extreme<P> taken(Extreme<P> acc, typename P::Value x, index_t) {
    return {P::further(acc.value, (NumberOf<P>)x)};
}
template <class P> OW_INLINE Extreme<P> chosen(bool first, Extreme<P> x, Extreme<P> y) {
    return {first ? x.value : y.value};
}
// Whether a lane has met a value: all bits of a number as wide as that, or none.
template <class T> struct Met { typename BitsOf<sizeof(T)>::type bits; };
template <class T> struct MetLane {
    T sought;
    typename BitsOf<sizeof(T)>::type& bits;
    OW_SPECIAL void operator=(Met<T> met) { bits |= met.bits; }
};
template <class T> struct MetLanes {
    T sought;
    typename BitsOf<sizeof(T)>::type bits[LANES];
    OW_SPECIAL MetLane<T> operator[](int l) { return {sought, bits[l]}; }
};
template <class T> OW_INLINE Met<T> taken(MetLane<T> lane, typename Same<T>::type x, index_t) {
    typedef typename BitsOf<sizeof(T)>::type B;
    return {(x == lane.sought) | (x != x) ? (B)~B(0) : B(0)};  // a number is sought where there is no NaN
}
template <class T> OW_INLINE Met<T> chosen(bool inside, Met<T> x, MetLane<T>) {
    return {inside ? x.bits : (typename BitsOf<sizeof(T)>::type)0};
}

// One running value of a pass: how far its lanes have gone, and the chunk from which on they have.
template <class P> struct Found {
    typedef NumberOf<P> T;
    typedef typename BitsOf<sizeof(T)>::type Bits;
    P& first;
    P found;
    Extreme<P> lanes[LANES], before[LANES];
    MetLanes<T> met;
    index_t at;
    OW_SPECIAL Found(P (&acc)[LANES]) : first(acc[0]), found(P::none()), at(-1) {
        for (int l = 0; l < LANES; ++l) lanes[l].value = found.value;
    }
    OW_SPECIAL void keep() { OW_COPY(before, lanes, sizeof lanes); }
    OW_SPECIAL void restore() { OW_COPY(lanes, before, sizeof lanes); }
    // Whether they have gone further than in the chunks before this one.
    OW_SPECIAL void look(index_t chunk) {
        Bits any = at < 0;
        const T far = found.value;
        for (int l = 0; l < LANES; ++l) {
            if constexpr (T(1) / 2 == 0) any |= (Bits)(P::further(lanes[l].value, far) ^ far);
            else any |= P::wins(lanes[l].value, far) ? (Bits)1 : 0;
        }
        if (!any) return;
        Extreme<P> joined[LANES];
        OW_COPY(joined, lanes, sizeof lanes);
        const auto join = [](Extreme<P> x, Extreme<P> y) { return Extreme<P>{P::further(x.value, y.value)}; };
        found.value = met.sought = join_lanes(joined, join).value;
        at = chunk;
    }
    // Whether nothing goes further: what is not a number, or the end of the integers.
    OW_SPECIAL bool is_last() const {
        const T far = found.value;
        return far != far || (T(1) / 2 == 0 && found.value == P::end());
    }
    OW_SPECIAL void forget() { for (int l = 0; l < LANES; ++l) met.bits[l] = 0; }
    OW_SPECIAL bool meets() const {
        Bits any = 0;
        for (int l = 0; l < LANES; ++l) any |= met.bits[l];
        return any;
    }
    // The first lane that has met it, in the chunk that begins at j0.
    OW_SPECIAL void set(index_t j0) {
        Bits at = LANES;
        for (int l = 0; l < LANES; ++l) {
            const Bits here = met.bits[l] ? (Bits)l : (Bits)LANES;
            at = here < at ? here : at;
        }
        first = first_of(first, P{found.value, (typename P::Place)(j0 + at)});
    }
};

// A running value of another reduction: no element is joined to it twice.
template <class T> struct PlaceFound {
    T (&lanes)[LANES];
    T before[LANES], met[LANES];
    enum { at = -1 };
    OW_SPECIAL PlaceFound(T (&acc)[LANES]) : lanes(acc) {}
    OW_SPECIAL void keep() { for (int l = 0; l < LANES; ++l) before[l] = lanes[l]; }
    OW_SPECIAL void restore() { for (int l = 0; l < LANES; ++l) lanes[l] = before[l]; }
    OW_SPECIAL void look(index_t) {}
    OW_SPECIAL bool is_last() const { return false; }
    OW_SPECIAL void forget() {}
    OW_SPECIAL bool meets() const { return false; }
    OW_SPECIAL void set(index_t) {}
};
template <class T, class I> struct PlaceFound<Largest<T, I>> : Found<Largest<T, I>> { using Found<Largest<T, I>>::Found; };
template <class T, class I> struct PlaceFound<Smallest<T, I>> : Found<Smallest<T, I>> { using Found<Smallest<T, I>>::Found; };

// Where nothing is noted.
struct NoNotes {
    OW_SPECIAL NoNotes& at(int, bool) { return *this; }
    OW_SPECIAL bool any() const { return false; }
};
template <class Notes> inline constexpr bool OW_NOTES = true;
template <> inline constexpr bool OW_NOTES<NoNotes> = false;

template <bool STOPS, bool SHORT, class Ordinary, class Others, class Body, class... Runs>
OW_INLINE void ow_find_places(index_t c, const index_t end, const index_t whole, const index_t some, const Body& body, Runs&&... found) {
    Others others;
    for (bool is_last = false; c < end && !is_last;) {
        const index_t begin = c, top = min(c + some, end);
        Ordinary ordinary;
        if constexpr (OW_NOTES<Ordinary>) (found.keep(), ...);
        const auto take = [&](index_t k) __attribute__((always_inline)) {
            body(Constant<1>(), ordinary, found.lanes..., k);
        };
        if constexpr (SHORT)  // see ow_run_chunks
            for (; c + 3 < top && c + 3 < whole; c += 4) take(c), take(c + 1), take(c + 2), take(c + 3);
        for (; c < top && c < whole; ++c) take(c);
        if (__builtin_expect(ordinary.any(), 0)) (found.restore(), ...), c = begin;
        for (; c < top; ++c) body(Constant<0>(), others, found.lanes..., c);
        (found.look(begin), ...);
        is_last = STOPS && (found.is_last() & ...);
    }
    const auto seek = [&](auto& one) __attribute__((always_inline)) {
        index_t some = end - one.at > OW_SOUGHT ? OW_SOUGHT : 1;
        for (index_t k = one.at; k >= 0 && k < end;) {
            const index_t top = min(k + some, end);
            index_t q = k;
            one.forget();
            for (; q < top && q < whole; ++q) body(Constant<1>(), others, found.met..., q);
            for (; q < top; ++q) body(Constant<0>(), others, found.met..., q);
            if (!one.meets()) k = top;
            else if (some == 1) return one.set(k * LANES);
            else some = 1;  // again, one by one
        }
    };
    (seek(found), ...);
}
// The chunks of a row as by ow_run_chunks; the first lane of each running value gets what is found.
// STOPS: nobody asks for what lies behind the places.
template <bool STOPS, bool SHORT, class Ordinary, class Others, class Body, class... P>
OW_INLINE void ow_run_places(const index_t first, const index_t end, const index_t, const index_t whole, const Body& body, P (&...acc)[LANES]) {
    constexpr int WIDEST = (sizeof(P) | ...) / 2;  // of a place the value takes half
    ow_find_places<STOPS, SHORT, Ordinary, Others>(first, end, whole, (index_t)(OW_SEARCHED / (LANES * WIDEST)), body, PlaceFound<P>(acc)...);
}
