// Assignments of a system, at every point p: out[I](p) = system_value(around p, assigned<I>).
//
//     a thread     a slot: VECTOR points along x (one access), which divides the rows' length
//     a tile       THREADS_Y rows of THREADS_X slots of a plane
//     a block      marches with its tile through a chunk of planes
//     blocks       x fastest, then rows, then chunks, then the batch
//
// Planes are perpendicular to axis SYSTEM_MARCH: z of a 3D grid; y of a 2D grid, where a plane is
// one row. system_value is rendered from the text of an assignment as a sequence of
// `const REAL tN = ...;`, which reads arrays by around.field<A>(dz, dy, dx), and numbers by
// around.number(I).
//
// Planes are copied to shared memory asynchronously; the copies begin SYSTEM_AHEAD iterations
// before the planes are needed. Each slot of a tile is copied by its own thread, those of its halo
// by all threads in turn. Slots outside of the grid are filled by the rules of its sides, so that
// reads need no folding; if all sides wrap, each is a copy of one slot of the grid, whose address
// is computed before the march. Each array has a ring of planes in shared memory, and each thread a
// queue in registers of the planes of its own column of slots:
//
//     plane     -LOW . . . 0 . . . HIGH               +------------------------+
//     queue     [ held . . . . . . held ]             |  rows before           |   The corners are
//                                                     |     +------------+     |   copied if some
//     ring        [-BEFORE . . . . HIGH . HIGH+AHEAD] |slots|    tile    |slots|   read needs them.
//                                                     |     +------------+     |
//                                                     |  rows after            |
//                                                     +------------------------+
//
// Arrays for which shared memory does not suffice are read from memory; in a chained launch there
// are none.
//
// In a chained launch, assignment SYSTEM_LATER reads a next state that an earlier one computes, in
// the same step or in the step before; the assignments after it may read such states too. They all,
// from SYSTEM_LATER on, follow SYSTEM_LAG planes behind in the same march:
//
//     plane m              by assignments 0 to SYSTEM_LATER - 1, on the tile and on the halo that
//                          later ones read, from rings in shared memory into such rings
//     plane m - LAG        by the other ones
//
// Between these two parts of an iteration threads wait for each other only if SYSTEM_WAITS, which
// says that the later assignments read slots of plane m that other threads compute. Planes of
// earlier iterations are visible after the barrier at the beginning of the iteration.
//
// The halo's points, and SYSTEM_BACK planes before a chunk and LAG after it, are computed by
// neighbouring blocks as well; only their own blocks store them. Along the axes of these halos all
// arrays that are read at offsets wrap, so that points past a side can be computed like any others.
//
// Reads STORE, REAL, VECTOR, SYSTEM_ARRAYS, SYSTEM_OUTPUTS, SYSTEM_VALUES, SYSTEM_FREEZES,
// SYSTEM_STORES, SYSTEM_SIDES, SYSTEM_PAST, SYSTEM_SHARED, SYSTEM_MARCH, SYSTEM_LOW, SYSTEM_HIGH,
// SYSTEM_BEFORE, SYSTEM_RING, SYSTEM_HALO, SYSTEM_CORNERS, SYSTEM_AHEAD, SYSTEM_LATER, SYSTEM_LAG,
// SYSTEM_BACK, SYSTEM_WAITS, SYSTEM_MADE, THREADS_X, THREADS_Y, BLOCKS, assigned, system_value.
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
    } updated[SYSTEM_OUTPUTS];          // the points that are not frozen
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

// Rows of a plane in shared memory.
__device__ constexpr int rows_of(int a) { return THREADS_Y + SYSTEM_HALO[a][0] + SYSTEM_HALO[a][1]; }
// If slots have 16 bytes, the tile and every row begin at a multiple of 32 bytes (a sector) in
// shared memory: an asynchronous copy of 16 bytes to another half of a sector than it has in the
// grid costs two transactions.
constexpr int SECTOR = sizeof(slot) == 16 ? 2 : 1;  // slots
__device__ constexpr int whole_sectors(int slots) { return (slots + SECTOR - 1) / SECTOR * SECTOR; }
__device__ constexpr int left_of(int a) { return whole_sectors(SYSTEM_HALO[a][2]); }
// Slots of a row, and of a plane.
__device__ constexpr int width_of(int a) { return whole_sectors(left_of(a) + THREADS_X + SYSTEM_HALO[a][3]); }
__device__ constexpr int plane_of(int a) { return rows_of(a) * width_of(a); }
// Slots of the halo: in one row before or after the tile, in all those rows, next to one row of the
// tile, and in total.
__device__ constexpr int line_of(int a) {
    return THREADS_X + (SYSTEM_CORNERS[a] ? SYSTEM_HALO[a][2] + SYSTEM_HALO[a][3] : 0);
}
__device__ constexpr int row_slots_of(int a) { return (SYSTEM_HALO[a][0] + SYSTEM_HALO[a][1]) * line_of(a); }
__device__ constexpr int side_slots_of(int a) { return SYSTEM_HALO[a][2] + SYSTEM_HALO[a][3]; }
__device__ constexpr int halo_of(int a) { return row_slots_of(a) + THREADS_Y * side_slots_of(a); }
// Slots of shared memory before the array's ring.
__device__ constexpr int ring_begin(int a) { return a ? ring_begin(a - 1) + SYSTEM_RING[a - 1] * plane_of(a - 1) : 0; }
static_assert(shared_bytes_match(sizeof(slot) * ring_begin(SYSTEM_ARRAYS), 15), "the launcher gives as much");
// Slots of the halo that a thread copies.
__device__ constexpr int rounds_of(int a) { return (halo_of(a) + THREADS - 1) / THREADS; }
// The first array whose ring has as many planes of the same size. Both rings then have the same
// position (march_plane.at), which is stored once.
__device__ constexpr int position_index(int a, int first = 0) {
    return SYSTEM_RING[first] == SYSTEM_RING[a] && plane_of(first) == plane_of(a) ? first
                                                                                  : position_index(a, first + 1);
}

// ---- a thread

struct thread_place {
    const system_arguments &a;
    slot *shared;
    long long grid;               // elements before the grid
    long long pitch;              // elements from plane to plane
    long long rewind;             // elements from the last plane to the first one
    int rows, columns, planes;    // points of the grid across, along x and along the march
    int first_row, first_column;  // where the tile begins
    int row, column;              // where the thread's slot begins
    int plane_offset;             // elements of a plane before that slot, wrapped into the grid
    int thread;                   // number of the thread
    int slot_row, slot_column;    // the thread's slot in the tile
    bool inside;                  // the slot lies in the grid
};

// The plane that a block has reached.
struct march_plane {
    int m;
    long long offset;  // elements before the thread's slot, with those of the grids before
    // Slots of each array's ring before plane m + HIGH; of array A, at[position_index(A)]
    int at[SYSTEM_ARRAYS];
};

constexpr int FAR = -2147483647;  // all_arrays.from: there is no source
// What a thread keeps of arrays 0 to A.
template <int A>
struct all_arrays : all_arrays<A - 1> {
    // The queue, and the thread's own slot of the plane that is copied next.
    slot held[SYSTEM_LOW[A] + 1 + SYSTEM_HIGH[A]];
    const STORE *next;
    // Of each slot of the halo that the thread copies: elements from its own slot to the source, or
    // FAR if no slot of the plane is the source; place in the ring's plane, or -1.
    int from[rounds_of(A) + 1], to[rounds_of(A) + 1];
};
template <>
struct all_arrays<-1> {};
using arrays = all_arrays<SYSTEM_ARRAYS - 1>;

// ---- loads

template <int A>
__device__ __forceinline__ const STORE *array_of(const thread_place &t) {
    return t.a.array[A] + (SYSTEM_SHARED[A] ? 0 : t.grid);
}
__device__ __forceinline__ slot filled(REAL value) {
    slot all;
#pragma unroll
    for (int i = 0; i < VECTOR; i++) all.of[i] = narrow<STORE>(value);
    return all;
}
// True if all sides of array `a` wrap.
__device__ constexpr bool wraps_everywhere(int a) { return SYSTEM_SIDES[a] == 0; }
// The index inside of the grid for index i along an axis of n points whose sides wrap.
__device__ __forceinline__ int wrapped(int i, int n) {
    i %= n;
    return i < 0 ? i + n : i;
}
// The index inside of the grid whose value, times `sign`, a read at i gets; PAST_LOW or PAST_HIGH:
// it gets that side's constant. Slots that no read uses may lie too far outside to be mirrored.
template <int A, int AXIS>
__device__ __forceinline__ int folded(int i, int n, REAL &sign) {
    if (i >= 0 && i < n) return i;
    if (rule<A, AXIS>::WRAPS) return wrapped(i, n);
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

// The thread's own slot of plane m, from memory. A slot past the grid's rows or columns is filled
// by the rules of the sides in a chained launch, else with zeros.
template <int A>
__device__ __forceinline__ slot own_slot(const thread_place &t, int m) {
    slot values = {};
    if (!t.inside && !CHAINED) return values;
    if (wraps_everywhere(A))
        m = wrapped(m, t.planes);
    else if (!t.inside || m < 0 || m >= t.planes)
        return far_slot<A>(t.a, array_of<A>(t), m, t.row, t.column);
    load_own_run(values.of, array_of<A>(t) + m * t.pitch + t.plane_offset);
    return values;
}

// ---- the ring

// Plane s.m + by of the ring. The newest one that is read is s.m + HIGH; up to SYSTEM_AHEAD planes
// follow it.
template <int A>
__device__ __forceinline__ slot *ring_plane(const thread_place &t, const march_plane &s, int by) {
    constexpr int PLANE = plane_of(A), ALL = SYSTEM_RING[A] * PLANE;
    const int beyond = by - SYSTEM_HIGH[A];
    int at = s.at[position_index(A)] + beyond * PLANE;
    if (beyond < 0 && at < 0) at += ALL;
    if (beyond > 0 && at >= ALL) at -= ALL;
    return t.shared + ring_begin(A) + at;
}
template <int A>
__device__ __forceinline__ slot *own_place(const thread_place &t, slot *plane) {
    return plane + (t.slot_row + SYSTEM_HALO[A][0]) * width_of(A) + t.slot_column + left_of(A);
}
template <int A>
__device__ __forceinline__ void advance_rings(march_plane &s) {
    advance_rings<A - 1>(s);
    if (position_index(A) != A) return;
    s.at[A] += plane_of(A);
    if (s.at[A] >= SYSTEM_RING[A] * plane_of(A)) s.at[A] = 0;
}
template <>
__device__ __forceinline__ void advance_rings<-1>(march_plane &) {}
__device__ __forceinline__ void next_plane(const thread_place &t, march_plane &s) {
    advance_rings<SYSTEM_ARRAYS - 1>(s);
    s.m++, s.offset += t.pitch;
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

// Row and column of slot i of the halo, counted from the halo's first row and column.
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

// Row and column in the grid of slot i of the halo.
template <int A>
__device__ __forceinline__ void halo_point(const thread_place &t, int i, int &row, int &column) {
    halo_place<A>(i, row, column);
    row += t.first_row - SYSTEM_HALO[A][0], column = t.first_column + (column - SYSTEM_HALO[A][2]) * VECTOR;
}

// Prepares copies of the halo. A slot above or below the grid's rows is a copy of the slot that it
// folds to, if the sign does not change; one left or right of the grid only if columns wrap. Other
// slots outside of the grid are filled by far_slot.
template <int A>
__device__ __forceinline__ void begin_halo(const thread_place &t, all_arrays<A> &c) {
#pragma unroll
    for (int k = 0; k < rounds_of(A); k++) {
        const int i = t.thread + k * THREADS;
        int row, column;
        c.to[k] = -1;
        if (i >= halo_of(A)) break;
        halo_place<A>(i, row, column);
        c.to[k] = row * width_of(A) + left_of(A) - SYSTEM_HALO[A][2] + column;
        halo_point<A>(t, i, row, column);
        REAL sign = 1;
        row = folded<A, ACROSS>(row, t.rows, sign);
        const bool copies = row >= 0 && sign == 1 && (rule<A, 2>::WRAPS || (column >= 0 && column < t.columns));
        column = folded<A, 2>(column, t.columns, sign) / VECTOR * VECTOR;
        c.from[k] = copies ? row * t.columns + column - t.plane_offset : FAR;
    }
}

// Copies plane s.m + by of array A, which is the one that follows the last copied one.
template <int A>
__device__ __forceinline__ void copy_plane(const thread_place &t, const march_plane &s, int by, all_arrays<A> &c) {
    const int m = s.m + by;
    slot *const ring = ring_plane<A>(t, s, by);
    const STORE *const from = c.next;
    if constexpr (wraps_everywhere(A)) {
        const bool is_last = m == t.planes - 1 || m == -1 || m == -1 - t.planes;
        c.next += is_last ? t.rewind : t.pitch;
        copy_slot(own_place<A>(t, ring), from);
#pragma unroll
        for (int k = 0; k < rounds_of(A); k++)
            if (c.to[k] >= 0) copy_slot(ring + c.to[k], from + c.from[k]);
    } else {
        const bool in_grid = m >= 0 && m < t.planes;
        c.next += t.pitch;
        if (t.inside && in_grid)
            copy_slot(own_place<A>(t, ring), from);
        else if (t.inside || halo_of(A))
            *own_place<A>(t, ring) = far_slot<A>(t.a, array_of<A>(t), m, t.row, t.column);
#pragma unroll
        for (int k = 0; k < rounds_of(A); k++) {
            int row, column;
            if (c.to[k] < 0) break;
            if (in_grid && c.from[k] != FAR) {
                copy_slot(ring + c.to[k], from + c.from[k]);
                continue;
            }
            halo_point<A>(t, t.thread + k * THREADS, row, column);
            ring[c.to[k]] = far_slot<A>(t.a, array_of<A>(t), m, row, column);
        }
    }
}

// ---- a step of the march

// Copies the planes that the iteration SYSTEM_AHEAD planes later is the first to need.
template <int A>
__device__ __forceinline__ void copy_ahead(const thread_place &t, const march_plane &s, all_arrays<A> &c) {
    copy_ahead(t, s, static_cast<all_arrays<A - 1> &>(c));
    if (SYSTEM_RING[A] && SYSTEM_MADE[A] < 0) copy_plane<A>(t, s, SYSTEM_HIGH[A] + SYSTEM_AHEAD, c);
}
__device__ __forceinline__ void copy_ahead(const thread_place &, const march_plane &, all_arrays<-1> &) {}

// Before a march: fills the queues for plane m - 1, all but their first entry, and begins to fill
// the rings; s is SYSTEM_AHEAD planes before m.
template <int A>
__device__ __forceinline__ void begin(const thread_place &t, const march_plane &s, all_arrays<A> &c) {
    begin(t, s, static_cast<all_arrays<A - 1> &>(c));
    constexpr int QUEUE = SYSTEM_LOW[A] + 1 + SYSTEM_HIGH[A];
    const int m = s.m + SYSTEM_AHEAD;
    if constexpr (SYSTEM_MADE[A] < 0)
#pragma unroll
        for (int k = 1; k < QUEUE; k++) c.held[k] = own_slot<A>(t, m - 1 - SYSTEM_LOW[A] + k);
    if (!SYSTEM_RING[A] || SYSTEM_MADE[A] >= 0) return;
    begin_halo<A>(t, c);
    const int first = m - SYSTEM_BEFORE[A];
    c.next = array_of<A>(t) + (wraps_everywhere(A) ? wrapped(first, t.planes) : first) * t.pitch + t.plane_offset;
#pragma unroll 1
    for (int by = -SYSTEM_BEFORE[A]; by < SYSTEM_HIGH[A]; by++) copy_plane<A>(t, s, by + SYSTEM_AHEAD, c);
}
__device__ __forceinline__ void begin(const thread_place &, const march_plane &, all_arrays<-1> &) {}

// Advances the queues to plane s.m.
template <int A>
__device__ __forceinline__ void advance(const thread_place &t, const march_plane &s, all_arrays<A> &c) {
    advance(t, s, static_cast<all_arrays<A - 1> &>(c));
    constexpr int QUEUE = SYSTEM_LOW[A] + 1 + SYSTEM_HIGH[A], HIGH = SYSTEM_HIGH[A];
#pragma unroll
    for (int k = 0; k + 1 < QUEUE; k++) c.held[k] = c.held[k + 1];
    if (SYSTEM_MADE[A] >= 0) return;  // make_planes completes the queue
    c.held[QUEUE - 1] = SYSTEM_RING[A] ? *own_place<A>(t, ring_plane<A>(t, s, HIGH)) : own_slot<A>(t, s.m + HIGH);
}
__device__ __forceinline__ void advance(const thread_place &, const march_plane &, all_arrays<-1> &) {}

// ---- values

// Reads around point V of a thread's slot in plane s.m + by.
template <int V>
struct around_point {
    const thread_place &t;
    const march_plane &s;
    const arrays &c;
    int by;

    template <int A>
    struct load {
        const thread_place &t;
        __device__ __forceinline__ REAL operator()(int z, int y, int x) const {
            return widen(array_of<A>(t)[(z * t.a.n[1] + y) * t.a.n[2] + x]);
        }
    };
    template <int A>
    __device__ __forceinline__ REAL field(int dz, int dy, int dx) const {
        const int along = by + (SYSTEM_MARCH ? dy : dz), across = SYSTEM_MARCH ? dz : dy;
        const int which = (V + dx + 64 * VECTOR) / VECTOR - 64, i = V + dx - which * VECTOR;
        if (!across && !which && along >= -SYSTEM_LOW[A] && along <= SYSTEM_HIGH[A])
            return widen(static_cast<const all_arrays<A> &>(c).held[along + SYSTEM_LOW[A]].of[i]);
        if (SYSTEM_RING[A] && along >= -SYSTEM_BEFORE[A] && along <= SYSTEM_HIGH[A])
            return widen(own_place<A>(t, ring_plane<A>(t, s, along))[across * width_of(A) + which].of[i]);
        return read_folded<A, false>(t.a.n, t.a.values, SYSTEM_MARCH ? 0 : s.m, SYSTEM_MARCH ? s.m : t.row,
                                     t.column + V, dz, dy, dx, load<A>{t});
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};

// Around point V of any slot of the halo, in plane s.m: all from rings.
template <int V>
struct around_halo {
    const thread_place &t;
    const march_plane &s;
    int row, column;  // row and slot, counted from the tile's first ones

    template <int A>
    __device__ __forceinline__ REAL field(int dz, int dy, int dx) const {
        const int along = SYSTEM_MARCH ? dy : dz, across = SYSTEM_MARCH ? dz : dy;
        const int which = (V + dx + 64 * VECTOR) / VECTOR - 64, i = V + dx - which * VECTOR;
        const int row_begin = (row + SYSTEM_HALO[A][0]) * width_of(A) + column + left_of(A);
        return widen((ring_plane<A>(t, s, along) + row_begin)[across * width_of(A) + which].of[i]);
    }
    __device__ __forceinline__ REAL number(int i) const { return t.a.values[i]; }
};
// Evaluates assignment I at points V to VECTOR - 1 of a slot; AROUND<V>{where...} reads the
// operands.
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
__device__ __forceinline__ void freeze(const thread_place &t, const march_plane &s, slot &result) {
    const auto &box = t.a.updated[I];
    const bool updated = s.m >= box.low[SYSTEM_MARCH] && s.m < box.high[SYSTEM_MARCH] && t.row >= box.low[ACROSS] &&
                         t.row < box.high[ACROSS];
    if (updated && t.column >= box.low[2] && t.column + VECTOR <= box.high[2]) return;
    slot frozen;
    load_own_run(frozen.of, t.a.present[I] + s.offset);
#pragma unroll
    for (int v = 0; v < VECTOR; v++)
        if (!updated || t.column + v < box.low[2] || t.column + v >= box.high[2]) result.of[v] = frozen.of[v];
}

// Assignments I to SYSTEM_OUTPUTS - 1. If a result is stored over a level that is read, the thread
// has the old values of these points in its queue, and no other thread reads them.
template <int I>
struct assign {
    __device__ __forceinline__ static void run(const thread_place &t, const march_plane &s, const arrays &c) {
        slot result;
        evaluate<I, 0, around_point>::run(result, t, s, c, 0);
        if (SYSTEM_FREEZES[I]) freeze<I>(t, s, result);
        store_run(t.a.out[I] + s.offset, result.of);
        assign<I + 1>::run(t, s, c);
    }
};
template <>
struct assign<SYSTEM_OUTPUTS> {
    __device__ __forceinline__ static void run(const thread_place &, const march_plane &, const arrays &) {}
};

// ---- a chained launch

// Assignments I to END - 1 of the thread's own slot in plane s.m + by. All are evaluated before any
// result is stored.
template <int I, int END>
struct chain {
    __device__ __forceinline__ static void evaluate_own(const thread_place &t, const march_plane &s, const arrays &c,
                                                        int by, slot (&result)[END]) {
        evaluate<I, 0, around_point>::run(result[I], t, s, c, by);
        chain<I + 1, END>::evaluate_own(t, s, c, by, result);
    }
    __device__ __forceinline__ static void store(const thread_place &t, const march_plane &s, int by,
                                                 const slot (&result)[END]) {
        if (SYSTEM_STORES[I]) store_run(t.a.out[I] + (s.offset + by * t.pitch), result[I].of);
        chain<I + 1, END>::store(t, s, by, result);
    }
};
template <int END>
struct chain<END, END> {
    __device__ __forceinline__ static void evaluate_own(const thread_place &, const march_plane &, const arrays &, int,
                                                        slot (&)[END]) {}
    __device__ __forceinline__ static void store(const thread_place &, const march_plane &, int, const slot (&)[END]) {}
};

// The thread (modulo THREADS) that computes the first slot of the halo of array `a`, if the launch
// computes that array. The halos of earlier ones take whole warps, so that each begins with another
// warp.
__device__ constexpr int halo_begin(int a) {
    return a ? halo_begin(a - 1) + (SYSTEM_MADE[a - 1] < 0 ? 0 : (halo_of(a - 1) + 31) / 32 * 32) : 0;
}
// Puts plane s.m of the next states among arrays 0 to A into their queues and rings.
template <int A>
__device__ __forceinline__ void make_planes(const thread_place &t, const march_plane &s,
                                            const slot (&result)[SYSTEM_LATER], all_arrays<A> &c) {
    make_planes(t, s, result, static_cast<all_arrays<A - 1> &>(c));
    if constexpr (SYSTEM_MADE[A] >= 0) {
        c.held[SYSTEM_LOW[A]] = result[SYSTEM_MADE[A]];
        slot *const ring = ring_plane<A>(t, s, 0);
        *own_place<A>(t, ring) = result[SYSTEM_MADE[A]];
#pragma unroll 1
        for (int i = (t.thread + THREADS - halo_begin(A) % THREADS) % THREADS; i < halo_of(A); i += THREADS) {
            int row, column;
            halo_place<A>(i, row, column);
            slot made;
            evaluate<SYSTEM_MADE[A], 0, around_halo>::run(made, t, s, row - SYSTEM_HALO[A][0],
                                                          column - SYSTEM_HALO[A][2]);
            ring[row * width_of(A) + left_of(A) - SYSTEM_HALO[A][2] + column] = made;
        }
    }
}
__device__ __forceinline__ void make_planes(const thread_place &, const march_plane &, const slot (&)[SYSTEM_LATER],
                                            all_arrays<-1> &) {}

// Computes plane s.m; planes first to end - 1 are the block's own.
template <bool IS_CHAINED>
__device__ __forceinline__ void compute(const thread_place &t, const march_plane &s, int first, int end, arrays &c) {
    if constexpr (IS_CHAINED) {
        slot made[SYSTEM_LATER], later[SYSTEM_OUTPUTS];
        const int m = s.m - SYSTEM_LAG;
        advance(t, s, c);
        chain<0, SYSTEM_LATER>::evaluate_own(t, s, c, 0, made);
        if (t.inside && s.m >= first && s.m < end) chain<0, SYSTEM_LATER>::store(t, s, 0, made);
        make_planes(t, s, made, c);
        if (SYSTEM_WAITS) __syncthreads();
        if (!t.inside || m < first || m >= end) return;
        chain<SYSTEM_LATER, SYSTEM_OUTPUTS>::evaluate_own(t, s, c, -SYSTEM_LAG, later);
        chain<SYSTEM_LATER, SYSTEM_OUTPUTS>::store(t, s, -SYSTEM_LAG, later);
    } else {
        if (!t.inside) return;
        advance(t, s, c);
        assign<0>::run(t, s, c);
    }
}

// Planes first to end - 1. The first SYSTEM_AHEAD iterations only copy. Queues begin as zeros: they
// are shifted before all their entries are loaded, and a compiler may assume anything of undefined
// values (NVRTC 13.0 kept some in uniform registers, which all threads of a warp share).
__device__ __forceinline__ void march(const thread_place &t, int first, int end) {
    arrays c = {};
    const int begins = first - SYSTEM_BACK, ends = end + SYSTEM_LAG;
    march_plane s = {begins - SYSTEM_AHEAD, t.grid + (begins - SYSTEM_AHEAD) * t.pitch + t.plane_offset, {}};
    begin(t, s, c);
#pragma unroll 1
    for (; s.m < begins; next_plane(t, s)) {
        if (s.m + SYSTEM_AHEAD < ends) copy_ahead(t, s, c);
        copy_async_commit();
    }
#pragma unroll 1
    for (; s.m < ends; next_plane(t, s)) {
        copy_async_wait<SYSTEM_AHEAD - 1>();
        __syncthreads();
        if (s.m + SYSTEM_AHEAD < ends) copy_ahead(t, s, c);
        copy_async_commit();
        compute<CHAINED>(t, s, first, end, c);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) system_step(const __grid_constant__ system_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const unsigned line = blockIdx.x / a.tiles_x, tile_x = blockIdx.x - line * a.tiles_x;
    const unsigned chunk = line / a.tiles_y, tile_y = line - chunk * a.tiles_y;
    const unsigned batch = chunk / a.chunks;
    const int first_row = tile_y * THREADS_Y, first_column = tile_x * THREADS_X * VECTOR;
    const int slot_row = static_cast<int>(threadIdx.y), slot_column = static_cast<int>(threadIdx.x);
    const int row = first_row + slot_row, column = first_column + slot_column * VECTOR;
    const int rows = static_cast<int>(a.n[ACROSS]), width = static_cast<int>(a.n[2]);
    const int planes = static_cast<int>(a.n[SYSTEM_MARCH]), length = static_cast<int>(a.planes);
    const int first = (chunk - batch * a.chunks) * length, end = planes - first < length ? planes : first + length;
    const thread_place t{a,
                         reinterpret_cast<slot *>(stn_shared),
                         batch * a.points,
                         rows * a.n[2],
                         rows * a.n[2] * (1 - planes),
                         rows,
                         width,
                         planes,
                         first_row,
                         first_column,
                         row,
                         column,
                         wrapped(row, rows) * width + wrapped(column, width),
                         slot_row * THREADS_X + slot_column,
                         slot_row,
                         slot_column,
                         row < rows && column < width};
    march(t, first, end);
}
