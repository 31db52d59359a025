/* IEEE binary16, stored as uint16_t, converted with round-to-nearest-even as the GPU does. */
#ifndef STN_BASE_HALF_H
#define STN_BASE_HALF_H
#include <stdint.h>
#include <string.h>

static inline float stn_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu, bits;
    float value;
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 is exact in float */
        value = (float)mantissa * 0x1p-24f;
        memcpy(&bits, &value, 4);
        bits |= sign;
    } else if (exponent == 31)
        bits = sign | 0x7f800000u | (mantissa << 13);
    else
        bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
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
    if (bits < 0x38800000u) { /* below 2^-14: adding 0.5 puts the subnormal's bits, rounded, at the bottom */
        float magnitude;
        memcpy(&magnitude, &bits, 4);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, 4);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    uint32_t odd = (bits >> 13) & 1u;
    return (uint16_t)(sign | ((bits - 0x38000000u + 0xfffu + odd) >> 13));
}
#endif
