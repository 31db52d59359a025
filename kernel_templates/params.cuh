// The parameters of one kernel. At run time the library writes a replacement of this file, the only
// rendered one; these documented defaults (heat-2d, f64, constant sides) let every template be
// read, and compiled by NVRTC, as it is.
#pragma once

// ---- types
using STORE = double;    // an element in memory: double, float or half_t
using WRITTEN = double;  // an element of the output, in kernels that convert to another type
using REAL = double;     // arithmetic type: double, or float for float and half_t

// ---- the stencil: tap k reads (z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k]); x is the fastest axis.
// direct_tile marches along z; a 2D problem's axes are z and x. Taps are sorted by y, then z, then
// x.
constexpr int NTAPS = 5;
constexpr int TAP_Z[NTAPS] = {-1, 0, 0, 0, 1};
constexpr int TAP_Y[NTAPS] = {0, 0, 0, 0, 0};
constexpr int TAP_X[NTAPS] = {0, -1, 0, 1, 0};
constexpr int Z_LOW = 1, Z_HIGH = 1;  // reach of the taps towards each side
constexpr int Y_LOW = 0, Y_HIGH = 0;
constexpr int X_LOW = 1, X_HIGH = 1;

// ---- what lies past each side: boundary_kind of device/boundary.cuh (1: constant)
constexpr int Z_SIDE_LOW = 1, Z_SIDE_HIGH = 1;
constexpr int Y_SIDE_LOW = 1, Y_SIDE_HIGH = 1;
constexpr int X_SIDE_LOW = 1, X_SIDE_HIGH = 1;

// ---- shape of the work
// Consecutive points along x of a thread, in one access; 1 for unaligned rows.
constexpr int VECTOR = 2;
constexpr int ROWS = 2;        // rows along y of a thread (direct_line: runs of VECTOR points)
constexpr int CHUNK = 4;       // planes along z of a thread
constexpr int THREADS_X = 32;  // threads of a block along each axis
constexpr int THREADS_Y = 4;
constexpr int THREADS_Z = 8;
constexpr int BLOCKS = 1;   // blocks that must fit on a multiprocessor (limits registers)
constexpr int UNROLL = 16;  // planes unrolled in the marching loop
// 1: blocks that meet an edge along x, and none along y or z, have an unrolled loop of their own
// (in 3D one block in six). 2: all blocks meet an edge along x, and there is no loop for others.
constexpr int COLUMN_LOOP = 0;

// ---- direct_skew: rows may begin at any element.
// The pitch of planes (SKEW_Z), or of rows (SKEW_Y), minus the nearest multiple of VECTOR elements;
// it may be negative.
constexpr int SKEW_Z = 1, SKEW_Y = 0;
constexpr int SKEW_ALIGN = 2;  // The pitches minus these skews are multiples of this many elements.
// 1: strides of output and input differ by numbers that are not multiples of VECTOR.
constexpr int SHIFTED = 0;
// Planes in which a thread computes its point near a side: 1, or all planes of a tile.
constexpr int SIDE_RUN = 1;

// ---- lowrank: X_LOW .. Y_HIGH are then those of the fused taps
constexpr int TERMS = 2;  // separable terms of a plane's taps
// lowrank_mixed: reach of each term; beyond it the weights are 0.
constexpr int TERM_Y_LOW[TERMS] = {1, 0};
constexpr int TERM_Y_HIGH[TERMS] = {1, 0};
constexpr int TERM_X_LOW[TERMS] = {0, 1};
constexpr int TERM_X_HIGH[TERMS] = {0, 1};
constexpr int TERM_UNIT[TERMS] = {0, 1};  // 1: the term's middle weight along y is 1
constexpr int WARPS = 4;                  // warps of a block
// Stages in shared memory: the kernel computes from one while the others are being filled.
constexpr int STAGES = 4;
constexpr int SEGMENT = 128;  // lowrank_line: points of a segment
// 1: bands stay in registers; otherwise they are read again for every column.
constexpr int HELD = 0;
// 1: weights are symmetric, and only half of them are stored.
constexpr int EVEN = 1;
// Numbers of lower precision whose sum is an element, or a weight, on tensor cores: 1 or 2
// (device/fragment.cuh).
constexpr int DATA_PARTS = 1;
constexpr int BAND_PARTS = 1;
constexpr int PAIRED = 0;  // lowrank_line: tiles are 16 points wide, not 8

// ---- lowrank_axis: one factor of separable taps; WARPS, STAGES, BLOCKS, HELD and *_PARTS as above
constexpr int AXIS_LOW = 8, AXIS_HIGH = 8;            // reach of the factor
constexpr int AXIS_SIDE_LOW = 3, AXIS_SIDE_HIGH = 3;  // boundary_kind of the axis
constexpr int ALONG_X = 1;                            // 1: the axis is the fastest one
constexpr int FROZEN = 0;                             // 1: points frozen by a fixed side are kept

// ---- typed_lines, typed_box: WARPS and Y_LOW .. X_SIDE_HIGH as above
constexpr int ALIGNED = 1;      // 1: rows are aligned runs of 8 elements
constexpr int UNSIGNED = 1;     // 1: elements are unsigned integers
constexpr int DIGITS = 3;       // bytes of a weight
constexpr int INTEGERS = 0;     // 1: weights are integers, sums exact
constexpr int NEGATIVE = 0;     // 1: sums may be negative
constexpr int TOP = 0;          // 1: results are the top bytes of sums modulo 2^32
constexpr int TYPED_ROWS = 64;  // typed_lines: rows of a block

// ---- normalized_axis, normalized_point: STORE and WRITTEN may be struct normalized_pair.
// normalized_axis also reads ALONG_X, WARPS and ROWS, as above.
constexpr int TAPS_LOW = 8, TAPS_HIGH = 8;            // reach of the taps
constexpr int TAPS_SIDE_LOW = 3, TAPS_SIDE_HIGH = 3;  // boundary_kind of the axis
constexpr int NAN_IS_MISSING = 1;                     // 1: points that are NaN are missing

// ---- lowrank_volume: the fused taps are a sum of CORE_TERMS products of three vectors. Term r is
// vector TERM_SUM[r] along z times a vector of its own along y times vector TERM_X[r] along x.
// Z_LOW .. X_HIGH are the reaches of the fused taps.
constexpr int X_FACTORS = 2, SUMS = 2, CORE_TERMS = 3;  // vectors along x and along z; terms
// 1: x factor 0 is a single weight, 1, in the middle.
constexpr int IDENTITY = 1;
constexpr int TERM_X[CORE_TERMS] = {0, 0, 1};
constexpr int TERM_SUM[CORE_TERMS] = {0, 1, 1};
// Reach of the term's own vector; beyond it the weights are 0.
constexpr int TERM_LOW[CORE_TERMS] = {0, 0, 0};
constexpr int TERM_HIGH[CORE_TERMS] = {0, 0, 0};
// [SUMS][Z_LOW + 1 + Z_HIGH]: 1 where the vector along z of sum k has a nonzero weight at offset
// dz: index k * (Z_LOW + 1 + Z_HIGH) + Z_LOW + dz.
constexpr int SUM_USED[6] = {1, 0, 1, 0, 1, 0};
constexpr int TILES = 2;                 // tiles of 8 rows, of a warp
constexpr int WARPS_X = 2, WARPS_Y = 2;  // warps of a block
// 1: offsets along z that only terms with a single weight reach, at either end, are read from the
// planes in shared memory; partial sums in registers serve the other offsets.
constexpr int RING = 1;

// ---- sparse_*: Z_LOW .. X_SIDE_HIGH are those of the fused taps; VECTOR, WARPS, STAGES and BLOCKS
// as above
using SPARSE_STORE = float;         // an element: float or half_t
constexpr int SPARSE_RANK = 3;      // rank of the grid
constexpr int SPARSE_HALVES = 4;    // length of a window, in units of 8 words of 32 bits
constexpr int SPARSE_HALVES_Y = 4;  // sparse_chain: length of the window along y
constexpr int SPARSE_TERMS = 2;     // sparse_chain: separable terms that are summed
// sparse_chain: further blocks of a grid, one for each column of tiles at its sides; 0 or 3.
constexpr int SPARSE_SIDE_BLOCKS = 0;
constexpr int SPARSE_LEAD = 4;   // points from a window's start to its first output
constexpr int SPARSE_PARTS = 1;  // 11-bit parts of a weight
// 1: f32 elements are split into two parts of 11 bits too (not in 1D).
constexpr int SPARSE_SPLIT = 0;
// How many of the eight columns of a product's right factor belong to adjacent blocks of 16
// outputs: 1, 2 or 8.
constexpr int SPARSE_ADJACENT_COLUMNS = 8;
// sparse_march: adjacent warps of a block; other kernels: 0.
constexpr int SPARSE_ADJACENT_WARPS = 1;
constexpr int SPARSE_HELD = 8;  // rows of taps in registers at the same time, at most
// For each plane: its first row of taps, from -Y_LOW on, and the number of rows.
constexpr int SPARSE_ROW_FIRST[3] = {0, 0, 0};
constexpr int SPARSE_ROW_COUNT[3] = {1, 1, 1};

// ---- several steps in one launch (direct_time_*)
constexpr int FUSED = 2;                              // steps a launch
constexpr int POINTS = 4;                             // consecutive points along x of a lane
constexpr int PREFETCH = 1;                           // planes that are prefetched
constexpr int Z_REACH = 1, Y_REACH = 1, X_REACH = 1;  // the larger of LOW and HIGH
constexpr int SPANS = 0;                              // 1: a tile is as wide as the grid
// 1: the last run of VECTOR points of a row is partial.
constexpr int PARTIAL = 0;
// 1: weights at opposite offsets are equal, so points are added first.
constexpr int MIRROR_Z = 0, MIRROR_X = 0;

// ---- faces_tile: FUSED, *_REACH, ROWS and POINTS as above
constexpr int TILED[3] = {1, 0, 1};  // whether there are tiles at faces normal to z, y and x
constexpr int BOX_Z[3] = {4, 4, 8};  // points of a tile's box, for faces normal to z, y and x
constexpr int BOX_Y[3] = {2, 2, 2};
constexpr int BOX_X[3] = {16, 16, 4};
// 1: weights are products of one factor for each axis, and the kernel gets the factors.
constexpr int SEPARABLE = 0;
constexpr int NWEIGHTS = NTAPS;

// ---- sourced_add
constexpr int HAS_GRID = 1;  // 1: there is a grid to add to
constexpr int HAS_SOURCE = 1;

// ---- system_step, system_points: assignments, here u.next = 2 u(z, y, x + 1) - u
constexpr int SYSTEM_ARRAYS = 1;   // arrays that the assignments read
constexpr int SYSTEM_VALUES = 1;   // numbers and constants of sides; at least 1
constexpr int SYSTEM_OUTPUTS = 1;  // assignments
// For each assignment: 1: points at fixed sides keep their value.
constexpr int SYSTEM_FREEZES[SYSTEM_OUTPUTS] = {0};
// For each assignment: 0: only later assignments of the launch read its result.
constexpr int SYSTEM_STORES[SYSTEM_OUTPUTS] = {1};
// For each array, 4 bits for each side, the low side of z in the lowest bits, then z high, y low,
// ..: boundary_kind, plus 8 if values past the side are those of their images times -1.
constexpr int SYSTEM_SIDES[SYSTEM_ARRAYS] = {0};
constexpr int SYSTEM_PAST[SYSTEM_ARRAYS][6] = {{0}};  // index of the value past a constant side
constexpr int SYSTEM_SHARED[SYSTEM_ARRAYS] = {0};     // 1: all grids of a batch share it
constexpr int SYSTEM_MARCH = 0;                       // axis along which blocks march: 0 or 1
// For each array, while plane m is computed: a thread's registers hold planes m - LOW to m + HIGH
// of its own column (not in chained launches).
constexpr int SYSTEM_LOW[SYSTEM_ARRAYS] = {0}, SYSTEM_HIGH[SYSTEM_ARRAYS] = {0};
// RING: planes of the array's ring in shared memory, from plane m - BEFORE to m + HIGH and those
// being copied; 0: there is no ring, and the array is read from memory. BEFORE may be negative.
constexpr int SYSTEM_RING[SYSTEM_ARRAYS] = {3}, SYSTEM_BEFORE[SYSTEM_ARRAYS] = {0};
// The halo of a tile in the ring: rows before and after the tile, and slots of VECTOR points before
// and after each row. CORNERS: 1: the halo's corners are copied too.
constexpr int SYSTEM_HALO[SYSTEM_ARRAYS][4] = {{0, 0, 0, 1}};
constexpr int SYSTEM_CORNERS[SYSTEM_ARRAYS] = {0};
constexpr int SYSTEM_AHEAD = 2;  // planes that are copied while one is computed
// Chained launches. LATER: the first assignment that reads a next state computed in this launch;
// SYSTEM_OUTPUTS: the launch is not chained. It and the assignments after it run LAG planes behind
// the earlier ones, which are also computed for BACK planes before a block's chunk and LAG planes
// after it. MADE: for each array, the assignment that computes it in this launch; -1: the array is
// copied from memory. WAITS: assignments from LATER on read what other threads compute in the same
// iteration.
constexpr int SYSTEM_LATER = SYSTEM_OUTPUTS, SYSTEM_LAG = 0, SYSTEM_BACK = 0, SYSTEM_WAITS = 0;
constexpr int SYSTEM_MADE[SYSTEM_ARRAYS] = {-1};
constexpr int SYSTEM_ADDS = 1;  // system_points: 1: amplitudes are added; 0: values are recorded
template <int I>
struct assigned {};
template <class AROUND>
__device__ __forceinline__ REAL system_value(const AROUND &around, assigned<0>) {
    const REAL t0 = around.template field<0>(0, 0, 1);
    const REAL t1 = around.template field<0>(0, 0, 0);
    return around.number(0) * t0 - t1;
}

// ---- system_fused: SYSTEM_ARRAYS, SYSTEM_VALUES, SYSTEM_SIDES, SYSTEM_PAST, THREADS_X, BLOCKS,
// and these; here one step of the same assignment in 2D
constexpr int FUSED_INPUTS = 1, FUSED_PASSES = 1, FUSED_OUTPUTS = 1, FUSED_EQUATIONS = 1;
constexpr int FUSED_SLOTS = 2;  // rows in shared memory, of all rings
// A block's iterations are i = FUSED_BEGIN to FUSED_END + (rows of a chunk) / FUSED_ROWS - 1.
constexpr int FUSED_BEGIN = 0, FUSED_END = 0;
constexpr int FUSED_ROWS = 1, FUSED_VECTOR = 1;  // rows of an iteration; columns of a thread
// Columns at the low and at the high end of a tile that are computed and not stored.
constexpr int FUSED_MARGIN[2] = {0, 1};
// Reach of all assignments: z low, z high, y low, y high, x low, x high.
constexpr int FUSED_REACH[6] = {0, 0, 0, 0, 0, 1};
// For each axis. CONTINUES: 1: tiles continue past the sides, because some array wraps. WHOLE: 1:
// also all arrays that are read at offsets along the axis wrap, so that no read is folded, and no
// point is frozen.
constexpr int FUSED_CONTINUES[3] = {0, 0, 1}, FUSED_WHOLE[3] = {0, 0, 1};
constexpr int FUSED_FREEZES[1] = {0};  // for each assignment, as SYSTEM_FREEZES
// For each node: the inputs, then the results of the passes. LAG: iteration i loads or computes the
// FUSED_ROWS rows from i * FUSED_ROWS - LAG on, counted from the block's first row. RING: rows of
// the node's ring in shared memory; 0: it has none. AT: rows of shared memory before the ring.
constexpr int NODE_LAG[2] = {0, 0}, NODE_RING[2] = {2, 0}, NODE_AT[2] = {0, 2};
// Only iterations BEGIN to END + (rows of a chunk) / FUSED_ROWS - 1 load or compute the node.
// START: the index in the ring of iteration FUSED_BEGIN, in units of FUSED_ROWS rows.
constexpr int NODE_BEGIN[2] = {0, 0}, NODE_END[2] = {0, 0}, NODE_START[2] = {0, 0};
constexpr int NODE_X[2][2] = {{0, 32}, {0, 31}};  // its columns in a tile: the first, and the end
constexpr int NODE_RULE[2] = {0, 0};              // the node's sides are those of this array
constexpr int NODE_SHARED[1] = {0};               // for each input, as SYSTEM_SHARED
// For each pass. EQUATION: the assignment that it computes. OUT: the output to which the result is
// stored; -1: none. PRESENT: the node with the values that frozen points keep; -1: no point is
// frozen. WAITS: 1: a barrier precedes the pass, because it reads rows that were computed since the
// last barrier. NODE: for each array, the node that the pass reads; -1: it does not read the array.
constexpr int PASS_EQUATION[1] = {0}, PASS_OUT[1] = {0}, PASS_PRESENT[1] = {-1}, PASS_WAITS[1] = {0};
constexpr int PASS_NODE[1][1] = {{0}};
template <int E>
struct equation {
    template <class AROUND>
    __device__ static REAL value(const AROUND &around) {
        return system_value(around, assigned<0>{});
    }
};

// ---- modes_grid, modes_power: all steps of a linear system at once; here the wave
// equation u.next = 2*u - u.prev + c*lap(u) of order 2
constexpr int MODES_WIDTH = 2;  // numbers of the state: the levels of all fields
constexpr int MODES_FIELDS = 1;
constexpr int MODES_LEVELS = 2;  // the largest number of levels of a field
// For each field, its first number in the state; then MODES_WIDTH.
constexpr int MODES_FIELD[MODES_FIELDS + 1] = {0, 2};
// For each axis, twice the distance, in points, from the outermost point to the mirrors beyond it
// (0, 1 or 2); -1: the axis wraps.
constexpr int MODES_BEYOND[3] = {-1, -1, 1};
// For each field, axis and side: the sign of the image past the side.
constexpr int MODES_SIGN[6 * MODES_FIELDS] = {0, 0, 0, 0, 1, -1};
constexpr int MODES_RUN = 4;  // points of a thread
// modes_grid: 0: computes differences of the levels of fields; 1: computes levels from differences.
constexpr int MODES_STORES = 0;
constexpr int MODES_FROM = 0;    // the first level whose difference is written
constexpr int MODES_AFFINE = 0;  // 1: a step adds constants
constexpr int MODES_REAL = 1;    // 1: the matrix is real
constexpr int MODES_WIDE = 1;    // 1: numbers have 106 bits; 0: they are float64
// modes_power: this many of the last squarings are in float64.
constexpr int MODES_PLAIN = 2;
constexpr int MODES_TRACE = 1;         // 1: the power of a 2 x 2 matrix is computed from its trace
constexpr int MODES_UNIT = 1;          // 1: the determinant of that matrix is 1
constexpr int MODES_EVEN[2] = {1, 1};  // for axes z, y: 1: the matrices at k and -k are equal
constexpr int MODES_REACH = 1;         // the largest offset along the rows
constexpr int MODES_ROWS = 32;         // rows of frequencies of a block
// Terms of the symbols of all stencils (modes/matrix.cuh). For each term: PART: 0: its real part is
// used, 1: its imaginary part. OFFSET: its offset along the rows. FIRST: its first tap; the last
// entry is the number of taps.
constexpr int MODES_TERMS = 2;
constexpr int MODES_PART[2] = {0, 0};
constexpr int MODES_OFFSET[2] = {0, 1};
constexpr int MODES_FIRST[3] = {0, 3, 4};
// For each stencil. KIND: 4: a sum of complex terms; else bit 0: the symbol is imaginary, bit 1: it
// is a sum of sines, not cosines. SLOT: its first term; the last entry is MODES_TERMS.
constexpr int MODES_KIND[1] = {0};
constexpr int MODES_SLOT[2] = {0, 2};
// modes_lines and modes_plane, which also read BLOCKS, THREADS_X and LINE_*: the pass; columns of a
// block, or of a cluster, of the pass with the power.
constexpr int MODES_PASS = 0, MODES_COLUMNS = 1;
constexpr int MODES_VALUES = 1;  // constant factors of the matrix, and constants that a step adds
template <class FREQUENCY, class MATRIX>
__device__ __forceinline__ void modes_matrix(const FREQUENCY &f, MATRIX &m) {
    m.set(0, 0, f.template symbol<0>());
    m.difference(1);
}

// ---- fft_line: transforms of lines. fft_warp reads WARPS, BLOCKS, STAGES, FFT_LENGTH, FFT_INVERSE
// and FFT_SCALE.
constexpr int FFT_LENGTH = 256;                  // complex points of a line
constexpr int FFT_STAGES = 2;                    // stages of the FFT
constexpr int FFT_RADIX[FFT_STAGES] = {16, 16};  // of each stage: 2 to 10, 12, 14, 15, 16 or 32
constexpr int FFT_THREADS = 16;                  // threads of a line
constexpr int FFT_LINES = 8;                     // lines of a block
// Nested loops over lines, at most 3; 1: all lines are evenly spaced.
constexpr int FFT_LOOPS = 3;
// 1: neighbouring threads read (IN) or write (OUT) neighbouring lines; 0: neighbouring points.
constexpr int FFT_LINES_FAST_IN = 0;
constexpr int FFT_LINES_FAST_OUT = 0;
constexpr int FFT_IN_STRIDE = 1;  // stride from point to point; 0: not known when compiled
constexpr int FFT_OUT_STRIDE = 1;
using FFT_CELL = double;        // real or imaginary part in shared memory: REAL or half_t
constexpr int FFT_PAD = 16;     // one element of padding follows each FFT_PAD points
constexpr int FFT_PITCH = 273;  // points from line to line in shared memory
// Not 0: tiles begin at cache lines of the rows; then the number of elements of a cache line.
constexpr int FFT_SHIFT = 0;
// true: the lines of a block may be the last ones of a row of lines and the first of the next row.
constexpr bool FFT_MERGED = false;
// A stage with more twiddles than this computes them as powers of fewer.
constexpr int FFT_TABLE = 1024;
constexpr int FFT_INVERSE = 0;
constexpr int FFT_SCALE = 0;  // 1: outputs are multiplied by an argument
// Not 0: outputs are multiplied by the twiddles between this launch and the next one; then the
// number of the loop whose index they depend on, counted from 1.
constexpr int FFT_OUTER = 0;
constexpr int FFT_OUTER_LOW = 8;   // log2 of the size of the first of the two tables of twiddles
constexpr int FFT_LOAD_REAL = 0;   // 1: complex-to-real: a line has N + 1 input coefficients
constexpr int FFT_STORE_REAL = 0;  // 1: real-to-complex: a line has N + 1 output coefficients
using SCALE_FROM = double;         // type of the elements that a copy between layouts reads
using SCALE_TO = double;           // type of the elements that the copy writes

// ---- fft_image and fft_long: WARPS, BLOCKS, FFT_INVERSE and this; fft_long also reads FFT_OUTER
// (0 or 1).
constexpr int CLUSTER = 8;  // blocks that hold an image, or lines, together

// ---- device/shared_fft.cuh: FFTs of lines in shared memory; fft_shared, spectral_rows,
// spectral_columns
constexpr int LINE_POINTS = 64;                  // complex points of a line
constexpr int LINE_STAGES = 2;                   // stages of the FFT
constexpr int LINE_RADIX[LINE_STAGES] = {8, 8};  // of each stage: 1 to 10, 12, 14, 15, 16
constexpr int LINE_COUNT = 4;                    // lines of a block, with THREADS_X threads each
// One element of padding follows each LINE_PAD points; 0: there is no padding.
constexpr int LINE_PAD = 8;
// A stage with more twiddles than this computes them as powers of fewer.
constexpr int LINE_TABLE = 1024;
constexpr int LINE_SHARES = 1;  // blocks of a cluster that hold a line together

// ---- fft_cosine: LINE_*, FFT_LOOPS and these
constexpr int COSINE_TYPE = 2;  // or 3
constexpr int COSINE_SINE = 0;
// 1: a line has adjacent numbers. 0: points of a line are strided, and a point is a pair of
// adjacent numbers, one of each of two lines.
constexpr int COSINE_ROWS = 0;

// ---- fft_block: small grids as a whole; inverse, scale and real sides as for fft_line
constexpr int GRID_EXTENT[3] = {1, 16, 16};
constexpr int GRID_RADICES = 1;                            // the most radices of any axis
constexpr int GRID_STAGES[3] = {0, 1, 1};                  // number of radices of each axis
constexpr int GRID_RADIX[3 * GRID_RADICES] = {1, 16, 16};  // the radices: 2 to 10, 12, 14, 15, 16
constexpr int GRIDS = 1;                                   // grids of a block

// ---- layer_*: kernels around a Fourier layer's products; SCALE_FROM and SCALE_TO as above
constexpr int LAYER_HALF = 0;        // 1: half spectra of real data
constexpr int LAYER_DOUBLED = 0;     // 1: elements that represent two frequencies count twice
constexpr int LAYER_CONJUGATE = 0;   // 1: conjugates are gathered
constexpr int LAYER_PARTS = 1;       // real numbers of an element
constexpr int LAYER_ADD = 0;         // layer_finish: 1: adds a grid
constexpr int LAYER_BIAS = 0;        // 1: adds a bias
constexpr int LAYER_ACTIVATION = 0;  // 1: GELU, 2: ReLU

// ---- values expected by the launcher, which kernels assert; 0: not known
constexpr int EXPECTED_SHARED = 0;  // bytes of dynamic shared memory
// Bytes of the arguments before the values in the kernel's arithmetic type, or of all arguments.
constexpr int EXPECTED_HEADER = 0;

// ---- segment_line, segment_columns: VECTOR, BLOCKS, X_SIDE_LOW and X_SIDE_HIGH (of the segments'
// axis), and these
// The first radix: a segment has 256 SEGMENT_FIRST points. 2, 4, 8 or 16; in segment_line also 1.
constexpr int SEGMENT_FIRST = 16;
// segment_line: 1: a block takes one segment of 512 SEGMENT_FIRST points; 2: one of 1024
// SEGMENT_FIRST points; 0: pairs of segments.
constexpr int SEGMENT_SINGLE = 0;
// segment_line, where SEGMENT_FIRST is 1: pairs of segments of a block, an even number.
constexpr int SEGMENT_GROUPS = 8;
constexpr int SYMBOL_REAL = 1;      // 1: taps are symmetric, so their symbol is real
constexpr int SEGMENT_COSINES = 0;  // 1: a segment is a whole line that is mirrored at both ends
// segment_line: 1: a segment is stored rotated, so that index 0 lies at the start of a memory line.
constexpr int SEGMENT_ROTATED = 0;
// segment_line with segments of 256 points (SEGMENT_FIRST 1); else 0. A sum of flags. 1: outputs in
// f32 and f64 are stored with the streaming hint. 2: inputs are loaded from global memory directly
// to registers. 4: copies of 16 bytes to shared memory prefetch 256 bytes into L2.
constexpr int SEGMENT_TRANSFER = 0;
// 1: contributions of the sides' values are added, along lines or in the last pass.
constexpr int PROFILES = 0;
constexpr int SYMBOL_EVEN = 0;  // segment_face: 1: the symbol's imaginary part is even too
constexpr int SOURCE_BACK = 0;  // segment_source: 1: writes frozen values back to a grid
// segment/dense_convolution.cuh: the lengths of the three dense DFTs. Each is at most 16, but where
// DFT_N3 is 1 the others may be larger; segment_prime_factor needs coprime lengths.
constexpr int DFT_N1 = 16, DFT_N2 = 15, DFT_N3 = 7;
// f64: a product has the shape DFT_ROWS x 8 x DFT_DEPTH: 16 and 16, 16 and 8, 16 and 4, or 8 and 4.
constexpr int DFT_ROWS = 16, DFT_DEPTH = 8;
// f16: the number of half-precision parts whose sum is a number, 1 or 2; 0: tf32, as for f32.
constexpr int DFT_PARTS = 0;
constexpr int DFT_REAL = 0;  // 1: taps are symmetric along each axis, so matrices are real
// segment_dense_tile: 1: an argument is subtracted from inputs and added to outputs.
constexpr int TILE_SHIFTED = 0;
constexpr int SLICE_GAP = 6;      // elements of padding after a slice of the dense DFTs
constexpr int SEGMENT_LINES = 0;  // segment_line: 1: there are several lines
// segment_columns: pairs of columns of a tile: 1, 2, 4 or 8.
constexpr int SEGMENT_PAIRS = 4;
// segment_fft_tile: 16 TILE_A columns, TILE_T TILE_R rows.
constexpr int TILE_A = 4, TILE_T = 8, TILE_R = 8;
constexpr int TILE_SHARES = 1;  // blocks of a cluster that hold a tile together

// ---- spectral_four_step: LINE_*, EXTEND_* and these
constexpr int FOUR_STEP_WIDTH = 64;     // points of a row
constexpr int FOUR_STEP_FINE = 6;       // log2 of the size of the first of two tables of twiddles
constexpr int FOUR_STEP_USEFUL = 4096;  // points of the grid that one four-step FFT covers

// ---- spectral_rows, spectral_columns: LINE_* and these
// spectral_rows: 1: a row is several strips, each with its own periodic domain.
constexpr int STRIPS = 0;
constexpr int MARCH_STEP = 48;     // spectral_march: points of the grid that a segment covers
constexpr int MARCH_BEFORE = 8;    // points of a segment that precede the covered ones
constexpr int MARCH_WIDTH = 520;   // frequencies from strip to strip
constexpr int MARCH_CHUNKS = 1;    // blocks that share a column
constexpr int MARCH_FACTORS = 1;   // 1: the factors are computed once for all segments
constexpr int SPECTRUM_GROUP = 2;  // rows of the spectrum whose elements are adjacent
constexpr int SPECTRUM_BACK = 0;   // spectral_rows: 1: from frequencies to points
// spectral_rows, spectral_four_step: 1: the inverse adds to the output.
constexpr int SPECTRUM_ADDS = 0;
// spectral_columns: 0 forward, 1 inverse, 2 forward, times the symbol and inverse.
constexpr int DIRECTION = 2;
// spectral_rows: 1: the output's rows hold a part of their own spectrum.
constexpr int SPECTRUM_IN_OUTPUT = 0;
// spectral_columns: 0: results replace the inputs. 1: results are written to another array, since
// each snapshot needs the inputs again. 2: results are written to an array whose rows and planes
// have other strides.
constexpr int SPECTRUM_ELSEWHERE = 0;
constexpr int EXTEND_REPEATS = 1;  // spectral/extension.cuh: how the axis continues past its sides
constexpr int EXTEND_LOW = 0, EXTEND_LOW_SIGN = 1;
constexpr int EXTEND_HIGH = 0, EXTEND_HIGH_SIGN = 1;
constexpr int LINE_WHOLE = 0;  // 1: a line is exactly the axis
// spectral/symbol_power.cuh: 0: the symbol is real and even in the angle theta; 1: it is complex;
// 2: it is the FFT of a line of many taps.
constexpr int SYMBOL = 0;
constexpr int SYMBOL_ANGLE_SUM = 0;  // 1: lines are rows of a four-step FFT
constexpr int SYMBOL_SUM = 0;        // 1: the sum of the symbol's powers below `steps`
// SYMBOL 0: terms of p, and 0. 1: terms of A, and of B. 2: reach of the taps to the high side, and
// to the low side.
constexpr int SYMBOL_HIGH = 1, SYMBOL_LOW = 0;
// Not 0: fixed or constant sides add a source. 2: in 3D; 3: in rows of a four-step FFT.
constexpr int SOURCES = 0;
// spectral_columns: 1: in columns whose factors all round to 0 only the source contributes, and the
// forward FFT is left out. 2: spectral_decayed_modes computes these columns.
constexpr int COLUMNS_DECAYED = 0;
// Above 1: a block has one column and divides it into this many overlapping pieces, each of which
// gives COLUMN_STEP points (overlap-save).
constexpr int COLUMN_PARTS = 1, COLUMN_STEP = 0;
// 1: rows may begin at an odd real element; their complex numbers then begin one element later.
constexpr int COLUMN_ODD_ROWS = 0;
// 1: the columns belong to a slab: some neighbouring frequencies along x, stored apart.
constexpr int COLUMN_SLABS = 0;
// spectral_multiply: a chunk is MULTIPLY_CHUNK frequencies of a row; MULTIPLY_LANES threads process
// one chunk at a time.
constexpr int MULTIPLY_CHUNK = 1024, MULTIPLY_LANES = 32;
// spectral_decayed_modes: points of a column, and points of a column that a thread holds.
constexpr int DECAYED_POINTS = 40, DECAYED_EACH = 16;
constexpr int DECAYED_COLUMNS = 8;  // columns that a block computes together
// Not 0: a block computes the same columns of up to this many rows, one row after the other.
constexpr int DECAYED_ROWS = 0;
constexpr int DECAYED_PREFETCH = 0;  // 1: the next row is prefetched
// spectral_rows: points of a row that fixed sides keep.
constexpr int FROZEN_LOW = 0, FROZEN_HIGH = 0;

// ---- fno_line, fno_split: LINE_*, WARPS and BLOCKS, and these; fno/mode_product.cuh: WARPS_M ..
// TILES_N
// 1: the kernel computes the forward transform, the product with weights, the inverse transform.
constexpr int FNO_FORWARD = 1, FNO_PRODUCT = 1, FNO_BACK = 1;
using FNO_FROM = double;  // types of inputs and outputs
using FNO_TO = double;
constexpr int FNO_REAL = 0;    // 1: points are real: two channels share a complex line
constexpr int FNO_MODES = 32;  // retained modes of a line: frequencies -FNO_LOW, -FNO_LOW + 1, ..
constexpr int FNO_LOW = 16;
constexpr int FNO_GROUPS = 2;  // groups of LINE_COUNT lines that are transformed together
constexpr int FNO_HELD = 0;    // channels whose weights stay in shared memory: all, or 0
// fno_split: not 0: the tile holds the modes of all channels at once; then their number, rounded up
// to whole groups.
constexpr int FNO_WHOLE = 0;
// f32: the weights of two outputs are adjacent and aligned to 16 bytes.
constexpr int FNO_WEIGHT_PAIRS = 0;
// 1: the modes of channels 2c and 2c + 1 are adjacent, and each such pair is aligned to its size.
constexpr int FNO_CHUNKS_IN = 0;
constexpr int FNO_CHUNKS_OUT = 0;
constexpr int FNO_CONJUGATE = 0;  // 1: weights are conjugated
constexpr int FNO_DOUBLED = 0;    // 1: modes that represent two of a real line are counted twice
// 0: outputs have no bias. 1: each channel has a bias. 2: each item of the inner loop has a bias.
constexpr int FNO_BIAS = 0;
constexpr int FNO_ADDED = 0;       // 1: a grid is added to the output points
constexpr int FNO_ACTIVATION = 0;  // 1: GELU, 2: ReLU
// Type of the factors on tensor cores, and the number of them that represent a number
// (device/fragment.cuh).
using FNO_FACTOR = double;
constexpr int FNO_PARTS = 1;
constexpr int WARPS_M = 2, WARPS_N = 4;  // warps along modes and along outputs
constexpr int TILES_M = 1, TILES_N = 2;  // tiles of a warp: of 16 modes and of 8 outputs

// ---- fno_dense: the input and output parameters of fno_line, those of fno/mode_product.cuh, and
// these
constexpr int DENSE_TERMS = 64;    // elements of an input line
constexpr int DENSE_COLUMNS = 32;  // elements of an output line; for modes an even number
constexpr int DENSE_DEPTH = 64;    // terms in shared memory at the same time

// ---- fno_few_modes: the input and output parameters of fno_line, BLOCKS, THREADS_X of a line, and
// these
constexpr int FEW_POINTS = 128;  // points of a line
constexpr int FEW_RADIX = 8;     // radix of its butterflies: a factor of FEW_POINTS
// 1: a real line is one channel, with butterflies of 2 FEW_RADIX points.
constexpr int FEW_SINGLE_CHANNEL = 0;
constexpr int FEW_LINES = 2;  // lines of a block
// Partial sums over a line's threads, added at the end; a power of two.
constexpr int FEW_PARTS = 1;

// ---- fno_mode_product: the parameters of fno/mode_product.cuh, BLOCKS, FNO_FROM (type of the left
// factor), FNO_TO, FNO_CONJUGATE (1: of the right factor), and these
using FNO_RIGHT = double;        // type of the right factor
constexpr int FNO_TOGETHER = 4;  // modes of a block
// Adjacent elements of the left factor belong to 1: rows; 0: terms of the sum.
constexpr int FNO_ROWS_FAST = 0;
// Adjacent elements of the right factor belong to 1: modes; 0: columns.
constexpr int FNO_MODES_FAST = 0;
// Not 0: elements are real points, two of which are read as a complex number; 1: two rows, 2: two
// terms.
constexpr int FNO_POINTS = 0;
constexpr int FNO_CONJUGATE_OUT = 0;  // 1: outputs are conjugated

// ---- fno_sum: THREADS_X along outputs, THREADS_Y along the sum; FNO_FROM, FNO_TO
constexpr int FNO_PER = 2;  // adjacent elements
