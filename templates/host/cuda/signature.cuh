// What a kernel takes, for the check of a call's arguments: one code per parameter.
#pragma once

// kind and bytes of a type: 'i' signed, 'u' unsigned, 'f' float, 'p' pointer, 's' anything else
template <class T> struct OwKind { enum { KIND = 's' }; };
#define OW_KIND(T, K) template <> struct OwKind<T> { enum { KIND = K }; };
OW_KIND(bool, 'u') OW_KIND(char, 'i') OW_KIND(signed char, 'i') OW_KIND(unsigned char, 'u')
OW_KIND(short, 'i') OW_KIND(unsigned short, 'u') OW_KIND(int, 'i') OW_KIND(unsigned, 'u')
OW_KIND(long, 'i') OW_KIND(unsigned long, 'u') OW_KIND(long long, 'i') OW_KIND(unsigned long long, 'u')
OW_KIND(float, 'f') OW_KIND(double, 'f')
template <class T> struct OwPlain { typedef T type; };
template <class T> struct OwPlain<const T> { typedef T type; };
template <class T> struct OwPlain<volatile T> { typedef T type; };
template <class T> struct OwPlain<const volatile T> { typedef T type; };

struct OwParameter { int kind, bytes, element_kind, element_bytes; };
template <class T> struct OwElement { static int bytes() { return sizeof(T); } };
template <> struct OwElement<void> { static int bytes() { return 1; } };
template <class T> struct OwParameterOf {
    static OwParameter get() { return {OwKind<typename OwPlain<T>::type>::KIND, sizeof(T), 0, 0}; }
};
template <class T> struct OwParameterOf<T*> {
    typedef typename OwPlain<T>::type Element;
    static OwParameter get() { return {'p', 8, OwKind<Element>::KIND, OwElement<Element>::bytes()}; }
};
template <class T> struct OwParameterOf<T* __restrict__> : OwParameterOf<T*> {};
template <auto F> struct OwSignature;
template <class... P, void (*F)(P...)> struct OwSignature<F> {
    static int get(OwParameter* out) {
        const OwParameter all[] = {OwParameterOf<P>::get()..., OwParameter()};
        for (unsigned i = 0; i < sizeof...(P); ++i) out[i] = all[i];
        return sizeof...(P);
    }
};
#define OW_SIGNATURE(...)                                                                     \
    extern "C" __attribute__((no_sanitize("thread", "undefined"))) int ow_signature(OwParameter* out) { \
        return OwSignature<__VA_ARGS__>::get(out);                                            \
    }
