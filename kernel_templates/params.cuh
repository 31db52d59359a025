// The parameters of one kernel. At run time Stentor writes a replacement of this file, the only
// rendered one; these documented defaults (heat-2d, f64, constant sides) let every template be
// read, and compiled by NVRTC, as it is.
#pragma once

// ---- types
using STORE = double;    // an element in memory: double, float or half_t
using WRITTEN = double;  // one that is written, where that may be another
using REAL = double;     // what it is computed in: double, or float for float and half_t

// ---- the stencil: tap k looks at (z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k]); x is the fastest axis.
// direct_tile walks along z; a 2D problem's axes are z and x. Taps are sorted by y, then z, then x.
constexpr int NTAPS = 5;
constexpr int TAP_Z[NTAPS] = {-1, 0, 0, 0, 1};
constexpr int TAP_Y[NTAPS] = {0, 0, 0, 0, 0};
constexpr int TAP_X[NTAPS] = {0, -1, 0, 1, 0};
constexpr int Z_LOW = 1, Z_HIGH = 1;  // reach of the taps towards each side
constexpr int Y_LOW = 0, Y_HIGH = 0;
constexpr int X_LOW = 1, X_HIGH = 1;

// ---- what lies past each side: boundary_kind of device/index.cuh (1: constant)
constexpr int Z_SIDE_LOW = 1, Z_SIDE_HIGH = 1;
constexpr int Y_SIDE_LOW = 1, Y_SIDE_HIGH = 1;
constexpr int X_SIDE_LOW = 1, X_SIDE_HIGH = 1;

// ---- shape of the work
constexpr int VECTOR = 2;   // consecutive points along x a thread computes, in one access; 1 where rows are not aligned
constexpr int SHIFTED = 0;  // 1: rows are not aligned; direct_tile shifts words of 16 bytes in registers
constexpr int ROWS = 2;     // rows along y a thread computes (direct_line: runs of VECTOR points)
constexpr int CHUNK = 4;    // planes along z a thread computes
constexpr int THREADS_X = 32;  // threads of a block along each axis
constexpr int THREADS_Y = 4;
constexpr int THREADS_Z = 8;
constexpr int BLOCKS = 1;       // blocks that must fit on a multiprocessor (caps the registers)
constexpr int UNROLL = 16;      // planes in one turn of the walk
constexpr int COLUMN_WALK = 0;  // 1: blocks at an edge along x alone have an unrolled walk (3D: one block in six)

// ---- lowrank: X_LOW .. Y_HIGH above are then those of the fused taps
constexpr int TERMS = 2;                   // separable terms of a plane's taps
constexpr int TERM_Y_LOW[TERMS] = {1, 0};  // lowrank_mixed: how far each reaches; past that its weights are 0
constexpr int TERM_Y_HIGH[TERMS] = {1, 0};
constexpr int TERM_X_LOW[TERMS] = {0, 1};
constexpr int TERM_X_HIGH[TERMS] = {0, 1};
constexpr int TERM_UNIT[TERMS] = {0, 1};  // 1: its middle weight along y is 1
constexpr int WARPS = 4;                  // of a block
constexpr int STAGES = 4;                 // parts of the grid in shared memory: one is computed on, the others arrive
constexpr int SEGMENT = 128;              // lowrank_line: points of a segment
constexpr int HELD = 0;                   // the bands stay in registers; else they are read again for every column
constexpr int EVEN = 1;                   // weights are the same from either end: half of them are given
constexpr int DATA_PARTS = 1;             // device/fragment.cuh: parts of an element, of a weight
constexpr int BAND_PARTS = 1;
constexpr int PAIRED = 0;  // lowrank_line: tiles are 16 points wide, not 8

// ---- lowrank_axis: one factor of separable taps; WARPS, STAGES, BLOCKS, HELD and *_PARTS as above
constexpr int AXIS_LOW = 8, AXIS_HIGH = 8;            // how far it reaches
constexpr int AXIS_SIDE_LOW = 3, AXIS_SIDE_HIGH = 3;  // boundary_kind of the axis
constexpr int ALONG_X = 1;                            // it is the fastest axis
constexpr int FROZEN = 0;                             // 1: points that a fixed side has frozen are kept

// ---- lowrank_brick: the fused taps are the sum over terms r of (vector of sum TERM_SUM[r] along z) (its own along y)
// (x factor TERM_X[r]); Z_LOW .. X_HIGH are theirs
constexpr int X_FACTORS = 2, SUMS = 2, CORE_TERMS = 3;  // vectors along x, along z, and their pairs
constexpr int IDENTITY = 1;                             // x factor 0 is one weight, 1, in the middle
constexpr int TERM_X[CORE_TERMS] = {0, 0, 1};
constexpr int TERM_SUM[CORE_TERMS] = {0, 1, 1};
constexpr int TERM_LOW[CORE_TERMS] = {0, 0, 0};  // how far its own vector reaches; past that its weights are 0
constexpr int TERM_HIGH[CORE_TERMS] = {0, 0, 0};
constexpr int SUM_USED[6] = {1, 0, 1, 0, 1, 0};  // SUMS times the planes from -Z_LOW on: which ones a sum goes to
constexpr int TILES = 2;                         // of 8 rows, of a warp
constexpr int WARPS_X = 2, WARPS_Y = 2;          // of a block
constexpr int RING = 1;  // planes that only single weights reach stay in shared memory, not in the queue of sums

// ---- sparse_*: Z_LOW .. X_SIDE_HIGH are those of the fused taps; VECTOR, WARPS, STAGES and BLOCKS as above
using SPARSE_STORE = float;         // an element: float or half_t
constexpr int SPARSE_RANK = 3;      // of the grid
constexpr int SPARSE_HALVES = 4;    // of 8 words of 32 bits: a window has so many
constexpr int SPARSE_HALVES_Y = 4;  // sparse_chain: of the window of rows
constexpr int SPARSE_TERMS = 2;     // the same: separable terms that are summed up
constexpr int SPARSE_LEAD = 4;      // a window begins so many points before its first output
constexpr int SPARSE_PARTS = 1;     // of a weight, of 11 bits each
constexpr int SPARSE_SPLIT = 0;     // but of lines: of f32 what an element leaves of 11 bits is multiplied too
constexpr int SPARSE_BESIDE = 8;    // of a product's eight columns, how many lie side by side: 1, 2 or 8
constexpr int SPARSE_ACROSS = 1;    // sparse_walk: warps of a block that lie side by side; other kernels: 0
constexpr int SPARSE_HELD = 8;      // rows of taps in registers at once, at most
constexpr int SPARSE_ROW_FIRST[3] = {
    0, 0, 0};  // for each plane: its first row of taps, from -Y_LOW on, and how many there are
constexpr int SPARSE_ROW_COUNT[3] = {1, 1, 1};

// ---- several steps in one launch (direct_time_*)
constexpr int FUSED = 2;                              // steps
constexpr int POINTS = 4;                             // consecutive points along x that a lane holds
constexpr int PREFETCH = 1;                           // rows along z that are asked for ahead
constexpr int Z_REACH = 1, Y_REACH = 1, X_REACH = 1;  // the larger of LOW and HIGH
constexpr int SPANS = 0;                              // 1: a tile is as wide as the grid
constexpr int MIRROR_Z = 0, MIRROR_X = 0;  // 1: weights at opposite offsets are equal, so sums are formed first

// ---- faces_tile: FUSED, *_REACH, ROWS and POINTS as above
constexpr int TILED[3] = {1, 0, 1};  // whether there are tiles at faces normal to z, y and x
constexpr int BOX_Z[3] = {4, 4, 8};  // points of a tile's box, for faces normal to z, y and x
constexpr int BOX_Y[3] = {2, 2, 2};
constexpr int BOX_X[3] = {16, 16, 4};
constexpr int SEPARABLE = 0;  // 1: weights are products of one factor an axis, which are given instead
constexpr int NWEIGHTS = NTAPS;

// ---- sourced_add
constexpr int HAS_GRID = 1;  // 1: there is a grid to add to
constexpr int HAS_SOURCE = 1;

// ---- system_step, system_points: one assignment, here u.next = 2 u(z, y, x + 1) - u
constexpr int SYSTEM_ARRAYS = 1;                     // that it reads
constexpr int SYSTEM_VALUES = 1;                     // numbers and constants of sides; at least 1
constexpr int SYSTEM_REACH[6] = {0, 0, 0, 0, 0, 1};  // points that it reads past its own: z low, z high, y low...
constexpr int SYSTEM_FREEZES = 0;                    // 1: points at fixed sides keep their value
constexpr int SYSTEM_SIDES[SYSTEM_ARRAYS] = {0};  // of each array, 4 bits a side: boundary_kind, and 8 where it is odd
constexpr int SYSTEM_PAST[SYSTEM_ARRAYS][6] = {{0}};  // which of the values lies past a constant side
constexpr int SYSTEM_SHARED[SYSTEM_ARRAYS] = {0};     // 1: all grids of a batch share it
constexpr int SYSTEM_QUEUE[SYSTEM_ARRAYS] = {0};      // planes that a thread holds of it; 0: none
constexpr int SYSTEM_QUEUE_LOW[SYSTEM_ARRAYS] = {0};  // of them below the point's
constexpr int SYSTEM_PLANES = 1;                      // that a block marches through
constexpr int SYSTEM_ADDS = 1;                        // system_points: adds amplitudes; else it records
template <class AROUND>
__device__ __forceinline__ REAL system_value(const AROUND &around) {
    const REAL t0 = around.template field<0>(0, 0, 1);
    const REAL t1 = around.template field<0>(0, 0, 0);
    return around.number(0) * t0 - t1;
}

// ---- fft_line: transforms of lines; fft_warp reads WARPS, BLOCKS, STAGES and the first, the inverse and the scale of these
constexpr int FFT_LENGTH = 256;  // complex points of a line
constexpr int FFT_STAGES = 2;    // and their radices: 2 to 10, 12, 14, 15, 16 or 32
constexpr int FFT_RADIX[FFT_STAGES] = {16, 16};
constexpr int FFT_THREADS = 16;       // of a line
constexpr int FFT_LINES = 8;          // of a block
constexpr int FFT_LOOPS = 3;          // over lines: 1 where all lie evenly, at most 3
constexpr int FFT_LINES_FAST_IN = 0;  // 1: neighbouring threads read neighbouring lines; else points
constexpr int FFT_LINES_FAST_OUT = 0;
constexpr int FFT_IN_STRIDE = 1;  // from point to point, where it is known; else 0
constexpr int FFT_OUT_STRIDE = 1;
using FFT_CELL = double;            // half of a point in shared memory: REAL or half_t
constexpr int FFT_PAD = 16;         // a point is left out after as many
constexpr int FFT_PITCH = 273;      // points from line to line in shared memory
constexpr int FFT_SHIFT = 0;        // elements of a line of the cache, if tiles begin where rows' lines of the cache do
constexpr bool FFT_MERGED = false;  // tiles go on from one row of neighbouring lines into the next
constexpr int FFT_TABLE = 1024;     // a stage with more twiddles than this forms powers of fewer
constexpr int FFT_INVERSE = 0;
constexpr int FFT_SCALE = 0;       // outputs are multiplied by an argument
constexpr int FFT_OUTER = 0;       // outputs are multiplied by roots between two launches: by which loop
constexpr int FFT_OUTER_LOW = 8;   // log2 of the first of the two tables of these
constexpr int FFT_LOAD_REAL = 0;   // complex-to-real: N + 1 coefficients come in
constexpr int FFT_STORE_REAL = 0;  // real-to-complex: N + 1 coefficients go out
using SCALE_FROM = double;         // an element that is moved from one layout to another: where it comes from,
using SCALE_TO = double;           // and where it goes

// ---- fft_image and fft_long read WARPS, BLOCKS, FFT_INVERSE, the latter FFT_OUTER (0, 1), and this
constexpr int CLUSTER = 8;  // blocks that hold an image, or lines, together

// ---- device/ladder.cuh: transforms of lines in shared memory; fft_ladder, spectral_rows, spectral_columns
constexpr int LINE_POINTS = 64;  // complex points of a line
constexpr int LINE_STAGES = 2;   // and their radices: 1 to 10, 12, 14, 15, 16
constexpr int LINE_RADIX[LINE_STAGES] = {8, 8};
constexpr int LINE_COUNT = 4;     // of a block, THREADS_X threads each
constexpr int LINE_PAD = 8;       // a cell is left out after as many; 0: none
constexpr int LINE_TABLE = 1024;  // a rung with more roots than this forms powers of fewer
constexpr int LINE_SHARES = 1;    // blocks of a cluster that hold a line together

// ---- fft_block: small grids as a whole; the inverse, the scale and the real sides as fft_line's
constexpr int GRID_EXTENT[3] = {1, 16, 16};
constexpr int GRID_RADICES = 1;                            // at most, of an axis
constexpr int GRID_STAGES[3] = {0, 1, 1};                  // radices of each axis
constexpr int GRID_RADIX[3 * GRID_RADICES] = {1, 16, 16};  // and which: 2 to 10, 12, 14, 15, 16
constexpr int GRIDS = 1;                                   // of a block

// ---- layer_*: what surrounds a Fourier layer's products; SCALE_FROM and SCALE_TO as above
constexpr int LAYER_HALF = 0;       // spectra are halves, of real data
constexpr int LAYER_DOUBLED = 0;    // what stands for two frequencies counts twice
constexpr int LAYER_CONJUGATE = 0;  // the conjugates are gathered
constexpr int LAYER_PARTS = 1;      // numbers of an element
constexpr int LAYER_ADD = 0;        // layer_finish: something is added, a bias is added, 1 GELU, 2 ReLU
constexpr int LAYER_BIAS = 0;
constexpr int LAYER_ACTIVATION = 0;

// ---- twins: what the launcher takes the kernel to be; 0: not known. Kernels assert it
constexpr int EXPECTED_SHARED = 0;  // bytes of dynamic shared memory
constexpr int EXPECTED_HEADER =
    0;  // bytes of the arguments before the values that follow in the kernel's arithmetic type, or of all of them

// ---- segment_line, segment_columns: VECTOR, BLOCKS, X_SIDE_LOW and X_SIDE_HIGH (of the axis that the segments lie along), and these
constexpr int SEGMENT_FIRST = 16;   // a segment has 256 times as many points: 2, 4, 8 or 16; segment_line: 1 too
constexpr int SEGMENT_ALONE = 0;    // segment_line: 1: one segment of 512 times as many points; 2: of 1024 times
constexpr int SEGMENT_GROUPS = 8;   // segment_line, where that is 1: pairs of segments of a block, an even number
constexpr int SYMBOL_REAL = 1;      // taps are symmetric: their symbol has no imaginary part
constexpr int SEGMENT_WHOLE = 0;    // 1: points go through shared memory whole, else (f64) by halves
constexpr int SEGMENT_COSINES = 0;  // 1: a segment is a whole line that is mirrored at both ends
constexpr int SEGMENT_MIDDLE = 0;   // 1: a line is its one segment's second quarter and some of its third; 2: these two
constexpr int SEGMENT_TURNED = 0;   // segment_line: 1: a segment begins at a whole line of memory, and goes round
constexpr int SEGMENT_WAY =
    0;  // segment_line, sum of 1: outputs are stored as not read again; 2: of 256 points, inputs come straight to
        // registers; 4: copies have L2 fetch the 256 bytes around
constexpr int PROFILES = 0;     // 1: what values at sides add is added, along lines or in the last pass
constexpr int SYMBOL_EVEN = 0;  // segment_face: 1: the symbol's imaginary part is even too
constexpr int SOURCE_BACK = 0;  // segment_source: 1: frozen values back to a grid
// segment/product.cuh: at most 16; of segment_product coprime; where the last is 1 the others may
// be more
constexpr int PRODUCT_1 = 16, PRODUCT_2 = 15, PRODUCT_3 = 7;
constexpr int PRODUCT_ROWS = 16, PRODUCT_DEPTH = 8;  // of a fragment in f64: 16 and 16, 8 or 4, 8 and 4
constexpr int PRODUCT_PARTS = 0;  // f16: numbers are so many halves, 1 or 2; 0: of tf32, as f32's are
constexpr int PRODUCT_EVEN = 0;   // 1: taps are the same mirrored along each axis, matrices are real
constexpr int TORUS_SHIFTED = 0;  // segment_torus: 1: an argument is taken away from inputs, and added to outputs
constexpr int SLICE_GAP = 6, LANE_TURN = 4;        // cells between slices; place_of
constexpr int SEGMENT_LINES = 0;                   // segment_line: 1: there are several lines
constexpr int SEGMENT_PAIRS = 4;                   // segment_columns: pairs of columns of a tile: 1, 2, 4 or 8
constexpr int TILE_A = 4, TILE_T = 8, TILE_R = 8;  // segment_tile: 16 TILE_A columns, TILE_T TILE_R rows
constexpr int TILE_SHARES = 1;                     // blocks of a cluster that hold a tile together

// ---- spectral_sheet: the ladder's, EXTEND_* and these
constexpr int SHEET_WIDTH = 64;     // points of a row
constexpr int SHEET_FINE = 6;       // log2 of the first of two tables of roots
constexpr int SHEET_USEFUL = 4096;  // points of the grid that a sheet is there for

// ---- spectral_rows, spectral_columns: the ladder's, and these
constexpr int STRIPS = 0;          // spectral_rows: 1: a row is several, each a torus of its own
constexpr int WALK_STEP = 48;      // spectral_walk: points of a segment that it is there for
constexpr int WALK_BEFORE = 8;     // those before them
constexpr int WALK_WIDTH = 520;    // frequencies from strip to strip
constexpr int WALK_LEGS = 1;       // blocks that share a column
constexpr int WALK_FACTORS = 1;    // 1: all segments' factors are made once
constexpr int SPECTRUM_GROUP = 2;  // rows of the spectrum whose numbers lie side by side
constexpr int SPECTRUM_BACK = 0;   // spectral_rows: 1 from frequencies to points
constexpr int SPECTRUM_ADDS = 0;   // spectral_rows, spectral_sheet: 1: the way back adds to what the output holds
constexpr int DIRECTION = 2;       // spectral_columns: 0 forward, 1 back, 2 forward, times the symbol and back
constexpr int SPECTRUM_HELD = 0;   // spectral_rows: 1: the output's rows have a part of their own spectrum
constexpr int SPECTRUM_APART =
    0;  // spectral_columns: 1: what is made goes elsewhere, for each snapshot anew; 2: to other rows and planes
constexpr int EXTEND_REPEATS = 1;  // spectral/extension.cuh: how the axis goes on past its sides
constexpr int EXTEND_LOW = 0, EXTEND_LOW_SIGN = 1;
constexpr int EXTEND_HIGH = 0, EXTEND_HIGH_SIGN = 1;
constexpr int LINE_WHOLE = 0;                   // 1: a line is the axis, no more
constexpr int SYMBOL = 0;                       // spectral/symbol.cuh: 0 real and the same for -theta, 1 any
constexpr int SYMBOL_TURNED = 0;                // 1: lines are rows of sheets
constexpr int SYMBOL_SUM = 0;                   // 1: the sum of the symbol's powers below the steps'
constexpr int SYMBOL_HIGH = 1, SYMBOL_LOW = 0;  // terms of its parts
constexpr int SOURCES = 0;  // 1: fixed or constant sides add a source; 2: in 3D; 3: in rows of sheets
// spectral_columns: 1: some columns have a source and no points; 2: those are another kernel's
constexpr int COLUMNS_DEAD = 0;
constexpr int COLUMN_PARTS = 1,
              COLUMN_STEP = 0;  // of a block's one column, side by side, and the points that are right of each; 1: none
constexpr int COLUMN_UNEVEN = 0;  // 1: complex numbers of rows that begin with any element
constexpr int COLUMN_SLABS = 0;   // 1: columns are some of a row of them, which lie elsewhere
constexpr int MULTIPLY_CHUNK = 1024,
              MULTIPLY_LANES = 32;                   // spectral_multiply: frequencies that so many threads take at once
constexpr int SETTLE_POINTS = 40, SETTLE_EACH = 16;  // spectral_settle: points of a column, of a thread
constexpr int SETTLE_COLUMNS = 8, SETTLE_ROWS = 0;   // of a block; rows of such columns that it does at most, 0: one
constexpr int SETTLE_AHEAD = 0;                      // 1: the next row is asked for ahead
constexpr int FROZEN_LOW = 0, FROZEN_HIGH = 0;       // spectral_rows: points of a row that fixed sides keep

// ---- fno_line, fno_split: the ladder's, WARPS and BLOCKS, and these; fno/product.cuh: WARPS_M .. TILES_N
constexpr int FNO_FORWARD = 1, FNO_PRODUCT = 1, FNO_BACK = 1;  // which parts of a layer it is
using FNO_FROM = double;                                       // numbers that come in, and that go out
using FNO_TO = double;
constexpr int FNO_REAL = 0;    // points are real: two channels are a line
constexpr int FNO_MODES = 32;  // kept of a line, of the frequencies -FNO_LOW, -FNO_LOW + 1, ..
constexpr int FNO_LOW = 16;
constexpr int FNO_GROUPS = 2;        // times LINE_COUNT lines are transformed at once
constexpr int FNO_HELD = 0;          // channels whose weights stay in shared memory: all, or 0
constexpr int FNO_WHOLE = 0;         // channels whose modes the tile holds at once: all, in whole groups; 0: a group's
constexpr int FNO_WEIGHT_PAIRS = 0;  // f32: two outputs' weights lie side by side, at a multiple of 16 bytes
constexpr int FNO_CHUNKS_IN = 0;     // modes of channels 2c and 2c + 1 lie at multiples of their size in memory
constexpr int FNO_CHUNKS_OUT = 0;
constexpr int FNO_CONJUGATE = 0;   // weights are conjugated
constexpr int FNO_DOUBLED = 0;     // 1: modes that stand for two of a real line's are taken twice
constexpr int FNO_BIAS = 0;        // 1: of a channel, 2: of an item of the inner loop
constexpr int FNO_ADDED = 0;       // 1: something is added to points that go out
constexpr int FNO_ACTIVATION = 0;  // 1: GELU, 2: ReLU
using FNO_FACTOR = double;         // what products are of (device/fragment.cuh), and in how many parts
constexpr int FNO_PARTS = 1;
constexpr int WARPS_M = 2, WARPS_N = 4;  // warps along modes, and along outputs
constexpr int TILES_M = 1, TILES_N = 2;  // of 16 modes, and of 8 outputs, of a warp

// ---- fno_dense: those of fno_line that say what comes in and goes out, of fno/product.cuh, and these
constexpr int DENSE_TERMS = 64;    // numbers of a line that comes in
constexpr int DENSE_COLUMNS = 32;  // and of one that goes out; of modes an even number
constexpr int DENSE_DEPTH = 64;    // terms in shared memory at once

// ---- fno_few: those of fno_line that say what comes in and goes out, BLOCKS, THREADS_X of a line, and these
constexpr int FEW_POINTS = 128;  // of a line
constexpr int FEW_RADIX = 8;     // of its butterflies: a factor of them
constexpr int FEW_ALONE = 0;     // 1: a real line is one channel, its butterflies of 2 FEW_RADIX points
constexpr int FEW_LINES = 2;     // of a block
constexpr int FEW_PARTS = 1;     // of a sum over a line's threads, added up last; a power of two

// ---- fno_modes: those of fno/product.cuh, BLOCKS, FNO_FROM (left), FNO_TO, FNO_CONJUGATE (right), and these
using FNO_RIGHT = double;             // numbers of the right factor
constexpr int FNO_TOGETHER = 4;       // modes of a block
constexpr int FNO_ROWS_FAST = 0;      // of the left factor neighbours lie along 1: rows, 0: the sum
constexpr int FNO_MODES_FAST = 0;     // of the right factor along 1: modes, 0: columns
constexpr int FNO_POINTS = 0;         // real points, two of them a complex number: 1 rows, 2 terms
constexpr int FNO_CONJUGATE_OUT = 0;  // what goes out is conjugated

// ---- fno_sum: THREADS_X along what goes out, THREADS_Y along the sum; FNO_FROM, FNO_TO
constexpr int FNO_PER = 2;  // numbers that lie side by side
