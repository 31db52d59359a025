/* The inner loops of host stencils. Each is written once, in stencil_sums.h, and compiled for each
 * instruction set; the CPU decides at run time which is used. The compiler fuses no multiplications
 * and additions (-ffp-contract=off). Except in sum_spectra, the macros MULTIPLY_ADD are used only
 * where fusing does not change the result, so that all sets are bit-identical. */
#include "host/stencil_kernels.h"

#include <math.h>

#include "base/half.h"
#include "host/shuffle.h"

/* Short loops take up to a sixth longer at some addresses modulo a cache line. */
#define ALIGNED aligned(64)

#define INLINE static inline __attribute__((always_inline))

/* For each number type: its name, its C type, and the conversion from it to double (or from a
 * truncated double to it). */
#define EACH_WHOLE(define)                                                                                             \
    define(i8, int8_t, ) define(u8, uint8_t, ) define(i16, int16_t, ) define(u16, uint16_t, ) define(i32, int32_t, )   \
        define(u32, uint32_t, ) define(i64, int64_t, ) define(u64, uint64_t, ) define(bool, uint8_t, 0 !=)
#define EACH_NUMBER(define)                                                                                            \
    define(f16, uint16_t, stn_half_to_float) define(bf16, uint16_t, stn_bfloat_to_float) EACH_WHOLE(define)

INLINE int64_t whole(double value) { return fabs(value) < 0x1p63 ? (int64_t)value : INT64_MIN; }

#define whole_i8 whole
#define whole_u8 whole
#define whole_i16 whole
#define whole_u16 whole
#define whole_i32 whole
#define whole_u32 whole
#define whole_i64 whole
#define whole_bool 0 != whole
INLINE uint64_t whole_u64(double value) {
    return value >= 0x1p63 && value < 0x1p64 ? (uint64_t)value : (uint64_t)whole(value);
}

/* Functions for fewer points than one vector has. */
#define DEFINE_POINTS(name, real, out, convert)                                                                        \
    static void name##_points(out *sum, const stn_terms *terms, size_t count) {                                        \
        for (size_t x = 0; x < count; x++) {                                                                           \
            const void *const *line = terms->lines;                                                                    \
            const double *weight = terms->weights;                                                                     \
            double u = -0.0;                                                                                           \
            for (size_t k = 0; k < terms->single; k++, line++) u += ((const real *)line[0])[x] * *weight++;            \
            for (size_t k = 0; k < terms->pairs; k++, line += 2) {                                                     \
                const double a = ((const real *)line[0])[x], b = ((const real *)line[1])[x];                           \
                u += (terms->odd ? a - b : a + b) * *weight++;                                                         \
            }                                                                                                          \
            sum[x] = convert(u);                                                                                       \
        }                                                                                                              \
    }
DEFINE_POINTS(sum, double, double, )
DEFINE_POINTS(sum_float, float, float, (float))
DEFINE_POINTS(sum_rounded, double, double, (float))
DEFINE_POINTS(sum_float_rounded, float, double, (float))
DEFINE_POINTS(sum_to_float, double, float, (float))
DEFINE_POINTS(sum_byte, uint8_t, uint8_t, (uint8_t)whole)

typedef uint16_t shorts __attribute__((vector_size(16)));
INLINE shorts multiply_high(shorts a, shorts b) {
    for (int i = 0; i < 8; i++) a[i] = (uint16_t)((uint32_t)a[i] * b[i] >> 16);
    return a;
}

#define SET portable
#define TARGET __attribute__((ALIGNED))
#define BYTES 16
#define WIDEN(v) __builtin_convertvector(v, vector_portable)
#define NARROW(v) __builtin_convertvector(v, floats_portable)
#define IS_ANY(v) (((words_portable)(v))[0] || ((words_portable)(v))[1])
#define MULTIPLY_HIGH(a, b) multiply_high(a, b)
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define MULTIPLY_ADD_DOUBLES(a, b, c) ((a) * (b) + (c))
#include "host/stencil_sums.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define SET avx2
#define TARGET __attribute__((target("avx2,fma"), ALIGNED))
#define BYTES 32
#define WIDEN(v) _mm256_cvtps_pd((__m128)(v))
#define NARROW(v) _mm256_cvtpd_ps((__m256d)(v))
#define IS_ANY(v) (!_mm256_testz_si256((__m256i)(v), (__m256i)(v)))
#define MULTIPLY_HIGH(a, b) _mm256_mulhi_epu16((__m256i)(a), (__m256i)(b))
#define MULTIPLY_ADD(a, b, c) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define MULTIPLY_ADD_DOUBLES(a, b, c) ((vector_avx2)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#include "host/stencil_sums.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl"), ALIGNED))
#define BYTES 64
#define WIDEN(v) _mm512_cvtps_pd((__m256)(v))
#define NARROW(v) _mm512_cvtpd_ps((__m512d)(v))
#define IS_ANY(v) (_mm512_test_epi32_mask((__m512i)(v), (__m512i)(v)) != 0)
#define MULTIPLY_HIGH(a, b) _mm512_mulhi_epu16((__m512i)(a), (__m512i)(b))
#define MULTIPLY_ADD(a, b, c) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define MULTIPLY_ADD_DOUBLES(a, b, c) ((vector_avx512)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#include "host/stencil_sums.h"
#endif

const stn_kernels *stn_kernels_at(int index) {
    if (index == 0) return &kernels_portable;
#if defined(__x86_64__)
    if (index == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kernels_avx2;
    if (index == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
#endif
    return NULL;
}

const stn_kernels *stn_kernels_best(void) {
    const stn_kernels *best = &kernels_portable, *next;
    for (int i = 1; (next = stn_kernels_at(i)); i++) best = next;
    return best;
}
