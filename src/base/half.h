/* IEEE binary16 and bfloat16 numbers, stored as uint16_t. Conversion rounds to nearest even, as the
 * GPU does. */
#ifndef STN_BASE_HALF_H
#define STN_BASE_HALF_H
#include <stdint.h>
#include <string.h>

/* Masks instead of branches let compilers vectorise loops over this function. */
static inline float stn_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, magnitude = h & 0x7fffu, small, bits;
    uint32_t is_small = -(uint32_t)(magnitude < 0x400u), is_special = -(uint32_t)(magnitude >= 0x7c00u);
    float value = (float)(int32_t)magnitude * 0x1p-24f; /* exact for zero and subnormals */
    memcpy(&small, &value, 4);
    /* infinity, NaN: exponent 255 */
    bits = (magnitude << 13) + 0x38000000u + (is_special & 0x38000000u);
    bits = sign | (is_small & small) | (~is_small & bits);
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint16_t stn_float_to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);  /* NaN */
    if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* rounds past 65504, or infinity */
    /* Below 2^-14: adding 0.5 leaves the rounded subnormal in the low bits. */
    if (bits < 0x38800000u) {
        float magnitude;
        memcpy(&magnitude, &bits, 4);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, 4);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    uint32_t odd = (bits >> 13) & 1u;
    return (uint16_t)(sign | ((bits - 0x38000000u + 0xfffu + odd) >> 13));
}

static inline float stn_bfloat_to_float(uint16_t b) {
    const uint32_t bits = (uint32_t)b << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint16_t stn_float_to_bfloat(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    /* NaN */
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16 & 0x8000u) | 0x7fc0u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
#endif
