// grade_pixel_u8
// fused: cast, divide, hue_rotation, white_balance, saturation, multiply, add, multiply, multiply, add,
//   multiply, add, divide, clip, maximum, power, to_uint8
// img: u8[n0, n1, 3] -> out: u8[n0, n1, 3]
// a pixel has 3 channels
// pixels n0 * n1; template pixel.cu.j2, target host
#define USE_64BIT_INDEX   0    // offsets need more than 31 bits
#define USE_FAST_MATH     0    // fewer roundings, approximate functions
#define USE_VECTOR_IO     0    // loads and stores of up to 16 bytes at once
#define BLOCK             1    // threads in a block
#define VECTOR            64   // consecutive pixels of one access
#define CHUNKS            1    // accesses of one thread, all issued before the first use
#include "opweave.cuh"

static __device__ __forceinline__ void op_hue_rotation_f32_f32(
    float (&r)[3],
    const float (&x)[3],
    const float cosine,
    const float sine)
{
    float r0, r1, r2;
    const float red = x[0], green = x[1], blue = x[2];
    const float k = ((float)1 - cosine) / (float)3, t = sine * (float)0.5773502691896258;
    r0 = (cosine + k) * red + (k - t) * green + (k + t) * blue;
    r1 = (k + t) * red + (cosine + k) * green + (k - t) * blue;
    r2 = (k - t) * red + (k + t) * green + (cosine + k) * blue;
    r[0] = r0; r[1] = r1; r[2] = r2;
}

static __device__ __forceinline__ void op_white_balance_f32_f32(
    float (&r)[3],
    const float (&x)[3],
    const float red_gain,
    const float green_gain,
    const float blue_gain)
{
    float r0, r1, r2;
    const float red = x[0], green = x[1], blue = x[2];
    r0 = red * red_gain;
    r1 = green * green_gain;
    r2 = blue * blue_gain;
    r[0] = r0; r[1] = r1; r[2] = r2;
}

static __device__ __forceinline__ void op_saturation_f32_f32(
    float (&r)[3],
    const float (&x)[3],
    const float amount)
{
    float r0, r1, r2;
    const float red = x[0], green = x[1], blue = x[2];
    const float level = (float)0.2126 * red + (float)0.7152 * green + (float)0.0722 * blue;
    r0 = level + (red - level) * amount;
    r1 = level + (green - level) * amount;
    r2 = level + (blue - level) * amount;
    r[0] = r0; r[1] = r1; r[2] = r2;
}

#define CHANNELS 3

extern "C" __global__ void __launch_bounds__(BLOCK)
grade_pixel_u8(
    const uint8* __restrict__ img,
    uint8* __restrict__ out,
    const index_t cols)
{
    // index: each thread takes chunks of consecutive pixels, a block apart
    const index_t first = ((index_t)blockIdx.x * (CHUNKS * BLOCK) + threadIdx.x) * VECTOR;

    // load: all chunks before the first use; the guard is cols - j0
    uint8 img_v[CHUNKS][CHANNELS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        load_pixels(img_v[c], img + CHANNELS * (j0), cols - j0);
    }

    uint8 out_v[CHUNKS][CHANNELS][VECTOR];
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int l = 0; l < VECTOR; ++l) {
            uint8 img_p[CHANNELS]; EACH_CHANNEL img_p[h] = img_v[c][h][l];
            float v0[CHANNELS]; EACH_CHANNEL v0[h] = convert<float>(img_p[h]);  // cast: f32[n0, n1, 3], line 2
            float v1[CHANNELS]; EACH_CHANNEL v1[h] = v0[h] / 255.0f;  // divide: f32[n0, n1, 3], line 2
            float v2[CHANNELS]; op_hue_rotation_f32_f32(v2, v1, 0.9396926f, 0.34202015f);  // hue_rotation: f32[n0, n1, 3], line 2
            float v3[CHANNELS]; op_white_balance_f32_f32(v3, v2, 1.1f, 1.0f, 0.9f);  // white_balance: f32[n0, n1, 3], line 3
            float v4[CHANNELS]; op_saturation_f32_f32(v4, v3, 1.3f);  // saturation: f32[n0, n1, 3], line 3
            float v5[CHANNELS]; EACH_CHANNEL v5[h] = 2.51f * v4[h];  // multiply: f32[n0, n1, 3], line 4
            float v6[CHANNELS]; EACH_CHANNEL v6[h] = v5[h] + 0.03f;  // add: f32[n0, n1, 3], line 4
            float v7[CHANNELS]; EACH_CHANNEL v7[h] = v4[h] * v6[h];  // multiply: f32[n0, n1, 3], line 4
            float v8[CHANNELS]; EACH_CHANNEL v8[h] = 2.43f * v4[h];  // multiply: f32[n0, n1, 3], line 4
            float v9[CHANNELS]; EACH_CHANNEL v9[h] = v8[h] + 0.59f;  // add: f32[n0, n1, 3], line 4
            float v10[CHANNELS]; EACH_CHANNEL v10[h] = v4[h] * v9[h];  // multiply: f32[n0, n1, 3], line 4
            float v11[CHANNELS]; EACH_CHANNEL v11[h] = v10[h] + 0.14f;  // add: f32[n0, n1, 3], line 4
            float v12[CHANNELS]; EACH_CHANNEL v12[h] = v7[h] / v11[h];  // divide: f32[n0, n1, 3], line 4
            float v13[CHANNELS]; EACH_CHANNEL v13[h] = min_nan(max_nan(v12[h], 0.0f), 1.0f);  // clip: f32[n0, n1, 3], line 4
            float v14[CHANNELS]; EACH_CHANNEL v14[h] = max_nan(v13[h], 0.0f);  // maximum: f32[n0, n1, 3], line 4
            float v15[CHANNELS]; EACH_CHANNEL v15[h] = pow(v14[h], 0.45454547f);  // power: f32[n0, n1, 3], line 4
            uint8 v16[CHANNELS]; EACH_CHANNEL v16[h] = quantised(v15[h]);  // to_uint8: u8[n0, n1, 3], line 4
            EACH_CHANNEL out_v[c][h][l] = v16[h];
        }
    }

    // store
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const index_t j0 = first + c * (BLOCK * VECTOR);
        store_pixels(out + CHANNELS * (j0), out_v[c], cols - j0);
    }
}
