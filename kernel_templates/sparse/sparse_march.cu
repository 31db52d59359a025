// A few rows of 2D taps as 2:4 sparse products, for launches that are limited by memory: memory is
// read in whole lines, and each row once.
//
//     out(y, x) = sum over i of  K(i) X(y + i - Y_LOW)
//
// A block marches down WIDE columns of the grid, TALL rows an iteration. Each warp computes 8 rows
// of 128 columns. Column g of the right factor of a product is the window of 16 outputs, g = 0..7,
// in one row of the grid (as in sparse_tile with SPARSE_ADJACENT_COLUMNS 8):
//
//            16 columns | 16 columns | ..    right factor of row s: column g has the points that
//     row m  |  g = 0   |  g = 1     | ..        outputs 16 g to 16 g + 15 read in row s
//                                            sum m: the outputs of row m
//
// ACROSS warps are adjacent along x, the others are below. In wider tiles pieces of rows are
// longer, and halo columns, which two blocks read and which need one more request for each row and
// side, are a smaller share.
//
// Rows are in a ring: an iteration reads the TALL rows below those of the previous one, and the
// first iteration also the reach of the taps.
//
//     ring:    rows of this iteration | of the next AHEAD | of the previous one, filled next ..
//
// STAGES 1: a block has one tile and requests all its rows at once; there are many small blocks,
// and some wait while others compute.
//
// The outputs' own columns are copied separately: they begin at a memory line, and eight threads
// load one line. A row of the ring begins with them, and the columns to their left come last, so
// that memory lines keep their alignment:
//
//     row of the ring:   WIDE outputs | columns right of them | .. | LEAD
//
// If a copy's source and target have different offsets within 32 bytes, L2 delivers one sector for
// each 16 bytes. With rows of the ring that began with LEAD, L2 delivered 2.2 to 2.7 times the
// bytes of the grid, and one step of radius 3 took 0.126 ms instead of 0.113 ms. In f16 the pitch
// of the ring is a multiple of memory lines; in f32 shared memory is too small for that.
//
// Bank conflicts, in f32 with windows of 24 points: lanes t = 0..3 of group g (lane = 4 g + t) read
// 16 bytes each, from words 0, 12, 4 and 16 of the group's window, and the window of group g + 1
// begins 16 words later. So lane 0 of g and lane 3 of g + 1 are 32 words apart, in the same banks.
// Therefore index_of() exchanges, in every second run of 128 bytes of a row, the 16-byte slots that
// are FLIP slots apart.
#include "sparse/rows.cuh"

// Slots of a row besides those of the outputs, and how many of these are to the left.
constexpr int HALO = SLOTS - WIDE / SLOT, BEFORE = LEAD / SLOT;
constexpr int REACH = Y_LOW + Y_HIGH, COUNT = SPARSE_ROW_COUNT[0], AHEAD = STAGES - 1;
constexpr int LINE_SLOTS = 128 / 16;  // slots of a memory line
constexpr int ROW_SLOTS = sizeof(STORED) == 2 ? (SLOTS + LINE_SLOTS - 1) / LINE_SLOTS * LINE_SLOTS : SLOTS;
constexpr int PITCH = ROW_SLOTS * SLOT;
constexpr int RING_ROWS = STAGES * TALL + (REACH + 7) / 8 * 8, RING_SIZE = RING_ROWS * PITCH;
// Groups of eight rows that a warp reads.
constexpr int EIGHTS = (SPARSE_ROW_FIRST[0] + COUNT + RUN - 2) / 8 + 1;
constexpr int FLIP = sizeof(STORED) == 4 ? 2 : 0;
static_assert(WARPS % ACROSS == 0, "warps in whole rows");
static_assert(!FLIP || SLOTS / 8 % 2 == 0 || SLOTS % 8 == 0 || !EXPECTED_SHARED,
              "pieces that are exchanged lie in the row, or these are the default parameters");

// The index of a slot of 16 bytes in a row of the ring.
__device__ __forceinline__ int index_of(int slot) {
    const int at = slot < BEFORE ? slot - BEFORE + ROW_SLOTS : slot - BEFORE;
    return (at ^ (at / 8 % 2 * FLIP)) * SLOT;
}

// Copies rows of COUNT_OF slots each by all threads: a thread copies one slot of every AT_ONCE-th
// row.
template <int COUNT_OF>
struct row_copies {
    static constexpr int AT_ONCE = THREADS / COUNT_OF;
    int line, place;  // line: among the rows copied at once; place: in the row of the ring
    long long x;      // in the grid

    __device__ __forceinline__ void begin(int slot, long long x0, long long nx) {
        line = threadIdx.x / COUNT_OF, place = index_of(slot), x = x0 + slot * SLOT;
        if (x < 0 || x >= nx)
            x = repeats<X_SIDE_LOW, X_SIDE_HIGH>() ? fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x, nx) : x < 0 ? 0 : nx - SLOT;
    }
    // Copies ROWS rows, which begin at `from(line)`, into the ring from row `first` on.
    template <int ROWS, class FROM>
    __device__ __forceinline__ void take(STORED *ring, int first, FROM from) const {
        const int start = (first + line) * PITCH;
        if (line < AT_ONCE)
#pragma unroll
            for (int i = 0; i < ROWS; i += AT_ONCE)
                if (i + AT_ONCE <= ROWS || line < ROWS - i) {
                    const int at = start + i * PITCH;
                    copy_async_16(ring + (at < RING_SIZE ? at : at - RING_SIZE) + place, from(line + i) + x);
                }
    }
};

struct ring_copies {
    row_copies<WIDE / SLOT> own;
    row_copies<HALO> halo;
    long long x0;  // column of the grid where a row of the ring begins
    bool whole;    // all 16-byte slots are contiguous in the grid

    __device__ __forceinline__ void begin(long long of, long long nx) {
        x0 = of;
        const int halo_slot = threadIdx.x % HALO;
        own.begin(BEFORE + threadIdx.x % (WIDE / SLOT), x0, nx);
        halo.begin(halo_slot < BEFORE ? halo_slot : halo_slot + WIDE / SLOT, x0, nx);
        const bool inside = x0 >= 0 && x0 + SLOTS * SLOT <= nx;
        whole = VECTOR > 1 && (inside || (!mirrors<X_SIDE_LOW, X_SIDE_HIGH>() && nx % SLOT == 0));
    }
    template <int ROWS, class FROM>
    __device__ __forceinline__ void take(STORED *ring, int first, FROM from) const {
        own.template take<ROWS>(ring, first, from);
        halo.template take<ROWS>(ring, first, from);
    }
};

// Copies ROWS rows as ring_copies::take does, where a slot's elements are not adjacent in the grid:
// element by element, through registers. A slot's loads are all issued before the first store.
template <int ROWS, class FROM>
__device__ __forceinline__ void take_elements(STORED *ring, int first, FROM from, long long x0, long long nx) {
#pragma unroll 1
    for (int i = threadIdx.x; i < ROWS * SLOTS; i += THREADS) {
        const int line = i / SLOTS, slot = i % SLOTS, at = (first + line) * PITCH;
        STORED *const to = ring + (at < RING_SIZE ? at : at - RING_SIZE) + index_of(slot);
        const STORED *const row = from(line);
        const long long x = x0 + slot * SLOT;
        STORED run[SLOT];
#pragma unroll
        for (int e = 0; e < SLOT; e++) run[e] = row[fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x + e, nx)];
#pragma unroll
        for (int e = 0; e < SLOT; e++) to[e] = run[e];
    }
}

// Loads rows y to y + ROWS - 1 of the grid into the ring from row `first` on.
template <int ROWS>
__device__ __forceinline__ void load_rows(const tile_arguments &a, const ring_copies &mine, const STORED *grid,
                                          STORED *ring, int first, long long y) {
    if (!mine.whole)
        take_elements<ROWS>(
            ring, first, [&](int line) { return grid + fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(y + line, a.ny) * a.in_y; },
            mine.x0, a.nx);
    else if (y >= 0 && y + ROWS <= a.ny)
        mine.take<ROWS>(ring, first, [&](int line) { return grid + (y + line) * a.in_y; });
    else
        mine.take<ROWS>(ring, first,
                        [&](int line) { return grid + fold_far<Y_SIDE_LOW, Y_SIDE_HIGH>(y + line, a.ny) * a.in_y; });
}

// The addresses from which a lane reads its words: of[e][k] for product k in the first row of group
// e. A group is eight of the rows that the lane's warp reads.
struct lane_starts {
    const STORED *of[EIGHTS][PRODUCTS];
};
__device__ __forceinline__ void find_starts(lane_starts &starts, const STORED *ring, int first,
                                            const int (&column)[PRODUCTS]) {
#pragma unroll
    for (int eight = 0; eight < EIGHTS; eight++) {
        const int row = first + 8 * eight, at = (AHEAD == 0 || row < RING_ROWS ? row : row - RING_ROWS) * PITCH;
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++) starts.of[eight][k] = ring + at + column[k];
    }
}

__device__ __forceinline__ void add_rows(float (&sum)[RUN][4], const fragments<COUNT> &a,
                                         const unsigned (&meta)[REGISTERS], const lane_starts &starts) {
#pragma unroll
    for (int s = 0; s < COUNT + RUN - 1; s++) {
        const int line = SPARSE_ROW_FIRST[0] + s;
#pragma unroll
        for (int k = 0; k < HALVES / 2; k++) {
            window_words<4> b;
            b.load(starts.of[line / 8][k] + line % 8 * PITCH);
            add_window(sum, a, b, meta[k / 2], k, s);
        }
        if constexpr (HALVES % 2) {
            window_words<2> b;
            b.load(starts.of[line / 8][PRODUCTS - 1] + line % 8 * PITCH);
            add_window(sum, a, b, meta[REGISTERS - 1], PRODUCTS - 1, s);
        }
    }
}

// The index in a row of the ring of a point of the window.
__device__ __forceinline__ int column_at(int point) { return index_of(point / SLOT) + point % SLOT; }

static_assert(shared_bytes_match(RING_SIZE * sizeof(STORED)), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sparse_march(const __grid_constant__ tile_arguments a) {
    let_next_launch_begin();  // the launch of the faces, or of the next operator, may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORED *const ring = reinterpret_cast<STORED *>(stn_shared);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const tile_position at = find_tile(a);
    const STORED *const in = a.in + at.batch * a.in_batch;
    STORED *const out = a.out + at.batch * a.out_batch;
    ring_copies mine;
    mine.begin(at.x - LEAD, a.nx);
    // Rows of the ring: `filled` is the first that the next copies fill, `row` is the first of this
    // iteration.
    int filled = TALL + REACH, row = 0;
    const auto load_next = [&](long long p) {
        if (p < at.last) load_rows<TALL>(a, mine, in, ring, filled, p * TALL - Y_LOW + REACH);
        copy_async_commit();
        filled += TALL;
        if (filled >= RING_ROWS) filled -= RING_ROWS;
    };
    const auto begin = [&] {
        wait_for_previous_launch();
        load_rows<TALL + REACH>(a, mine, in, ring, 0, at.first * TALL - Y_LOW);
        copy_async_commit();
    };
    if constexpr (AHEAD == 0) begin();  // before the left factors are loaded
    unsigned meta[REGISTERS];
#pragma unroll
    for (int i = 0; i < REGISTERS; i++) meta[i] = a.table[32 * i + lane];
    fragments<COUNT> held;
    read_fragments(held, a.table, 0, lane);
    int column[PRODUCTS];
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) {
        // As drawn in device/sparse.cuh.
        const int words = t / 2 * (2 * k + 1 < HALVES ? 4 : 2) + t % 2 * 4 * HALVES + 8 * k;
        column[k] = column_at(128 * (warp % ACROSS) + 16 * g + words * POINTS_OF_WORD);
    }
    const auto compute = [&](long long p) {
        float sum[RUN][4] = {};
        lane_starts starts;
        find_starts(starts, ring, row + 8 * (warp / ACROSS), column);
        add_rows(sum, held, meta, starts);
        store_tile<true>(a, out, TALL * p, at.x, warp, g, t, sum);
    };
    if constexpr (AHEAD == 0) {
        copy_async_wait<0>();
        __syncthreads();
        compute(at.first);
    } else {
        begin();
#pragma unroll 1
        for (long long p = at.first + 1 - AHEAD; p < at.last; p++) {
            if (p < at.first) {
                load_next(p + AHEAD);
                continue;
            }
            copy_async_wait<AHEAD - 1>();
            __syncthreads();  // also: all threads have finished with the rows that are filled next
            load_next(p + AHEAD);
            compute(p);
            row += TALL;
            if (row >= RING_ROWS) row -= RING_ROWS;
        }
        copy_async_wait<0>();
    }
}
