// Assignments of a system, at every point p: out[I](p) = system_value(around p, assigned<I>).
//
//     a thread     a slot: VECTOR points along x (one access), which divides the rows' length
//     a tile       THREADS_Y rows of THREADS_X slots of a plane
//     a block      marches with its tile through a chunk of planes
//     blocks       x fastest, then rows, then chunks, then the batch
//
// Planes are perpendicular to axis SYSTEM_MARCH: z of a 3D grid; y of a 2D grid, where a plane is
// one row. system_value is rendered from the text of an assignment as a sequence of
// `const REAL tN = ...;`, which reads arrays by around.field<A>(dz, dy, dx) and
// around.shared<A>(dz, dy, dx) (a coefficient that all grids of a batch share), and numbers by
// around.number(I).
//
// Planes arrive in shared memory by asynchronous copies, SYSTEM_AHEAD iterations before they are
// needed: each slot of a tile is copied by its own thread, those of its halo by all threads in
// turn. Slots outside of the grid are filled by the rules of its sides, so that reads need no
// folding. Each array has a ring of planes in shared memory, and each thread a queue in registers
// of the planes of its own column of slots:
//
//     plane     -LOW . . . 0 . . . HIGH               +------------------------+
//     queue     [ held . . . . . . held ]             |  rows before           |   The corners are
//                                                     |     +------------+     |   copied if some
//     ring        [-BEFORE . . . . HIGH . HIGH+AHEAD] |slots|    tile    |slots|   read needs them.
//                                                     |     +------------+     |
//                                                     |  rows after            |
//                                                     +------------------------+
//
// Arrays for which shared memory does not suffice are read from memory.
//
// In a chained launch, assignments from number SYSTEM_LATER on read next states that earlier ones
// compute. They follow SYSTEM_LAG planes behind in the same march:
//
//     plane m              by assignments 0 to SYSTEM_LATER - 1, on the tile and on the halo that
//                          later ones read, from rings in shared memory into such rings
//     plane m - LAG        by the other ones
//
// The halo's points, and SYSTEM_BACK planes before a chunk and LAG after it, are computed by
// neighbouring blocks as well; only their own blocks store them. Along the axes of these halos all
// arrays that are read at offsets wrap, so that points past a side can be computed like any others.
//
// Reads STORE, REAL, VECTOR, SYSTEM_ARRAYS, SYSTEM_OUTPUTS, SYSTEM_VALUES, SYSTEM_FREEZES,
// SYSTEM_SIDES, SYSTEM_PAST, SYSTEM_SHARED, SYSTEM_MARCH, SYSTEM_LOW, SYSTEM_HIGH, SYSTEM_BEFORE,
// SYSTEM_RING, SYSTEM_HALO, SYSTEM_CORNERS, SYSTEM_AHEAD, SYSTEM_LATER, SYSTEM_LAG, SYSTEM_BACK,
// SYSTEM_MADE, THREADS_X, THREADS_Y, BLOCKS, assigned,
// system_value.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"
#include "system/fold.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;
constexpr int ACROSS = 1 - SYSTEM_MARCH;  // the axis of a tile's rows
constexpr bool CHAINED = SYSTEM_LATER < SYSTEM_OUTPUTS;

struct system_arguments {
    const STORE *array[SYSTEM_ARRAYS];
    STORE *out[SYSTEM_OUTPUTS];
    const STORE *present[SYSTEM_OUTPUTS];  // the values that frozen points keep
    long long n[3], points;                // points of one grid; axes z, y, x
    struct {
        long long low[3], high[3];
    } live[SYSTEM_OUTPUTS];             // the points that are not frozen
    unsigned tiles_x, tiles_y, chunks;  // blocks along x, across and along the march
    unsigned planes;                    // of a chunk
    REAL values[SYSTEM_VALUES];         // numbers, then the sides' constants
};
static_assert(layout_matches(sizeof(system_arguments), sizeof(system_arguments::values)),
              "the launcher's mirrored struct of the arguments");

struct alignas(VECTOR * sizeof(STORE)) slot {
    STORE of[VECTOR];
};

// ---- an array's planes in shared memory

// Rows of a plane in shared memory, slots of a row and of a plane.
__device__ constexpr int rows_of(int a) { return THREADS_Y + SYSTEM_HALO[a][0] + SYSTEM_HALO[a][1]; }
__device__ constexpr int width_of(int a) { return THREADS_X + SYSTEM_HALO[a][2] + SYSTEM_HALO[a][3]; }
__device__ constexpr int plane_of(int a) { return rows_of(a) * width_of(a); }
// Slots of the halo: in one row before or after the tile, in all those rows, next to one row of the
// tile, and in total.
__device__ constexpr int line_of(int a) { return SYSTEM_CORNERS[a] ? width_of(a) : THREADS_X; }
__device__ constexpr int row_slots_of(int a) { return (SYSTEM_HALO[a][0] + SYSTEM_HALO[a][1]) * line_of(a); }
__device__ constexpr int side_slots_of(int a) { return SYSTEM_HALO[a][2] + SYSTEM_HALO[a][3]; }
__device__ constexpr int halo_of(int a) { return row_slots_of(a) + THREADS_Y * side_slots_of(a); }
// Slots of shared memory before the array's ring.
__device__ constexpr int ring_begin(int a) { return a ? ring_begin(a - 1) + SYSTEM_RING[a - 1] * plane_of(a - 1) : 0; }
static_assert(shared_bytes_match(sizeof(slot) * ring_begin(SYSTEM_ARRAYS), 15), "the launcher gives as much");

// ---- a thread

struct place {
    const system_arguments &a;
    slot *shared;
    long long grid;               // elements before the grid
    long long pitch;              // elements from plane to plane
    int rows, columns, planes;    // points of the grid across, along x and along the march
    int first_row, first_column;  // where the tile begins
    int row, column;              // where the thread's slot begins
    int own;                      // elements of a plane before that slot
    int thread;                   // number of the thread
    bool inside;                  // the slot lies in the grid
};

// The queues of arrays 0 to A.
template <int A>
struct columns : columns<A - 1> {
    slot held[CHAINED ? 1 : SYSTEM_LOW[A] + 1 + SYSTEM_HIGH[A]];
};
template <>
struct columns<-1> {};
using all_columns = columns<SYSTEM_ARRAYS - 1>;

// ---- loads

template <int A>
__device__ __forceinline__ const STORE *array_of(const place &t) {
    return t.a.array[A] + (SYSTEM_SHARED[A] ? 0 : t.grid);
}
__device__ __forceinline__ slot filled(REAL value) {
    slot all;
#pragma unroll
    for (int i = 0; i < VECTOR; i++) all.of[i] = narrow<STORE>(value);
    return all;
}
__device__ __forceinline__ slot times(REAL sign, slot s) {
    if (sign == 1) return s;
#pragma unroll
    for (int i = 0; i < VECTOR; i++) s.of[i] = narrow<STORE>(sign * widen(s.of[i]));
    return s;
}
// The index inside of the grid whose value, times `sign`, a read at i gets; PAST_LOW or PAST_HIGH:
// it gets that side's constant. Slots that no read uses may lie too far outside to be folded.
template <int A, int AXIS>
__device__ __forceinline__ int folded(int i, int n, REAL &sign) {
    if (i >= 0 && i < n) return i;
    sign *= rule<A, AXIS>::sign(i, n);
    i = rule<A, AXIS>::fold(i, n);
    return i < n ? i : n - 1;
}

// The slot that begins at any plane, row and column, inside or outside of the grid. A side's
// constant is multiplied by the signs of those axes only that are folded before its own.
template <int A>
__device__ __noinline__ slot far_slot(const system_arguments &a, const STORE *array, int m, int row, int column) {
    const int *const past = SYSTEM_PAST[A];
    const int columns = static_cast<int>(a.n[2]);
    REAL sign = 1;
    m = folded<A, SYSTEM_MARCH>(m, static_cast<int>(a.n[SYSTEM_MARCH]), sign);
    if (m < 0) return filled(a.values[past[2 * SYSTEM_MARCH + (m == PAST_HIGH)]]);
    REAL all = sign;
    row = folded<A, ACROSS>(row, static_cast<int>(a.n[ACROSS]), all);
    if (row < 0) return filled(sign * a.values[past[2 * ACROSS + (row == PAST_HIGH)]]);
    const STORE *const line = array + (SYSTEM_MARCH ? m : m * a.n[1] + row) * a.n[2];
    slot values;
#pragma unroll
    for (int i = 0; i < VECTOR; i++) {
        sign = all;
        const int x = folded<A, 2>(column + i, columns, sign);
        values.of[i] = narrow<STORE>(x < 0 ? all * a.values[past[4 + (x == PAST_HIGH)]] : sign * widen(line[x]));
    }
    return values;
}

// The thread's own slot of plane m, from memory.
template <int A>
__device__ __forceinline__ slot own_slot(const place &t, int m) {
    slot values = {};
    if (!t.inside) return values;
    if (m < 0 || m >= t.planes) return far_slot<A>(t.a, array_of<A>(t), m, t.row, t.column);
    load_own_run(values.of, array_of<A>(t) + m * t.pitch + t.own);
    return values;
}

// ---- the ring

template <int A>
__device__ __forceinline__ slot *ring_plane(const place &t, int m) {
    constexpr unsigned RING = SYSTEM_RING[A] ? SYSTEM_RING[A] : 1;
    // In chained launches planes may begin more than a ring's length before the grid.
    constexpr unsigned MANY = CHAINED ? 4096 * RING : RING;
    return t.shared + ring_begin(A) + static_cast<int>((m + MANY) % RING) * plane_of(A);
}
template <int A>
__device__ __forceinline__ slot *own_place(const place &t, int m) {
    return ring_plane<A>(t, m) + (threadIdx.y + SYSTEM_HALO[A][0]) * width_of(A) + threadIdx.x + SYSTEM_HALO[A][2];
}

__device__ __forceinline__ void copy_slot(slot *to, const STORE *from) {
    if (sizeof(slot) == 16)
        copy_async_16(to, from);
    else if (sizeof(slot) == 8)
        copy_async_8(to, from);
    else if (sizeof(slot) == 4)
        copy_async_4(to, from);
    else
        load_own_run(to->of, from);
}

// Where slot i of the halo lies in a plane of the ring.
template <int A>
__device__ __forceinline__ void halo_place(int i, int &row, int &column) {
    constexpr int LINE = line_of(A), SIDE = side_slots_of(A) ? side_slots_of(A) : 1;
    constexpr int BEFORE = SYSTEM_HALO[A][0], LEFT = SYSTEM_HALO[A][2];
    if (i < row_slots_of(A)) {
        row = i / LINE;
        column = i - row * LINE + (SYSTEM_CORNERS[A] ? 0 : LEFT);
        if (row >= BEFORE) row += THREADS_Y;
    } else {
        row = (i - row_slots_of(A)) / SIDE;
        column = i - row_slots_of(A) - row * SIDE;
        row += BEFORE;
        if (column >= LEFT) column += THREADS_X;
    }
}

// Copies plane m of array A.
template <int A>
__device__ __forceinline__ void copy_plane(const place &t, int m) {
    slot *const ring = ring_plane<A>(t, m);
    const STORE *const plane = array_of<A>(t) + m * t.pitch;
    const bool near = m >= 0 && m < t.planes;
    if (t.inside && near)
        copy_slot(own_place<A>(t, m), plane + t.own);
    else if (t.inside || halo_of(A))
        *own_place<A>(t, m) = far_slot<A>(t.a, array_of<A>(t), m, t.row, t.column);
#pragma unroll
    for (int k = 0; k < (halo_of(A) + THREADS - 1) / THREADS; k++) {
        const int i = t.thread + k * THREADS;
        int row, column;
        if (i >= halo_of(A)) break;
        halo_place<A>(i, row, column);
        slot *const to = ring + row * width_of(A) + column;
        row += t.first_row - SYSTEM_HALO[A][0], column = t.first_column + (column - SYSTEM_HALO[A][2]) * VECTOR;
        if (near && row >= 0 && row < t.rows && column >= 0 && column < t.columns)
            copy_slot(to, plane + row * t.columns + column);
        else
            *to = far_slot<A>(t.a, array_of<A>(t), m, row, column);
    }
}

// ---- a step of the march

// Copies the planes that iteration m needs and earlier ones do not.
template <int A>
__device__ __forceinline__ void copy_ahead(const place &t, int m) {
    copy_ahead<A - 1>(t, m);
    if (SYSTEM_RING[A] && SYSTEM_MADE[A] < 0) copy_plane<A>(t, m + SYSTEM_HIGH[A]);
}
template <>
__device__ __forceinline__ void copy_ahead<-1>(const place &, int) {}

// Fills the queues for plane m - 1, all but their first entry, and begins to fill the rings.
template <int A>
__device__ __forceinline__ void begin(const place &t, int m, columns<A> &c) {
    begin(t, m, static_cast<columns<A - 1> &>(c));
    constexpr int QUEUE = SYSTEM_LOW[A] + 1 + SYSTEM_HIGH[A];
    if constexpr (!CHAINED)
#pragma unroll
        for (int k = 1; k < QUEUE; k++) c.held[k] = own_slot<A>(t, m - 1 - SYSTEM_LOW[A] + k);
    if (!SYSTEM_RING[A] || SYSTEM_MADE[A] >= 0) return;
#pragma unroll 1
    for (int p = m - SYSTEM_BEFORE[A]; p < m + SYSTEM_HIGH[A]; p++) copy_plane<A>(t, p);
}
__device__ __forceinline__ void begin(const place &, int, columns<-1> &) {}

// Advances the queues to plane m.
template <int A>
__device__ __forceinline__ void advance(const place &t, int m, columns<A> &c) {
    advance(t, m, static_cast<columns<A - 1> &>(c));
    constexpr int QUEUE = SYSTEM_LOW[A] + 1 + SYSTEM_HIGH[A];
#pragma unroll
    for (int k = 0; k + 1 < QUEUE; k++) c.held[k] = c.held[k + 1];
    c.held[QUEUE - 1] = SYSTEM_RING[A] ? *own_place<A>(t, m + SYSTEM_HIGH[A]) : own_slot<A>(t, m + SYSTEM_HIGH[A]);
}
__device__ __forceinline__ void advance(const place &, int, columns<-1> &) {}

// ---- values

// Around point V of a thread's slot in plane m.
template <int V>
struct around_point {
    const place &t;
    const all_columns &c;
    int m;

    template <int A>
    struct load {
        const place &t;
        __device__ __forceinline__ REAL operator()(int z, int y, int x) const {
            return widen(array_of<A>(t)[(z * t.a.n[1] + y) * t.a.n[2] + x]);
        }
    };
    template <int A>
    __device__ __forceinline__ REAL field(int dz, int dy, int dx) const {
        const int along = SYSTEM_MARCH ? dy : dz, across = SYSTEM_MARCH ? dz : dy;
        const int which = (V + dx + 64 * VECTOR) / VECTOR - 64, i = V + dx - which * VECTOR;
        if (!across && !which && along >= -SYSTEM_LOW[A] && along <= SYSTEM_HIGH[A])
            return widen(static_cast<const columns<A> &>(c).held[along + SYSTEM_LOW[A]].of[i]);
        if (SYSTEM_RING[A] && along >= -SYSTEM_BEFORE[A] && along <= SYSTEM_HIGH[A])
            return widen(own_place<A>(t, m + along)[across * width_of(A) + which].of[i]);
        return read_folded<A, false>(t.a.n, t.a.values, SYSTEM_MARCH ? 0 : m, SYSTEM_MARCH ? m : t.row, t.column + V,
                                     dz, dy, dx, load<A>{t});
    }
    template <int A>
    __device__ __forceinline__ REAL shared(int dz, int dy, int dx) const {
        return field<A>(dz, dy, dx);
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};

// Around point V of any slot of the tile or its halo, in plane m: all from rings.
template <int V>
struct around_held {
    const place &t;
    int m, row, column;  // row and slot, counted from the tile's first ones

    template <int A>
    __device__ __forceinline__ REAL field(int dz, int dy, int dx) const {
        const int along = SYSTEM_MARCH ? dy : dz, across = SYSTEM_MARCH ? dz : dy;
        const int which = (V + dx + 64 * VECTOR) / VECTOR - 64, i = V + dx - which * VECTOR;
        return widen(
            ring_plane<A>(
                t, m + along)[(row + across + SYSTEM_HALO[A][0]) * width_of(A) + column + which + SYSTEM_HALO[A][2]]
                .of[i]);
    }
    template <int A>
    __device__ __forceinline__ REAL shared(int dz, int dy, int dx) const {
        return field<A>(dz, dy, dx);
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};
// The values that assignment I assigns to points V to VECTOR - 1 of a slot. AROUND<V> is made of
// `where`.
template <int I, int V, template <int> class AROUND>
struct evaluate {
    template <class... WHERE>
    __device__ __forceinline__ static void run(slot &result, const WHERE &...where) {
        result.of[V] = narrow<STORE>(system_value(AROUND<V>{where...}, assigned<I>{}));
        evaluate<I, V + 1, AROUND>::run(result, where...);
    }
};
template <int I, template <int> class AROUND>
struct evaluate<I, VECTOR, AROUND> {
    template <class... WHERE>
    __device__ __forceinline__ static void run(slot &, const WHERE &...) {}
};

// Points that a fixed side freezes keep their value.
template <int I>
__device__ __forceinline__ void freeze(const place &t, int m, slot &result) {
    const auto &box = t.a.live[I];
    const bool live = m >= box.low[SYSTEM_MARCH] && m < box.high[SYSTEM_MARCH] && t.row >= box.low[ACROSS] &&
                      t.row < box.high[ACROSS];
    if (live && t.column >= box.low[2] && t.column + VECTOR <= box.high[2]) return;
    slot frozen;
    load_own_run(frozen.of, t.a.present[I] + t.grid + m * t.pitch + t.own);
#pragma unroll
    for (int v = 0; v < VECTOR; v++)
        if (!live || t.column + v < box.low[2] || t.column + v >= box.high[2]) result.of[v] = frozen.of[v];
}

// Assignments I to SYSTEM_OUTPUTS - 1. A thread overwrites only values that are in its queues.
template <int I>
struct assign {
    __device__ __forceinline__ static void run(const place &t, const all_columns &c, int m) {
        slot result;
        evaluate<I, 0, around_point>::run(result, t, c, m);
        if (SYSTEM_FREEZES[I]) freeze<I>(t, m, result);
        store_run(t.a.out[I] + t.grid + m * t.pitch + t.own, result.of);
        assign<I + 1>::run(t, c, m);
    }
};
template <>
struct assign<SYSTEM_OUTPUTS> {
    __device__ __forceinline__ static void run(const place &, const all_columns &, int) {}
};

// ---- a chained launch

// Assignments I to END - 1 of the thread's own slot in plane m: evaluated first, stored separately.
template <int I, int END>
struct chain {
    __device__ __forceinline__ static void evaluate_own(const place &t, int m, slot (&result)[END]) {
        evaluate<I, 0, around_held>::run(result[I], t, m, static_cast<int>(threadIdx.y), static_cast<int>(threadIdx.x));
        chain<I + 1, END>::evaluate_own(t, m, result);
    }
    __device__ __forceinline__ static void store(const place &t, int m, const slot (&result)[END]) {
        store_run(t.a.out[I] + t.grid + m * t.pitch + t.own, result[I].of);
        chain<I + 1, END>::store(t, m, result);
    }
};
template <int END>
struct chain<END, END> {
    __device__ __forceinline__ static void evaluate_own(const place &, int, slot (&)[END]) {}
    __device__ __forceinline__ static void store(const place &, int, const slot (&)[END]) {}
};

// Threads, in whole warps, for the halos of arrays before `a`: each halo begins with another warp.
__device__ constexpr int halo_begin(int a) {
    return a ? halo_begin(a - 1) + (SYSTEM_MADE[a - 1] < 0 ? 0 : (halo_of(a - 1) + 31) / 32 * 32) : 0;
}
// Puts plane m of the next states among arrays 0 to A into their rings.
template <int A>
__device__ __forceinline__ void make_planes(const place &t, int m, const slot (&own)[SYSTEM_LATER]) {
    make_planes<A - 1>(t, m, own);
    if constexpr (SYSTEM_MADE[A] >= 0) {
        *own_place<A>(t, m) = own[SYSTEM_MADE[A]];
        slot *const ring = ring_plane<A>(t, m);
#pragma unroll 1
        for (int i = (t.thread + THREADS - halo_begin(A) % THREADS) % THREADS; i < halo_of(A); i += THREADS) {
            int row, column;
            halo_place<A>(i, row, column);
            evaluate<SYSTEM_MADE[A], 0, around_held>::run(ring[row * width_of(A) + column], t, m,
                                                          row - SYSTEM_HALO[A][0], column - SYSTEM_HALO[A][2]);
        }
    }
}
template <>
__device__ __forceinline__ void make_planes<-1>(const place &, int, const slot (&)[SYSTEM_LATER]) {}

// Planes first to end - 1.
template <bool IS_CHAINED>
__device__ __forceinline__ void march(const place &t, int first, int end) {
    all_columns c;
    const int begins = first - SYSTEM_BACK, ends = end + SYSTEM_LAG;
    begin(t, begins, c);
#pragma unroll
    for (int k = 0; k < SYSTEM_AHEAD; k++) {
        if (begins + k < ends) copy_ahead<SYSTEM_ARRAYS - 1>(t, begins + k);
        copy_async_commit();
    }
#pragma unroll 1
    for (int m = begins; m < ends; m++) {
        copy_async_wait<SYSTEM_AHEAD - 1>();
        __syncthreads();
        if (m + SYSTEM_AHEAD < ends) copy_ahead<SYSTEM_ARRAYS - 1>(t, m + SYSTEM_AHEAD);
        copy_async_commit();
        if constexpr (IS_CHAINED) {
            slot made[SYSTEM_LATER], later[SYSTEM_OUTPUTS];
            chain<0, SYSTEM_LATER>::evaluate_own(t, m, made);
            if (t.inside && m >= first && m < end) chain<0, SYSTEM_LATER>::store(t, m, made);
            make_planes<SYSTEM_ARRAYS - 1>(t, m, made);
            __syncthreads();
            if (!t.inside || m - SYSTEM_LAG < first || m - SYSTEM_LAG >= end) continue;
            chain<SYSTEM_LATER, SYSTEM_OUTPUTS>::evaluate_own(t, m - SYSTEM_LAG, later);
            chain<SYSTEM_LATER, SYSTEM_OUTPUTS>::store(t, m - SYSTEM_LAG, later);
        } else {
            if (!t.inside) continue;
            advance(t, m, c);
            assign<0>::run(t, c, m);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) system_step(const __grid_constant__ system_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const unsigned line = blockIdx.x / a.tiles_x, tile_x = blockIdx.x - line * a.tiles_x;
    const unsigned chunk = line / a.tiles_y, tile_y = line - chunk * a.tiles_y;
    const unsigned batch = chunk / a.chunks;
    const int first_row = tile_y * THREADS_Y, first_column = tile_x * THREADS_X * VECTOR;
    const int row = first_row + threadIdx.y, column = first_column + threadIdx.x * VECTOR;
    const int rows = static_cast<int>(a.n[ACROSS]), width = static_cast<int>(a.n[2]);
    const int planes = static_cast<int>(a.n[SYSTEM_MARCH]), length = static_cast<int>(a.planes);
    const int first = (chunk - batch * a.chunks) * length, end = planes - first < length ? planes : first + length;
    const place t{a,
                  reinterpret_cast<slot *>(stn_shared),
                  batch * a.points,
                  rows * a.n[2],
                  rows,
                  width,
                  planes,
                  first_row,
                  first_column,
                  row,
                  column,
                  row * width + column,
                  static_cast<int>(threadIdx.y * THREADS_X + threadIdx.x),
                  row < rows && column < width};
    march<CHAINED>(t, first, end);
}
