// CUDA C++ as people write it, for the host: included inside the namespace of their kernel, so that
// what they overload stands beside what they overload it with.
#include "types.cuh"
#include "math.cuh"
#include "ptx.cuh"
#include "warp.cuh"
