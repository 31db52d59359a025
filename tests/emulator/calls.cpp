// The engine's functions that kernels call: barriers, warp-wide operations, matrix products,
// asynchronous copies, clusters. All run on a fiber.
#include <cstring>

#include "fiber.h"
#include "memory.h"
#include "scheduler.h"

namespace stn_emulator {

static int on_barrier(int id, int count, Reduce reduce, int predicate, Place place) {
    Worker *w = worker;
    Lane &lane = w->lanes[w->current];
    if (id < 0 || id > 15 || count < 0 || count % 32 != 0)
        w->fail(ERROR_LAUNCH_FAILED, place, "there is no barrier %d of %d threads", id, count);
    w->traffic.happens(HAPPENING_BARRIER);
    lane.mode = reduce;
    lane.argument = id;
    lane.width = count;
    lane.value = predicate != 0;
    lane.place = place;
    lane.state = State::BARRIER;
    w->yield();
    return (int)lane.value;
}

static uint64_t wait_for_warp(Word word, unsigned mode, unsigned mask, uint64_t value, Place place) {
    Worker *w = worker;
    Lane &lane = w->lanes[w->current];
    if (!(mask >> w->current % WARP & 1)) w->fail(ERROR_LAUNCH_FAILED, place, "a lane calls with a mask that lacks it");
    lane.word = word;
    lane.mode = (unsigned char)mode;
    lane.mask = mask;
    lane.value = value;
    lane.place = place;
    lane.state = State::COLLECTIVE;
    w->yield();
    return lane.value;
}

static unsigned long long on_shuffle(Shuffle mode, unsigned mask, unsigned long long value, int argument, int width,
                                     Place place) {
    Lane &lane = worker->lanes[worker->current];
    if (width < 1 || width > 32 || (width & (width - 1)))
        worker->fail(ERROR_LAUNCH_FAILED, place, "a shuffle's width must be 1, 2, 4, 8, 16 or 32");
    worker->traffic.happens(HAPPENING_SHUFFLE);
    lane.argument = argument;
    lane.width = width;
    return wait_for_warp(Word::SHUFFLE, mode, mask, value, place);
}

static unsigned on_vote(Vote mode, unsigned mask, int predicate, Place place) {
    return (unsigned)wait_for_warp(Word::VOTE, mode, mask, predicate != 0, place);
}

static void on_mma(Mma shape, void *c, const void *a, const void *b, unsigned metadata, int selector, Place place) {
    Lane &lane = worker->lanes[worker->current];
    worker->traffic.happens(HAPPENING_PRODUCT);
    lane.c = c;
    lane.a = a;
    lane.b = b;
    lane.argument = selector;
    wait_for_warp(Word::MMA, shape, 0xffffffffu, metadata, place);
}

void Worker::count(const void *p, unsigned bytes, bool writes, Site site, const void *target) {
    if (traffic.looking) traffic.access(current, p, bytes, writes, site, target);
}

void Worker::touch(const void *p, unsigned bytes, bool writes, const void *code) {
    const Block &block = own_block();
    if (!races.touch(block.shared, block.shared_bytes, p, bytes, writes, {code, 0, current}, block.rank)) return;
    const uint3 other = thread(races.other_lane())->index;
    fail(ERROR_LAUNCH_FAILED, {nullptr, 0},
         "race: it and thread (%u, %u, %u) are in shared memory at one place, and no "
         "%s lies between",
         other.x, other.y, other.z, races.other_lane() / WARP == current / WARP ? "__syncwarp" : "barrier");
}

static void on_copy_async(void *to, const void *from, unsigned bytes, Place place) {
    Worker *w = worker;
    unsigned char *target = static_cast<unsigned char *>(to);
    const unsigned char *source = static_cast<const unsigned char *>(from);
    if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % bytes)
        w->fail(ERROR_MISALIGNED, place, "copy_async_%u of misaligned addresses", bytes);
    const Block &block = w->own_block();
    if (target < block.shared || target + bytes > block.shared + block.shared_bytes)
        w->fail(ERROR_ILLEGAL_ADDRESS, place, "copy_async to outside of shared memory");
    if (!memory_holds(from, bytes)) {
        char text[160];
        snprintf(text, sizeof text, "%s", memory_describe(from).c_str());
        w->fail(ERROR_ILLEGAL_ADDRESS, place, "copy_async reads %s", text);
    }
    w->touch(to, bytes, true, __builtin_return_address(0));
    w->count(from, bytes, false, {nullptr, place.file, place.line}, to);
    w->count(to, bytes, true, {nullptr, place.file, place.line});
    // The target stays poisoned until its group has been waited for.
    memset(target, POISON, bytes);
    Lane &lane = w->lanes[w->current];
    lane.copies.push_back({target, source, bytes, lane.committed});
}

static void on_copy_async_commit() { worker->lanes[worker->current].committed++; }

static void on_copy_async_wait(int newest, Place) {
    Lane &lane = worker->lanes[worker->current];
    size_t kept = 0;
    for (const Copy &copy : lane.copies) {
        if (copy.group < lane.committed && (int)(lane.committed - copy.group) > newest) {
            worker->touch(copy.to, copy.bytes, true, __builtin_return_address(0));
            memcpy(copy.to, copy.from, copy.bytes);
        } else
            lane.copies[kept++] = copy;
    }
    lane.copies.resize(kept);
}

static void on_cluster_barrier(Place place) {
    Lane &lane = worker->lanes[worker->current];
    lane.place = place;
    lane.state = State::CLUSTER;
    worker->yield();
}

// The address in another block of the cluster that corresponds to `mine` in this one.
static const void *on_cluster_shared(const void *mine, unsigned bytes, unsigned rank, Place place) {
    Worker *w = worker;
    const Block &own = w->own_block();
    const unsigned char *p = static_cast<const unsigned char *>(mine);
    if (rank >= w->size)
        w->fail(ERROR_ILLEGAL_ADDRESS, place, "there is no block %u in a cluster of %u", rank, w->size);
    if (p < own.shared || p + bytes > own.shared + own.shared_bytes)
        w->fail(ERROR_ILLEGAL_ADDRESS, place, "outside of the %u bytes of shared memory", own.shared_bytes);
    if (reinterpret_cast<uintptr_t>(p) % bytes)
        w->fail(ERROR_MISALIGNED, place, "misaligned access of %u bytes", bytes);
    if (w->cluster_barriers == 0)
        w->fail(ERROR_ILLEGAL_ADDRESS, place, "block %u of the cluster may not have started: no cluster_barrier yet",
                rank);
    if (w->living[rank] == 0) w->fail(ERROR_ILLEGAL_ADDRESS, place, "block %u of the cluster has ended", rank);
    return w->blocks[rank].shared + (p - own.shared);
}

static long long on_clock() {
    static thread_local long long ticks;
    worker->yield();  // A thread that polls must let others run.
    return ticks += 100;
}

static void on_fail(const char *message, Place place) { worker->fail(ERROR_ASSERT, place, "%s", message); }

static void on_misaligned(const void *, int bytes, Place place) {
    worker->fail(ERROR_MISALIGNED, place, "misaligned access of %d bytes", bytes);
}

static void on_wait_for_launch(Place place) {
    Worker *w = worker;
    if (!w->ahead) return;
    Lane &lane = w->lanes[w->current];
    lane.place = place;
    lane.state = State::LAUNCH;
    w->yield();
}

static void on_touch(const void *p, unsigned bytes, int writes, const void *code) {
    if (!worker) return;
    worker->touch(p, bytes, writes != 0, code);
    worker->count(p, bytes, writes != 0, {code, nullptr, 0});
}

static void on_statics(const unsigned char *from, unsigned bytes) {
    if (!worker) return;
    worker->races.set_statics(from, bytes);
    worker->traffic.set_statics(from, bytes);
}

const Engine engine_table = {
    on_barrier,         on_shuffle,         on_vote,           on_mma,   on_copy_async, on_copy_async_commit,
    on_copy_async_wait, on_cluster_barrier, on_cluster_shared, on_clock, on_fail,       on_misaligned,
    on_wait_for_launch, on_touch,           on_statics};

}  // namespace stn_emulator
