// Emulated driver: deferred execution of streams. Work runs only when something waits for it. Work
// that waits for another stream runs that stream's work first; whether other streams run before,
// after or in between is random. So unordered work of two streams runs in the wrong order for some
// seeds. A launch in the default stream is held until the next call.
#include <cstring>
#include <ctime>

#include "emulated_driver.h"

namespace stn_emulator {

// All existing streams; the default stream's work is not queued.
static std::vector<CUstream> streams;
static uint64_t chance;

void stream_created(CUstream stream) { streams.push_back(stream); }
void stream_destroyed(CUstream stream) {
    finish(stream, stream->submitted);
    for (size_t i = 0; i < streams.size(); i++)
        if (streams[i] == stream) streams.erase(streams.begin() + (ptrdiff_t)i--);
}

static bool exists(CUstream stream) {
    for (CUstream s : streams)
        if (s == stream) return true;
    return false;
}

// `next`: the operation that follows directly in the same stream, if known.
static void perform(const Operation &o, CUcontext context, const Operation *next = nullptr) {
    if (o.kind == Operation::COPY)
        memmove(o.to, o.from, o.bytes);
    else if (o.kind == Operation::FILL)
        memset(o.to, o.value, o.bytes);
    else if (o.kind == Operation::WAIT)
        finish(o.other, o.until);
    else if (o.kind == Operation::GATE) {
        const timespec pause = {0, 50000};
        while (!o.gate(o.user)) nanosleep(&pause, nullptr);
    } else {
        const bool early = next && next->kind == Operation::LAUNCH && next->launch.early;
        if (LaunchError e = run_grid(o.launch, settings, early ? &next->launch : nullptr))
            set_sticky(static_cast<CUresult>(e), context);
    }
}

static bool holds;
static Operation held;
static CUcontext held_in;

static void finish_held_before(const Operation *next) {
    if (!holds) return;
    holds = false;
    Operation o = std::move(held);
    perform(o, held_in, next);
}
void finish_held() { finish_held_before(nullptr); }

// Runs the next operation of a stream that has one. If the operation after it is below `until` and
// a programmatic dependent launch, it may begin early.
static void advance(CUstream stream, uint64_t until) {
    Operation next = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    stream->done++;
    const bool more = !stream->waiting.empty() && stream->done < until, was_busy = stream->busy;
    stream->busy = true;
    perform(next, current_context(), more ? &stream->waiting.front() : nullptr);
    if (exists(stream)) stream->busy = was_busy;
}

// Can the stream's next operation run now? An operation in progress is not yet done.
static bool is_ready(CUstream stream) {
    if (stream->busy || stream->waiting.empty()) return false;
    const Operation &next = stream->waiting.front();
    if (next.kind == Operation::GATE) return false;
    if (next.kind != Operation::WAIT || !exists(next.other)) return true;
    return next.other->done >= next.until + (next.other->busy ? 1 : 0);
}

// Runs an operation of another stream now and then.
static void advance_another(CUstream stream) {
    static uint64_t turn;
    turn = (turn + settings.seed) * 6364136223846793005ull + 1442695040888963407ull;
    if (streams.size() < 2 || turn >> 62) return;
    CUstream other = streams[(turn >> 32) % streams.size()];
    if (other != stream && is_ready(other)) advance(other, other->done);
}

void finish(CUstream stream, uint64_t until) {
    while (exists(stream) && !stream->waiting.empty() && stream->done < until) {
        const Operation &front = stream->waiting.front();
        // not if blocks of it have begun
        if (front.kind != Operation::LAUNCH || !front.launch.early) advance_another(stream);
        if (!exists(stream) || stream->waiting.empty() || stream->done >= until) return;
        advance(stream, until);
    }
}

bool finish_to_gate(CUstream stream, uint64_t until) {
    while (exists(stream) && !stream->waiting.empty() && stream->done < until) {
        size_t before = 0;  // operations before the next gate
        while (before < stream->waiting.size() && stream->waiting[before].kind != Operation::GATE) before++;
        const Operation &front = stream->waiting.front();
        if (before)
            finish(stream, stream->done + before < until ? stream->done + before : until);
        else if (front.gate(front.user)) {
            stream->waiting.pop_front();
            stream->done++;
        } else
            return false;
    }
    return true;
}

static void others_first() {
    chance = (chance + settings.seed) * 6364136223846793005ull + 1442695040888963407ull;
    const bool oldest_first = chance >> 62 & 1;
    if (chance >> 63)
        for (size_t i = 0; i < streams.size(); i++) {
            CUstream s = streams[oldest_first ? i : streams.size() - 1 - i];
            (void)finish_to_gate(s, s->submitted);
        }
}

void finish_with_chance(CUstream stream) {
    others_first();
    finish(stream, stream->submitted);
}

void finish_blocking() {
    for (CUstream s : streams)
        if (!(s->flags & 1)) finish(s, s->submitted);
}

void finish_all() {
    for (CUstream s : streams) finish(s, s->submitted);
}

// The default stream waits for all blocking streams, and they wait for it.
void submit_now_or_later(CUstream stream, bool is_default, const Operation &operation) {
    if (is_default) {
        bool alone = true;
        for (CUstream s : streams) alone = alone && ((s->flags & 1) || s->waiting.empty());
        const bool launches = operation.kind == Operation::LAUNCH;
        finish_held_before(launches && alone ? &operation : nullptr);
        finish_blocking();
        if (launches) {
            holds = true;
            held = operation;
            held_in = current_context();
        } else
            perform(operation, current_context());
        return;
    }
    finish_held();
    stream->waiting.push_back(operation);
    stream->submitted++;
}

}  // namespace stn_emulator
