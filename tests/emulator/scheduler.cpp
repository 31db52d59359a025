// Scheduler of one block or cluster. It picks a warp and runs its lanes until each of them waits or
// is done; then it completes what they wait for: a warp-wide operation once all lanes of its mask
// have arrived, a barrier once all threads of the block or the cluster have.
#include "scheduler.h"

#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "fiber.h"
#include "memory.h"

namespace stn_emulator {

thread_local Worker *worker;

static std::string at_place(Place p) { return p.file ? std::string(p.file) + ":" + std::to_string(p.line) : "?"; }

static std::string triple(uint3 v) {
    return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

static bool same_place(Place a, Place b) {
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

uint64_t Worker::next_random() {  // xorshift64*
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    return random * 0x2545f4914f6cdd1dull;
}

// ---- memory: a region for stacks and one for shared memory, each part with a guard page

bool Worker::prepare() {
    if (region) return true;
    void *p =
        mmap(nullptr, 2 * REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *s = mmap(nullptr, shared_region_bytes(PAGE), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || s == MAP_FAILED) return false;
    uintptr_t aligned = (reinterpret_cast<uintptr_t>(p) + REGION_BYTES - 1) & ~(REGION_BYTES - 1);
    region = reinterpret_cast<unsigned char *>(aligned);
    shared_region = static_cast<unsigned char *>(s);
    for (unsigned b = 0; b <= MAX_CLUSTER; b++) mprotect(shared_region + b * (SHARED_BYTES + PAGE), PAGE, PROT_NONE);
    return true;
}

// ---- errors

void Worker::set_error(LaunchError code, unsigned who, const std::string &text, Place place) {
    if (error != ERROR_NONE) return;
    error = code;
    message = "kernel " + kernel->name + ", block " + triple(blocks[who / stride].index) + ", thread " +
              triple(thread(who)->index) + ", seed " + std::to_string(seed) + ": " + text;
    if (place.file) message += " (" + at_place(place) + ")";
}

void Worker::fail(LaunchError code, Place place, const char *format, ...) {
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    set_error(code, current, text, place);
    for (;;) yield();  // The scheduler never resumes this fiber.
}

// ---- fibers

void Worker::yield() {
    in_fiber = false;
    stn_switch(&lanes[current].stack_pointer, scheduler);
}

static void lane_main() {
    Worker *w = worker;
    w->kernel->call(w->values);
    w->lanes[w->current].state = State::DONE;
    for (;;) w->yield();
}

void Worker::start_lane(unsigned i) {
    unsigned char *slot = region + (FIRST_SLOT + i) * STACK_BYTES;
    if (i >= stacks) {
        mprotect(slot, PAGE, PROT_NONE);
        stacks = i + 1;
    }
    // Stacks start at different offsets, because equal ones would use the same few cache sets.
    unsigned char *top = slot + STACK_BYTES - 64 - (i * 7 % 64) * 128;
    Lane &lane = lanes[i];
    lane.stack_pointer = new_stack(top, lane_main);
    lane.state = State::READY;
    lane.committed = 0;
    lane.copies.clear();
    Thread *t = thread(i);
    const Block &block = blocks[i / stride];
    const unsigned linear = i % stride;
    t->linear = linear;
    t->block = &block;
    t->index = {linear % block.threads.x, linear / block.threads.x % block.threads.y,
                linear / block.threads.x / block.threads.y};
}

void Worker::resume(unsigned i) {
    current = i;
    in_fiber = true;
    stn_switch(&scheduler, lanes[i].stack_pointer);
    if (lanes[i].state == State::DONE) alive--, living[i / stride]--;
}

// ---- warp-wide operations

void Worker::shuffle(unsigned first, unsigned mask) {
    uint64_t value[WARP];
    for (unsigned l = 0; l < WARP; l++)
        if (mask >> l & 1) value[l] = lanes[first + l].value;
    for (unsigned l = 0; l < WARP; l++) {
        if (!(mask >> l & 1)) continue;
        Lane &lane = lanes[first + l];
        int width = lane.width, base = (int)l / width * width, from = 0, n = lane.argument;
        switch (lane.mode) {
            case SHUFFLE_INDEX:
                from = base + (n & (width - 1));
                break;
            case SHUFFLE_UP:
                from = (int)l - n < base ? (int)l : (int)l - n;
                break;
            case SHUFFLE_DOWN:
                from = (int)l + n >= base + width ? (int)l : (int)l + n;
                break;
            default:  // xor: may read from an earlier segment of the warp, as on a GPU
                from = ((int)l ^ n) >= base + width ? (int)l : ((int)l ^ n);
        }
        if (!(mask >> from & 1))
            set_error(ERROR_LAUNCH_FAILED, first + l,
                      "lane " + std::to_string(l) + " shuffles from lane " + std::to_string(from) +
                          ", which is not in the mask",
                      lane.place);
        else
            lane.value = value[from];
    }
}

void Worker::vote(unsigned first, unsigned mask) {
    unsigned ballot = 0;
    for (unsigned l = 0; l < WARP; l++)
        if ((mask >> l & 1) && lanes[first + l].value) ballot |= 1u << l;
    for (unsigned l = 0; l < WARP; l++) {
        if (!(mask >> l & 1)) continue;
        Lane &lane = lanes[first + l];
        lane.value = lane.mode == VOTE_ANY ? ballot != 0 : lane.mode == VOTE_ALL ? ballot == mask : ballot;
    }
}

// All lanes of the mask wait at a warp-wide operation: is it the same one?
bool Worker::check_group(unsigned first, unsigned mask, unsigned leader) {
    const Lane &head = lanes[first + leader];
    for (unsigned l = 0; l < WARP; l++) {
        if (!(mask >> l & 1)) continue;
        const Lane &lane = lanes[first + l];
        if (lane.word == head.word && lane.mode == head.mode && lane.mask == mask && same_place(lane.place, head.place))
            continue;
        set_error(ERROR_LAUNCH_FAILED, first + l,
                  "lanes of one mask are at different warp-wide words, or give different masks: lane " +
                      std::to_string(leader) + " at " + at_place(head.place) + ", lane " + std::to_string(l),
                  lane.place);
        return false;
    }
    return true;
}

unsigned Worker::lanes_of(unsigned warp) const {
    const dim3 &shape = blocks[0].threads;
    const unsigned left = shape.x * shape.y * shape.z - warp * WARP % stride;
    return left < WARP ? left : WARP;
}

// Completes every operation whose lanes have all arrived. True if any lane can continue.
bool Worker::resolve(unsigned warp) {
    unsigned first = warp * WARP, count = lanes_of(warp), waiting = 0, present = 0;
    for (unsigned l = 0; l < count; l++) {
        if (lanes[first + l].state == State::COLLECTIVE) waiting |= 1u << l;
        if (lanes[first + l].state != State::DONE) present |= 1u << l;
    }
    bool any = false;
    while (waiting && error == ERROR_NONE) {
        unsigned leader = (unsigned)__builtin_ctz(waiting);
        Lane &head = lanes[first + leader];
        unsigned mask = head.mask;
        if (mask & ~present) {
            unsigned missing = (unsigned)__builtin_ctz(mask & ~present);
            set_error(ERROR_LAUNCH_FAILED, first + leader,
                      "lane " + std::to_string(missing) + " is in the mask but " +
                          (missing < count ? "has left the kernel" : "does not exist"),
                      head.place);
            return false;
        }
        if ((mask & waiting) != mask) {  // Another lane may still arrive.
            waiting &= ~(1u << leader);
            continue;
        }
        if (!check_group(first, mask, leader)) return false;
        if (head.word == Word::SHUFFLE)
            shuffle(first, mask);
        else if (head.word == Word::VOTE) {
            vote(first, mask);
            if (head.mode == VOTE_SYNC) races.sync_warp(warp);
        } else {
            std::string text;
            if (!multiply(static_cast<Mma>(head.mode), &lanes[first], &text))
                set_error(ERROR_LAUNCH_FAILED, first + leader, text, head.place);
        }
        for (unsigned l = 0; l < count; l++)
            if (mask >> l & 1) lanes[first + l].state = State::READY;
        waiting &= ~mask;
        any = true;
    }
    return any;
}

// Runs a warp until all of its lanes wait for something outside of it (false), or until a random
// stop (true).
bool Worker::run_warp(unsigned warp) {
    unsigned first = warp * WARP, count = lanes_of(warp);
    for (;;) {
        unsigned long long chance = next_random() >> 32;
        unsigned turn = chance & 31, flip = chance >> 5 & 31;
        bool ran = false;
        for (unsigned i = 0; i < WARP; i++) {
            unsigned l = ((i + turn) & 31) ^ flip;  // a permutation of the lanes
            if (l >= count || lanes[first + l].state != State::READY) continue;
            ran = true;
            resume(first + l);
            if (error != ERROR_NONE) return false;
        }
        bool more = resolve(warp);
        if (error != ERROR_NONE || (!ran && !more)) return false;
        if ((chance >> 10 & 7) == 0) return true;
    }
}

// ---- barriers

void Worker::wake(unsigned i, uint64_t value) {
    lanes[i].value = value;
    lanes[i].state = State::READY;
    if (runnable.empty() || runnable.back() != i / WARP) runnable.push_back(i / WARP);
}

bool Worker::release(unsigned block, int id) {
    unsigned waiting = 0, hits = 0, from = block * stride, to = from + stride;
    const Lane *head = nullptr;
    for (unsigned i = from; i < to; i++) {
        const Lane &lane = lanes[i];
        if (lane.state != State::BARRIER || lane.argument != id) continue;
        if (!head) head = &lane;
        waiting++;
        hits += lane.value != 0;
        if (id == 0 && (lane.mode != head->mode || !same_place(lane.place, head->place))) {
            set_error(ERROR_LAUNCH_FAILED, i,
                      "divergent barrier: thread " + triple(thread((unsigned)(head - lanes))->index) + " waits at " +
                          at_place(head->place) + ", this one elsewhere",
                      lane.place);
            return false;
        }
    }
    if (!head || waiting < (head->width ? (unsigned)head->width : living[block])) return false;
    uint64_t result = head->mode == REDUCE_OR ? hits != 0 : head->mode == REDUCE_AND ? hits == waiting : hits;
    for (unsigned i = from; i < to; i++)
        if (lanes[i].state == State::BARRIER && lanes[i].argument == id) wake(i, result);
    races.sync_block(block, stride / WARP);
    return true;
}

bool Worker::release_cluster() {
    unsigned waiting = 0;
    for (unsigned i = 0; i < size * stride; i++) waiting += lanes[i].state == State::CLUSTER;
    if (!waiting || waiting < alive) return false;
    for (unsigned i = 0; i < size * stride; i++)
        if (lanes[i].state == State::CLUSTER) wake(i, 0);
    for (unsigned block = 0; block < size; block++) races.sync_block(block, stride / WARP);
    cluster_barriers++;
    return true;
}

bool Worker::release_barriers() {
    bool any = false;
    for (unsigned block = 0; block < size; block++)
        for (int id = 0; id < 16 && error == ERROR_NONE; id++) any = release(block, id) || any;
    return release_cluster() || any;
}

void Worker::report_deadlock() {
    for (unsigned i = 0; i < size * stride; i++) {
        const Lane &lane = lanes[i];
        if (lane.state == State::COLLECTIVE) {
            char mask[12];
            snprintf(mask, sizeof mask, "%08x", lane.mask);
            return set_error(ERROR_LAUNCH_FAILED, i,
                             std::string("deadlock: waits for lanes of mask ") + mask + " that do not come",
                             lane.place);
        }
    }
    for (unsigned i = 0; i < size * stride; i++)
        if (lanes[i].state == State::BARRIER || lanes[i].state == State::CLUSTER)
            return set_error(ERROR_LAUNCH_FAILED, i, "deadlock: waits at a barrier that others do not reach",
                             lanes[i].place);
}

void Worker::schedule() {
    runnable.clear();  // A member, because a fault leaves this function by siglongjmp.
    for (unsigned w = 0; w * WARP < size * stride; w++) runnable.push_back(w);
    while (alive > 0 && error == ERROR_NONE) {
        if (runnable.empty()) {
            if (!release_barriers()) {
                if (error == ERROR_NONE && !ahead) report_deadlock();
                return;
            }
            continue;
        }
        size_t pick = (next_random() >> 33) % runnable.size();
        unsigned warp = runnable[pick];
        runnable[pick] = runnable.back();
        runnable.pop_back();
        if (run_warp(warp))
            runnable.push_back(warp);
        else if (size > 1 && (next_random() >> 33) % 4 == 0)
            release(warp * WARP / stride, 0);  // Lets a block of a cluster run ahead of the others.
    }
}

}  // namespace stn_emulator
