/* The arithmetic type of host FFTs. The files fft_axes, fft_cosine, fft_group, fft_line, fft_long,
 * fft_odd and fft_kernels are compiled twice: for float64, and with STN_FFT_F32 for float32, with
 * _f32 in all names. */
#ifndef STN_HOST_FFT_NUMBER_H
#define STN_HOST_FFT_NUMBER_H

#ifdef STN_FFT_F32
typedef float stn_fft_number;
#define STN_FFT_DTYPE STN_F32
#define STN_FFT_LANES 16 /* maximum number of lines in a group: numbers in the widest vector */

#define stn_planes stn_planes_f32
#define stn_fft_stage stn_fft_stage_f32
#define stn_fft_kernels stn_fft_kernels_f32
#define stn_fft_kernels_best stn_fft_kernels_best_f32
#define stn_fft_kernels_at stn_fft_kernels_at_f32
#define stn_fft_line stn_fft_line_f32
#define stn_fft_line_create stn_fft_line_create_f32
#define stn_fft_line_destroy stn_fft_line_destroy_f32
#define stn_fft_line_capacity stn_fft_line_capacity_f32
#define stn_fft_line_run stn_fft_line_run_f32
#define stn_fft_line_run_real stn_fft_line_run_real_f32
#define stn_fft_twiddles stn_fft_twiddles_f32
#define stn_fft_twiddles_from stn_fft_twiddles_from_f32
#define stn_fft_cosine stn_fft_cosine_f32
#define stn_fft_cosine_create stn_fft_cosine_create_f32
#define stn_fft_cosine_destroy stn_fft_cosine_destroy_f32
#define stn_fft_cosine_inner stn_fft_cosine_inner_f32
#define stn_fft_cosine_capacity stn_fft_cosine_capacity_f32
#define stn_fft_cosine_run stn_fft_cosine_run_f32
#define stn_fft_cosine_before stn_fft_cosine_before_f32
#define stn_fft_cosine_after stn_fft_cosine_after_f32
#define stn_fft_group_load stn_fft_group_load_f32
#define stn_fft_group_store stn_fft_group_store_f32
#define stn_fft_group_scale_down stn_fft_group_scale_down_f32
#define stn_fft_group_scale_up stn_fft_group_scale_up_f32
#define stn_fft_share stn_fft_share_f32
#define stn_fft_long stn_fft_long_f32
#define stn_fft_long_serves stn_fft_long_serves_f32
#define stn_fft_long_create stn_fft_long_create_f32
#define stn_fft_long_destroy stn_fft_long_destroy_f32
#define stn_fft_long_workspace stn_fft_long_workspace_f32
#define stn_fft_long_run stn_fft_long_run_f32
#define stn_fft_odd stn_fft_odd_f32
#define stn_fft_odd_serves stn_fft_odd_serves_f32
#define stn_fft_odd_create stn_fft_odd_create_f32
#define stn_fft_odd_destroy stn_fft_odd_destroy_f32
#define stn_fft_odd_workspace stn_fft_odd_workspace_f32
#define stn_fft_odd_run stn_fft_odd_run_f32
#define stn_fft_axes stn_fft_axes_f32
#define stn_fft_axes_create stn_fft_axes_create_f32
#define stn_fft_axes_destroy stn_fft_axes_destroy_f32
#define stn_fft_axes_workspace stn_fft_axes_workspace_f32
#define stn_fft_axes_run stn_fft_axes_run_f32
#else
typedef double stn_fft_number;
#define STN_FFT_DTYPE STN_F64
#define STN_FFT_LANES 8
#endif

/* Real and imaginary parts of complex numbers, in separate arrays. */
typedef struct stn_planes {
    stn_fft_number *re, *im;
} stn_planes;

#endif
