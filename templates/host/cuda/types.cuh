// CUDA's vector types and their constructors, with the alignment that a GPU asks of them.
#define OW_VECTORS(T, NAME, ALIGN2, ALIGN4)                                                   \
    struct NAME##1 { T x; };                                                                  \
    struct __attribute__((aligned(ALIGN2))) NAME##2 { T x, y; };                              \
    OW_VECTOR3(T, NAME)                                                                       \
    struct __attribute__((aligned(ALIGN4))) NAME##4 { T x, y, z, w; };                        \
    OW_INLINE NAME##1 make_##NAME##1(T x) { return {x}; }                                     \
    OW_INLINE NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                             \
    OW_INLINE NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                     \
    OW_INLINE NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define OW_VECTOR3(T, NAME) struct NAME##3 { T x, y, z; };
OW_VECTORS(signed char, char, 2, 4)
OW_VECTORS(unsigned char, uchar, 2, 4)
OW_VECTORS(short, short, 4, 8)
OW_VECTORS(unsigned short, ushort, 4, 8)
OW_VECTORS(int, int, 8, 16)
OW_VECTORS(long, long, 16, 16)
OW_VECTORS(unsigned long, ulong, 16, 16)
OW_VECTORS(long long, longlong, 16, 16)
OW_VECTORS(unsigned long long, ulonglong, 16, 16)
OW_VECTORS(float, float, 8, 16)
OW_VECTORS(double, double, 16, 16)
#undef OW_VECTOR3
#define OW_VECTOR3(T, NAME)  // uint3 is that of the indices
OW_VECTORS(unsigned, uint, 8, 16)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

#ifndef OW_OWN_STDINT  // unless the kernel has its own
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned uint32_t;
typedef unsigned long uint64_t;
#endif
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long ulong;
