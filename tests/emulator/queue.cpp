// When the work of streams is done: not before something waits for it. Work that waits for the work
// of another stream has that done first; whether streams that nothing waits for yet come before,
// after or in between, chance decides. So work of two streams that no event orders happens in the
// wrong order, for some seed or for all, and what they both write is mixed up. A launch of the
// default stream is done at the next call.
#include <cstring>

#include "driver.h"

namespace stn_emulator {

static std::vector<CUstream> streams;  // those that exist; the default stream's work is done at once
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

// `next`: what comes right after it in the same stream, if that is known.
static void perform(const Operation &o, CUcontext context, const Operation *next = nullptr) {
    if (o.kind == Operation::COPY)
        memmove(o.to, o.from, o.bytes);
    else if (o.kind == Operation::FILL)
        memset(o.to, o.value, o.bytes);
    else if (o.kind == Operation::WAIT)
        finish(o.other, o.until);
    else {
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

// The next operation of a stream that has one. `until`: what the operation after it may begin early
// of.
static void advance(CUstream stream, uint64_t until) {
    Operation next = std::move(stream->waiting.front());
    stream->waiting.pop_front();
    stream->done++;
    const bool more = !stream->waiting.empty() && stream->done < until, was_busy = stream->busy;
    stream->busy = true;
    perform(next, current_context(), more ? &stream->waiting.front() : nullptr);
    if (exists(stream)) stream->busy = was_busy;
}

// Whether the stream's next operation can be done now; one that a stream is in the middle of is not
// done yet.
static bool is_ready(CUstream stream) {
    if (stream->busy || stream->waiting.empty()) return false;
    const Operation &next = stream->waiting.front();
    if (next.kind != Operation::WAIT || !exists(next.other)) return true;
    return next.other->done >= next.until + (next.other->busy ? 1 : 0);
}

// Now and then an operation of another stream.
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
        if (front.kind != Operation::LAUNCH || !front.launch.early) advance_another(stream);  // some of which has begun
        if (!exists(stream) || stream->waiting.empty() || stream->done >= until) return;
        advance(stream, until);
    }
}

static void others_first() {
    chance = (chance + settings.seed) * 6364136223846793005ull + 1442695040888963407ull;
    const bool oldest_first = chance >> 62 & 1;
    if (chance >> 63)
        for (size_t i = 0; i < streams.size(); i++) {
            CUstream s = streams[oldest_first ? i : streams.size() - 1 - i];
            finish(s, s->submitted);
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

// The default stream waits for those that are not its like, and has them wait.
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
